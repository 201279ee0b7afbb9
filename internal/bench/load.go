package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/thtbatch/thtbatch/internal/embed"
	"github.com/thtbatch/thtbatch/internal/embed/lexical"
	"github.com/thtbatch/thtbatch/internal/load/qdranttest"
	"github.com/thtbatch/thtbatch/internal/record"
)

// measureLoad loads registries of a fourth, a half and all of the records into a
// server in this process, each into a collection of its own, and runs an
// unchanged night on the largest: it may write nothing and ask for no vector.
// What embedding costs is measured by itself and taken off.
func measureLoad(program string, records, dimensions int) (err error) {
	work, err := os.MkdirTemp("", "thtbatch-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	// The collection of the largest load must not weigh on the memory of the next.
	fmt.Printf("%-16s %9s %9s %9s %9s %9s %9s %9s\n", "records", "CPU s", "embed s", "own s", "wall s", "rec/wall s", "rec/own s", "peak MB")
	var added []int64
	for _, n := range []int{records / 4, records / 2, records} {
		c, embedding, err := loadOnce(program, filepath.Join(work, fmt.Sprint(n)), n, dimensions, n == records)
		if err != nil {
			return fmt.Errorf("%d records: %w", n, err)
		}
		own := c.CPU - embedding
		fmt.Printf("%-16d %9.2f %9.2f %9.2f %9.2f %9.0f %9.0f %9.0f\n", n, c.CPU.Seconds(), embedding.Seconds(), own.Seconds(), c.Wall.Seconds(),
			float64(n)/c.Wall.Seconds(), float64(n)/own.Seconds(), float64(c.Peak)/1e6)
		for _, p := range c.summary.Phases {
			fmt.Printf("  %-20s %10.2f CPU s %6.0f MB at most\n", p.Name, p.CPU, float64(c.PeakIn[p.Name])/1e6)
		}
		added = append(added, max(0, c.PeakIn["load"]-c.PeakIn["plan"]))
	}
	fmt.Printf("memory that loading adds to what planning had: %.0f, %.0f, %.0f MB\n", float64(added[0])/1e6, float64(added[1])/1e6, float64(added[2])/1e6)
	return nil
}

func loadOnce(program, dir string, records, dimensions int, again bool) (c cost, embedding time.Duration, err error) {
	artifacts := filepath.Join(dir, "artifacts")
	texts, err := registry(artifacts, records)
	if err != nil {
		return c, 0, err
	}
	if embedding, err = embedAll(texts, dimensions); err != nil {
		return c, 0, err
	}
	server, err := qdranttest.Start(qdranttest.Options{})
	if err != nil {
		return c, 0, err
	}
	defer server.Close()
	for name, value := range map[string]string{
		"THTBATCH_INDEX_STORE": "qdrant", "THTBATCH_INDEX_URL": server.URL(), "THTBATCH_INDEX_COLLECTION": "bench",
		"THTBATCH_EMBED_PROVIDER": "lexical", "THTBATCH_EMBED_DIMENSIONS": fmt.Sprint(dimensions),
	} {
		if err := os.Setenv(name, value); err != nil {
			return c, 0, err
		}
	}
	args := []string{"backfill", "--json", "--log-level", "debug", "--artifacts", artifacts, "--state", filepath.Join(dir, "state")}
	if c, err = spend(program, args...); err != nil {
		return c, 0, err
	}
	if n := server.Counts().Upserted; n != records {
		return c, 0, fmt.Errorf("the server got %d points", n)
	}
	if !again {
		return c, embedding, nil
	}
	server.Reset()
	second, err := spend(program, args...)
	if err != nil {
		return c, 0, err
	}
	counts := server.Counts()
	fmt.Printf("unchanged night: %.2f CPU s, %.0f MB; calls %v; %d writes, %d vectors read, %d embedded\n",
		second.CPU.Seconds(), float64(second.Peak)/1e6, counts.Methods, counts.Writes, counts.VectorsRead, second.summary.Embedded)
	if counts.Writes+counts.VectorsRead+second.summary.Embedded > 0 {
		return c, 0, errors.New("an unchanged night wrote or asked for vectors")
	}
	return c, embedding, nil
}

// registry writes one of n records, of some 400 bytes each, and returns the texts
// that are embedded for them.
func registry(artifacts string, n int) (texts []string, err error) {
	for _, dir := range []string{"sessions", "memory"} {
		if err := os.MkdirAll(filepath.Join(artifacts, dir), 0o755); err != nil {
			return nil, err
		}
	}
	f, err := os.Create(filepath.Join(artifacts, "memory", "registry.jsonl"))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	out := bufio.NewWriter(f)
	template, err := record.ParseTemplate(record.DefaultTemplate())
	if err != nil {
		return nil, err
	}
	words := strings.Fields("ricovero ordinario degenza reparto dimissione paziente costo medio fattura reddito trimestre prestazione ambulatoriale durata giorni anno")
	for i := range n {
		phrase := make([]string, 24)
		for k := range phrase {
			phrase[k] = words[(i*7+k*(i%13+1))%len(words)]
		}
		m := record.Memory{
			ID: fmt.Sprintf("mem-%04d", i+1), Type: record.ReusableType, Subject: fmt.Sprintf("%s %s numero %d", phrase[0], phrase[1], i),
			Detail: strings.Join(phrase, " "), Rationale: "approvato dal reparto " + phrase[5], QuestionContext: "Quanti " + phrase[3] + " nel 2024?",
		}
		line, err := json.Marshal(map[string]any{
			"id": m.ID, "type": m.Type, "subject": m.Subject, "detail": m.Detail, "rationale": m.Rationale, "question_context": m.QuestionContext,
		})
		if err != nil {
			return nil, err
		}
		if _, err := out.Write(append(line, '\n')); err != nil {
			return nil, err
		}
		texts = append(texts, template.Content(m))
	}
	return texts, out.Flush()
}

// embedAll is what embedding alone costs, in CPU time.
func embedAll(texts []string, dimensions int) (time.Duration, error) {
	e, err := lexical.New(dimensions)
	if err != nil {
		return 0, err
	}
	began := processCPU()
	for at := 0; at < len(texts); at += 256 {
		if _, err := e.Embed(context.Background(), embed.Document, texts[at:min(at+256, len(texts))]); err != nil {
			return 0, err
		}
	}
	return processCPU() - began, nil
}

func processCPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
