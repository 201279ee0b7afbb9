package extract

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Batch is what some sessions hold that changed; all of a session that one scan
// emits is in one batch. Records without rows are nil. It belongs to Read, which
// releases it when emit returns.
type Batch struct {
	Stamps, Manifests, Ledgers, Lines, SQL, Faults arrow.RecordBatch

	// Replaced names the sessions whose rows of a file, and whose faults of that
	// file, are to be removed before these are added.
	Replaced Replaced
}

// Replaced lists session keys for each file.
type Replaced struct{ Manifest, Ledger, SQL []int64 }

func (b *Batch) records() []arrow.RecordBatch {
	return []arrow.RecordBatch{b.Stamps, b.Manifests, b.Ledgers, b.Lines, b.SQL, b.Faults}
}

func (b *Batch) release() {
	for _, r := range b.records() {
		if r != nil {
			r.Release()
		}
	}
}

// table builds the rows of one record, column after column; a row is as many
// calls as there are columns, in their order.
type table struct {
	builder *array.RecordBuilder
	columns []array.Builder
	next    int
	rows    int64
}

func newTable(s *arrow.Schema) *table {
	b := array.NewRecordBuilder(memory.DefaultAllocator, s)
	return &table{builder: b, columns: b.Fields()}
}

// column is the builder that is due.
func (t *table) column() array.Builder {
	c := t.columns[t.next]
	if t.next++; t.next == len(t.columns) {
		t.next = 0
		t.rows++
	}
	return c
}

func (t *table) int(v int64) { t.column().(*array.Int64Builder).Append(v) }

func (t *table) small(v int8) { t.column().(*array.Int8Builder).Append(v) }

func (t *table) bool(v bool) { t.column().(*array.BooleanBuilder).Append(v) }

func (t *table) micros(v int64) {
	t.column().(*array.TimestampBuilder).Append(arrow.Timestamp(v))
}

func (t *table) null() { t.column().AppendNull() }

func (t *table) bytes(v []byte) { t.column().(*array.StringBuilder).BinaryBuilder.Append(v) }

func (t *table) text(v string) { t.column().(*array.StringBuilder).Append(v) }

// textOrNull makes the empty text NULL.
func (t *table) textOrNull(v string) {
	if v == "" {
		t.null()
		return
	}
	t.text(v)
}

// list appends the texts of a list of strings.
func (t *table) list(texts [][]byte) {
	b := t.column().(*array.ListBuilder)
	b.Append(true)
	values := b.ValueBuilder().(*array.StringBuilder)
	for _, v := range texts {
		values.BinaryBuilder.Append(v)
	}
}

// take is the record of the rows so far, nil when there are none.
func (t *table) take() arrow.RecordBatch {
	if t.rows == 0 {
		return nil
	}
	t.rows = 0
	return t.builder.NewRecordBatch()
}

func (t *table) release() { t.builder.Release() }

// tables are the batch that a worker is building.
type tables struct {
	stamps, manifests, ledgers, lines, sql, faults *table

	scan        int64
	fullExcerpt bool
	replaced    Replaced
	sessions    int   // with something in the batch
	size        int64 // bytes of content in the batch
}

func newTables(o Options) *tables {
	return &tables{
		stamps: newTable(StampSchema()), manifests: newTable(ManifestSchema()),
		ledgers: newTable(LedgerSchema()), lines: newTable(LineSchema()),
		sql: newTable(SQLSchema()), faults: newTable(FaultSchema()),
		scan: o.ScanID, fullExcerpt: o.FullExcerpt,
	}
}

func (t *tables) all() []*table {
	return []*table{t.stamps, t.manifests, t.ledgers, t.lines, t.sql, t.faults}
}

func (t *tables) release() {
	for _, table := range t.all() {
		table.release()
	}
}

// take is what was built so far, nil when that is nothing.
func (t *tables) take() *Batch {
	if t.sessions == 0 {
		return nil
	}
	b := &Batch{
		Stamps: t.stamps.take(), Manifests: t.manifests.take(), Ledgers: t.ledgers.take(),
		Lines: t.lines.take(), SQL: t.sql.take(), Faults: t.faults.take(), Replaced: t.replaced,
	}
	t.replaced, t.sessions, t.size = Replaced{}, 0, 0
	return b
}

func (t *tables) stamp(key int64, file int, s *Stamp) {
	r := t.stamps
	r.int(key)
	r.text(FileNames()[file])
	r.int(s.Size)
	r.int(s.MtimeNS)
	r.int(s.CtimeNS)
	r.int(s.Ino)
	r.int(s.ReadAtNS)
	r.int(s.DigestHi)
	r.int(s.DigestLo)
}

func (t *tables) manifest(key int64, m *manifest) {
	t.replaced.Manifest = append(t.replaced.Manifest, key)
	r := t.manifests
	r.int(key)
	r.int(t.scan)
	r.textOrNull(m.reason)
	for _, v := range m.values {
		if m.read {
			r.text(v)
		} else {
			r.null()
		}
	}
	r.timeOf(m.values[manifestCreatedAt])
	r.timeOf(m.values[manifestUpdatedAt])
	if m.reason != "" {
		t.fileFault(key, Manifest, m.reason, true)
	}
}

// timeOf appends the moment a text of a manifest stands for. YAML does not tell a
// number from a text, so that digits which are no date are seconds of the epoch.
func (t *table) timeOf(text string) {
	s := []byte(text)
	micros, ok := parseTime(s)
	if !ok && len(s) > 0 && skipNumber(s, 0) == len(s) {
		micros, ok = epochMicros(s, nil)
	}
	if !ok {
		t.null()
		return
	}
	t.micros(micros)
}

func (t *tables) ledger(key int64, reason string, lines int64) {
	t.replaced.Ledger = append(t.replaced.Ledger, key)
	r := t.ledgers
	r.int(key)
	r.int(t.scan)
	r.textOrNull(reason)
	r.int(lines)
	if reason != "" {
		t.fileFault(key, Ledger, reason, true)
	}
}

// ledgerRows is where the lines of one session's ledger go.
type ledgerRows struct {
	*tables
	key int64
}

func (t ledgerRows) decision(l line, d *decision) {
	r := t.lines
	r.int(t.key)
	r.int(t.scan)
	r.int(l.number)
	r.int(l.offset)
	r.int(d.seq)
	r.int(d.repeat)
	r.micros(d.ts)
	r.bytes(d.typ)
	r.bytes(d.subject)
	r.bytes(d.detail)
	r.bytes(d.rationale)
	if d.phase == 0 {
		r.null()
	} else {
		r.small(d.phase)
	}
	if d.extra == nil {
		r.null()
	} else {
		r.bytes(d.extra)
	}
}

func (t ledgerRows) badLine(l line, reason string) {
	t.faults.int(t.key)
	t.faults.lineFault(FileNames()[Ledger], t.scan, l, reason, t.fullExcerpt)
}

// lineFault appends a fault behind its session key. A torn tail alone degrades
// nothing: an append was interrupted or is under way.
func (t *table) lineFault(file string, scan int64, l line, reason string, full bool) {
	t.text(file)
	t.int(scan)
	t.int(l.number)
	t.int(l.offset)
	t.text(reason)
	t.text(excerpt(l.text, full))
	t.bool(reason != reasonTorn)
}

// statement appends an approved SQL that exists in some form.
func (t *tables) statement(key int64, text []byte, reason string) {
	r := t.sql
	r.int(key)
	r.int(t.scan)
	r.textOrNull(reason)
	if reason != "" {
		r.null()
		t.fileFault(key, SQL, reason, false)
		return
	}
	r.bytes(text)
}

func (t *tables) fileFault(key int64, file int, reason string, degrades bool) {
	r := t.faults
	r.int(key)
	r.text(FileNames()[file])
	r.int(t.scan)
	r.null()
	r.null()
	r.text(reason)
	r.null()
	r.bool(degrades)
}
