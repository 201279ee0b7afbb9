//go:build duckdb_arrow

package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/thtbatch/thtbatch/internal/duck"
)

// copyMode is that of every file of the state directory, whatever the umask: the
// searches that read the copy are run by its owner.
const copyMode = 0o600

// copyChunk is how much is copied between two looks at the context.
const copyChunk = 64 << 20

// Copy publishes the store at src, which nobody has open for writing (an error
// is duck.ErrBusy if another process has), as a file for readers at dst. It is
// written beside dst, brought to disk and renamed: a reader that has the old
// file open keeps it, and one that opens dst has either the old or the new one.
// A crash leaves dst as it was and a file dst.new, which the next Copy writes
// over. The copy takes over the modification time of src, so that Current can
// tell whether another one is needed.
func Copy(ctx context.Context, src, dst string) error {
	if err := publish(ctx, src, dst); err != nil {
		return fmt.Errorf("publish %s as %s: %w", src, dst, err)
	}
	return nil
}

// Current reports whether dst is a copy of src as src is now.
func Current(src, dst string) (bool, error) {
	of, err := os.Stat(src)
	if err != nil {
		return false, err
	}
	if settled, err := settled(src); err != nil || !settled {
		return false, err
	}
	is, err := os.Stat(dst)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return is.Size() == of.Size() && is.ModTime().Equal(of.ModTime()), nil
}

// settled reports whether everything written is in the file itself. A writer
// that was killed leaves the rest in its write-ahead log.
func settled(src string) (bool, error) {
	_, err := os.Stat(src + ".wal")
	if errors.Is(err, os.ErrNotExist) {
		return true, nil
	}
	return false, err
}

func publish(ctx context.Context, src, dst string) (err error) {
	if _, err := os.Stat(src); err != nil {
		return err
	}
	ok, err := settled(src)
	if err != nil {
		return err
	}
	if !ok {
		// Opening reads the log, closing moves it into the file.
		s, err := Open(ctx, duck.Options{Path: src})
		if err != nil {
			return err
		}
		if err := s.Close(); err != nil {
			return err
		}
	}
	// As a reader it keeps writers of other processes out while it copies.
	s, err := Open(ctx, duck.Options{Path: src, ReadOnly: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	part := dst + ".new"
	if err := writeCopy(ctx, src, part); err != nil {
		_ = os.Remove(part) // what is left of it does no harm
		return err
	}
	if err := os.Rename(part, dst); err != nil {
		return err
	}
	return syncDir(filepath.Dir(dst))
}

// writeCopy copies with the system's own call, which shares the blocks where
// the file system can.
func writeCopy(ctx context.Context, src, part string) (err error) {
	in, err := os.Open(src)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	is, err := in.Stat()
	if err != nil {
		return err
	}
	out, err := os.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	for copied := int64(0); copied < is.Size(); {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := io.CopyN(out, in, min(copyChunk, is.Size()-copied))
		if err != nil {
			return err
		}
		copied += n
	}
	if err := errors.Join(out.Chmod(copyMode), out.Sync()); err != nil {
		return err
	}
	return os.Chtimes(part, is.ModTime(), is.ModTime())
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
