package jobs_test

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/thtbatch/thtbatch/internal/sample/model"
)

// seedsEnv asks for so many seeds in each property test: for a long night.
const seedsEnv = "THTBATCH_TEST_SEEDS"

// seeds are new ones every time, and logged by name.
func seeds(t *testing.T, n int) []uint64 {
	t.Helper()
	if testing.Short() {
		n = 1
	}
	if text := os.Getenv(seedsEnv); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil {
			t.Fatalf("%s: %v", seedsEnv, err)
		}
	}
	t.Logf("%d seeds; %s=N for more", n, seedsEnv)
	out := make([]uint64, n)
	for i := range out {
		out[i] = rand.Uint64()
	}
	return out
}

// randomDesk has a random tree whose files are an hour old.
func randomDesk(t *testing.T, rng *rand.Rand, sessions int) *desk {
	t.Helper()
	d := newDesk(t)
	if err := model.RandomTree(rng, d.settings.ArtifactsDir, sessions); err != nil {
		t.Fatal(err)
	}
	d.age(t)
	return d
}

// A second implementation of the rules, with loops, says what the views of
// trees must show that are as nasty as the rules allow.
func TestViewsShowWhatTheOracleSays(t *testing.T) {
	t.Parallel()
	for _, seed := range seeds(t, 5) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 0))
			d := randomDesk(t, rng, 60)
			o := model.Options{Cap: 1 + rng.IntN(6), Inclusive: rng.IntN(2) == 0, AcceptAll: rng.IntN(3) == 0}
			if rng.IntN(2) == 0 {
				o.Statuses = []string{"open", "finalized"}
			}
			var flags []string
			d.settings.CandidatesCap = o.Cap
			if o.Inclusive {
				d.settings.ReopenScope = "inclusive"
			}
			if o.Statuses != nil {
				d.settings.SolvedStatuses = o.Statuses
			}
			if o.AcceptAll {
				flags = append(flags, "--accept-degraded")
			}
			t.Logf("options %+v", o)
			s := d.backfill(t, flags...)
			want, err := model.Read(d.settings.ArtifactsDir, o)
			if err != nil {
				t.Fatal(err)
			}
			d.showsOracle(t, want)
			d.indexesOracle(t, want, s)
		})
	}
}

// showsOracle compares every view with the oracle's rows, by the columns that
// the oracle has.
func (d *desk) showsOracle(t *testing.T, want model.Views) {
	t.Helper()
	where := map[string]string{"quarantine": " WHERE line IS NOT NULL"}
	value := reflect.ValueOf(want)
	for i := range value.NumField() {
		view := value.Type().Field(i).Tag.Get("json")
		got := d.query(t, "SELECT "+strings.Join(columns(view, value.Field(i).Type().Elem()), ", ")+" FROM "+view+where[view])
		if expected := oracleRows(t, value.Field(i)); !slices.Equal(got, expected) {
			t.Errorf("view %s differs from the oracle:\n%s", view, difference(got, expected))
		}
	}
}

// columns are the names of the oracle's fields, and the further ones that hold
// for some rows only.
func columns(view string, row reflect.Type) []string {
	var out []string
	for i := range row.NumField() {
		if name := row.Field(i).Tag.Get("json"); name != "-" {
			out = append(out, name)
		}
	}
	switch view {
	case "promotion_candidates":
		out = append(out, "question_context")
	case "solved_questions":
		out = append(out, "CASE WHEN indexable THEN question END AS question", "CASE WHEN indexable THEN sql END AS sql")
	}
	return out
}

func oracleRows(t *testing.T, list reflect.Value) rows {
	t.Helper()
	out := rows{}
	for i := range list.Len() {
		fields := map[string]any{}
		if err := json.Unmarshal([]byte(canonical(t, list.Index(i).Interface())), &fields); err != nil {
			t.Fatal(err)
		}
		switch row := list.Index(i).Interface().(type) {
		case model.Candidate:
			fields["question_context"] = row.QuestionContext
		case model.Solved:
			fields["question"], fields["sql"] = nil, nil
			if row.Indexable {
				fields["question"], fields["sql"] = row.Question, row.SQL
			}
		}
		// seqs fit into a float64 here: the tree's are small.
		out = append(out, canonical(t, fields))
	}
	slices.Sort(out)
	return out
}

// indexesOracle holds the keys in the index against the indexable rows. What
// has no letter and no digit cannot be embedded and must be what failed.
func (d *desk) indexesOracle(t *testing.T, want model.Views, s summary) {
	t.Helper()
	keys, refused := map[string]bool{}, map[string]bool{}
	for _, m := range want.Memories {
		if m.Indexable {
			keys["memory:"+m.ID] = true
		}
	}
	for _, q := range want.SolvedQuestions {
		switch {
		case q.Indexable && strings.ContainsFunc(q.Question, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }):
			keys["solved:"+q.SessionID] = true
		case q.Indexable:
			refused["solved:"+q.SessionID] = true
		}
	}
	failed := map[string]bool{}
	for _, f := range s.Failures {
		failed[f.Key] = true
	}
	if !maps.Equal(failed, refused) {
		t.Errorf("failed: %v, want %v", failed, refused)
	}
	held := map[string]bool{}
	for _, p := range d.index(t) {
		held[p.text("record_key")] = true
	}
	if !maps.Equal(held, keys) {
		t.Errorf("the index holds %d keys, want %d:\n%s", len(held), len(keys),
			difference(slices.Sorted(maps.Keys(held)), slices.Sorted(maps.Keys(keys))))
	}
	if s.Inserted != len(keys) || s.Embedded != len(keys) || s.Failed != len(refused) {
		t.Errorf("inserted %d, embedded %d, failed %d, want %d, %d, %d", s.Inserted, s.Embedded, s.Failed, len(keys), len(keys), len(refused))
	}
}
