package extract

import (
	"context"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
)

// knownAfter reads sessions and gives them back with the stamps of that scan, as
// the warehouse would.
func knownAfter(tb testing.TB, l Layout, sessions []Session, o Options) []Session {
	tb.Helper()
	byKey := make(map[int64]int)
	known := append([]Session(nil), sessions...)
	for i := range known {
		byKey[known[i].Key] = i
	}
	_, err := Read(context.Background(), l, sessions, o, func(b *Batch) error {
		if b.Stamps == nil {
			return nil
		}
		column := func(i int) *array.Int64 { return b.Stamps.Column(i).(*array.Int64) }
		names := b.Stamps.Column(1).(*array.String)
		for row := range int(b.Stamps.NumRows()) {
			s := &known[byKey[column(0).Value(row)]]
			for file, name := range FileNames() {
				if name == names.Value(row) {
					s.Known = true
					s.Files[file] = Stamp{column(2).Value(row), column(3).Value(row), column(4).Value(row),
						column(5).Value(row), column(6).Value(row), column(7).Value(row), column(8).Value(row)}
				}
			}
		}
		return nil
	})
	must(tb, err)
	return known
}
