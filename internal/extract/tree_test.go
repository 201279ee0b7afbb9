package extract

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// tree is an artifacts directory of a test.
type tree struct {
	t testing.TB
	Layout
}

func newTree(t testing.TB) tree {
	l := DefaultLayout(t.TempDir())
	must(t, os.MkdirAll(l.SessionsPath(), 0o755))
	return tree{t, l}
}

func (r tree) path(id string, name ...string) string {
	return filepath.Join(append([]string{r.SessionsPath(), id}, name...)...)
}

func (r tree) dir(id string) string {
	must(r.t, os.MkdirAll(r.path(id), 0o755))
	return r.path(id)
}

func (r tree) write(id, name, content string) {
	r.dir(id)
	must(r.t, os.WriteFile(r.path(id, name), []byte(content), 0o644))
}

// session writes a session whose files are all good.
func (r tree) session(id string) {
	r.write(id, r.Manifest, "id: "+id+"\nquestion: How many?\n")
	r.write(id, r.Ledger, `{"seq":1,"ts":"2026-02-01","type":"concept_clarified","subject":"s"}`+"\n")
	r.write(id, r.SQL, "SELECT 1\n")
}

// age sets the mtime of a file.
func (r tree) age(id, name string, mtime time.Time) {
	must(r.t, os.Chtimes(r.path(id, name), mtime, mtime))
}

// row is a row of a record: int64, int8, bool, string, []string or nil.
type row map[string]any

// rows are what a scan emitted.
type rows struct {
	stamps, manifests, ledgers, lines, sql, faults []row
	replaced                                       Replaced
	batches                                        int
	stats                                          Stats
}

func (r tree) list() []Session { return listed(r.t, r.Layout) }

func (r tree) scan(sessions []Session, o Options) rows {
	r.t.Helper()
	var out rows
	stats, err := Read(context.Background(), r.Layout, sessions, o, func(b *Batch) error {
		out.add(b)
		return nil
	})
	must(r.t, err)
	out.stats = stats
	return out
}

func (out *rows) add(b *Batch) {
	out.batches++
	out.stamps = append(out.stamps, rowsOf(b.Stamps)...)
	out.manifests = append(out.manifests, rowsOf(b.Manifests)...)
	out.ledgers = append(out.ledgers, rowsOf(b.Ledgers)...)
	out.lines = append(out.lines, rowsOf(b.Lines)...)
	out.sql = append(out.sql, rowsOf(b.SQL)...)
	out.faults = append(out.faults, rowsOf(b.Faults)...)
	out.replaced.Manifest = append(out.replaced.Manifest, b.Replaced.Manifest...)
	out.replaced.Ledger = append(out.replaced.Ledger, b.Replaced.Ledger...)
	out.replaced.SQL = append(out.replaced.SQL, b.Replaced.SQL...)
}

func rowsOf(b arrow.RecordBatch) []row {
	if b == nil {
		return nil
	}
	out := make([]row, b.NumRows())
	for i := range out {
		out[i] = make(row)
		for c, field := range b.Schema().Fields() {
			out[i][field.Name] = cell(b.Column(c), i)
		}
	}
	return out
}

func cell(column arrow.Array, i int) any {
	if column.IsNull(i) {
		return nil
	}
	switch c := column.(type) {
	case *array.Int64:
		return c.Value(i)
	case *array.Int8:
		return c.Value(i)
	case *array.Boolean:
		return c.Value(i)
	case *array.Timestamp:
		return int64(c.Value(i))
	case *array.String:
		return string([]byte(c.Value(i))) // the array's memory is reused
	case *array.List:
		start, end := c.ValueOffsets(i)
		texts := []string{}
		for at := start; at < end; at++ {
			texts = append(texts, cell(c.ListValues(), int(at)).(string))
		}
		return texts
	}
	panic("no such type in our schemas: " + column.DataType().Name())
}

// known gives sessions the stamps that a scan emitted, as the warehouse would.
func (out rows) known(sessions []Session) []Session {
	known := slices.Clone(sessions)
	places := make(map[int64]int, len(known))
	for i, s := range known {
		places[s.Key] = i
	}
	for _, r := range out.stamps {
		at := places[r["session_key"].(int64)]
		file := slices.Index(sliceOf(FileNames()), r["file"].(string))
		known[at].Known = true
		known[at].Files[file] = Stamp{r["size"].(int64), r["mtime_ns"].(int64), r["ctime_ns"].(int64),
			r["ino"].(int64), r["read_at_ns"].(int64), r["digest_hi"].(int64), r["digest_lo"].(int64)}
	}
	return known
}

func sliceOf(names [files]string) []string { return names[:] }

// pick is one column of some rows.
func pick(rows []row, column string) []any {
	out := make([]any, len(rows))
	for i, r := range rows {
		out[i] = r[column]
	}
	return out
}

// ledgerOf scans one session whose ledger is content.
func ledgerOf(t testing.TB, content string, o Options) rows {
	r := newTree(t)
	r.write("s", r.Manifest, "id: s\n")
	r.write("s", r.Ledger, content)
	return r.scan(r.list(), o)
}

func micros(year int, month time.Month, day, hour, minute, second, micro int) int64 {
	return time.Date(year, month, day, hour, minute, second, micro*1000, time.UTC).UnixMicro()
}
