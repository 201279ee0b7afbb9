//go:build duckdb_arrow

package duck

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// held asks the kernel whether another process has a lock on the file, which
// is how DuckDB keeps a second one out. It is asked only after an open failed,
// to tell "in use" from "damaged" without reading an error's text.
func held(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	lock := unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart}
	if err := unix.FcntlFlock(f.Fd(), unix.F_GETLK, &lock); err != nil {
		return false
	}
	return lock.Type != unix.F_UNLCK
}
