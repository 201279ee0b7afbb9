package jobs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/thtbatch/thtbatch/internal/embed"
	"github.com/thtbatch/thtbatch/internal/fault"
	"github.com/thtbatch/thtbatch/internal/load"
	"github.com/thtbatch/thtbatch/internal/record"
	"github.com/thtbatch/thtbatch/internal/secret"
	"github.com/thtbatch/thtbatch/internal/words"
)

// embedder asks the embedder for the vectors of the fixed texts, and compares
// them with what they gave before. It returns nil where there is no embedder.
func (d *diagnosis) embedder(ctx context.Context) embed.Embedder {
	embedder, err := d.env.newEmbedder()
	if err != nil {
		d.bad(err)
		return nil
	}
	space := embedder.Space()
	d.say(levelOK, "doctor_space", "space", space)
	if !embed.Costly(space) {
		return embedder
	}
	vectors, err := embed.Canaries(ctx, embedder)
	if err != nil {
		d.bad(err)
		return embedder
	}
	if d.dir == nil {
		d.say(levelOK, "doctor_model_answers")
		return embedder
	}
	before, known, _, err := d.dir.Canary(space)
	switch agreement := embed.Agreement(before.Vectors, vectors); {
	case err != nil:
		d.bad(err)
	case !known:
		d.say(levelOK, "doctor_model_answers")
	case agreement < embed.LeastAgreement:
		d.bad(modelChanged(space, agreement, before))
	default:
		d.say(levelOK, "doctor_model_same", "agreement", fmt.Sprintf("%.4f", agreement), "since", before.At.UTC().Format("2006-01-02"))
	}
	return embedder
}

// index looks at the copy that searches read, since the index itself may be in
// use, or at the server.
func (d *diagnosis) index(ctx context.Context, embedder embed.Embedder) {
	if d.env.served() {
		d.deleteKey()
	} else if d.dir == nil {
		return
	}
	store, err := d.env.openToRead(ctx, d.dir)
	if errors.Is(err, errNoCopy) {
		d.say(levelNote, "doctor_no_index", "path", d.dir.SearchCopy())
		return
	}
	if err != nil {
		d.bad(err)
		return
	}
	defer func() {
		if err := store.Close(); err != nil {
			d.bad(err)
		}
	}()
	info, err := store.Info(ctx)
	if err != nil {
		d.bad(err)
		return
	}
	if info.Version != "" {
		d.say(levelOK, "doctor_server", "version", info.Version, "place", info.Place)
	}
	if !info.Exists {
		d.say(levelNote, "doctor_no_index", "path", info.Place)
		return
	}
	d.say(levelOK, "doctor_index", "path", info.Place, "count", info.Points, "dimensions", info.Dimensions)
	if info.Dimensions != embedder.Dimensions() {
		d.bad(fault.New(fault.Usage, "dimension_differs", "path", info.Place, "held", info.Dimensions, "wanted", embedder.Dimensions()))
	}
	if err := d.beside(ctx, store, info.Dimensions); err != nil {
		d.bad(err)
	}
}

// deleteKey tells whether there is a key for deleting. A key that cannot be
// read is told.
func (d *diagnosis) deleteKey() {
	s := d.env.Settings.Index
	key, err := secret.Read(deleteKeyVariable, d.env.Getenv, s.DeleteKeyFile)
	switch {
	case err != nil:
		d.bad(err)
	case key == "":
		d.say(levelOK, "doctor_no_delete_key")
	default:
		d.say(levelNote, "doctor_delete_key")
	}
}

// besideRow is a field of a point of another writer and of one of ours. A value
// that may be a text of a session is shown by its kind alone.
type besideRow struct {
	Field  string `json:"field"`
	Theirs string `json:"theirs"`
	Ours   string `json:"ours"`
}

// beside shows a point of another writer (one of our kinds without an
// embed_space) with one of ours: what must agree for it to be adopted, and in
// which layout it is.
func (d *diagnosis) beside(ctx context.Context, store load.Store, dimensions int) error {
	var theirs, ours load.Point
	count := 0
	err := store.Scan(ctx, func(b arrow.RecordBatch) error {
		text := func(column, row int) string { return strings.Clone(b.Column(column).(*array.String).Value(row)) }
		index := func(name string) int { return b.Schema().FieldIndices(name)[0] }
		id, key, kind, space, workspace := index("point_id"), index("record_key"), index("kind"), index("embed_space"), index("workspace")
		for row := range int(b.NumRows()) {
			if !record.Ours(text(kind, row)) {
				continue
			}
			p := load.Point{ID: text(id, row), Key: text(key, row), Kind: text(kind, row)}
			switch owner := text(workspace, row); {
			case text(space, row) == "":
				count++
				if theirs.ID == "" {
					theirs = p
				}
			case owner == d.env.Settings.Workspace && (ours.ID == "" || ours.Kind != theirs.Kind && p.Kind == theirs.Kind):
				ours = p
			}
		}
		return nil
	})
	if err != nil || theirs.ID == "" {
		return err
	}
	their, err := payloadOf(ctx, store, theirs, dimensions)
	if err != nil {
		return err
	}
	var our map[string]any
	if ours.ID != "" {
		if our, err = payloadOf(ctx, store, ours, dimensions); err != nil {
			return err
		}
	}
	d.say(levelNote, "doctor_foreign", "count", count, "theirs", theirs.ID, "ours", ours.ID)
	d.findings[len(d.findings)-1].Beside = compare(their, our)
	return nil
}

// payloadOf reads the payload of a point; one without a key is not found by
// it, and has none to show.
func payloadOf(ctx context.Context, store load.Store, p load.Point, dimensions int) (map[string]any, error) {
	if p.Key == "" {
		return map[string]any{"kind": p.Kind}, nil
	}
	direction := make([]float32, dimensions)
	direction[0] = 1
	hits, err := store.Search(ctx, load.Query{Vector: direction, Kind: p.Kind, Filter: map[string]string{"record_key": p.Key}, Limit: 16})
	if err != nil {
		return nil, err
	}
	for _, h := range hits {
		if h.PointID == p.ID {
			return h.Payload, nil
		}
	}
	return map[string]any{"kind": p.Kind, "record_key": p.Key}, nil
}

// compare lists the fields of two payloads, those of the metadata as
// metadata.name, in the order of their names.
func compare(theirs, ours map[string]any) []besideRow {
	a, b := flattened(theirs), flattened(ours)
	var names []string
	for name := range a {
		names = append(names, name)
	}
	for name := range b {
		if _, both := a[name]; !both {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	rows := make([]besideRow, len(names))
	for i, name := range names {
		rows[i] = besideRow{name, a[name], b[name]}
	}
	return rows
}

func flattened(payload map[string]any) map[string]string {
	out := map[string]string{}
	for name, value := range payload {
		if object, ok := value.(map[string]any); ok && name == "metadata" {
			for inner, value := range object {
				out["metadata."+inner] = shownValue(inner, value)
			}
			continue
		}
		out[name] = shownValue(name, value)
	}
	return out
}

// shownValue is a value that is no text of a session, or what kind of value it is.
func shownValue(name string, value any) string {
	harmless := []string{
		"record_key", "kind", "ref", "type", "session_id", "decision_seq", "workspace", "embed_space",
		"content_hash", "text_hash", "payload_hash", "indexed_at", "run_id", "ts",
	}
	switch v := value.(type) {
	case nil:
		return "null"
	case string:
		if slices.Contains(harmless, name) {
			return v
		}
		return fmt.Sprintf("(%d)", len([]rune(v)))
	case []any:
		return fmt.Sprintf("[%d]", len(v))
	case map[string]any:
		return fmt.Sprintf("{%d}", len(v))
	default:
		if slices.Contains(harmless, name) {
			return fmt.Sprint(v)
		}
		return "#"
	}
}

func writeBeside(w io.Writer, p *words.Printer, rows []besideRow) error {
	if len(rows) == 0 {
		return nil
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "      %s\t%s\t%s\n", p.Say("beside_field", nil), p.Say("beside_theirs", nil), p.Say("beside_ours", nil))
	for _, r := range rows {
		fmt.Fprintf(table, "      %s\t%s\t%s\n", words.Safe(r.Field), words.Safe(orDash(r.Theirs)), words.Safe(orDash(r.Ours)))
	}
	return table.Flush()
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
