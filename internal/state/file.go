package state

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/thtbatch/thtbatch/internal/fault"
)

// draftOf begins the names under which a file is written before it takes its
// own.
func draftOf(path string) string { return "." + filepath.Base(path) + "." }

// removeDrafts removes what writers of the file at path left behind that were
// killed; none is at work.
func removeDrafts(path string) error {
	dir := filepath.Dir(path)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return notWritten(dir, err)
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), draftOf(path)) {
			continue
		}
		if err := os.Remove(filepath.Join(dir, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return notWritten(filepath.Join(dir, e.Name()), err)
		}
	}
	return nil
}

// writeFile replaces the file at path as a whole: a crash leaves the old one or
// the new one, on disk and not only in a cache.
func writeFile(path string, content []byte) (err error) {
	dir := filepath.Dir(path)
	temp, err := os.CreateTemp(dir, draftOf(path)+"*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, temp.Close(), os.Remove(temp.Name()))
		}
	}()
	if err := temp.Chmod(fileMode); err != nil {
		return err
	}
	if _, err := temp.Write(content); err != nil {
		return err
	}
	if err := temp.Sync(); err != nil {
		return err
	}
	if err := os.Rename(temp.Name(), path); err != nil {
		return err
	}
	return errors.Join(temp.Close(), syncDir(dir))
}

func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// openPrivate opens or creates a file of mode 0600, whatever the umask.
func openPrivate(path string, flags int) (*os.File, error) {
	file, err := os.OpenFile(path, flags|os.O_CREATE, fileMode)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && info.Mode().Perm() != fileMode {
		err = file.Chmod(fileMode)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// appendLines adds one JSON object a line, in one write, and waits until it is
// on disk. A last line that an earlier append left without its newline gets one
// first, so that it spoils no line but itself.
func appendLines[T any](path string, values ...T) (err error) {
	if len(values) == 0 {
		return nil
	}
	var lines bytes.Buffer
	enc := json.NewEncoder(&lines)
	enc.SetEscapeHTML(false)
	for _, v := range values {
		if err := enc.Encode(v); err != nil {
			return fmt.Errorf("append to %s: %w", path, err)
		}
	}
	file, err := openPrivate(path, os.O_RDWR|os.O_APPEND)
	if err != nil {
		return notWritten(path, err)
	}
	defer func() {
		if cerr := file.Close(); err == nil && cerr != nil {
			err = notWritten(path, cerr)
		}
	}()
	info, err := file.Stat()
	if err != nil {
		return notWritten(path, err)
	}
	content := lines.Bytes()
	if size := info.Size(); size == 0 {
		err = syncDir(filepath.Dir(path)) // it may be new
	} else {
		var last [1]byte
		if _, err = file.ReadAt(last[:], size-1); err == nil && last[0] != '\n' {
			content = append([]byte{'\n'}, content...)
		}
	}
	if err == nil {
		_, err = file.Write(content)
	}
	if err == nil {
		err = file.Sync()
	}
	if err != nil {
		return notWritten(path, err)
	}
	return nil
}

// readLines decodes a file of one JSON object a line. A missing file has no
// lines. Blank lines are skipped, and so is a line whose JSON ends early: that
// is an append which a crash cut short, and whoever made it never said it was
// done. Any other line that does not decode, or that reject names a reason
// against, is returned as a fault state_damaged beside the good ones.
func readLines[T any](path string, reject func(*T) string) (values []T, damage []*fault.Error, err error) {
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fault.New(fault.Failed, "state_unreadable", "path", path).Because(err)
	}
	for number := 1; len(content) > 0; number++ {
		line, rest, _ := bytes.Cut(content, []byte{'\n'})
		content = rest
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		var v T
		if err := json.Unmarshal(line, &v); err != nil {
			if !endsEarly(line) {
				damage = append(damage, damaged(path, number, "not_json"))
			}
			continue
		}
		if reason := reject(&v); reason != "" {
			damage = append(damage, damaged(path, number, reason))
			continue
		}
		values = append(values, v)
	}
	return values, damage, nil
}

func endsEarly(line []byte) bool {
	var v json.RawMessage
	return errors.Is(json.NewDecoder(bytes.NewReader(line)).Decode(&v), io.ErrUnexpectedEOF)
}
