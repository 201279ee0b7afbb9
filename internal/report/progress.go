package report

import (
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/thtbatch/thtbatch/internal/words"
)

// ProgressOptions say where progress is shown and how.
type ProgressOptions struct {
	Out io.Writer // a terminal, or unused
	// Terminal draws bars on Out; without it, lines go to Log.
	Terminal bool
	Quiet    bool // shows nothing at all
	Log      *slog.Logger
	Now      func() time.Time
	Words    *words.Printer
}

// Progress shows how far the stages of a job are: bars on a terminal, a log
// line at the start and the end of each stage elsewhere, and at most one every
// ten seconds between them. A nil Progress shows nothing. Its methods, and those
// of its stages, may be called from several goroutines.
type Progress struct {
	o    ProgressOptions
	bars *mpb.Progress // nil where there are none

	mu     sync.Mutex
	open   map[*Stage]bool
	closed bool
}

const (
	lineEvery = 10 * time.Second
	drawEvery = 100 * time.Millisecond
	nameWidth = 26 // columns for the name of a stage
)

// NewProgress starts to show progress. Close ends it.
func NewProgress(o ProgressOptions) *Progress {
	p := &Progress{o: o, open: map[*Stage]bool{}}
	if o.Terminal && !o.Quiet {
		// The caller knows that Out is a terminal, also behind a wrapper.
		p.bars = mpb.New(mpb.WithOutput(o.Out), mpb.ForceTTY(), mpb.WithAutoRefresh(), mpb.WithRefreshRate(drawEvery))
	}
	return p
}

// Writer is where a log goes while bars are drawn: its lines appear above them.
func (p *Progress) Writer() io.Writer { return aboveBars{p} }

type aboveBars struct{ p *Progress }

func (a aboveBars) Write(line []byte) (int, error) {
	p := a.p
	if p == nil {
		return len(line), nil
	}
	// Without a lock: a stage that begins logs too. Bars that are closed refuse.
	if p.bars != nil {
		if n, err := p.bars.Write(line); err == nil {
			return n, nil
		}
	}
	return p.o.Out.Write(line)
}

// Stage is one piece of work. A nil Stage counts nothing.
type Stage struct {
	p     *Progress
	name  string
	total int64
	bar   *mpb.Bar
	start time.Time

	count atomic.Int64
	shown atomic.Int64 // nanoseconds of the epoch of the last sign of life
	ended atomic.Bool
}

// Start begins a stage of total items; 0 when nobody knows how many. Close it
// with Done.
func (p *Progress) Start(name string, total int64) *Stage {
	if p == nil {
		return nil
	}
	s := &Stage{p: p, name: name, total: total, start: p.o.Now()}
	s.shown.Store(s.start.UnixNano())
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.closed || p.o.Quiet:
		s.ended.Store(true)
		return s
	case p.bars != nil:
		s.bar = p.newBar(s)
	default:
		p.o.Log.Info("stage started", "stage", name, "total", total)
	}
	p.open[s] = true
	return s
}

func (p *Progress) newBar(s *Stage) *mpb.Bar {
	label := p.o.Words.Label("stage", s.name)
	options := []mpb.BarOption{
		mpb.PrependDecorators(decor.Name(label, decor.WC{W: nameWidth, C: decor.DindentRight | decor.DextraSpace})),
		mpb.AppendDecorators(decor.Any(func(st decor.Statistics) string { return p.counted(s, st) })),
	}
	if s.total > 0 {
		return p.bars.AddBar(s.total, options...)
	}
	// A spinner goes on turning when its stage is over, unless it is told.
	options = append(options, mpb.BarFillerOnComplete("✓"), mpb.BarFillerOnAbort("–"))
	return p.bars.New(0, mpb.SpinnerStyle().PositionLeft(), options...)
}

// counted is what stands behind a bar.
func (p *Progress) counted(s *Stage, st decor.Statistics) string {
	n := p.o.Words.Count(st.Current)
	switch {
	case s.total > 0:
		return fmt.Sprintf(" %s / %s", n, p.o.Words.Count(s.total))
	case st.Current > 0:
		return " " + n
	}
	return ""
}

// Add counts n items more.
func (s *Stage) Add(n int64) {
	if s == nil || s.ended.Load() {
		return
	}
	count := s.count.Add(n)
	every := lineEvery
	if s.bar != nil {
		every = drawEvery // telling a bar costs more than counting
	}
	now, last := s.p.o.Now(), s.shown.Load()
	if now.UnixNano()-last < int64(every) || !s.shown.CompareAndSwap(last, now.UnixNano()) {
		return
	}
	if s.bar != nil {
		s.bar.SetCurrent(count)
		return
	}
	s.p.o.Log.Info("stage", "stage", s.name, "done", count, "total", s.total)
}

// Done ends the stage, whether or not all its items were counted. A second call
// does nothing.
func (s *Stage) Done() {
	if s == nil || s.ended.Swap(true) {
		return
	}
	s.p.mu.Lock()
	delete(s.p.open, s)
	s.p.mu.Unlock()
	count := s.count.Load()
	if s.bar != nil {
		s.bar.SetCurrent(count)
		s.bar.SetTotal(-1, true)
		return
	}
	s.p.o.Log.Info("stage done", "stage", s.name, "done", count, "seconds", seconds(s.p.o.Now().Sub(s.start)))
}

// Close ends what is still open and waits until everything is drawn. Nothing is
// shown after it.
func (p *Progress) Close() {
	if p == nil {
		return
	}
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return
	}
	p.closed = true
	for s := range p.open {
		s.ended.Store(true)
		if s.bar != nil {
			s.bar.Abort(false)
		}
	}
	p.mu.Unlock()
	if p.bars != nil {
		p.bars.Wait()
	}
}
