package report

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/thtbatch/thtbatch/internal/words"
)

// clock moves only when it is told to.
type clock struct{ nanos atomic.Int64 }

func (c *clock) now() time.Time          { return start.Add(time.Duration(c.nanos.Load())) }
func (c *clock) forward(d time.Duration) { c.nanos.Add(int64(d)) }

type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func progress(terminal, quiet bool) (*Progress, *safeBuffer, *clock) {
	out, c := &safeBuffer{}, &clock{}
	log := slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
	return NewProgress(ProgressOptions{Out: out, Terminal: terminal, Quiet: quiet, Log: log, Now: c.now, Words: words.For(words.Italian)}), out, c
}

func TestProgressElsewhereIsLogLines(t *testing.T) {
	p, out, c := progress(false, false)
	s := p.Start("read", 100)
	for range 60 {
		c.forward(time.Second)
		s.Add(1)
	}
	s.Done()
	s.Done()
	s.Add(1)
	p.Start("plan", 0).Done()
	p.Close()
	p.Close()
	p.Start("late", 1).Done()
	want := []string{"level=INFO msg=\"stage started\" stage=read total=100"}
	for n := 10; n <= 60; n += 10 {
		want = append(want, fmt.Sprintf("level=INFO msg=stage stage=read done=%d total=100", n))
	}
	want = append(want, `level=INFO msg="stage done" stage=read done=60 seconds=60`,
		`level=INFO msg="stage started" stage=plan total=0`, `level=INFO msg="stage done" stage=plan done=0 seconds=0`, "")
	if got := out.String(); got != strings.Join(want, "\n") {
		t.Errorf("%s", got)
	}
}

func TestProgressOnATerminalIsBars(t *testing.T) {
	p, out, c := progress(true, false)
	s := p.Start("read", 20_000)
	unknown := p.Start("plan", 0)
	open := p.Start("x\x1b[2J", 7) // never done: Close must not wait for it
	c.forward(time.Second)
	s.Add(20_000)
	open.Add(1)
	if _, err := fmt.Fprintln(p.Writer(), "a line of the log"); err != nil {
		t.Fatal(err)
	}
	s.Done()
	unknown.Done()
	p.Close()
	if _, err := fmt.Fprintln(p.Writer(), "a line after it"); err != nil {
		t.Fatal(err)
	}
	got := out.String()
	for _, want := range []string{"Lettura delle sessioni", "20.000 / 20.000", "Piano", "a line of the log", "a line after it"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %q", want, got)
		}
	}
	if strings.Contains(got, "level=") || strings.Contains(got, "x\x1b[2J") {
		t.Errorf("%q", got)
	}
}

func TestQuietShowsNothing(t *testing.T) {
	for _, terminal := range []bool{true, false} {
		p, out, c := progress(terminal, true)
		s := p.Start("read", 2)
		c.forward(time.Minute)
		s.Add(1)
		s.Done()
		p.Close()
		if out.String() != "" {
			t.Errorf("terminal %v: %q", terminal, out.String())
		}
	}
}

func TestNilProgress(t *testing.T) {
	var p *Progress
	s := p.Start("read", 1)
	s.Add(1)
	s.Done()
	p.Close()
	if n, err := p.Writer().Write([]byte("x")); n != 1 || err != nil {
		t.Error(n, err)
	}
}

func TestProgressIsSafeForManyGoroutines(t *testing.T) {
	for _, terminal := range []bool{true, false} {
		p, _, c := progress(terminal, false)
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				s := p.Start("read", int64(1000*(i%2)))
				for range 1000 {
					c.forward(20 * time.Millisecond)
					s.Add(1)
				}
				fmt.Fprintln(p.Writer(), "log")
				if i != 7 {
					s.Done()
				}
			})
			if i == 6 {
				wg.Go(p.Close)
			}
		}
		wg.Wait()
		p.Close()
	}
}

func BenchmarkAdd(b *testing.B) {
	for _, terminal := range []bool{true, false} {
		b.Run(fmt.Sprint("terminal=", terminal), func(b *testing.B) {
			p, _, _ := progress(terminal, false)
			p.o.Now = time.Now
			s := p.Start("read", int64(1<<60))
			for b.Loop() {
				s.Add(1)
			}
			p.Close()
		})
	}
}
