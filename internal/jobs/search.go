package jobs

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/thtbatch/thtbatch/internal/fault"
	"github.com/thtbatch/thtbatch/internal/load"
	"github.com/thtbatch/thtbatch/internal/record"
	"github.com/thtbatch/thtbatch/internal/report"
	"github.com/thtbatch/thtbatch/internal/words"
)

type searchOptions struct {
	Session string
	Top     int
}

// memoryHit is one line of search.
type memoryHit struct {
	MemoryID        string   `json:"memory_id"`
	Score           float64  `json:"score"`
	Type            string   `json:"type"`
	Subject         string   `json:"subject"`
	Detail          string   `json:"detail"`
	Rationale       string   `json:"rationale"`
	QuestionContext string   `json:"question_context"`
	Tables          []string `json:"tables"`
	Concepts        []string `json:"concepts"`
	SessionID       string   `json:"session_id"`
	DecisionSeq     *int64   `json:"decision_seq"`
	TS              *string  `json:"ts"`
}

func search() Job {
	var o searchOptions
	return Job{
		Name: "search", Usage: "find Memory that is near a question", ArgsUsage: "QUESTION", Args: 1,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "session", Usage: "leave out what the session `ID` has decided on", Destination: &o.Session},
			&cli.IntFlag{Name: "top", Usage: "show at most `N`", Value: 5, Destination: &o.Top},
			collectionFlag(),
		},
		Run: func(ctx context.Context, e *Env, args []string) error {
			if o.Top < 1 {
				return fault.New(fault.Usage, "flag_value", "flag", "--top", "value", o.Top, "expected", ">= 1")
			}
			return e.runSearch(ctx, args[0], o)
		},
	}
}

func (e *Env) runSearch(ctx context.Context, question string, o searchOptions) (err error) {
	published, dir, err := e.published(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, published.Close()) }()
	drop, err := dir.Retractions()
	if err != nil {
		return err
	}
	decided := map[string]bool{}
	if o.Session != "" {
		known, err := published.Session(ctx, o.Session)
		if err != nil {
			return err
		}
		if known == nil {
			return fault.New(fault.Input, "session_not_found", "session", o.Session, "path", e.publishDir(dir))
		}
		if decided, err = published.Decided(ctx, o.Session); err != nil {
			return err
		}
	}
	s, err := e.newSearcher(ctx, dir, record.KindMemory, question)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.store.Close()) }()
	found := map[string]record.Memory{}
	hits, err := s.hits(ctx, o.Top, func(page []load.Hit) ([]load.Hit, error) {
		refs := make([]string, len(page))
		for i, h := range page {
			refs[i] = h.Ref
		}
		resolved, err := published.Memories(ctx, refs)
		if err != nil {
			return nil, err
		}
		var kept []load.Hit
		for _, h := range page {
			m, ok := resolved[h.Ref]
			_, retracted := drop[h.Key]
			// The registry decides what is reusable, whatever the index says.
			if _, twin := found[h.Ref]; !ok || twin || retracted || decided[h.Ref] || !record.Reusable(m.Type) {
				continue
			}
			found[h.Ref] = m
			kept = append(kept, h)
		}
		return kept, nil
	})
	if err != nil {
		return err
	}
	out := make([]memoryHit, len(hits))
	for i, h := range hits {
		out[i] = newMemoryHit(found[h.Ref], h.Score)
	}
	if e.JSON {
		return report.Document(e.Stdout, out)
	}
	return e.printMemories(out)
}

func newMemoryHit(m record.Memory, score float64) memoryHit {
	h := memoryHit{
		MemoryID: m.ID, Score: fourDecimals(score), Type: m.Type, Subject: m.Subject, Detail: m.Detail, Rationale: m.Rationale,
		QuestionContext: m.QuestionContext, Tables: nonNil(m.Tables), Concepts: nonNil(m.Concepts), SessionID: m.SessionID,
		DecisionSeq: m.DecisionSeq,
	}
	if m.TS != nil {
		text := m.TS.Format(time.RFC3339Nano)
		h.TS = &text
	}
	return h
}

func (e *Env) printMemories(hits []memoryHit) error {
	if len(hits) == 0 {
		_, err := fmt.Fprintln(e.Stdout, e.Words.Say("search_empty", nil))
		return err
	}
	for _, h := range hits {
		if _, err := fmt.Fprintf(e.Stdout, "%.4f  %s  %s\n        %s\n", h.Score, words.Safe(h.MemoryID), shown(h.Subject), shown(h.Detail)); err != nil {
			return err
		}
	}
	return nil
}

// shown is a text on one line of a terminal.
func shown(s string) string { return words.Safe(strings.Join(strings.Fields(s), " ")) }

func fourDecimals(v float64) float64 { return math.Round(v*1e4) / 1e4 }

func nonNil(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}
