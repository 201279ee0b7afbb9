package extract

import (
	"bytes"
	"math"
)

// decimal is a JSON number taken apart, so that it can be read exactly: digits
// times ten to the power of scale.
type decimal struct {
	negative bool
	digits   []byte // no zero at either end; empty is zero
	scale    int64
}

// farScale stands for every exponent that is too large to matter. It is larger
// than any count of digits on a line.
const farScale = 1 << 40

// readDecimal takes a valid JSON number apart. scratch receives the digits when
// there is a point among them.
func readDecimal(num, scratch []byte) decimal {
	var d decimal
	if num[0] == '-' {
		d.negative, num = true, num[1:]
	}
	if e := bytes.IndexAny(num, "eE"); e >= 0 {
		d.scale = readExponent(num[e+1:])
		num = num[:e]
	}
	if point := bytes.IndexByte(num, '.'); point >= 0 {
		d.scale -= int64(len(num) - point - 1)
		num = append(append(scratch[:0], num[:point]...), num[point+1:]...)
	}
	num = bytes.TrimLeft(num, "0")
	d.digits = bytes.TrimRight(num, "0")
	d.scale += int64(len(num) - len(d.digits))
	return d
}

func readExponent(s []byte) int64 {
	negative := s[0] == '-'
	if negative || s[0] == '+' {
		s = s[1:]
	}
	var e int64
	for _, c := range s {
		if e = e*10 + int64(c-'0'); e > farScale {
			e = farScale
		}
	}
	if negative {
		return -e
	}
	return e
}

// integer is the number times ten to the power of shift. Digits behind the point
// are cut when cut is set; otherwise they, like a value beyond int64, are no
// integer.
func (d decimal) integer(shift int64, cut bool) (int64, bool) {
	digits, zeros := d.digits, d.scale+shift
	if len(digits) == 0 {
		return 0, true
	}
	if zeros < 0 {
		if !cut {
			return 0, false
		}
		digits, zeros = digits[:max(0, int64(len(digits))+zeros)], 0
	}
	if int64(len(digits))+zeros > 19 { // digits of 2^63-1
		return 0, false
	}
	var n uint64
	for _, c := range digits {
		n = n*10 + uint64(c-'0')
	}
	for ; zeros > 0; zeros-- {
		n *= 10
	}
	if n > math.MaxInt64 {
		return 0, false
	}
	if d.negative {
		return -int64(n), true
	}
	return int64(n), true
}

// readDigits reads a text of ASCII digits.
func readDigits(s []byte) (int64, bool) {
	if len(s) == 0 {
		return 0, false
	}
	for _, c := range s {
		if c < '0' || c > '9' {
			return 0, false
		}
	}
	s = bytes.TrimLeft(s, "0")
	return decimal{digits: s}.integer(0, false)
}
