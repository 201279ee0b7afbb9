package jobs

import (
	"context"
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/thtbatch/thtbatch/internal/fault"
	"github.com/thtbatch/thtbatch/internal/load"
	"github.com/thtbatch/thtbatch/internal/record"
	"github.com/thtbatch/thtbatch/internal/report"
	"github.com/thtbatch/thtbatch/internal/words"
)

// solvedHit is one line of solved-search.
type solvedHit struct {
	SessionID string   `json:"session_id"`
	Question  string   `json:"question"`
	SQL       string   `json:"sql"`
	Tables    []string `json:"tables"`
	Score     float64  `json:"score"`
}

func solvedSearch() Job {
	var top int
	return Job{
		Name: "solved-search", Usage: "find solved questions that are near a question", ArgsUsage: "QUESTION", Args: 1,
		Flags: []cli.Flag{&cli.IntFlag{Name: "top", Usage: "show at most `N`", Value: 3, Destination: &top}, collectionFlag()},
		Run: func(ctx context.Context, e *Env, args []string) error {
			if top < 1 {
				return fault.New(fault.Usage, "flag_value", "flag", "--top", "value", top, "expected", ">= 1")
			}
			return e.runSolvedSearch(ctx, args[0], top)
		},
	}
}

func (e *Env) runSolvedSearch(ctx context.Context, question string, top int) (err error) {
	published, dir, err := e.published(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, published.Close()) }()
	retracted, err := dir.Retractions()
	if err != nil {
		return err
	}
	s, err := e.newSearcher(ctx, dir, record.KindSolved, question)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.store.Close()) }()
	seen := map[string]bool{}
	hits, err := s.hits(ctx, top, func(page []load.Hit) ([]load.Hit, error) {
		refs := make([]string, len(page))
		for i, h := range page {
			refs[i] = h.Ref
		}
		lost, err := published.ApprovalLost(ctx, refs)
		if err != nil {
			return nil, err
		}
		var kept []load.Hit
		for _, h := range page {
			if _, out := retracted[h.Key]; !out && !lost[h.Ref] && !seen[h.Ref] {
				seen[h.Ref] = true
				kept = append(kept, h)
			}
		}
		return kept, nil
	})
	if err != nil {
		return err
	}
	out := make([]solvedHit, len(hits))
	for i, h := range hits {
		out[i] = solvedHit{
			SessionID: h.Ref, Question: load.String(h.Payload, "question"), SQL: load.String(h.Payload, "sql"),
			Tables: texts(h.Payload, "tables"), Score: fourDecimals(h.Score),
		}
	}
	if e.JSON {
		return report.Document(e.Stdout, out)
	}
	return e.printSolved(out)
}

func (e *Env) printSolved(hits []solvedHit) error {
	if len(hits) == 0 {
		_, err := fmt.Fprintln(e.Stdout, e.Words.Say("search_empty", nil))
		return err
	}
	for _, h := range hits {
		if _, err := fmt.Fprintf(e.Stdout, "%.4f  %s  %s\n        %s\n", h.Score, words.Safe(h.SessionID), shown(h.Question), shown(h.SQL)); err != nil {
			return err
		}
	}
	return nil
}

// texts is a list of a payload, in either layout.
func texts(payload map[string]any, name string) []string {
	out := []string{}
	values, _ := load.Field(payload, name).([]any)
	for _, v := range values {
		if text, ok := v.(string); ok {
			out = append(out, text)
		}
	}
	return out
}
