package jobs_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/thtbatch/thtbatch/internal/fault"
	"github.com/thtbatch/thtbatch/internal/publish"
)

// cleanDesk has a tree in which every session is solved and every Memory
// indexable.
func cleanDesk(t *testing.T, sessions int) *desk {
	t.Helper()
	d := newDesk(t)
	var concepts []string
	for i := range sessions {
		d.session(t, fmt.Sprintf("s-%03d", i), solved(fmt.Sprintf("select %d", i)))
		concepts = append(concepts, concept(fmt.Sprintf("mem-%04d", i+1), fmt.Sprintf("concept number %d", i)))
	}
	d.registry(t, concepts...)
	d.age(t)
	return d
}

func TestUnchangedNightWritesNothing(t *testing.T) {
	t.Parallel()
	for name, make := range map[string]func(*testing.T) *desk{
		"clean": func(t *testing.T) *desk { return cleanDesk(t, 40) },
		"odd":   func(t *testing.T) *desk { return randomDesk(t, rand.New(rand.NewPCG(11, 0)), 40) },
	} {
		t.Run(name, func(t *testing.T) {
			d := make(t)
			first := d.backfill(t)
			if first.Inserted == 0 || first.Published.Unchanged {
				t.Fatalf("the first run inserted %d, published %+v", first.Inserted, first.Published)
			}
			index := filesOf(t, d.state("index"))
			published := filesOf(t, d.state("published"))
			points, views := d.index(t), d.views(t)

			out := d.run(t, fault.Done, "backfill")
			s := out.summary
			if s.Embedded+s.Inserted+s.Updated+s.Repayloaded+s.Failed != 0 || s.Unchanged != first.Inserted {
				t.Errorf("embedded %d, inserted %d, updated %d, repayloaded %d, failed %d, unchanged %d of %d",
					s.Embedded, s.Inserted, s.Updated, s.Repayloaded, s.Failed, s.Unchanged, first.Inserted)
			}
			for action, n := range s.actions() {
				if action != "unchanged" && (action != "withheld" || name == "clean") {
					t.Errorf("%d records planned as %s", n, action)
				}
			}
			if s.Sessions.Read != 0 || s.Sessions.Changed != 0 {
				t.Errorf("read %d sessions, %d changed", s.Sessions.Read, s.Sessions.Changed)
			}
			if name == "clean" && !s.NothingNew() {
				t.Error("the summary does not say that nothing is new")
			}
			if !s.Published.Unchanged || !slices.Equal(s.Published.Views, []string{"runs"}) {
				t.Errorf("published %+v", s.Published)
			}
			sameFiles(t, "index", index, filesOf(t, d.state("index")))
			runs := filepath.Join(d.current(t), "runs.parquet")
			after := filesOf(t, d.state("published"))
			if published[runs] == after[runs] {
				t.Error("runs.parquet was not written")
			}
			sameFiles(t, "publication", without(published, runs), without(after, runs))
			samePoints(t, "index", d.index(t), points)
			sameViews(t, "views", d.views(t), views)
			if got := d.query(t, "SELECT job, status, exit_code, embedded, unchanged FROM runs"); len(got) != 2 {
				t.Errorf("the published runs are %v", got)
			}
		})
	}
}

// current is the name of the current publication.
func (d *desk) current(t *testing.T) string {
	t.Helper()
	target, err := filepath.EvalSymlinks(d.state("published", publish.Current))
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Base(target)
}

// A changed registry has Memory and candidates computed again, and no ledger is
// read for it.
func TestChangedRegistryReadsNoLedger(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(12, 0))
	d := randomDesk(t, rng, 40)
	m := newMutator(t, rng, d, 5)
	d.backfill(t)
	before := d.views(t)
	for range 12 {
		m.registry(t)
	}
	d.age(t)
	s := d.backfill(t)
	if s.Sessions.Read != 0 {
		t.Errorf("%d sessions were read", s.Sessions.Read)
	}
	fresh := d.elsewhere(t)
	full := fresh.backfill(t)
	d.equalsFull(t, fresh, s, full)
	after := d.views(t)
	for _, view := range []string{"memories", "promotion_candidates"} {
		if slices.Equal(before[view], after[view]) {
			t.Errorf("the changes of the registry show nothing in %s", view)
		}
	}
}

// Each setting that what is computed depends on: what depends on it is computed
// again, as on a fresh state, and no ledger is read for it.
func TestChangedSettingReadsNoLedger(t *testing.T) {
	t.Parallel()
	base := randomDesk(t, rand.New(rand.NewPCG(13, 0)), 50)
	first := base.backfill(t)
	before := base.views(t)
	for _, test := range []struct {
		name   string
		change func(d *desk)
		shows  []string // views that must differ
		writes string   // what the index gets: updated, repayloaded, more, nothing, or anything
	}{
		{"reopen_scope", func(d *desk) { d.settings.ReopenScope = "inclusive" }, []string{"decisions", "promotion_candidates", "solved_questions"}, "anything"},
		{"candidates.cap", func(d *desk) { d.settings.CandidatesCap = 1 }, []string{"promotion_candidates"}, ""},
		{"solved.statuses", func(d *desk) { d.settings.SolvedStatuses = []string{"open", "finalized"} }, []string{"solved_questions"}, "more"},
		{"ledger.phases", func(d *desk) {
			d.settings.Phases["concept_clarified"], d.settings.Phases["sql_approved"] = 6, 1
		}, []string{"decisions", "promotion_candidates"}, "anything"},
		{"ledger.withdrawal_type", func(d *desk) { d.settings.WithdrawalType = "a_new_type" }, []string{"decisions", "sessions"}, "anything"},
		{"ledger.reopening_type", func(d *desk) { d.settings.ReopeningType = "a_new_type" }, []string{"decisions", "sessions"}, "anything"},
		{"accept_degraded", func(d *desk) { d.settings.AcceptDegraded = degradedOf(t, d) }, []string{"sessions", "promotion_candidates", "effective_decisions"}, "more"},
		{"memory.content_template", func(d *desk) {
			d.settings.ContentTemplate = []string{"{subject}", "about {detail}", "tables: {tables}"}
		}, []string{"memories"}, "updated"},
		{"index.layout", func(d *desk) { d.settings.Index.Layout = "nested" }, nil, "repayloaded"},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := base.elsewhere(t)
			copyState(t, base.settings.StateDir, d.settings.StateDir)
			test.change(d)
			s := d.backfill(t)
			if s.Sessions.Read != 0 || s.BytesRead != 0 {
				t.Errorf("%d sessions and %d bytes were read", s.Sessions.Read, s.BytesRead)
			}
			after := d.views(t)
			for _, view := range test.shows {
				if slices.Equal(before[view], after[view]) {
					t.Errorf("the change shows nothing in %s", view)
				}
			}
			fresh := d.elsewhere(t)
			d.equalsFull(t, fresh, s, fresh.backfill(t))
			written := map[string]bool{
				"anything": true, "": s.Updated+s.Repayloaded+s.Embedded == s.Inserted, "more": s.Inserted > 0 && s.Updated+s.Repayloaded == 0,
				"updated": s.Updated > 0, "repayloaded": s.Repayloaded == first.Inserted && s.Embedded == 0 && s.Updated == 0,
			}
			if !written[test.writes] {
				t.Errorf("the index got %q: inserted %d, updated %d, repayloaded %d, embedded %d", test.writes, s.Inserted, s.Updated, s.Repayloaded, s.Embedded)
			}
			again := d.backfill(t)
			if !again.Published.Unchanged || again.Inserted+again.Updated+again.Repayloaded != 0 {
				t.Errorf("the run after it: %+v", again.Published)
			}
		})
	}
}

// degradedOf are the ids of the degraded sessions.
func degradedOf(t *testing.T, d *desk) (ids []string) {
	t.Helper()
	for _, row := range d.query(t, "SELECT session_id FROM sessions WHERE state = 'degraded'") {
		ids = append(ids, field(t, row, "session_id"))
	}
	return ids
}

// The text of a quarantined line is nowhere but in its file: with the setting,
// the lines are read again, in both directions.
func TestExcerptsFollowTheirSetting(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.session(t, "one", sessionText{ledger: `{"seq": 1, "marker": "zebra"` + "\n" + `{"seq": 2, "ts": "2026-01-01", "type": "decision_withdrawn", "detail": "zebra"}` + "\n"})
	d.registry(t, `{"id": 5, "subject": "zebra"}`)
	d.age(t)
	count := func() string {
		return d.query(t, "SELECT count(*) FILTER (excerpt LIKE '%zebra%') AS n FROM quarantine")[0]
	}
	d.run(t, fault.Done, "backfill")
	if got := count(); got != `{"n":0}` {
		t.Errorf("masked excerpts with a text: %s", got)
	}
	d.settings.QuarantineExcerpt = "full"
	d.run(t, fault.Done, "backfill")
	full := count()
	fresh := d.elsewhere(t)
	fresh.run(t, fault.Done, "backfill")
	sameViews(t, "full", d.views(t), fresh.views(t))
	if full == `{"n":0}` {
		t.Error("full excerpts without a text")
	}
	d.settings.QuarantineExcerpt = "masked"
	d.run(t, fault.Done, "backfill")
	if got := count(); got != `{"n":0}` {
		t.Errorf("excerpts masked again, with a text: %s", got)
	}
}

// A changed workspace meets the records of the former one: they are never
// written over.
func TestChangedWorkspaceIsRefused(t *testing.T) {
	t.Parallel()
	d := cleanDesk(t, 10)
	d.backfill(t)
	index, published := filesOf(t, d.state("index")), filesOf(t, d.state("published"))
	d.settings.Workspace = "another"
	for _, flags := range [][]string{nil, {"--dry-run"}, {"--only", "solved"}} {
		out := d.run(t, fault.Guard, append([]string{"backfill"}, flags...)...)
		if !strings.Contains(fmt.Sprint(out.err), "other_workspace") {
			t.Errorf("%v: %v", flags, out.err)
		}
	}
	sameFiles(t, "index", index, filesOf(t, d.state("index")))
	sameFiles(t, "publication", published, filesOf(t, d.state("published")))
	d.settings.Workspace = "default"
	s := d.run(t, fault.Done, "backfill").summary
	if got := slices.Sorted(maps.Keys(s.actions())); !slices.Equal(got, []string{"unchanged"}) {
		t.Errorf("back in its workspace: %v", s.actions())
	}
}
