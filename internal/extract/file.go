package extract

import (
	"context"
	"errors"

	"golang.org/x/sys/unix"
)

// trouble is why a file that is there could not be read. Its number is kept in
// the stamp, so that the same trouble is not reported as a change.
type trouble int64

const (
	noTrouble  trouble = 0
	notRegular trouble = 1
	tooLarge   trouble = 2
	firstErrno trouble = 16 // firstErrno + errno: what the system said
	troubles   trouble = firstErrno + 4096
)

// maxFile is the largest file that is read. The offsets of an Arrow utf8 column
// have 32 bits, so that one column of one batch ends at 2 GiB.
const maxFile = 1 << 30

const (
	readAtOnce = 8 << 20 // bytes between two looks at the context
	keptBuffer = 8 << 20 // a larger buffer is not kept for the next file
	firstSize  = 64 << 10
)

// reason is the phrase that is recorded.
func (t trouble) reason() string {
	switch t {
	case notRegular:
		return "not a regular file"
	case tooLarge:
		return "larger than 1 GiB"
	}
	return "cannot be read: " + unix.Errno(t-firstErrno).Error()
}

// err is the same as an error, where the file is one that the run cannot do
// without.
func (t trouble) err() error {
	if t > firstErrno {
		return unix.Errno(t - firstErrno)
	}
	return errors.New(t.reason())
}

func troubleOf(err error) trouble {
	var errno unix.Errno
	switch {
	case !errors.As(err, &errno), errno <= 0, trouble(errno) >= troubles-firstErrno:
		return firstErrno + trouble(unix.EIO)
	case errno == unix.ELOOP, errno == unix.EISDIR, errno == unix.ENXIO:
		return notRegular
	}
	return firstErrno + trouble(errno)
}

// gone tells a file that is not there, or whose directory is not.
func gone(err error) bool {
	return err == unix.ENOENT || err == unix.ENOTDIR
}

// fileReader reads small files into one buffer, which grows to the largest.
type fileReader struct {
	st  unix.Stat_t
	buf []byte
}

// look takes the stamp of a name below dir without following a link in its last
// place. Only ENOENT makes it missing: anything else that keeps us from looking
// is trouble.
func (r *fileReader) look(dir int, path string, stamp *Stamp) trouble {
	err := ignoringEINTR(func() error { return unix.Fstatat(dir, path, &r.st, unix.AT_SYMLINK_NOFOLLOW) })
	if err != nil {
		if gone(err) {
			*stamp = missingStamp()
			return noTrouble
		}
		*stamp = Stamp{}
		return troubleOf(err)
	}
	stamp.setStat(&r.st)
	return r.usable()
}

// usable judges what was just looked at.
func (r *fileReader) usable() trouble {
	if r.st.Mode&unix.S_IFMT != unix.S_IFREG {
		return notRegular
	}
	if r.st.Size > maxFile {
		return tooLarge
	}
	return noTrouble
}

// read opens what look called usable and reads all of it. The stamp is taken
// again from the open file before the first byte, so that a write during the
// read makes the next scan read it anew. follow lets the last place be a link.
// The content is valid until the next read. Its error is the context's alone.
func (r *fileReader) read(ctx context.Context, dir int, path string, follow bool, stamp *Stamp) ([]byte, trouble, error) {
	// O_NONBLOCK: a FIFO that took the file's place since the look must not
	// block us.
	flags := unix.O_RDONLY | unix.O_NONBLOCK | unix.O_CLOEXEC | unix.O_NOCTTY
	if !follow {
		flags |= unix.O_NOFOLLOW
	}
	var fd int
	err := ignoringEINTR(func() (err error) { fd, err = unix.Openat(dir, path, flags, 0); return err })
	if err != nil {
		if gone(err) {
			*stamp = missingStamp()
			return nil, noTrouble, nil
		}
		return nil, troubleOf(err), nil
	}
	defer unix.Close(fd)
	if err := ignoringEINTR(func() error { return unix.Fstat(fd, &r.st) }); err != nil {
		return nil, troubleOf(err), nil
	}
	stamp.setStat(&r.st)
	if t := r.usable(); t != noTrouble {
		return nil, t, nil
	}
	return r.readAll(ctx, fd, int(stamp.Size))
}

func (r *fileReader) readAll(ctx context.Context, fd, size int) ([]byte, trouble, error) {
	r.fit(size + 1)
	n := 0
	for {
		if n == len(r.buf) {
			if n > maxFile {
				return nil, tooLarge, nil
			}
			r.fit(2 * n)
		}
		var m int
		end := min(n+readAtOnce, len(r.buf))
		err := ignoringEINTR(func() (err error) { m, err = unix.Read(fd, r.buf[n:end]); return err })
		if err != nil {
			return nil, troubleOf(err), nil
		}
		n += m
		// At the size that the stamp holds the reading ends: what is appended
		// from here on changes the stamp.
		if m == 0 || n == size {
			return r.buf[:n], noTrouble, nil
		}
		if err := ctx.Err(); err != nil {
			return nil, noTrouble, err
		}
	}
}

// fit makes the buffer at least n long, keeping what it holds.
func (r *fileReader) fit(n int) {
	if n <= len(r.buf) {
		return
	}
	larger := make([]byte, max(n, firstSize))
	copy(larger, r.buf)
	r.buf = larger
}

// forget lets go of an uncommonly large buffer.
func (r *fileReader) forget() {
	if len(r.buf) > keptBuffer {
		r.buf = nil
	}
}

// ignoringEINTR repeats a system call that a signal cut short: the runtime sends
// itself signals, and some file systems let them through.
func ignoringEINTR(call func() error) error {
	for {
		if err := call(); err != unix.EINTR {
			return err
		}
	}
}
