package extract

import (
	"math/big"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestParseTime(t *testing.T) {
	feb := func(hour, minute, second, micro int) int64 { return micros(2026, 2, 1, hour, minute, second, micro) }
	for _, c := range []struct {
		text string
		want int64
	}{
		{"2026-02-01T10:20:30Z", feb(10, 20, 30, 0)},
		{"2026-02-01 10:20:30", feb(10, 20, 30, 0)},
		{"2026-02-01T10:20", feb(10, 20, 0, 0)},
		{"2026-02-01T10:20+02:00", feb(8, 20, 0, 0)},
		{"2026-02-01", feb(0, 0, 0, 0)},
		{"20260201", feb(0, 0, 0, 0)},
		{"20260201T102030", feb(10, 20, 30, 0)},
		{"20260201T1020Z", feb(10, 20, 0, 0)},
		{"20260201 102030.5+0130", feb(8, 50, 30, 500000)},
		{"2026-02-01T102030-01", feb(11, 20, 30, 0)},
		{"2026-02-01T10:20:30-0130", feb(11, 50, 30, 0)},
		{"2026-02-01T10:20:30.1Z", feb(10, 20, 30, 100000)},
		{"2026-02-01T10:20:30,123456789Z", feb(10, 20, 30, 123456)},
		{"2026-02-01T10:20:30.9999999", feb(10, 20, 30, 999999)},
		{"2024-02-29", micros(2024, 2, 29, 0, 0, 0, 0)},
		{"1969-12-31T23:59:59.1234567Z", micros(1969, 12, 31, 23, 59, 59, 123456)},
		{"0001-01-01T00:00:00Z", firstMicro},
		{"9999-12-31T23:59:59.999999Z", lastMicro},
		{"9999-12-31T23:59:59.999999+01:00", lastMicro - 3600_000000},
	} {
		if got, ok := parseTime([]byte(c.text)); !ok || got != c.want {
			t.Errorf("%s: read %d, %v, want %d", c.text, got, ok, c.want)
		}
	}
	for _, text := range []string{
		"", "T", "2026", "2026-02", "202602", "2026-2-1", "26-02-01", "+002026-02-01", "-2026-02-01", "20260201Z",
		"2026-02-30", "2025-02-29", "1900-02-29", "2026-13-01", "2026-00-01", "2026-02-00", "0000-01-01", "2026-0201", "202602-01",
		"2026-W05-7", "2026-032", "01/02/2026", "2026/02/01", "2026-02-01t10:20", "2026-02-01T", "2026-02-01  10:20", "2026-02-01T10",
		"2026-02-01T24:00", "2026-02-01T10:60", "2026-02-01T10:20:60", "2026-02-01T10:2", "2026-02-01T10:20:3", "2026-02-01T10:20:",
		"2026-02-01T10:20:30.", "2026-02-01T10:20.5", "2026-02-01T10:2030", "2026-02-01T1020:30", "2026-02-01T10:20:30z",
		"2026-02-01T10:20:30 Z", "2026-02-01T10:20:30ZZ", "2026-02-01T10:20:30+", "2026-02-01T10:20:30+2", "2026-02-01T10:20:30+02:",
		"2026-02-01T10:20:30+02:0", "2026-02-01T10:20:30+24:00", "2026-02-01T10:20:30+02:60", "2026-02-01T10:20:30+02:00:00",
		"2026-02-01Z", "2026-02-01+02:00", " 2026-02-01", "2026-02-01 ", "2026-02-01\n", "２０２６-02-01", "yesterday",
		"0001-01-01T00:00:00+00:01", "9999-12-31T23:59:59-00:01",
	} {
		if got, ok := parseTime([]byte(text)); ok {
			t.Errorf("%q was read as %d", text, got)
		}
	}
}

func TestEpochMicros(t *testing.T) {
	for _, c := range []struct {
		number string
		want   int64
	}{
		{"0", 0}, {"-0.0", 0}, {"1769940000", 1769940000_000000}, {"1769940000.5", 1769940000_500000},
		{"1769940000.1234567", 1769940000_123456}, {"1769940000.999999999999", 1769940000_999999},
		{"1.769940000123456e9", 1769940000_123456}, {"17699400001234569e-7", 1769940000_123456},
		{"0.0000009", 0}, {"-1.5", -1_500000}, {"1e-400", 0}, {"-62135596800", firstMicro}, {"253402300799.999999", lastMicro},
		{"253402300799.9999999999", lastMicro},
	} {
		if got, ok := epochMicros([]byte(c.number), nil); !ok || got != c.want {
			t.Errorf("%s: read %d, %v, want %d", c.number, got, ok, c.want)
		}
	}
	for _, number := range []string{"253402300800", "-62135596801", "-62135596800.000001", "1e12", "1e400", "9223372036854775807"} {
		if got, ok := epochMicros([]byte(number), nil); ok {
			t.Errorf("%s was read as %d", number, got)
		}
	}
}

// What the standard library prints is read back to the microsecond.
func TestParseTimeReadsWhatIsPrinted(t *testing.T) {
	layouts := []string{time.RFC3339Nano, "2006-01-02 15:04:05.999999999Z07:00", "20060102T150405.999999999Z0700", "2006-01-02T15:04:05,999999999-07:00"}
	rapid.Check(t, func(t *rapid.T) {
		micro := rapid.Int64Range(firstMicro+24*3600_000000, lastMicro-24*3600_000000).Draw(t, "micros")
		zone := time.FixedZone("", 60*rapid.IntRange(-23*60, 23*60).Draw(t, "minutes"))
		layout := rapid.SampledFrom(layouts).Draw(t, "layout")
		text := time.UnixMicro(micro).In(zone).Add(time.Duration(rapid.IntRange(0, 999).Draw(t, "nanos"))).Format(layout)
		if got, ok := parseTime([]byte(text)); !ok || got != micro {
			t.Fatalf("%s: read %d, %v, want %d", text, got, ok, micro)
		}
	})
}

// Numbers are read as exactly as big rationals are.
func TestDecimalIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.StringMatching(`-?(0|[1-9][0-9]{0,22})(\.[0-9]{1,22})?([eE][+-]?[0-9]{1,2})?`).Draw(t, "number")
		want, ok := new(big.Rat).SetString(number)
		if !ok {
			t.Fatalf("%s is no number", number)
		}
		wantOK := want.IsInt() && want.Num().IsInt64() && want.Num().Int64() != -1<<63
		got, gotOK := readDecimal([]byte(number), nil).integer(0, false)
		if gotOK != wantOK || gotOK && got != want.Num().Int64() {
			t.Fatalf("%s: read %d, %v, want %s", number, got, gotOK, want)
		}
		micro := new(big.Rat).Mul(want, big.NewRat(1_000_000, 1))
		cut := new(big.Int).Quo(micro.Num(), micro.Denom())
		wantOK = cut.IsInt64() && firstMicro <= cut.Int64() && cut.Int64() <= lastMicro
		got, gotOK = epochMicros([]byte(number), nil)
		if gotOK != wantOK || gotOK && got != cut.Int64() {
			t.Fatalf("%s seconds: read %d, %v, want %s", number, got, gotOK, cut)
		}
	})
}
