package sample

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"time"
)

// Touch appends one decision, as the assistant would, to n of the sessions of
// the tree at dir and gives their ids. Ledgers with a torn tail are left alone:
// nobody appends to them. Equal arguments choose the same sessions of the same
// tree and append the same lines.
func Touch(dir string, n int, seed int64) ([]string, error) {
	root := filepath.Join(dir, "sessions")
	entries, err := os.ReadDir(root)
	if err != nil {
		return nil, fmt.Errorf("touch tree: %w", err)
	}
	rng := rand.New(rand.NewPCG(uint64(seed), 1<<32))
	rng.Shuffle(len(entries), func(a, b int) { entries[a], entries[b] = entries[b], entries[a] })
	var touched []string
	for i, e := range entries {
		if len(touched) == n {
			break
		}
		done, err := touch(filepath.Join(root, e.Name(), "review_decisions.jsonl"), i, rng)
		if err != nil {
			return touched, fmt.Errorf("touch tree: %w", err)
		}
		if done {
			touched = append(touched, e.Name())
		}
	}
	if len(touched) < n {
		return touched, fmt.Errorf("touch tree: only %d of %d sessions take another decision", len(touched), n)
	}
	slices.Sort(touched)
	return touched, nil
}

var seqField = regexp.MustCompile(`"seq": ?"?([0-9]+)`)

func touch(path string, i int, rng *rand.Rand) (bool, error) {
	data, err := os.ReadFile(path)
	if err != nil || !bytes.HasSuffix(data, []byte("\n")) {
		return false, err
	}
	highest := 0
	for _, m := range seqField.FindAllSubmatch(data, -1) {
		if n, err := strconv.Atoi(string(m[1])); err == nil {
			highest = max(highest, n)
		}
	}
	subject, detail := newTopic(rng).concept(rng)
	line := mustJSON(decision{
		Seq: highest + 1, TS: epoch.AddDate(5, 0, 0).Add(time.Duration(i) * time.Second).Format(time.RFC3339),
		Type: "concept_clarified", Subject: subject, Detail: detail, Phase: 1,
	})
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return false, err
	}
	if _, err := f.Write(append(line, '\n')); err != nil {
		f.Close()
		return false, err
	}
	return true, f.Close()
}
