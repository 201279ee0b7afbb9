// Package secret reads keys. A key comes from the environment, or from a file
// that nobody but its owner can read; never from a configuration, which is
// committed, copied and pasted.
package secret

import (
	"errors"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/thtbatch/thtbatch/internal/fault"
)

// No key is longer; a file that is was named by mistake.
const mostBytes = 16 << 10

// Read returns the key in the variable of the environment, or else in the file,
// or "" where neither is named. White space around it is dropped. The file must
// be a regular one of this user or of root, without rights for group or others.
// The fault secret_unusable (exit 4) names the file and the reason, and never
// what is in it.
func Read(variable string, getenv func(string) string, file string) (string, error) {
	if key := strings.TrimSpace(getenv(variable)); key != "" {
		return checked(key, variable)
	}
	if file == "" {
		return "", nil
	}
	// Not to hang on a pipe that was named by mistake.
	fd, err := os.OpenFile(file, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return "", unusable(file, "unreadable").Because(withoutPath(err))
	}
	defer func() { _ = fd.Close() }()
	var stat unix.Stat_t
	if err := unix.Fstat(int(fd.Fd()), &stat); err != nil {
		return "", unusable(file, "unreadable").Because(err)
	}
	switch {
	case stat.Mode&unix.S_IFMT != unix.S_IFREG:
		return "", unusable(file, "not_regular")
	case stat.Mode&0o077 != 0:
		return "", unusable(file, "open_to_others")
	case stat.Uid != 0 && int(stat.Uid) != os.Geteuid():
		return "", unusable(file, "of_another_user")
	case stat.Size > mostBytes:
		return "", unusable(file, "too_large_for_a_key")
	}
	text, err := io.ReadAll(io.LimitReader(fd, mostBytes))
	if err != nil {
		return "", unusable(file, "unreadable").Because(withoutPath(err))
	}
	key := strings.TrimSpace(string(text))
	if key == "" {
		return "", unusable(file, "empty")
	}
	return checked(key, file)
}

// checked refuses what no header can carry.
func checked(key, from string) (string, error) {
	for _, c := range []byte(key) {
		if c <= ' ' || c > '~' {
			return "", unusable(from, "not_one_word")
		}
	}
	return key, nil
}

func unusable(path, reason string) *fault.Error {
	return fault.New(fault.Credential, "secret_unusable", "path", path, "reason", reason)
}

func withoutPath(err error) error {
	var at *os.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}
