//go:build duckdb_arrow

package duck

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"time"

	duckdb "github.com/duckdb/duckdb-go/v2"
)

// ReadRows runs a query and hands its column names, then each row, to fn. The
// values are those of JSON: nil, bool, json.Number, string, []any and
// map[string]any. Times are ISO 8601 in UTC, NaN and the infinities are text.
func (db *DB) ReadRows(ctx context.Context, header func(names []string) error, row func([]any) error, query string, args ...any) (err error) {
	rows, err := db.Query(ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	names, err := rows.Columns()
	if err != nil {
		return err
	}
	types, err := rows.ColumnTypes()
	if err != nil {
		return err
	}
	if err := header(names); err != nil {
		return err
	}
	values, into := make([]any, len(names)), make([]any, len(names))
	for i := range values {
		into[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		out := make([]any, len(values))
		for i, v := range values {
			out[i] = plain(v, types[i].DatabaseTypeName())
		}
		if err := row(out); err != nil {
			return err
		}
	}
	return rows.Err()
}

func plain(v any, typeName string) any {
	switch v := v.(type) {
	case nil, bool, string:
		return v
	case time.Time:
		return timeText(v, typeName)
	case float32:
		return float(float64(v), 32)
	case float64:
		return float(v, 64)
	case int8, int16, int32, int64, int, uint8, uint16, uint32, uint64:
		return json.Number(fmt.Sprint(v))
	case *big.Int:
		return json.Number(v.String())
	case duckdb.Decimal:
		return json.Number(v.String())
	case []byte:
		if typeName == "UUID" && len(v) == 16 {
			return fmt.Sprintf("%x-%x-%x-%x-%x", v[:4], v[4:6], v[6:8], v[8:10], v[10:])
		}
		return hex.EncodeToString(v)
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = plain(e, "")
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = plain(e, "")
		}
		return out
	case duckdb.Map:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[fmt.Sprint(plain(k, ""))] = plain(e, "")
		}
		return out
	case fmt.Stringer:
		return v.String()
	}
	return fmt.Sprint(v)
}

func timeText(t time.Time, typeName string) string {
	switch typeName {
	case "DATE":
		return t.Format(time.DateOnly)
	case "TIME":
		return t.Format("15:04:05.999999")
	}
	return t.UTC().Format(time.RFC3339Nano)
}

func float(v float64, bits int) any {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return fmt.Sprint(v)
	}
	text, err := json.Marshal(v)
	if bits == 32 {
		text, err = json.Marshal(float32(v))
	}
	if err != nil {
		return fmt.Sprint(v)
	}
	return json.Number(text)
}
