//go:build duckdb_arrow

package warehouse

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/thtbatch/thtbatch/internal/duck"
	"github.com/thtbatch/thtbatch/internal/fault"
	"github.com/thtbatch/thtbatch/internal/record"
	query "github.com/thtbatch/thtbatch/sql"
)

// PublishedFile is the name of the DuckDB file in a publication.
const PublishedFile = "thtbatch.duckdb"

// ParquetFile is the name of a view's file in a publication.
func ParquetFile(view string) string { return view + ".parquet" }

// Published is a publication, open for reading and sealed: what is asked of it
// can reach the public views and nothing else on the machine. It can be open
// while a job runs.
type Published struct{ duck *duck.DB }

// OpenPublished opens the publication in a directory. The caller closes it.
func OpenPublished(ctx context.Context, dir string, o duck.Options) (*Published, error) {
	// The link is resolved once, so that all files are of one publication.
	resolved, err := filepath.EvalSymlinks(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fault.New(fault.Usage, "nothing_published", "path", dir)
	}
	if err != nil {
		return nil, fault.New(fault.Failed, "publication_unreadable", "path", dir).Because(err)
	}
	o.Path, o.ReadOnly = filepath.Join(resolved, PublishedFile), true
	handle, err := duck.Open(ctx, o)
	if err != nil {
		return nil, fault.New(fault.Failed, "publication_unreadable", "path", o.Path).Because(err)
	}
	p := &Published{handle}
	if err := handle.Exec(ctx, query.Text("read/runs"), filepath.Join(resolved, ParquetFile(runsView))); err != nil {
		return nil, errors.Join(fault.New(fault.Failed, "publication_unreadable", "path", resolved).Because(err), p.Close())
	}
	if err := handle.Seal(ctx); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// Close releases the publication.
func (p *Published) Close() error { return p.duck.Close() }

// DemoQuery is a statement that shows what can be asked, without its comment.
func DemoQuery() string {
	_, statement, _ := strings.Cut(query.Text("read/demo"), "\n")
	return strings.TrimSpace(statement)
}

// Query runs one reading statement of a person. header gets the names of the
// columns, row each row in values of JSON; their errors come back as they are.
// What DuckDB has against the statement is told in its words, what goes wrong on
// rows by its class alone, and the statement itself stands in no error.
func (p *Published) Query(ctx context.Context, statement string, header func([]string) error, row func([]any) error) error {
	err := p.duck.CheckReads(ctx, statement)
	if errors.Is(err, duck.ErrNotReadOnly) {
		return fault.New(fault.Usage, "query_refused").Because(err)
	}
	if err != nil {
		return queryFault(ctx, err)
	}
	var own error // of whoever takes the rows
	kept := func(err error) error {
		own = err
		return err
	}
	err = p.duck.ReadRows(ctx,
		func(names []string) error { return kept(header(names)) },
		func(values []any) error { return kept(row(values)) }, statement)
	if err == nil || own != nil {
		return own
	}
	return queryFault(ctx, err)
}

// queryFault keeps of an error what DuckDB said; its class is all that a log
// gets to see, because a message about a statement quotes it.
func queryFault(ctx context.Context, err error) error {
	var said *duck.Error
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case !errors.As(err, &said):
		return fault.New(fault.Usage, "query_failed", "reason", "the statement cannot be run")
	}
	return fault.New(fault.Usage, "query_failed", "reason", said.Error()).Because(&duck.Error{Class: said.Class})
}

// Memories resolves registry ids: those that are indexable, by id.
func (p *Published) Memories(ctx context.Context, ids []string) (map[string]record.Memory, error) {
	out := map[string]record.Memory{}
	err := p.duck.ReadArrow(ctx, func(b arrow.RecordBatch) error {
		c := columnsOf(b)
		for row := range int(b.NumRows()) {
			m := c.memory(row)
			out[m.ID] = m
		}
		return nil
	}, query.Text("read/memories"), anys(ids))
	return out, err
}

// Decided are the Memory ids that a session has decided on: rejected, or cited.
func (p *Published) Decided(ctx context.Context, sessionID string) (map[string]bool, error) {
	return p.set(ctx, query.Text("read/decided"), sessionID)
}

// ApprovalLost are those of the sessions whose approval is known to hold no
// longer.
func (p *Published) ApprovalLost(ctx context.Context, sessionIDs []string) (map[string]bool, error) {
	return p.set(ctx, query.Text("read/approval_lost"), anys(sessionIDs))
}

func (p *Published) set(ctx context.Context, statement string, arg any) (map[string]bool, error) {
	out := map[string]bool{}
	err := p.duck.ReadRows(ctx, func([]string) error { return nil }, func(row []any) error {
		text, ok := row[0].(string)
		if !ok {
			return fmt.Errorf("a key of type %T", row[0])
		}
		out[text] = true
		return nil
	}, statement, arg)
	return out, err
}

// SessionState is what is known of one session.
type SessionState struct {
	State, Reason string
	Usable        bool
}

// Session returns nil for a session that is not known.
func (p *Published) Session(ctx context.Context, id string) (s *SessionState, err error) {
	rows, err := p.duck.Query(ctx, query.Text("read/session"), id)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		s = &SessionState{}
		if err := rows.Scan(&s.State, &s.Reason, &s.Usable); err != nil {
			return nil, err
		}
	}
	return s, rows.Err()
}

// Candidate is a row of promotion_candidates, without its session.
type Candidate struct {
	record.Memory
	Status         string
	Rank           int64 // 0: none
	DuplicateOfSeq int64 // 0: none
	ReusesMemoryID string
}

// Candidates of one session, the ranked ones first.
func (p *Published) Candidates(ctx context.Context, sessionID string) ([]Candidate, error) {
	var out []Candidate
	err := p.duck.ReadArrow(ctx, func(b arrow.RecordBatch) error {
		c := columnsOf(b)
		for row := range int(b.NumRows()) {
			seq := c.int("decision_seq", row)
			out = append(out, Candidate{
				Memory: record.Memory{
					SessionID: sessionID, DecisionSeq: &seq, Type: c.text("type", row), Subject: c.text("subject", row),
					Detail: c.text("detail", row), Rationale: c.text("rationale", row),
					QuestionContext: c.text("question_context", row), Tables: c.texts("tables", row), Concepts: c.texts("concepts", row),
				},
				Status: c.text("status", row), Rank: c.int("rank", row), DuplicateOfSeq: c.int("duplicate_of_seq", row),
				ReusesMemoryID: c.text("reuses_memory_id", row),
			})
		}
		return nil
	}, query.Text("read/candidates"), sessionID)
	return out, err
}

func anys(texts []string) []any {
	out := make([]any, len(texts))
	for i, s := range texts {
		out[i] = s
	}
	return out
}
