package extract

import "context"

// decision is a readable line of a ledger. Its texts are valid until the next
// line is read.
type decision struct {
	seq, repeat, ts                 int64
	typ, subject, detail, rationale []byte
	phase                           int8   // 0 when the line names none
	extra                           []byte // nil when there is none
}

// ledgerMembers are the members of a line that have a rule: of a repeated key the
// last, nil when there is none.
type ledgerMembers struct {
	seq, ts, typ, subject, detail, rationale, phase *member
}

type ledgerReader struct {
	record  recordReader
	repeats repeats
}

// read makes a row of every line that is not blank, a decision or a fault, in the
// order of the file. Its error is the context's.
func (r *ledgerReader) read(ctx context.Context, content []byte, rows ledgerRows) (count int64, err error) {
	r.record.start(content)
	r.repeats.start()
	var d decision
	for l := range lines(content) {
		count = l.number
		if count%linesBetweenCtx == 0 && ctx.Err() != nil {
			return count, ctx.Err()
		}
		if l.blank() {
			continue
		}
		if reason := r.parse(l, &d); reason != "" {
			rows.badLine(l, reason)
			continue
		}
		d.repeat = r.repeats.count(d.seq)
		rows.decision(l, &d)
	}
	return count, nil
}

// parse fills d, or says which rule the line breaks first.
func (r *ledgerReader) parse(l line, d *decision) (reason string) {
	members, reason := r.record.object(l)
	if reason != "" {
		return reason
	}
	var own ledgerMembers
	for i := range members {
		m := &members[i]
		switch string(r.record.fields.key(m)) {
		case "seq":
			own.seq = m
		case "ts":
			own.ts = m
		case "type":
			own.typ = m
		case "subject":
			own.subject = m
		case "detail":
			own.detail = m
		case "rationale":
			own.rationale = m
		case "phase":
			own.phase = m
		default:
			r.record.other = append(r.record.other, i)
		}
	}
	return r.values(&own, d)
}

func (r *ledgerReader) values(own *ledgerMembers, d *decision) (reason string) {
	f := &r.record.fields
	var ok bool
	switch {
	case absent(own.seq):
		return reasonSeqMissing
	case absent(own.ts):
		return reasonTSMissing
	case absent(own.typ):
		return "type: missing"
	}
	if d.seq, ok = f.seq(own.seq); !ok {
		return reasonSeq
	}
	if d.ts, ok = f.ts(own.ts); !ok {
		return reasonTS
	}
	if d.typ, ok = f.text(own.typ); !ok {
		return reasonType
	}
	if len(d.typ) == 0 {
		return reasonTypeEmpty
	}
	if d.subject, ok = f.text(own.subject); !ok {
		return "subject: not a string"
	}
	if d.detail, ok = f.text(own.detail); !ok {
		return "detail: not a string"
	}
	if d.rationale, ok = f.text(own.rationale); !ok {
		return "rationale: not a string"
	}
	if d.phase = 0; !absent(own.phase) {
		if d.phase, ok = f.phase(own.phase); !ok {
			return reasonPhase
		}
	}
	d.extra = r.record.extra()
	return ""
}

// repeats counts how often a seq was seen in a file. As long as they rise, as
// they do in nearly every ledger, no table is needed.
type repeats struct {
	rising []int64
	counts map[int64]int64
}

func (r *repeats) start() {
	r.rising, r.counts = r.rising[:0], nil
}

// count is how many readable lines before this one had the same seq.
func (r *repeats) count(seq int64) (before int64) {
	if r.counts == nil {
		if n := len(r.rising); n == 0 || seq > r.rising[n-1] {
			r.rising = append(r.rising, seq)
			return 0
		}
		r.counts = make(map[int64]int64, len(r.rising)+1)
		for _, s := range r.rising {
			r.counts[s] = 1
		}
	}
	before = r.counts[seq]
	r.counts[seq] = before + 1
	return before
}
