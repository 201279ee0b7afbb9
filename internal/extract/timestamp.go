package extract

import "time"

// The first and the last microsecond of the years 1 to 9999.
const (
	firstMicro = -62135596800_000000
	lastMicro  = 253402300799_999999
)

// parseTime reads an ISO 8601 calendar date and time as microseconds of the
// epoch. Date and time are extended or basic, each by itself; between them
// stands a T or one space; seconds and fraction may be left out, and digits
// beyond the microsecond are cut; a date alone is midnight. Offsets are Z, ±HH,
// ±HH:MM and ±HHMM, and UTC when there is none. The hour 24 and the second 60
// are refused, and so is a moment outside the years 1 to 9999 in UTC.
func parseTime(s []byte) (micros int64, ok bool) {
	r := timeReader{rest: s}
	year, month, day := r.date()
	var clock clock
	if len(r.rest) > 0 && !r.failed {
		if r.rest[0] != 'T' && r.rest[0] != ' ' {
			return 0, false
		}
		r.rest = r.rest[1:]
		clock = r.clock()
	}
	if r.failed || len(r.rest) > 0 {
		return 0, false
	}
	t := time.Date(year, time.Month(month), day, clock.hour, clock.minute, clock.second, 0, time.UTC)
	// time.Date carries what overflows: the 30th of February becomes another day.
	if year == 0 || int(t.Month()) != month || t.Day() != day {
		return 0, false
	}
	micros = (t.Unix()-clock.offset)*1_000_000 + clock.micros
	return micros, firstMicro <= micros && micros <= lastMicro
}

// epochMicros reads a JSON number of seconds, cut to microseconds.
func epochMicros(num, scratch []byte) (micros int64, ok bool) {
	micros, ok = readDecimal(num, scratch).integer(6, true)
	return micros, ok && firstMicro <= micros && micros <= lastMicro
}

type clock struct {
	hour, minute, second int
	micros               int64
	offset               int64 // seconds east of UTC
}

// timeReader takes a text apart from its front; once failed, it stays so.
type timeReader struct {
	rest   []byte
	failed bool
}

func (r *timeReader) date() (year, month, day int) {
	year = r.number(4, 0, 9999)
	extended := r.take('-')
	month = r.number(2, 1, 12)
	if extended {
		r.expect('-')
	}
	return year, month, r.number(2, 1, 31)
}

func (r *timeReader) clock() (c clock) {
	c.hour = r.number(2, 0, 23)
	extended := r.take(':')
	c.minute = r.number(2, 0, 59)
	if extended && r.take(':') || !extended && r.atDigit() {
		c.second = r.number(2, 0, 59)
		if r.take('.') || r.take(',') {
			c.micros = r.fraction()
		}
	}
	c.offset = r.offset()
	return c
}

func (r *timeReader) fraction() (micros int64) {
	if !r.atDigit() {
		r.failed = true
	}
	for place := int64(100_000); r.atDigit(); place /= 10 {
		micros += int64(r.rest[0]-'0') * place
		r.rest = r.rest[1:]
	}
	return micros
}

func (r *timeReader) offset() int64 {
	if len(r.rest) == 0 || r.take('Z') {
		return 0
	}
	sign := int64(1)
	if r.take('-') {
		sign = -1
	} else {
		r.expect('+')
	}
	seconds := int64(r.number(2, 0, 23)) * 3600
	if r.take(':') || r.atDigit() {
		seconds += int64(r.number(2, 0, 59)) * 60
	}
	return sign * seconds
}

// number reads exactly width digits.
func (r *timeReader) number(width, low, high int) (n int) {
	if len(r.rest) < width {
		r.failed = true
		return low
	}
	for _, c := range r.rest[:width] {
		if c < '0' || c > '9' {
			r.failed = true
			return low
		}
		n = n*10 + int(c-'0')
	}
	r.rest = r.rest[width:]
	if n < low || n > high {
		r.failed = true
		return low
	}
	return n
}

func (r *timeReader) atDigit() bool {
	return len(r.rest) > 0 && '0' <= r.rest[0] && r.rest[0] <= '9'
}

func (r *timeReader) take(c byte) bool {
	if len(r.rest) == 0 || r.rest[0] != c {
		return false
	}
	r.rest = r.rest[1:]
	return true
}

func (r *timeReader) expect(c byte) {
	if !r.take(c) {
		r.failed = true
	}
}
