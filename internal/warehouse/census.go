//go:build duckdb_arrow

package warehouse

import (
	"context"
	"errors"

	query "github.com/thtbatch/thtbatch/sql"
)

// ReasonCount is a reason and how many records have it.
type ReasonCount struct {
	Reason string
	Count  int
}

// Withheld tells why records are held back.
func (db *DB) Withheld(ctx context.Context) ([]ReasonCount, error) {
	return db.reasons(ctx, query.Text("plan/withheld"))
}

// Quarantine tells what could not be read, by reason.
func (db *DB) Quarantine(ctx context.Context) ([]ReasonCount, error) {
	return db.reasons(ctx, query.Text("read/quarantine_reasons"))
}

// CandidateCounts are the candidates by status.
func (db *DB) CandidateCounts(ctx context.Context) ([]ReasonCount, error) {
	return db.reasons(ctx, query.Text("read/candidate_counts"))
}

// RegistryCounts are the readable lines of the registry.
type RegistryCounts struct{ Lines, Indexable int }

// RegistryCounts counts them.
func (db *DB) RegistryCounts(ctx context.Context) (c RegistryCounts, err error) {
	err = db.row(ctx, query.Text("read/registry_counts"), &c.Lines, &c.Indexable)
	return c, err
}

// Census is the corpus in numbers.
type Census struct {
	OK, Degraded, Invalid, Gone int
	Decisions                   int64
}

// Census counts it.
func (db *DB) Census(ctx context.Context) (c Census, err error) {
	err = db.row(ctx, query.Text("read/census"), &c.OK, &c.Degraded, &c.Invalid, &c.Gone, &c.Decisions)
	return c, err
}

// row reads the one row of a statement.
func (db *DB) row(ctx context.Context, statement string, into ...any) (err error) {
	rows, err := db.duck.Query(ctx, statement)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
	}
	return rows.Err()
}

func (db *DB) reasons(ctx context.Context, statement string) (out []ReasonCount, err error) {
	rows, err := db.duck.Query(ctx, statement)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var r ReasonCount
		if err := rows.Scan(&r.Reason, &r.Count); err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, rows.Err()
}
