package report

import (
	"cmp"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/thtbatch/thtbatch/internal/plan"
	"github.com/thtbatch/thtbatch/internal/record"
	"github.com/thtbatch/thtbatch/internal/words"
)

// width in columns at which the lines of the summary are broken.
const width = 100

// How much of a list the summary shows: it is read by somebody tired.
const (
	shownReasons  = 3
	shownFailures = 3
	shownWarnings = 3
	shownViews    = 4
)

// Text writes the summary for a person: what happened, how much of what, what
// was held back and where to look. A night on which nothing changed is one
// line. It is some 25 lines at most.
func Text(w io.Writer, p *words.Printer, s Summary) error {
	t := &text{p: p}
	took := s.FinishedAt.Sub(s.StartedAt)
	if s.NothingNew() {
		t.nothingNew(s, took)
	} else {
		t.headline(s, took)
		t.input(s)
		t.plan(s)
		t.heldBack(s)
		t.reports(s)
		t.times(s)
	}
	_, err := io.WriteString(w, t.String())
	return err
}

// text collects rows of a label and what is said under it.
type text struct {
	p    *words.Printer
	head []string
	rows []row
}

type row struct{ label, text string }

func (t *text) say(id string, args ...any) string {
	named := make(map[string]any, len(args)/2)
	for i := 0; i+1 < len(args); i += 2 {
		named[args[i].(string)] = args[i+1]
	}
	return t.p.Say(id, named)
}

func (t *text) add(label, text string) {
	if text != "" {
		t.rows = append(t.rows, row{label, text})
	}
}

func (t *text) nothingNew(s Summary, took time.Duration) {
	args := []any{"job", s.Job, "took", took, "sessions", s.Sessions.Listed, "records", s.Unchanged, "path", s.Published.Dir}
	// What is nought is left out of the sentence.
	if s.Withheld > 0 {
		args = append(args, "withheld", s.Withheld)
	}
	if n := total(s.Quarantine); n > 0 {
		args = append(args, "quarantined", n)
	}
	t.head = append(t.head, t.say("summary_nothing_new", args...))
}

func (t *text) headline(s Summary, took time.Duration) {
	t.head = append(t.head, t.say("summary_headline", "job", s.Job, "status", s.Status, "took", took, "run_id", s.RunID))
	if s.DryRun {
		t.head = append(t.head, t.say("summary_dry_run"))
	}
}

// counts is a list of labels with their numbers, those that are nought left out.
type counts struct {
	t    *text
	list []string
}

func (c *counts) add(label string, n int64) {
	if n != 0 {
		c.list = append(c.list, together(label+" "+c.t.p.Count(n)))
	}
}

// together keeps a label and its number on one line. Nothing that is shown has a
// NUL in it: words.Safe saw to that.
func together(s string) string { return strings.ReplaceAll(s, " ", glue) }

const glue = "\x00"

func (c *counts) String() string { return strings.Join(c.list, ", ") }

func (t *text) input(s Summary) {
	sessions := counts{t: t}
	sessions.add(t.say("summary_listed"), int64(s.Sessions.Listed))
	sessions.add(t.say("summary_read"), int64(s.Sessions.Read))
	sessions.add(t.say("summary_changed"), int64(s.Sessions.Changed))
	states := counts{t: t}
	states.add(t.p.Label("session_state", "ok"), int64(s.Sessions.OK))
	states.add(t.p.Label("session_state", "degraded"), int64(s.Sessions.Degraded))
	states.add(t.p.Label("session_state", "invalid"), int64(s.Sessions.Invalid))
	states.add(t.p.Label("session_state", "gone"), int64(s.Sessions.Gone))
	decisions := counts{t: t}
	decisions.add(t.say("summary_decisions"), s.Decisions)
	t.add(t.say("summary_sessions"), joined("; ", sessions.String(), states.String(), decisions.String()))

	registry := counts{t: t}
	registry.add(t.say("summary_lines"), int64(s.Registry.Lines))
	registry.add(t.say("summary_indexable"), int64(s.Registry.Indexable))
	registry.add(t.say("summary_not_indexable"), int64(s.Registry.Skipped))
	t.add(t.say("summary_registry"), registry.String())

	candidates, statuses := counts{t: t}, []string{"promoted", "declined", "duplicate", "proposed", "overflow"}
	sorted := slices.Clone(s.Candidates)
	slices.SortStableFunc(sorted, func(a, b StatusCount) int {
		return cmp.Compare(slices.Index(statuses, a.Status), slices.Index(statuses, b.Status))
	})
	for _, c := range sorted {
		candidates.add(t.p.Label("candidate", c.Status), int64(c.Count))
	}
	t.add(t.say("summary_candidates"), candidates.String())
}

// planOrder is the order in which actions are shown: what is written comes
// first, then what is not, then what only is reported.
func planOrder() []plan.Action {
	return []plan.Action{plan.Insert, plan.Reembed, plan.Adopt, plan.Update, plan.Repayload, plan.Unchanged,
		plan.Withheld, plan.Retracted, plan.Foreign, plan.Orphan, plan.Twin}
}

func (t *text) plan(s Summary) {
	kinds := []string{record.KindMemory, record.KindSolved}
	for _, a := range s.Actions {
		if !slices.Contains(kinds, a.Kind) {
			kinds = append(kinds, a.Kind)
		}
	}
	actions := slices.Clone(s.Actions)
	slices.SortStableFunc(actions, func(a, b ActionCount) int { return cmp.Compare(rank(a), rank(b)) })
	for _, kind := range kinds {
		line := counts{t: t}
		for _, a := range actions {
			if a.Kind == kind {
				line.add(t.p.Label("action", a.Action), int64(a.Count))
			}
		}
		t.add(t.p.Label("kind", kind), line.String())
	}
	if s.DryRun {
		return
	}
	done := counts{t: t}
	done.add(t.say("summary_inserted"), int64(s.Inserted))
	done.add(t.say("summary_updated"), int64(s.Updated))
	done.add(t.say("summary_repayloaded"), int64(s.Repayloaded))
	embedded := counts{t: t}
	embedded.add(t.say("summary_embedded"), int64(s.Embedded))
	embedded.add(t.say("summary_cached"), int64(s.CacheHits))
	line := joined("; ", done.String(), embedded.String())
	if line == "" && len(s.Actions) > 0 {
		line = t.say("summary_index_untouched")
	}
	if line != "" && s.Index != "" {
		line += " (" + words.Safe(s.Index) + ")"
	}
	t.add(t.say("summary_index"), line)
}

func rank(a ActionCount) int {
	if at := slices.Index(planOrder(), plan.Action(a.Action)); at >= 0 {
		return at
	}
	return len(planOrder())
}

func (t *text) heldBack(s Summary) {
	if s.Withheld > 0 || len(s.WithheldReasons) > 0 {
		t.add(t.say("summary_withheld"), t.reasons(max(s.Withheld, total(s.WithheldReasons)), s.WithheldReasons, "index_plan"))
	}
	if n := total(s.Quarantine); n > 0 {
		t.add(t.say("summary_quarantine"), t.reasons(n, s.Quarantine, "quarantine"))
	}
	t.failures(s)
	label := t.say("summary_warning")
	for i, m := range s.Warnings {
		if i == shownWarnings {
			t.add("", t.say("summary_more", "count", len(s.Warnings)-i))
			break
		}
		t.add(label, t.p.Say(m.ID, m.Args))
	}
}

func (t *text) failures(s Summary) {
	label := t.say("summary_failed")
	if n := max(s.Failed, len(s.Failures)); n > 0 {
		t.add(label, t.p.Count(int64(n)))
		for i, f := range s.Failures {
			if i == shownFailures {
				t.add("", t.say("summary_more", "count", n-i))
				break
			}
			t.add("", words.Safe(f.Key)+": "+t.p.Reason(f.Reason))
		}
	}
}

// reasons is a number, the most frequent reasons for it, and where all are.
func (t *text) reasons(n int, reasons []ReasonCount, view string) string {
	out := t.p.Count(int64(n))
	var list []string
	for i, r := range reasons {
		if i == shownReasons {
			list = append(list, t.say("summary_other_reasons", "count", len(reasons)-i))
			break
		}
		list = append(list, t.p.Reason(r.Reason)+" ("+t.p.Count(int64(r.Count))+")")
	}
	out = joined(": ", out, strings.Join(list, "; "))
	return out + ". " + t.say("summary_see", "view", view)
}

func total(reasons []ReasonCount) (n int) {
	for _, r := range reasons {
		n += r.Count
	}
	return n
}

func (t *text) reports(s Summary) {
	p := s.Published
	if p.Dir == "" {
		return
	}
	line := t.say("summary_published_unchanged", "path", p.Dir)
	switch {
	case p.Unchanged:
	case len(p.Views) > shownViews:
		line = t.say("summary_published_many", "path", p.Dir, "count", len(p.Views))
	case len(p.Views) > 0:
		line = t.say("summary_published", "path", p.Dir, "views", p.Views)
	}
	t.add(t.say("summary_reports"), line)
}

// times shows the stages that somebody could want to be faster.
func (t *text) times(s Summary) {
	const worthShowing = 100 * time.Millisecond
	var list []string
	for _, phase := range s.Phases {
		if phase.Wall >= worthShowing {
			list = append(list, together(t.p.Label("stage", phase.Name)+" "+t.p.Duration(phase.Wall)))
		}
	}
	t.add(t.say("summary_time"), strings.Join(list, ", "))
}

func joined(separator string, parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), separator)
}

// String lays the rows out: the head as it is, labels in a column, texts beside
// it, broken at blanks; a label is written once for the rows that share it.
func (t *text) String() string {
	indent := 0
	for _, r := range t.rows {
		indent = max(indent, utf8.RuneCountInString(r.label)+2)
	}
	var b strings.Builder
	for _, line := range t.head {
		b.WriteString(line + "\n")
	}
	last := ""
	for _, r := range t.rows {
		label := r.label
		if label == last {
			label = ""
		} else if label != "" {
			last = label
		}
		for _, part := range wrap(r.text, width-indent) {
			b.WriteString(label + strings.Repeat(" ", indent-utf8.RuneCountInString(label)) + part + "\n")
			label = ""
		}
	}
	return b.String()
}

// wrap breaks at blanks. A word that is too long, such as a path, stands as it
// is on a line of its own, so that it can be copied.
func wrap(s string, width int) []string {
	const narrow = 20 // below it, breaking helps nobody
	if width < narrow || utf8.RuneCountInString(s) <= width {
		return []string{strings.ReplaceAll(s, glue, " ")}
	}
	var lines []string
	line := ""
	for word := range strings.SplitSeq(s, " ") {
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			lines, line = append(lines, line), ""
		}
		line = joined(" ", line, word)
	}
	lines = append(lines, line)
	for i := range lines {
		lines[i] = strings.ReplaceAll(lines[i], glue, " ")
	}
	return lines
}

// Warnings writes the warnings of a summary alone, a line each.
func Warnings(w io.Writer, p *words.Printer, s Summary) error {
	for _, m := range s.Warnings {
		if _, err := io.WriteString(w, p.Say("summary_warning", nil)+": "+p.Say(m.ID, m.Args)+"\n"); err != nil {
			return err
		}
	}
	return nil
}
