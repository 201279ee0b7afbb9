package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/thtbatch/thtbatch/internal/state"
)

// holdLock is a program of its own that holds the lock of a state directory, as
// a job does, until its standard input ends: holdlock DIR
func holdLock() {
	if err := hold(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func hold(path string) error {
	dir, err := state.Open(path)
	if err != nil {
		return err
	}
	lock, err := dir.Lock(context.Background(), state.Holder{
		RunID: "20260101T000000Z-held00", Job: "backfill", PID: os.Getpid(), Host: "elsewhere", StartedAt: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
	}, 0)
	if err != nil {
		return err
	}
	fmt.Println("held")
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	return lock.Unlock()
}
