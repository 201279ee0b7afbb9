package extract

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
)

func TestSchemas(t *testing.T) {
	for _, c := range []struct {
		schema *arrow.Schema
		want   string
	}{
		{StampSchema(), "session_key int64, file utf8, size int64, mtime_ns int64, ctime_ns int64, ino int64, read_at_ns int64, digest_hi int64, digest_lo int64"},
		{ManifestSchema(), "session_key int64, scan_id int64, fault utf8?, id utf8?, created_at utf8?, question utf8?, database utf8?, schema utf8?, " +
			"status utf8?, updated_at utf8?, updated_by utf8?, created_utc timestamp[us]?, updated_utc timestamp[us]?"},
		{LedgerSchema(), "session_key int64, scan_id int64, fault utf8?, lines int64"},
		{LineSchema(), "session_key int64, scan_id int64, line int64, byte_offset int64, seq int64, repeat_no int64, ts timestamp[us], type utf8, " +
			"subject utf8, detail utf8, rationale utf8, phase int8?, extra utf8?"},
		{SQLSchema(), "session_key int64, scan_id int64, fault utf8?, sql utf8?"},
		{FaultSchema(), "session_key int64?, file utf8, scan_id int64, line int64?, byte_offset int64?, reason utf8, excerpt utf8?, degrades bool"},
		{MemorySchema(), "line int64, byte_offset int64, id utf8, ts timestamp[us]?, session_id utf8, decision_seq int64?, type utf8, subject utf8, " +
			"detail utf8, rationale utf8, question_context utf8, tables list<item: utf8, nullable>, concepts list<item: utf8, nullable>, extra utf8?"},
	} {
		var fields []string
		for _, f := range c.schema.Fields() {
			mark := ""
			if f.Nullable {
				mark = "?"
			}
			fields = append(fields, f.Name+" "+f.Type.String()+mark)
		}
		if got := strings.Join(fields, ", "); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}

func TestSQL(t *testing.T) {
	for _, c := range []struct {
		content, want, reason string
	}{
		{"SELECT 1", "SELECT 1", ""}, {"\uFEFF\r\n SELECT 1\r\nFROM t\rWHERE x\n\n;\r\n\t", "SELECT 1\nFROM t\nWHERE x\n\n;", ""},
		{"\u00a0SELECT\u20031\u2003", "SELECT\u20031", ""}, {"a\r\r\nb", "a\n\nb", ""}, {"a\n\uFEFFb", "a\n\uFEFFb", ""},
		{"", "", reasonSQLEmpty}, {" \r\n\t\u00a0", "", reasonSQLEmpty}, {"\uFEFF", "", reasonSQLEmpty}, {"SELECT '\xe8'", "", reasonSQLUTF8},
	} {
		if got, reason := sqlText([]byte(c.content)); string(got) != c.want || reason != c.reason {
			t.Errorf("%q: read %q, reason %q, want %q, %q", c.content, got, reason, c.want, c.reason)
		}
	}
	r := newTree(t)
	r.write("a", r.SQL, "\uFEFFSELECT 1\r\n")
	r.write("b", r.SQL, " ")
	r.dir("c")
	got := r.scan(r.list(), Options{ScanID: 2})
	if len(got.sql) != 2 || got.sql[0]["sql"] != "SELECT 1" || got.sql[0]["fault"] != nil ||
		got.sql[1]["sql"] != nil || got.sql[1]["fault"] != reasonSQLEmpty || got.sql[1]["session_key"] != int64(2) {
		t.Errorf("rows %v", got.sql)
	}
	if f := ofFile(got.faults, "sql"); len(f) != 1 || f[0]["reason"] != reasonSQLEmpty || f[0]["degrades"] != false || f[0]["line"] != nil {
		t.Errorf("faults %v", f)
	}
}

func ofFile(rows []row, file string) []row {
	return slices.DeleteFunc(slices.Clone(rows), func(r row) bool { return r["file"] != file })
}

// reasonsOf are the reasons of the faults of whole files, by file.
func reasonsOf(rows []row) map[string]string {
	reasons := make(map[string]string)
	for _, r := range rows {
		if r["line"] == nil {
			reasons[r["file"].(string)] = r["reason"].(string)
		}
	}
	return reasons
}

func TestFirstScan(t *testing.T) {
	r := newTree(t)
	r.session("a")
	r.dir("b")
	got := r.scan(r.list(), Options{})
	if len(got.stamps) != 6 || len(got.manifests) != 2 || len(got.ledgers) != 2 || len(got.lines) != 1 || len(got.sql) != 1 {
		t.Errorf("rows %+v", got)
	}
	if both := []int64{1, 2}; !reflect.DeepEqual(got.replaced, Replaced{both, both, both}) {
		t.Errorf("replaced %v", got.replaced)
	}
	for _, s := range got.stamps {
		if missing := s["size"] == int64(-1); missing != (s["session_key"] == int64(2)) {
			t.Errorf("stamp %v", s)
		}
	}
	if reasons := reasonsOf(got.faults); !reflect.DeepEqual(reasons, map[string]string{"manifest": reasonNoManifest}) {
		t.Errorf("reasons %v", reasons)
	}
	if want := (Stats{Looked: 2, SessionsRead: 1, SessionsChanged: 2, Lines: 1, Bytes: got.stats.Bytes}); got.stats != want || want.Bytes == 0 {
		t.Errorf("stats %+v", got.stats)
	}
}

// later is a clock that stands an hour after the files of a test were written.
func later() time.Time { return time.Now().Add(time.Hour) }

func TestUnchangedIsNotRead(t *testing.T) {
	r := newTree(t)
	for i := range 600 { // more than a worker takes at a time
		r.session(fmt.Sprintf("s%03d", i))
	}
	sessions := r.list()
	first := r.scan(sessions, Options{Now: later, BatchSessions: 50})
	if len(first.lines) != 600 || first.batches < 12 {
		t.Errorf("%d lines in %d batches", len(first.lines), first.batches)
	}
	again := r.scan(first.known(sessions), Options{})
	if again.batches != 0 || again.stats != (Stats{Looked: 600}) {
		t.Errorf("read again: %+v", again.stats)
	}
}

func TestChangesAreFound(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(r tree)
		file   string // that is read and emitted
		rows   int    // of its content, faults included
	}{
		{"appended", func(r tree) { r.write("s", r.Ledger, good(1, "")+"\n"+good(2, "")+"\nbad\n") }, "ledger", 4},
		{"same size, other bytes", func(r tree) { r.write("s", r.SQL, "SELECT 2\n") }, "sql", 1},
		{"SQL vanished", func(r tree) { must(r.t, os.Remove(r.path("s", r.SQL))) }, "sql", 0},
		{"manifest vanished", func(r tree) { must(r.t, os.Remove(r.path("s", r.Manifest))) }, "manifest", 2},
		{"ledger vanished", func(r tree) { must(r.t, os.Remove(r.path("s", r.Ledger))) }, "ledger", 1},
		{"replaced by rename, times kept", func(r tree) {
			st, err := os.Stat(r.path("s", r.SQL))
			must(r.t, err)
			r.write("s", "new", "SELECT 3\n")
			must(r.t, os.Chtimes(r.path("s", "new"), st.ModTime(), st.ModTime()))
			must(r.t, os.Rename(r.path("s", "new"), r.path("s", r.SQL)))
		}, "sql", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newTree(t)
			r.session("s")
			sessions := r.list()
			known := r.scan(sessions, Options{Now: later}).known(sessions)
			c.change(r)
			got := r.scan(known, Options{Now: later})
			rows := map[string]int{
				"manifest": len(got.manifests), "ledger": len(got.ledgers) + len(got.lines), "sql": len(got.sql),
			}
			for file, n := range rows {
				n += len(ofFile(got.faults, file))
				if want := map[bool]int{true: c.rows}[file == c.file]; n != want {
					t.Errorf("%s: %d rows, want %d", file, n, want)
				}
			}
			replaced := map[string][]int64{"manifest": got.replaced.Manifest, "ledger": got.replaced.Ledger, "sql": got.replaced.SQL}
			for file, keys := range replaced {
				if (file == c.file) != slices.Equal(keys, []int64{1}) {
					t.Errorf("%s: replaced %v", file, keys)
				}
			}
			if len(got.stamps) != 1 || got.stamps[0]["file"] != c.file || got.stats.SessionsChanged != 1 {
				t.Errorf("stamps %v, stats %+v", got.stamps, got.stats)
			}
			if again := r.scan(got.known(known), Options{Now: later}); again.batches != 0 {
				t.Errorf("not settled: %+v", again)
			}
		})
	}
}

// A touched file is read, and only its stamp is new.
func TestTouched(t *testing.T) {
	r := newTree(t)
	r.session("s")
	sessions := r.list()
	known := r.scan(sessions, Options{Now: later}).known(sessions)
	r.age("s", r.Ledger, time.Now().Add(-time.Hour))
	got := r.scan(known, Options{Now: later})
	if len(got.stamps) != 1 || len(got.ledgers)+len(got.lines)+len(got.faults) != 0 || !reflect.DeepEqual(got.replaced, Replaced{}) {
		t.Errorf("emitted %+v", got)
	}
	if got.stats.SessionsRead != 1 || got.stats.SessionsChanged != 0 {
		t.Errorf("stats %+v", got.stats)
	}
}

// A file read within two seconds of its mtime, before or after, is read again,
// until a scan reads it later than that.
func TestRacyWindow(t *testing.T) {
	mtime := time.Unix(1_770_000_000, 0)
	for _, c := range []struct {
		after time.Duration // of the first reading behind the mtime
		again bool
	}{
		{0, true}, {2 * time.Second, true}, {-2 * time.Second, true}, {2*time.Second + 1, false}, {-2*time.Second - 1, false}, {time.Hour, false},
	} {
		r := newTree(t)
		r.session("s")
		for _, file := range []string{r.Manifest, r.Ledger, r.SQL} {
			r.age("s", file, mtime)
		}
		sessions := r.list()
		known := r.scan(sessions, Options{Now: func() time.Time { return mtime.Add(c.after) }}).known(sessions)
		got := r.scan(known, Options{Now: func() time.Time { return mtime.Add(time.Minute) }})
		if read := got.stats.SessionsRead == 1; read != c.again {
			t.Errorf("read %s after the mtime: read again %v, want %v", c.after, read, c.again)
		}
		if c.again && (len(got.stamps) != 3 || got.stats.SessionsChanged != 0 || len(got.lines) != 0) {
			t.Errorf("read %s after the mtime: %+v", c.after, got)
		}
		if settled := r.scan(got.known(known), Options{}); settled.batches != 0 {
			t.Errorf("read %s after the mtime: never settles", c.after)
		}
	}
}

// Bytes that changed while size, mtime, ctime and inode did not are found within
// the window: the digest tells.
func TestRacyChange(t *testing.T) {
	r := newTree(t)
	r.session("s")
	sessions := r.list()
	known := r.scan(sessions, Options{}).known(sessions)
	known[0].Files[SQL].DigestLo++ // what an earlier scan read were other bytes
	got := r.scan(known, Options{Now: later})
	if len(got.sql) != 1 || got.stats.SessionsChanged != 1 {
		t.Errorf("emitted %+v", got)
	}
}

func TestRescan(t *testing.T) {
	r := newTree(t)
	r.session("s")
	sessions := r.list()
	known := r.scan(sessions, Options{Now: later}).known(sessions)
	got := r.scan(known, Options{Now: later, Rescan: true})
	if len(got.stamps) != 3 || len(got.manifests) != 1 || len(got.lines) != 1 || len(got.sql) != 1 || got.stats.SessionsChanged != 0 {
		t.Errorf("emitted %+v", got)
	}
}

// A session that is gone between listing and reading has no file.
func TestVanishedSession(t *testing.T) {
	r := newTree(t)
	r.session("s")
	sessions := r.list()
	known := r.scan(sessions, Options{Now: later}).known(sessions)
	must(t, os.RemoveAll(r.path("s")))
	got := r.scan(known, Options{})
	if len(got.stamps) != 3 || len(got.manifests) != 1 || got.manifests[0]["fault"] != reasonNoManifest || len(got.sql) != 0 {
		t.Errorf("emitted %+v", got)
	}
	must(t, os.WriteFile(r.path("s"), nil, 0o644)) // and a file in its place
	if again := r.scan(got.known(known), Options{}); again.batches != 0 {
		t.Errorf("emitted %+v", again)
	}
}

func TestReadStops(t *testing.T) {
	r := newTree(t)
	for i := range 300 {
		r.session(fmt.Sprintf("s%03d", i))
	}
	sessions := r.list()
	broken := errors.New("broken")
	batches := 0
	_, err := Read(context.Background(), r.Layout, sessions, Options{BatchSessions: 1}, func(*Batch) error { batches++; return broken })
	if err != broken || batches != 1 {
		t.Errorf("%d batches, error %v", batches, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	batches = 0
	_, err = Read(ctx, r.Layout, sessions, Options{BatchSessions: 1}, func(*Batch) error { batches++; cancel(); return nil })
	if !errors.Is(err, context.Canceled) || batches != 1 {
		t.Errorf("%d batches, error %v", batches, err)
	}
	if _, err = Read(ctx, r.Layout, sessions, Options{}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("a dead context: %v", err)
	}
	for _, id := range []string{"", ".", "..", "../x", "a/b", "a\x00"} {
		if _, err := Read(context.Background(), r.Layout, []Session{{ID: id}}, Options{}, nil); err == nil {
			t.Errorf("the id %q was taken", id)
		}
	}
}

// A context that ends after the last batch was built must not lose it in silence.
func TestEveryBatchIsEmittedOrAnError(t *testing.T) {
	r := newTree(t)
	for i := range 40 {
		r.session(fmt.Sprintf("s%03d", i))
	}
	sessions := r.list()
	for stop := 1; stop <= 8; stop++ {
		ctx, cancel := context.WithCancel(context.Background())
		seen, batches := 0, 0
		_, err := Read(ctx, r.Layout, sessions, Options{BatchSessions: 5}, func(b *Batch) error {
			seen += int(b.Lines.NumRows())
			if batches++; batches == stop {
				cancel()
			}
			return nil
		})
		cancel()
		if err == nil && seen != len(sessions) {
			t.Errorf("stopped after %d batches: %d of %d sessions and no error", stop, seen, len(sessions))
		}
	}
}
