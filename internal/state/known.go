package state

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/thtbatch/thtbatch/internal/fault"
)

// Known is what the last complete scan found. A later scan that finds much less
// looks at a share that is not mounted.
type Known struct {
	Root            string   // artifacts directory, as the scan was told
	Sessions        []string // ids, sorted, each once
	RegistryRecords int      // readable registry lines
	RecordedAt      time.Time
}

// The file: a JSON header on the first line, then one session id a line. A
// name on disk may hold any byte but / and NUL: what is no printable text is
// written as \xNN, and the header counts the lines, so that a file that was cut
// is noticed.
type knownHeader struct {
	Root            string    `json:"root"`
	Sessions        *int      `json:"sessions"`
	RegistryRecords int       `json:"registry_records"`
	RecordedAt      time.Time `json:"recorded_at"`
}

// LoadKnown reads what the last complete scan found; ok is false when there was
// none. A file that cannot be read as a whole is the fault known_damaged: a
// guard that does not know must not say yes.
func (d *Dir) LoadKnown() (known Known, ok bool, err error) {
	content, err := os.ReadFile(d.KnownFile())
	if errors.Is(err, fs.ErrNotExist) {
		return Known{}, false, nil
	}
	if err != nil {
		return Known{}, false, fault.New(fault.Failed, "state_unreadable", "path", d.KnownFile()).Because(err)
	}
	known, line, reason := parseKnown(content)
	if reason != "" {
		return Known{}, false, fault.New(fault.Failed, "known_damaged", "path", d.KnownFile(), "line", line, "reason", reason)
	}
	return known, true, nil
}

// SaveKnown keeps what a complete scan found. The file is replaced as a whole,
// and only when something but the time differs. It reports whether it was
// written.
func (d *Dir) SaveKnown(k Known) (written bool, err error) {
	k.Sessions = sorted(k.Sessions)
	// An old file that cannot be read is replaced like one that differs.
	if old, ok, err := d.LoadKnown(); err == nil && ok && old.Root == k.Root &&
		old.RegistryRecords == k.RegistryRecords && slices.Equal(old.Sessions, k.Sessions) {
		return false, nil
	}
	content, err := formatKnown(k)
	if err != nil {
		return false, fmt.Errorf("save known sessions: %w", err)
	}
	if err := writeFile(d.KnownFile(), content); err != nil {
		return false, notWritten(d.KnownFile(), err)
	}
	return true, nil
}

// Vanishing is the part of the known sessions that a scan did not find.
type Vanishing struct {
	Known int
	Gone  []string // ids, sorted
}

// Share of the known sessions that are gone, 0 to 1.
func (v Vanishing) Share() float64 {
	if v.Known == 0 {
		return 0
	}
	return float64(len(v.Gone)) / float64(v.Known)
}

// Exceeds says whether more than percent of the known sessions are gone.
func (v Vanishing) Exceeds(percent int) bool { return len(v.Gone)*100 > v.Known*percent }

// Vanished compares what was known with the ids that a complete scan found, in
// any order.
func Vanished(known Known, found []string) Vanishing {
	found, before := sorted(found), sorted(known.Sessions)
	v := Vanishing{Known: len(before)}
	at := 0
	for _, id := range before {
		for at < len(found) && found[at] < id {
			at++
		}
		if at == len(found) || found[at] != id {
			v.Gone = append(v.Gone, id)
		}
	}
	return v
}

// sorted returns ids in order and each once; it copies only when it must.
func sorted(ids []string) []string {
	strictly := true
	for i := 1; i < len(ids) && strictly; i++ {
		strictly = ids[i-1] < ids[i]
	}
	if strictly {
		return ids
	}
	ids = slices.Clone(ids)
	slices.Sort(ids)
	return slices.Compact(ids)
}

func formatKnown(k Known) ([]byte, error) {
	count := len(k.Sessions)
	header, err := json.Marshal(knownHeader{
		Root: escapeName(k.Root), Sessions: &count,
		RegistryRecords: k.RegistryRecords, RecordedAt: k.RecordedAt.UTC(),
	})
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.Grow(len(header) + 24*count)
	b.Write(header)
	b.WriteByte('\n')
	for _, id := range k.Sessions {
		b.WriteString(escapeName(id))
		b.WriteByte('\n')
	}
	return b.Bytes(), nil
}

// parseKnown returns the line and the reason of the first thing that is wrong.
func parseKnown(content []byte) (known Known, line int, reason string) {
	first, rest, _ := strings.Cut(string(content), "\n")
	var header knownHeader
	if err := json.Unmarshal([]byte(first), &header); err != nil {
		return Known{}, 1, "not_json"
	}
	if header.Sessions == nil || *header.Sessions < 0 || header.RegistryRecords < 0 {
		return Known{}, 1, "no_count"
	}
	if lines := strings.Count(rest, "\n"); lines != *header.Sessions {
		return Known{}, lines + 1, "cut_short"
	}
	root, ok := unescapeName(header.Root)
	if !ok {
		return Known{}, 1, "bad_escape"
	}
	known = Known{Root: root, RegistryRecords: header.RegistryRecords, RecordedAt: header.RecordedAt.UTC()}
	known.Sessions = make([]string, 0, *header.Sessions)
	for number := 2; rest != ""; number++ {
		var written string
		written, rest, _ = strings.Cut(rest, "\n")
		id, ok := unescapeName(written)
		if !ok || id == "" {
			return Known{}, number, "bad_escape"
		}
		known.Sessions = append(known.Sessions, id)
	}
	known.Sessions = sorted(known.Sessions)
	return known, 0, ""
}

// escapeName writes backslashes, control characters and bytes that are not
// UTF-8 as \xNN.
func escapeName(name string) string {
	if plain(name) {
		return name
	}
	const hex = "0123456789abcdef"
	var b strings.Builder
	for i := 0; i < len(name); {
		r, size := utf8.DecodeRuneInString(name[i:])
		if r == '\\' || r < ' ' || r == 0x7f || (r == utf8.RuneError && size == 1) {
			b.WriteString(`\x`)
			b.WriteByte(hex[name[i]>>4])
			b.WriteByte(hex[name[i]&15])
		} else {
			b.WriteString(name[i : i+size])
		}
		i += size
	}
	return b.String()
}

func plain(name string) bool {
	for i := 0; i < len(name); i++ {
		if c := name[i]; c < ' ' || c >= 0x7f || c == '\\' {
			return false
		}
	}
	return true
}

func unescapeName(written string) (string, bool) {
	if strings.IndexByte(written, '\\') < 0 {
		return written, true
	}
	var b strings.Builder
	for i := 0; i < len(written); i++ {
		if written[i] != '\\' {
			b.WriteByte(written[i])
			continue
		}
		if i+4 > len(written) || written[i+1] != 'x' {
			return "", false
		}
		code, err := strconv.ParseUint(written[i+2:i+4], 16, 8)
		if err != nil {
			return "", false
		}
		b.WriteByte(byte(code))
		i += 3
	}
	return b.String(), true
}
