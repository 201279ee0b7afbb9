package jobs

import (
	"context"
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/thtbatch/thtbatch/internal/fault"
	"github.com/thtbatch/thtbatch/internal/record"
	"github.com/thtbatch/thtbatch/internal/report"
	"github.com/thtbatch/thtbatch/internal/warehouse"
	"github.com/thtbatch/thtbatch/internal/words"
)

// proposed is one candidate of the preview: exactly these fields.
type proposed struct {
	DecisionSeq     int64    `json:"decision_seq"`
	Type            string   `json:"type"`
	Subject         string   `json:"subject"`
	Detail          string   `json:"detail"`
	Rationale       string   `json:"rationale"`
	QuestionContext string   `json:"question_context"`
	Tables          []string `json:"tables"`
	Concepts        []string `json:"concepts"`
}

func candidates() Job {
	var session string
	return Job{
		Name: "candidates", Usage: "show what a session proposes to promote to Memory",
		Flags: []cli.Flag{&cli.StringFlag{Name: "session", Usage: "the session `ID`", Destination: &session}},
		Run: func(ctx context.Context, e *Env, _ []string) error {
			if session == "" {
				return fault.New(fault.Usage, "missing_flag", "flag", "--session")
			}
			return e.runCandidates(ctx, session)
		},
	}
}

func (e *Env) runCandidates(ctx context.Context, session string) (err error) {
	published, dir, err := e.published(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, published.Close()) }()
	known, err := published.Session(ctx, session)
	if err != nil {
		return err
	}
	if known == nil {
		return fault.New(fault.Input, "session_not_found", "session", session, "path", e.publishDir(dir))
	}
	if !known.Usable {
		return fault.New(fault.Input, "session_not_usable", "session", session, "state", known.State, "reason", known.Reason)
	}
	all, err := published.Candidates(ctx, session)
	if err != nil {
		return err
	}
	out := []proposed{}
	for _, c := range all {
		if c.Status == "proposed" && record.Reusable(c.Type) {
			out = append(out, proposed{*c.DecisionSeq, c.Type, c.Subject, c.Detail, c.Rationale, c.QuestionContext, nonNil(c.Tables), nonNil(c.Concepts)})
		}
	}
	if e.JSON {
		return report.Document(e.Stdout, out)
	}
	return e.printCandidates(all)
}

// printCandidates shows people all of them: what does not fit under the cap is
// knowledge that would be lost.
func (e *Env) printCandidates(all []warehouse.Candidate) error {
	if len(all) == 0 {
		_, err := fmt.Fprintln(e.Stdout, e.Words.Say("candidates_empty", nil))
		return err
	}
	for _, c := range all {
		note := ""
		switch {
		case c.DuplicateOfSeq != 0:
			note = fmt.Sprintf(" (seq:%d)", c.DuplicateOfSeq)
		case c.ReusesMemoryID != "":
			note = " (" + words.Safe(c.ReusesMemoryID) + ")"
		}
		if _, err := fmt.Fprintf(e.Stdout, "seq:%-4d %-10s %s: %s%s\n", *c.DecisionSeq, e.Words.Label("candidate", c.Status),
			shown(c.Subject), shown(c.Detail), note); err != nil {
			return err
		}
	}
	return nil
}
