package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"
)

// files are the known names of a session.
func files() [3]string { return [3]string{"manifest.yaml", "review_decisions.jsonl", "sql_final.sql"} }

// readAll is the least that a first scan can do: read every known file of every
// session, with a buffer that is used again, and do nothing with it.
func readAll(root string) error {
	var bytes, opened atomic.Int64
	err := eachSession(root, func(work func() (string, bool)) error {
		buffer := make([]byte, 1<<20)
		for dir, ok := work(); ok; dir, ok = work() {
			for _, name := range files() {
				n, err := readOne(filepath.Join(dir, name), buffer)
				if errors.Is(err, fs.ErrNotExist) {
					continue
				}
				if err != nil {
					return err
				}
				bytes.Add(n)
				opened.Add(1)
			}
		}
		return nil
	})
	fmt.Printf("%d files, %d bytes\n", opened.Load(), bytes.Load())
	return err
}

func readOne(path string, buffer []byte) (total int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	for {
		n, err := f.Read(buffer)
		total += int64(n)
		if errors.Is(err, io.EOF) {
			return total, nil
		}
		if err != nil {
			return total, err
		}
	}
}

// lookAll is the least that an unchanged night can do: lstat of the known
// names of every session.
func lookAll(root string) error {
	var seen atomic.Int64
	err := eachSession(root, func(work func() (string, bool)) error {
		var st unix.Stat_t
		for dir, ok := work(); ok; dir, ok = work() {
			for _, name := range files() {
				err := unix.Lstat(dir+"/"+name, &st)
				if err == nil {
					seen.Add(1)
				} else if !errors.Is(err, fs.ErrNotExist) {
					return err
				}
			}
		}
		return nil
	})
	fmt.Printf("%d files\n", seen.Load())
	return err
}

// eachSession hands out the session directories to as many workers as there
// are processors.
func eachSession(root string, worker func(next func() (string, bool)) error) error {
	sessions := filepath.Join(root, "sessions")
	entries, err := os.ReadDir(sessions)
	if err != nil {
		return err
	}
	var at atomic.Int64
	group, _ := errgroup.WithContext(context.Background())
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() error {
			return worker(func() (string, bool) {
				i := at.Add(1) - 1
				if i >= int64(len(entries)) {
					return "", false
				}
				return sessions + "/" + entries[i].Name(), true
			})
		})
	}
	return group.Wait()
}
