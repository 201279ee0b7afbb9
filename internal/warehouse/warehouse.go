//go:build duckdb_arrow

// Package warehouse is the DuckDB file in which everything is computed: what
// was parsed is kept per file, what is derived is computed by the statements
// below sql/, and the public views stand over both. The file may be deleted at
// any time; the next run fills it again.
package warehouse

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/thtbatch/thtbatch/internal/duck"
	"github.com/thtbatch/thtbatch/internal/fault"
	query "github.com/thtbatch/thtbatch/sql"
)

// schemaVersion is raised with every change of the tables. A file of another
// version is dropped and filled anew: that is what it may always be.
const schemaVersion = "1"

// rulesVersion is raised with every change of the statements in sql/derive
// that gives other rows, so that what is derived is computed again.
const rulesVersion = 1

// DB is an open warehouse. It is used by one goroutine at a time.
type DB struct{ duck *duck.DB }

// Rules are the settings that what is derived depends on.
type Rules struct {
	WithdrawalType, ReopeningType string
	ReopenInclusive               bool
	CandidateCap                  int
	Phases                        map[string]int // phase of a type that names none
	SolvedStatuses                []string
	ExcerptFull                   bool
	// Where the files are, for the columns path.
	ArtifactsRoot                             string
	Sessions, Manifest, Ledger, SQL, Registry string
}

// fingerprint covers what changes the derived rows. The root is left out: it
// is joined to in the views.
func (r Rules) fingerprint() (string, error) {
	r.ArtifactsRoot = ""
	text, err := json.Marshal(struct {
		Version int
		Rules   Rules
	}{rulesVersion, r})
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}

// Open opens or creates the file. A file of another schema is replaced.
func Open(ctx context.Context, o duck.Options) (*DB, error) {
	db, version, err := open(ctx, o)
	if err != nil {
		return nil, err
	}
	if version == schemaVersion {
		return db, nil
	}
	if version != "" {
		if err := db.Close(); err != nil {
			return nil, err
		}
		for _, file := range []string{o.Path, o.Path + ".wal"} {
			if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
				return nil, fmt.Errorf("replace the warehouse of schema %s: %w", version, err)
			}
		}
		if db, _, err = open(ctx, o); err != nil {
			return nil, err
		}
	}
	if err := db.create(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

func open(ctx context.Context, o duck.Options) (*DB, string, error) {
	handle, err := duck.Open(ctx, o)
	if errors.Is(err, duck.ErrBusy) {
		return nil, "", fault.New(fault.Locked, "warehouse_busy", "path", o.Path).Because(err)
	}
	if err != nil {
		return nil, "", fault.New(fault.Failed, "warehouse_unreadable", "path", o.Path).Because(err)
	}
	db := &DB{duck: handle}
	version, err := db.version(ctx)
	if err != nil {
		return nil, "", errors.Join(err, handle.Close())
	}
	return db, version, nil
}

// version is empty for a file without tables.
func (db *DB) version(ctx context.Context) (string, error) {
	var tables int
	if err := db.duck.Value(ctx, &tables, query.Text("schema/has_meta")); err != nil {
		return "", err
	}
	if tables == 0 {
		return "", nil
	}
	version, err := db.meta(ctx, "schema_version")
	if version == "" && err == nil {
		version = "0"
	}
	return version, err
}

// create makes all tables and views in one transaction: a file has a schema of
// one version or none.
func (db *DB) create(ctx context.Context) error {
	return db.duck.Tx(ctx, func() error {
		for _, name := range []string{"tables", "macros", "views", "effective_decisions", "comments", "comments_effective"} {
			if err := db.duck.Exec(ctx, query.Text("schema/"+name)); err != nil {
				return err
			}
		}
		return db.setMeta(ctx, "schema_version", schemaVersion)
	})
}

// Close writes what is pending and releases the file.
func (db *DB) Close() error { return db.duck.Close() }

// Checkpoint moves what was committed into the file itself.
func (db *DB) Checkpoint(ctx context.Context) error { return db.duck.Checkpoint(ctx) }

// SetRules stores the rules. Where they differ from what the derived rows were
// computed with, all sessions and Memory are to be derived again; it then
// returns true.
func (db *DB) SetRules(ctx context.Context, r Rules) (changed bool, err error) {
	fingerprint, err := r.fingerprint()
	if err != nil {
		return false, err
	}
	root, err := db.meta(ctx, "artifacts_root")
	if err != nil {
		return false, err
	}
	before, err := db.meta(ctx, "rules")
	if err != nil || (before == fingerprint && root == r.ArtifactsRoot) {
		return false, err
	}
	err = db.duck.Tx(ctx, func() error {
		if err := db.forgetExcerpts(ctx, r.ExcerptFull); err != nil {
			return err
		}
		if err := db.duck.Exec(ctx, query.Text("schema/rules_clear")); err != nil {
			return err
		}
		if err := db.duck.Exec(ctx, query.Text("schema/rules"), r.WithdrawalType, r.ReopeningType, r.ReopenInclusive,
			r.CandidateCap, r.ArtifactsRoot, r.Sessions, r.Manifest, r.Ledger, r.SQL, r.Registry, r.ExcerptFull); err != nil {
			return err
		}
		for _, name := range slices.Sorted(maps.Keys(r.Phases)) {
			if err := db.duck.Exec(ctx, query.Text("schema/rules_phase"), name, r.Phases[name]); err != nil {
				return err
			}
		}
		for _, status := range r.SolvedStatuses {
			if err := db.duck.Exec(ctx, query.Text("schema/rules_status"), status); err != nil {
				return err
			}
		}
		if before != fingerprint {
			for _, name := range []string{"derive/forget_all", "derive/memories"} {
				if err := db.duck.Exec(ctx, query.Text(name)); err != nil {
					return err
				}
			}
		}
		if err := db.touch(ctx, GroupSessions, GroupMemories); err != nil {
			return err
		}
		return errors.Join(db.setMeta(ctx, "rules", fingerprint), db.setMeta(ctx, "artifacts_root", r.ArtifactsRoot))
	})
	return before != fingerprint, err
}

// forgetExcerpts has the files with quarantined lines read again by the next
// scan where their excerpts were made under another setting.
func (db *DB) forgetExcerpts(ctx context.Context, full bool) error {
	var differ bool
	if err := db.duck.Value(ctx, &differ, query.Text("schema/excerpts_differ"), full); err != nil || !differ {
		return err
	}
	return db.duck.Exec(ctx, query.Text("schema/forget_excerpts"))
}

// Group is a set of views that change together; publishing writes anew only
// the groups that changed.
type Group string

// The groups. Runs, index_plan and the near-duplicates are no group: they
// belong to a run.
const (
	GroupSessions Group = "sessions"
	GroupMemories Group = "memories"
	GroupIndex    Group = "index"
)

// touch marks groups as changed, inside the transaction that changes them.
func (db *DB) touch(ctx context.Context, groups ...Group) error {
	stamp := strconv.FormatInt(time.Now().UnixNano(), 36)
	for _, g := range groups {
		if err := db.setMeta(ctx, "changed_"+string(g), stamp); err != nil {
			return err
		}
	}
	return nil
}

// Changed tells when each group last changed, as an opaque text that is
// different after each change and in each new file.
func (db *DB) Changed(ctx context.Context) (map[Group]string, error) {
	out := map[Group]string{}
	for _, g := range []Group{GroupSessions, GroupMemories, GroupIndex} {
		stamp, err := db.meta(ctx, "changed_"+string(g))
		if err != nil {
			return nil, err
		}
		out[g] = stamp
	}
	return out, nil
}

func (db *DB) meta(ctx context.Context, key string) (string, error) {
	var value string
	err := db.duck.Value(ctx, &value, query.Text("schema/meta_get"), key)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return value, err
}

func (db *DB) setMeta(ctx context.Context, key, value string) error {
	if err := db.duck.Exec(ctx, query.Text("schema/meta_clear"), key); err != nil {
		return err
	}
	return db.duck.Exec(ctx, query.Text("schema/meta_set"), key, value)
}
