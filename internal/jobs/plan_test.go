package jobs_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/thtbatch/thtbatch/internal/fault"
	"github.com/thtbatch/thtbatch/internal/record"
)

// planned is a tree and an index between which every action is found.
type planned struct {
	*prepared
	want  map[string]string // actions, by key
	ids   map[string]string // point ids before the run, by key
	extra map[string]any    // fields of another writer, on every point
}

func newPlanned(t *testing.T) *planned {
	t.Helper()
	d := newDesk(t)
	p := &planned{prepared: prepare(t, d), ids: map[string]string{}, extra: map[string]any{"color": "red", "rank": 7}}
	add := func(key, id string, payload, changed map[string]any) {
		maps.Copy(payload, p.extra)
		p.ids[key] = p.put(id, payload, changed)
	}
	number := func(id string) string { return "concept " + id }
	var lines []string
	for _, id := range []string{"mem-0001", "mem-0002", "mem-0003", "mem-0004", "mem-0005", "mem-0006", "mem-0007", "mem-0008", "mem-0009", "mem-0011", "mem-0012", "mem-0013"} {
		lines = append(lines, concept(id, number(id)))
	}
	lines = append(lines, memory("mem-0010", "table_promoted", number("mem-0010"), "what concept mem-0010 means"))
	d.registry(t, lines...)
	d.session(t, "s-sql", solved("select 2"))
	d.session(t, "s-degraded", degraded(solved("select 2")))
	d.session(t, "s-new", solved("select 3"))
	d.session(t, "s-open", sessionText{manifest: "id: s-open\nquestion: How many?\nstatus: open\n", ledger: ledger("sql_approved"), sql: "select 1"})

	m := func(id string) map[string]any { return p.memory(t, id, number(id)) }
	add("memory:mem-0002", "11111111-0000-4000-8000-000000000002", m("mem-0002"), anotherWriter(nil))
	add("memory:mem-0003", "11111111-0000-4000-8000-000000000003", m("mem-0003"), anotherWriter(map[string]any{"content_hash": record.Hash("another wording")}))
	add("memory:mem-0004", "", m("mem-0004"), map[string]any{"embed_space": "ollama/some;dim=64;norm=l2;trunc=none;prefix="})
	add("memory:mem-0005", "", p.memory(t, "mem-0005", "an older wording"), nil)
	add("memory:mem-0006", "", m("mem-0006"), map[string]any{"payload_hash": record.Hash("other metadata"), "tables": []string{"gone"}})
	add("memory:mem-0007", "", m("mem-0007"), nil)
	add("memory:mem-0008", "", m("mem-0008"), nil)
	p.put("22222222-0000-4000-8000-000000000008", m("mem-0008"), nil)
	add("memory:mem-0009", "", p.memory(t, "mem-0009", "an older wording"), nil)
	add("memory:mem-0010", "", m("mem-0010"), nil)
	add("memory:mem-0012", "11111111-0000-4000-8000-000000000012", p.memory(t, "mem-0012", "an older wording"), nil)
	add("memory:mem-0090", "", m("mem-0090"), nil)
	add("memory:mem-0091", "", m("mem-0091"), nil)
	add("solved:s-sql", "", p.solved(t, "s-sql", "select 1"), nil)
	add("solved:s-degraded", "", p.solved(t, "s-degraded", "select 1"), nil)
	add("solved:s-gone", "", p.solved(t, "s-gone", "select 1"), nil)
	add("evidence:1", "", m("mem-0501"), map[string]any{"record_key": "evidence:1"})
	add("memory:mem-0500", "", m("mem-0500"), map[string]any{"workspace": "another"})
	p.write(t, legacy("memory:mem-0010", "table_promoted"), kindOf(record.PointID("evidence:1"), "evidence"))
	d.retract(t, "retract", "memory:mem-0009", "memory:mem-0091", "memory:mem-0013", "memory:mem-0001", "nothing:of-ours")
	d.retract(t, "restore", "memory:mem-0001")
	d.settings.Index.AdoptAs = p.space
	p.want = map[string]string{
		"memory:mem-0001": "insert", "memory:mem-0002": "adopt", "memory:mem-0003": "foreign", "memory:mem-0004": "reembed",
		"memory:mem-0005": "update", "memory:mem-0006": "repayload", "memory:mem-0007": "unchanged", "memory:mem-0008": "unchanged+twin",
		"memory:mem-0009": "retracted", "memory:mem-0010": "withheld", "memory:mem-0011": "insert", "memory:mem-0012": "update",
		"memory:mem-0013": "retracted", "memory:mem-0090": "orphan", "memory:mem-0091": "retracted", "solved:s-sql": "update",
		"solved:s-degraded": "withheld", "solved:s-new": "insert", "solved:s-open": "withheld", "solved:s-gone": "orphan",
	}
	return p
}

// rowsOf are the actions of a printed plan, which leaves out what is unchanged.
func rowsOf(t *testing.T, s summary) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, row := range s.Plan {
		if row.Reason == "" {
			t.Errorf("%s %s without a reason", row.Action, row.Key)
		}
		if row.Action != "unchanged" {
			out[row.Key] = strings.TrimPrefix(out[row.Key]+"+"+row.Action, "+")
		}
	}
	return out
}

func sameActions(t *testing.T, what string, got, want map[string]string) {
	t.Helper()
	for _, key := range slices.Sorted(maps.Keys(want)) {
		if got[key] != want[key] {
			t.Errorf("%s: %s is planned as %q, want %q", what, key, got[key], want[key])
		}
	}
	for key, action := range got {
		if want[key] == "" {
			t.Errorf("%s: %s is planned as %q and has no place in the plan", what, key, action)
		}
	}
}

// Every action of the table, each with a record of its own.
func TestPlanHasEveryAction(t *testing.T) {
	t.Parallel()
	p := newPlanned(t)
	before := p.d.index(t)

	// The plan alone writes nothing.
	index := filesOf(t, p.d.state("index"))
	shown := maps.Clone(p.want)
	delete(shown, "memory:mem-0007")
	shown["memory:mem-0008"] = "twin"
	dry := p.d.run(t, fault.Done, "backfill", "--dry-run").summary
	sameActions(t, "dry run", rowsOf(t, dry), shown)
	sameFiles(t, "dry run", index, filesOf(t, p.d.state("index")))
	if dry.Embedded+dry.Inserted+dry.Updated+dry.Repayloaded != 0 || dry.Published.Dir != "" {
		t.Errorf("dry run: %+v", dry.Summary)
	}
	if got := filesOf(t, p.d.state("published")); len(got) != 0 {
		t.Errorf("dry run: published %v", got)
	}

	s := p.d.run(t, fault.Done, "backfill").summary
	sameActions(t, "run", p.d.planOf(t, s), p.want)
	// insert 3, reembed 1, update 2 of 3: of the third only the SQL differs.
	if s.Embedded != 6 || s.Inserted != 3 || s.Updated != 4 || s.Repayloaded != 2 || s.Unchanged != 2 || s.Failed != 0 {
		t.Errorf("embedded %d, inserted %d, updated %d, repayloaded %d, unchanged %d, failed %d", s.Embedded, s.Inserted, s.Updated, s.Repayloaded, s.Unchanged, s.Failed)
	}
	p.carriedOut(t, before)

	// What was adopted, updated or inserted is ours now; the rest is reported again.
	again := p.d.run(t, fault.Done, "backfill").summary
	want := maps.Clone(p.want)
	for key, action := range want {
		switch action {
		case "insert", "adopt", "reembed", "update", "repayload":
			want[key] = "unchanged"
		}
	}
	sameActions(t, "second run", p.d.planOf(t, again), want)
	if again.Embedded+again.Inserted+again.Updated+again.Repayloaded != 0 {
		t.Errorf("the second run wrote: %+v", again.Summary)
	}
}

// carriedOut compares the index with what a run on nothing writes: payloads,
// and vectors where the text was embedded.
func (p *planned) carriedOut(t *testing.T, before map[string]point) {
	t.Helper()
	fresh := p.d.elsewhere(t)
	fresh.run(t, fault.Done, "backfill")
	made, after := fresh.index(t), p.d.index(t)
	for key, action := range p.want {
		id := p.ids[key]
		if id == "" { // there was none
			id = record.PointID(key)
			if _, there := after[id]; there != (action == "insert") {
				t.Errorf("%s is %s, and in the index: %v", key, action, there)
			}
		}
		got, was, want := after[id], before[id], made[record.PointID(key)]
		switch action {
		case "insert", "reembed", "adopt", "update", "repayload":
			if action != "insert" {
				for name, value := range p.extra {
					if fmt.Sprint(got.Payload[name]) != fmt.Sprint(value) {
						t.Errorf("%s, %s: the field %s of another writer is %v", key, action, name, got.Payload[name])
					}
					delete(got.Payload, name)
				}
			}
			if canonical(t, got.Payload) != canonical(t, want.Payload) {
				t.Errorf("%s, %s: payload\n  %s\nwant\n  %s", key, action, canonical(t, got.Payload), canonical(t, want.Payload))
			}
			kept := action == "adopt" || action == "repayload" || key == "solved:s-sql"
			if kept && got.Vector != was.Vector || !kept && got.Vector != want.Vector {
				t.Errorf("%s, %s: not the vector that it should have (kept: %v)", key, action, kept)
			}
		default:
			if canonical(t, got) != canonical(t, was) {
				t.Errorf("%s, %s: it was written\n  %s\nwas\n  %s", key, action, canonical(t, got.Payload), canonical(t, was.Payload))
			}
		}
		delete(before, id)
		delete(after, id)
	}
	// What is left belongs to others: another kind, another workspace, the twin.
	samePoints(t, "points of others", after, before)
	if len(after) != 3 {
		t.Errorf("%d points of others", len(after))
	}
}

// A narrowed run plans what it was asked for, and takes nothing for an orphan.
func TestNarrowedPlanHasNoOrphans(t *testing.T) {
	t.Parallel()
	p := newPlanned(t)
	for _, test := range []struct {
		flags []string
		keep  func(key string) bool
	}{
		{[]string{"--only", "memories"}, func(key string) bool { return strings.HasPrefix(key, "memory:") }},
		{[]string{"--only", "solved"}, func(key string) bool { return strings.HasPrefix(key, "solved:") }},
		{[]string{"--session", "s-sql"}, func(key string) bool { return key == "solved:s-sql" }},
		{[]string{"--session", "s-degraded", "--only", "solved"}, func(key string) bool { return key == "solved:s-degraded" }},
		{[]string{"--session", "s-sql", "--only", "memories"}, func(string) bool { return false }},
	} {
		want := map[string]string{}
		for key, action := range p.want {
			// A retracted key without a source is found by a complete scan alone.
			if !test.keep(key) || action == "orphan" || key == "memory:mem-0091" {
				continue
			}
			if action = strings.TrimPrefix(strings.TrimPrefix(action, "unchanged"), "+"); action != "" {
				want[key] = action
			}
		}
		s := p.d.run(t, fault.Done, append([]string{"backfill", "--dry-run"}, test.flags...)...).summary
		sameActions(t, fmt.Sprint(test.flags), rowsOf(t, s), want)
	}
}

// Without a setting that says what another writer's vectors are, they are left
// alone.
func TestVectorsOfUnknownModelsAreForeign(t *testing.T) {
	t.Parallel()
	p := newPlanned(t)
	for _, adoptAs := range []string{"", "ollama/some;dim=64;norm=l2;trunc=none;prefix="} {
		p.d.settings.Index.AdoptAs = adoptAs
		got := rowsOf(t, p.d.run(t, fault.Done, "backfill", "--dry-run").summary)
		for _, key := range []string{"memory:mem-0002", "memory:mem-0003"} {
			if got[key] != "foreign" {
				t.Errorf("adopt_as %q: %s is %s", adoptAs, key, got[key])
			}
		}
	}
}

// An index of vectors of another length stays as it is.
func TestIndexOfAnotherDimensionIsRefused(t *testing.T) {
	t.Parallel()
	p := newPlanned(t)
	index := filesOf(t, p.d.state("index"))
	p.d.settings.Embed.Dimensions = 2 * dimensions
	out := p.d.run(t, fault.Usage, "backfill")
	if idOf(out.err) != "dimension_differs" || pathOf(out.err) != p.d.state("index", "local.duckdb") {
		t.Errorf("%v", out.err)
	}
	sameFiles(t, "index", index, filesOf(t, p.d.state("index")))
}

// A record of another workspace under a key of ours is never written over, and
// nothing else is written either.
func TestRecordOfAnotherWorkspaceIsRefused(t *testing.T) {
	t.Parallel()
	d := cleanDesk(t, 3)
	p := prepare(t, d)
	p.put("", p.memory(t, "mem-0002", "theirs"), map[string]any{"workspace": "another"})
	p.write(t)
	index := filesOf(t, d.state("index"))
	for _, flags := range [][]string{{"--dry-run"}, nil, {"--only", "memories"}} {
		out := d.run(t, fault.Guard, append([]string{"backfill"}, flags...)...)
		if idOf(out.err) != "other_workspace" {
			t.Errorf("%v: %v", flags, out.err)
		}
	}
	sameFiles(t, "index", index, filesOf(t, d.state("index")))
	if s := d.run(t, fault.Done, "backfill", "--only", "solved").summary; s.Inserted != 3 {
		t.Errorf("the others: inserted %d", s.Inserted)
	}
}

// A point of a kind that is not ours may have any key: it is not taken for our
// record, neither in the plan nor when the store is asked once more.
func TestKeyOfAnotherKindIsNotOurs(t *testing.T) {
	t.Parallel()
	d := cleanDesk(t, 2)
	p := prepare(t, d)
	const theirs = "33333333-0000-4000-8000-000000000001"
	p.put(theirs, p.memory(t, "mem-0001", "theirs"), map[string]any{"workspace": "another"})
	p.write(t, kindOf(theirs, "evidence"))
	before := d.index(t)
	s := d.run(t, fault.Done, "backfill").summary
	if s.Inserted != 4 {
		t.Errorf("inserted %d", s.Inserted)
	}
	after := d.index(t)
	if canonical(t, after[theirs]) != canonical(t, before[theirs]) {
		t.Error("a point of another kind was written over")
	}
	if _, there := after[record.PointID("memory:mem-0001")]; !there {
		t.Error("the Memory is not in the index")
	}
}
