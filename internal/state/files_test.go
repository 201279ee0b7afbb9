package state

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/thtbatch/thtbatch/internal/fault"
)

var day = time.Date(2026, 11, 30, 22, 3, 1, 0, time.UTC)

func run(id string, minute int) Run {
	return Run{RunID: id, Job: "backfill", StartedAt: day.Add(time.Duration(minute) * time.Minute)}
}

func TestRunsFold(t *testing.T) {
	d := open(t)
	exit, end := 0, day.Add(time.Hour)
	second := run("b", 2)
	finished := second
	finished.Status, finished.ExitCode, finished.FinishedAt, finished.Inserted = Done, &exit, &end, 7
	for _, err := range []error{d.Begin(second), d.Begin(run("a", 1)), d.Finish(finished)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	first := run("a", 1)
	first.Status = Running
	runs, damage, err := d.Runs()
	if err != nil || len(damage) != 0 || !reflect.DeepEqual(runs, []Run{first, finished}) {
		t.Fatalf("runs %+v, damage %v, %v", runs, damage, err)
	}
}

func TestRunHasTheColumnsOfTheView(t *testing.T) {
	text, err := json.Marshal(run("a", 0))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	dec := json.NewDecoder(bytes.NewReader(text))
	for depth := 0; ; {
		token, err := dec.Token()
		if err != nil {
			break
		}
		if _, ok := token.(json.Delim); ok {
			depth++
			continue
		}
		names = append(names, fmt.Sprint(token))
		if _, err := dec.Token(); err != nil {
			t.Fatal(err)
		}
	}
	want := strings.Fields("run_id job started_at finished_at status exit_code error sessions_read sessions_changed embedded cache_hits inserted updated repayloaded unchanged withheld failed")
	if !slices.Equal(names, want) {
		t.Errorf("columns %v", names)
	}
}

func TestRunsSurviveATornTail(t *testing.T) {
	d := open(t)
	if err := d.Begin(run("a", 1)); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(d.RunsFile())
	if err != nil {
		t.Fatal(err)
	}
	for cut := 1; cut < len(whole); cut++ {
		write(t, d.RunsFile(), string(whole)+string(whole[:cut]))
		if err := d.Begin(run("b", 2)); err != nil {
			t.Fatal(err)
		}
		runs, damage, err := d.Runs()
		if err != nil || len(damage) != 0 || len(runs) != 2 || runs[1].RunID != "b" {
			t.Fatalf("cut at %d: runs %v, damage %v, %v", cut, runs, damage, err)
		}
	}
}

func TestRunsReportGarbage(t *testing.T) {
	d := open(t)
	good, err := json.Marshal(Run{RunID: "a", StartedAt: day, Status: Done})
	if err != nil {
		t.Fatal(err)
	}
	write(t, d.RunsFile(), strings.Join([]string{
		"\x00\x01 what", "", `null`, `{"run_id":7}`, string(good),
		`{"run_id":"x","started_at":"2026-01-01T00:00:00Z","status":"flying"}`,
		`{"run_id":"x","status":"done"}`, string(good) + string(good),
	}, "\n"))
	runs, damage, err := d.Runs()
	if err != nil || len(runs) != 1 || runs[0].RunID != "a" {
		t.Fatalf("runs %v, %v", runs, err)
	}
	var lines []any
	for _, f := range damage {
		wantFault(t, f, fault.Failed, "state_damaged", "path", "line", "reason")
		lines = append(lines, f.Args["line"])
	}
	if !slices.Equal(lines, []any{1, 3, 4, 6, 7, 8}) {
		t.Errorf("damage at lines %v", lines)
	}
}

func TestCloseAbandoned(t *testing.T) {
	d := open(t)
	done := run("b", 2)
	done.Status = Done
	for _, err := range []error{d.Begin(run("a", 1)), d.Begin(done), d.Finish(done)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	now := day.Add(24 * time.Hour)
	closed, err := d.CloseAbandoned(now)
	if err != nil || len(closed) != 1 || closed[0].RunID != "a" || closed[0].Status != Abandoned || !closed[0].FinishedAt.Equal(now) {
		t.Fatalf("closed %+v, %v", closed, err)
	}
	before, _ := os.ReadFile(d.RunsFile())
	if closed, err = d.CloseAbandoned(now); err != nil || len(closed) != 0 {
		t.Fatalf("closed again %+v, %v", closed, err)
	}
	if after, _ := os.ReadFile(d.RunsFile()); !bytes.Equal(before, after) {
		t.Error("written without need")
	}
}

func TestRunIDsSortAndDiffer(t *testing.T) {
	seen := map[string]bool{}
	for range 1000 {
		id := NewRunID(day)
		if !strings.HasPrefix(id, "20261130T220301Z-") || len(id) != len("20261130T220301Z-ab12cd") || seen[id] {
			t.Fatal(id)
		}
		seen[id] = true
	}
	if a, b := NewRunID(day), NewRunID(day.Add(time.Second)); a >= b {
		t.Errorf("%s after %s", a, b)
	}
}

func TestKnownRoundTrip(t *testing.T) {
	d := open(t)
	rapid.Check(t, func(t *rapid.T) {
		raw := rapid.Custom(func(t *rapid.T) string { return string(rapid.SliceOfN(rapid.Byte(), 1, 12).Draw(t, "raw")) })
		k := Known{
			Root:            rapid.OneOf(rapid.String(), raw, rapid.Just("/srv/a\nb\\x")).Draw(t, "root"),
			Sessions:        rapid.SliceOf(rapid.OneOf(rapid.StringN(1, 9, -1), raw, rapid.Just("a\nb"), rapid.Just(`\x0a`))).Draw(t, "sessions"),
			RegistryRecords: rapid.IntRange(0, 1<<40).Draw(t, "records"),
			RecordedAt:      day,
		}
		if _, err := d.SaveKnown(k); err != nil {
			t.Fatal(err)
		}
		got, ok, err := d.LoadKnown()
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		want := slices.Compact(slices.Sorted(slices.Values(k.Sessions)))
		if got.Root != k.Root || got.RegistryRecords != k.RegistryRecords || !slices.Equal(got.Sessions, want) {
			t.Fatalf("got %+v, want %+v", got, k)
		}
		if written, err := d.SaveKnown(k); written || err != nil {
			t.Fatalf("written %v again, %v", written, err)
		}
	})
}

func TestKnownOfAFirstRun(t *testing.T) {
	if _, ok, err := open(t).LoadKnown(); ok || err != nil {
		t.Error(ok, err)
	}
}

func TestKnownDamaged(t *testing.T) {
	d := open(t)
	if _, err := d.SaveKnown(Known{Root: "/a", Sessions: []string{"a", "b", "c"}, RecordedAt: day}); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(d.KnownFile())
	if err != nil {
		t.Fatal(err)
	}
	for cut := range whole {
		write(t, d.KnownFile(), string(whole[:cut]))
		_, _, err := d.LoadKnown()
		wantFault(t, err, fault.Failed, "known_damaged", "path", "line", "reason")
	}
	write(t, d.KnownFile(), strings.Replace(string(whole), "\nb\n", "\n\\y00\n", 1))
	_, _, err = d.LoadKnown()
	if f := wantFault(t, err, fault.Failed, "known_damaged"); f.Args["line"] != 3 {
		t.Errorf("args %v", f.Args)
	}
	if written, err := d.SaveKnown(Known{Root: "/a"}); !written || err != nil {
		t.Errorf("a damaged file is replaced by the next scan: %v, %v", written, err)
	}
}

func TestVanished(t *testing.T) {
	ids := func(n int) (out []string) {
		for i := range n {
			out = append(out, fmt.Sprintf("s%03d", i))
		}
		return out
	}
	cases := []struct {
		known, found []string
		gone         int
		exceeds      bool
	}{
		{nil, ids(3), 0, false},
		{ids(10), ids(10), 0, false},
		{ids(10), ids(8), 2, false}, // 20 % is not more than 20 %
		{ids(10), ids(7), 3, true},
		{ids(10), nil, 10, true},
		{ids(1), nil, 1, true},
		{[]string{"c", "a", "b"}, []string{"z", "b", "b", "a"}, 1, true},
	}
	for i, c := range cases {
		v := Vanished(Known{Sessions: c.known}, c.found)
		if len(v.Gone) != c.gone || v.Known != len(c.known) || v.Exceeds(20) != c.exceeds {
			t.Errorf("case %d: %+v", i, v)
		}
		if c.gone > 0 && v.Share() != float64(c.gone)/float64(len(c.known)) {
			t.Errorf("case %d: share %v", i, v.Share())
		}
	}
}

func TestRefusals(t *testing.T) {
	d := open(t)
	a := Refusal{RecordKey: "memory:mem-0001", ContentHash: "aa", EmbedSpace: "lexical", Reason: "zero_vector", At: day}
	other := a
	other.EmbedSpace = "ollama"
	late := a
	late.Reason = "too_large"
	if err := d.AddRefusals(other, a); err != nil {
		t.Fatal(err)
	}
	if err := d.AddRefusals(late); err != nil {
		t.Fatal(err)
	}
	if err := d.AddRefusals(); err != nil {
		t.Fatal(err)
	}
	got, damage, err := d.Refusals()
	if err != nil || len(damage) != 0 || !slices.Equal(got, []Refusal{late, other}) {
		t.Fatalf("refusals %+v, %v, %v", got, damage, err)
	}
	third := late
	third.RecordKey = "memory:mem-0333"
	if err := d.AddRefusals(third); err != nil {
		t.Fatal(err)
	}
	if err := d.ForgetRefusals(func(key string) bool { return key == third.RecordKey }); err != nil {
		t.Fatal(err)
	}
	if got, _, err := d.Refusals(); err != nil || !slices.Equal(got, []Refusal{late, other}) {
		t.Fatalf("refusals %+v, %v", got, err)
	}
	for range 2 {
		if err := d.ForgetRefusals(func(string) bool { return true }); err != nil {
			t.Fatal(err)
		}
	}
	if got, _, err := d.Refusals(); err != nil || len(got) != 0 {
		t.Fatalf("refusals %+v, %v", got, err)
	}
}

func TestRetractions(t *testing.T) {
	d := open(t)
	if got, err := d.Retractions(); err != nil || len(got) != 0 {
		t.Fatal(got, err)
	}
	lines := `{"key":"memory:mem-0001","action":"retract","by":"anna","at":"2026-11-30T22:03:01Z","reason":"wrong"}
{"key":"solved:s1","action":"retract","by":"anna","at":"2026-11-30T22:03:01Z","reason":""}
{"key":"memory:mem-0001","action":"restore","by":"anna","at":"2026-12-01T22:03:01Z","reason":""}
`
	write(t, d.RetractionsFile(), lines+`{"key":"solved:s2","act`)
	got, err := d.Retractions()
	if err != nil || len(got) != 1 || got["solved:s1"].By != "anna" {
		t.Fatalf("retractions %v, %v", got, err)
	}
	write(t, d.RetractionsFile(), lines+`{"key":"solved:s2","action":"remove"}`+"\n")
	_, err = d.Retractions()
	if f := wantFault(t, err, fault.Failed, "state_damaged"); f.Args["line"] != 4 {
		t.Errorf("args %v", f.Args)
	}
}

func FuzzRuns(f *testing.F) {
	f.Add([]byte(`{"run_id":"a","started_at":"2026-11-30T22:03:01Z","status":"done"}` + "\n{\"run_id\""))
	f.Add([]byte("\xef\xbb\xbf{}\n\x00"))
	f.Fuzz(func(t *testing.T, content []byte) {
		d := &Dir{path: t.TempDir()}
		write(t, d.RunsFile(), string(content))
		before, _, err := d.Runs()
		if err != nil {
			t.Fatal(err)
		}
		added := run("the one added", 0)
		if err := d.Begin(added); err != nil {
			t.Fatal(err)
		}
		after, _, err := d.Runs()
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range append(before, added) {
			if !slices.ContainsFunc(after, func(o Run) bool { return o.RunID == r.RunID }) {
				t.Fatalf("run %q was lost by an append", r.RunID)
			}
		}
	})
}

func FuzzKnown(f *testing.F) {
	f.Add([]byte(`{"root":"/a","sessions":2,"registry_records":1}` + "\na\n\\x0ab\n"))
	f.Add([]byte(`{"root":"\\x"}`))
	f.Fuzz(func(t *testing.T, content []byte) {
		known, _, reason := parseKnown(content)
		if reason != "" {
			return
		}
		text, err := formatKnown(known)
		if err != nil {
			t.Fatal(err)
		}
		again, line, reason := parseKnown(text)
		if reason != "" || !reflect.DeepEqual(known, again) {
			t.Fatalf("line %d: %s: %+v, %+v", line, reason, known, again)
		}
	})
}

func BenchmarkLoadKnown(b *testing.B) {
	d, err := Open(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	k := Known{Root: "/srv/artifacts", RecordedAt: day}
	for range 100_000 {
		k.Sessions = append(k.Sessions, fmt.Sprintf("sess-2026-%016x", rnd.Uint64()))
	}
	if _, err := d.SaveKnown(k); err != nil {
		b.Fatal(err)
	}
	found := sorted(k.Sessions)[:90_000]
	for b.Loop() {
		known, ok, err := d.LoadKnown()
		if err != nil || !ok || len(Vanished(known, found).Gone) != 10_000 {
			b.Fatal(ok, err)
		}
	}
}

func BenchmarkRunsOfTenYears(b *testing.B) {
	d, err := Open(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	var lines []Run
	for i := range 3650 {
		r := run(NewRunID(day), i)
		r.Status = Running
		lines = append(lines, r)
		r.Status = Done
		lines = append(lines, r)
	}
	if err := appendLines(d.RunsFile(), lines...); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if runs, _, err := d.Runs(); err != nil || len(runs) != 3650 {
			b.Fatal(len(runs), err)
		}
	}
}
