package jobs_test

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/thtbatch/thtbatch/internal/sample/model"
)

// Night after night over a tree that changes, the views and the index are what
// a run on a fresh state makes of the same tree.
func TestIncrementalEqualsFull(t *testing.T) {
	t.Parallel()
	for _, seed := range seeds(t, 2) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 0))
			d := randomDesk(t, rng, 30)
			m := newMutator(t, rng, d, 30)
			d.backfill(t)
			for night := range 3 {
				touched := m.mutate(t, 1+rng.IntN(14))
				var flags []string
				if rng.IntN(4) == 0 {
					flags = append(flags, "--accept-degraded")
				}
				s := d.backfill(t, append(flags, "--accept-gone")...)
				if s.Sessions.Changed > len(touched) {
					t.Errorf("night %d: %d sessions changed, and %d were touched", night, s.Sessions.Changed, len(touched))
				}
				fresh := d.elsewhere(t)
				full := fresh.backfill(t, flags...)
				d.equalsFull(t, fresh, s, full)
				want, err := model.Read(d.settings.ArtifactsDir, model.Options{AcceptAll: len(flags) > 0})
				if err != nil {
					t.Fatal(err)
				}
				fresh.showsOracle(t, want)
				if t.Failed() {
					t.Fatalf("night %d differs, flags %v, touched %v", night, flags, slices.Sorted(maps.Keys(touched)))
				}
			}
		})
	}
}

// equalsFull compares with a run on a fresh state, which knows nothing of what
// is gone: of that, d keeps sessions and decisions, and what it indexed.
func (d *desk) equalsFull(t *testing.T, fresh *desk, s, full summary) {
	t.Helper()
	got, want := d.views(t), fresh.views(t)
	gone := map[string]bool{}
	for _, row := range got["sessions"] {
		if field(t, row, "state") == "gone" {
			gone[field(t, row, "session_id")] = true
		}
	}
	for _, view := range []string{"sessions", "decisions"} {
		got[view] = slices.DeleteFunc(got[view], func(row string) bool { return gone[field(t, row, "session_id")] })
	}
	delete(got, "index_records") // of the points themselves, below
	delete(want, "index_records")
	sameViews(t, "after the changes", got, want)

	actions, fullActions := d.planOf(t, s), fresh.planOf(t, full)
	points := d.index(t)
	held, wanted := map[string]point{}, fresh.index(t)
	for id, p := range points {
		switch actions[p.text("record_key")] {
		case "withheld", "orphan":
			continue // from a former night: nothing is ever deleted
		}
		held[id] = p
	}
	samePoints(t, "after the changes", held, wanted)
	for key, action := range fullActions {
		if action == "insert" && actions[key] == "withheld" {
			continue // refused before, and refused again by the full run
		}
		if (action == "withheld") != (actions[key] == "withheld") {
			t.Errorf("%s: %s, and %s in a full run", key, actions[key], action)
		}
	}
	d.recordsHold(t, points)
}

// recordsHold holds the view index_records against the store.
func (d *desk) recordsHold(t *testing.T, points map[string]point) {
	t.Helper()
	want := rows{}
	for id, p := range points {
		want = append(want, canonical(t, map[string]any{
			"record_key": p.text("record_key"), "kind": p.text("kind"), "ref": p.text("ref"),
			"content_hash": p.text("content_hash"), "embed_space": p.text("embed_space"), "point_id": id,
		}))
	}
	slices.Sort(want)
	got := d.query(t, "SELECT record_key, kind, ref, content_hash, embed_space, point_id FROM index_records")
	if !slices.Equal(got, want) {
		t.Errorf("index_records is not what the index holds:\n%s", difference(got, want))
	}
}

func field(t *testing.T, row, name string) string {
	t.Helper()
	var fields map[string]any
	if err := json.Unmarshal([]byte(row), &fields); err != nil {
		t.Fatal(err)
	}
	s, _ := fields[name].(string)
	return s
}
