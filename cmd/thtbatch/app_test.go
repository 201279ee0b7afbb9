package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/thtbatch/thtbatch/internal/fault"
	"github.com/thtbatch/thtbatch/internal/jobs"
)

// bench is a program whose only job is probe, with its streams and its
// environment at hand.
type bench struct {
	program
	stdout, stderr bytes.Buffer
	env            map[string]string
}

func newBench(t *testing.T, run func(ctx context.Context, e *jobs.Env, args []string) error) *bench {
	t.Helper()
	t.Chdir(t.TempDir())
	b := &bench{env: map[string]string{}}
	b.program = program{
		stdout: &b.stdout, stderr: &b.stderr,
		getenv: func(name string) string { return b.env[name] },
		now:    func() time.Time { return time.Date(2026, 3, 28, 23, 0, 0, 0, time.UTC) },
		jobs:   func() []jobs.Job { return []jobs.Job{probe(run)} },
	}
	return b
}

// probe takes one argument and a flag of every kind that is parsed in its own
// way.
func probe(run func(context.Context, *jobs.Env, []string) error) jobs.Job {
	var top int
	var accepted optional
	return jobs.Job{
		Name: "probe", Usage: "tell what arrived", ArgsUsage: "QUESTION", Args: 1, Writes: true,
		Flags: []cli.Flag{
			&cli.IntFlag{Name: "top", Aliases: []string{"n"}, Value: 3, Destination: &top},
			&cli.GenericFlag{Name: "accept-degraded", Value: &accepted},
		},
		Run: func(ctx context.Context, e *jobs.Env, args []string) error {
			if run != nil {
				return run(ctx, e, args)
			}
			_, err := fmt.Fprintf(e.Stdout, "%s top=%d accepted=%s", args[0], top, accepted)
			return err
		},
	}
}

// optional is a flag whose value may be left out.
type optional string

func (o *optional) Set(s string) error { *o = optional(s); return nil }
func (o *optional) String() string     { return string(*o) }
func (o *optional) IsBoolFlag() bool   { return true }

func TestFlagsMayStandAnywhere(t *testing.T) {
	for argv, want := range map[string]string{
		"probe Q":                                 "Q top=3 accepted=",
		"probe Q --top 5":                         "Q top=5 accepted=",
		"probe --top=5 Q --accept-degraded":       "Q top=5 accepted=true",
		"probe --accept-degraded=a,b Q -n 7":      "Q top=7 accepted=a,b",
		"probe --accept-degraded Q":               "Q top=3 accepted=true",
		"probe --top 5 -n 6 Q":                    "Q top=6 accepted=",
		"probe --quiet -- --top":                  "--top top=3 accepted=",
		"probe help":                              "help top=3 accepted=",
		"probe top --top 4":                       "top top=4 accepted=",
		"probe -":                                 "- top=3 accepted=",
		"probe -c /dev/null Q --config=/dev/null": "Q top=3 accepted=",
	} {
		t.Run(argv, func(t *testing.T) {
			b := newBench(t, nil)
			if code := b.execute(t.Context(), strings.Fields(argv)); code != fault.Done || b.stdout.String() != want {
				t.Errorf("exit %d, %q instead of %q\n%s", code, b.stdout.String(), want, b.stderr.String())
			}
		})
	}
}

func TestUsageErrors(t *testing.T) {
	for argv, want := range map[string]struct{ id, nearest string }{
		"":                       {"no_command", ""},
		"prob Q":                 {"unknown_command", "probe"},
		"help servr":             {"unknown_command", "serve"},
		"--json probe Q":         {"flag_before_command", ""},
		"-c x probe Q":           {"flag_before_command", ""},
		"--versio":               {"unknown_flag", "--version"},
		"probe Q --topp 3":       {"unknown_flag", "--top"},
		"probe Q --topp=3":       {"unknown_flag", "--top"},
		"probe Q --top":          {"flag_no_value", ""},
		"probe Q --top three":    {"flag_bad_value", ""},
		"probe Q --json=perhaps": {"flag_bad_value", ""},
		"probe":                  {"args_count", ""},
		"probe what is this":     {"args_count", ""},
		"probe Q --quiet false":  {"args_count", ""},
	} {
		t.Run(argv, func(t *testing.T) {
			_, err := check(strings.Fields(argv), []jobs.Job{probe(nil), {Name: "serve"}})
			var f *fault.Error
			if !errors.As(err, &f) || f.Code != fault.Usage || f.ID != want.id {
				t.Fatalf("%v instead of %s", err, want.id)
			}
			if want.nearest != "" && f.Args["nearest"] != want.nearest {
				t.Errorf("nearest %v instead of %s", f.Args["nearest"], want.nearest)
			}
			// The same through the whole program: said on stderr, nothing on stdout.
			ran := false
			b := newBench(t, func(context.Context, *jobs.Env, []string) error { ran = true; return nil })
			if code := b.execute(t.Context(), strings.Fields(argv)); code != fault.Usage || ran {
				t.Errorf("exit %d, ran %v", code, ran)
			}
			said, silent := &b.stderr, &b.stdout
			if strings.Contains(argv, "--json") {
				said, silent = silent, said
				decode(t, said.Bytes())
			}
			if said.Len() == 0 || silent.Len() > 0 {
				t.Errorf("stdout %q, stderr %q", b.stdout.String(), b.stderr.String())
			}
		})
	}
}

func TestTextsAreNotTakenForFlagsOrCommands(t *testing.T) {
	b := newBench(t, nil)
	if code := b.execute(t.Context(), []string{"probe", "-- count\nSELECT 1", "-n", "4"}); code != fault.Done || b.stdout.String() != "-- count\nSELECT 1 top=4 accepted=" {
		t.Errorf("exit %d, %q", code, b.stdout.String())
	}
	b = newBench(t, nil)
	if code := b.execute(t.Context(), []string{"Which patients"}); code != fault.Usage || strings.Contains(b.stderr.String(), "patients") {
		t.Errorf("exit %d, %q", code, b.stderr.String())
	}
}

func TestBadFlagsOfSettings(t *testing.T) {
	for _, argv := range []string{"--lang=fr", "--log-level=loud", "--artifacts=", "--state= ", "--config="} {
		b := newBench(t, nil)
		if code := b.execute(t.Context(), []string{"probe", "Q", argv}); code != fault.Usage || b.stdout.Len() > 0 {
			t.Errorf("%s: exit %d, %s", argv, code, b.stdout.String())
		}
	}
}

func TestExitCodeOfWrappedErrors(t *testing.T) {
	for _, e := range exits() {
		if e.Code == fault.Done {
			continue
		}
		b := newBench(t, func(context.Context, *jobs.Env, []string) error {
			return fmt.Errorf("while at it: %w", fault.New(e.Code, "panic", "path", "/a/b", "kind", "x"))
		})
		if code := b.execute(t.Context(), []string{"probe", "Q", "--json"}); code != e.Code {
			t.Errorf("exit %d instead of %d", code, e.Code)
		}
		doc := decode(t, b.stdout.Bytes())
		if doc.Error.Exit != e.Code || doc.Error.Path != "/a/b" || doc.Error.Message == "" || b.stderr.Len() > 0 {
			t.Errorf("%+v, stderr %q", doc, b.stderr.String())
		}
	}
	b := newBench(t, func(context.Context, *jobs.Env, []string) error { return errors.New("plain") })
	if code := b.execute(t.Context(), []string{"probe", "Q"}); code != fault.Failed {
		t.Errorf("exit %d for an error that nobody classified", code)
	}
}

func decode(t *testing.T, text []byte) failure {
	t.Helper()
	var doc failure
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&doc); err != nil {
		t.Fatalf("%v in %q", err, text)
	}
	if rest := bytes.TrimSpace(text[dec.InputOffset():]); len(rest) > 0 {
		t.Fatalf("more than one document: %q", rest)
	}
	return doc
}

func TestOneDocumentOnly(t *testing.T) {
	b := newBench(t, func(_ context.Context, e *jobs.Env, _ []string) error {
		_, _ = fmt.Fprintln(e.Stdout, `{"failed": 1}`)
		return fault.New(fault.Partial, "panic", "kind", "x")
	})
	if code := b.execute(t.Context(), []string{"probe", "Q", "--json"}); code != fault.Partial {
		t.Errorf("exit %d", code)
	}
	if b.stdout.String() != "{\"failed\": 1}\n" || b.stderr.Len() == 0 {
		t.Errorf("stdout %q, stderr %q", b.stdout.String(), b.stderr.String())
	}
}

func TestErrorsInJSONAreEnglish(t *testing.T) {
	var said [2]string
	for i, lang := range []string{"it", "en"} {
		b := newBench(t, nil)
		b.execute(t.Context(), []string{"prob", "--json", "--lang", lang})
		said[i] = b.stdout.String()
	}
	if said[0] != said[1] || said[0] == "" {
		t.Errorf("%q and %q", said[0], said[1])
	}
	b := newBench(t, nil)
	b.env["LC_ALL"] = "it_IT.UTF-8"
	b.execute(t.Context(), []string{"prob"})
	italian := b.stderr.String()
	b.stderr.Reset()
	b.env["LC_ALL"] = "C.UTF-8"
	b.execute(t.Context(), []string{"prob"})
	if b.stderr.String() == italian {
		t.Errorf("in Italian and in English %q", italian)
	}
}

// The language that a broken configuration asks for is spoken when it is told
// that it is broken.
func TestLanguageOfABrokenConfiguration(t *testing.T) {
	b := newBench(t, nil)
	say := func(lang string) string {
		if err := os.WriteFile(configName, []byte("index.bath: 1\nlang: "+lang+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		b.stderr.Reset()
		if code := b.execute(t.Context(), []string{"probe", "Q"}); code != fault.Usage {
			t.Errorf("exit %d", code)
		}
		return b.stderr.String()
	}
	if say("it") == say("en") {
		t.Errorf("the same in both languages: %s", b.stderr.String())
	}
}

func TestPanicTellsNoText(t *testing.T) {
	const marker = "text of a session"
	for _, argv := range [][]string{{"probe", "Q"}, {"probe", "Q", "--json"}, {"probe", "Q", "--log-level", "debug"}} {
		b := newBench(t, func(context.Context, *jobs.Env, []string) error { panic(marker) })
		if code := b.execute(t.Context(), argv); code != fault.Failed {
			t.Errorf("exit %d", code)
		}
		all := b.stdout.String() + b.stderr.String()
		if strings.Contains(all, marker) || strings.Contains(all, "app_test.go") != (len(argv) == 4) {
			t.Errorf("%v says %q", argv, all)
		}
	}
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	b := newBench(t, func(ctx context.Context, e *jobs.Env, _ []string) error {
		cancel(fault.New(fault.Interrupted, "interrupted", "signal", "interrupt"))
		<-ctx.Done()
		return fault.New(fault.Failed, "panic", "kind", "x").Because(fmt.Errorf("embed batch: %w", ctx.Err()))
	})
	if code := b.execute(ctx, []string{"probe", "Q"}); code != fault.Interrupted {
		t.Errorf("exit %d", code)
	}
	b.program.jobs = func() []jobs.Job {
		return []jobs.Job{probe(func(context.Context, *jobs.Env, []string) error { return nil })}
	}
	if code := b.execute(ctx, []string{"probe", "Q"}); code != fault.Done {
		t.Errorf("exit %d of a job that was done in spite of the signal", code)
	}
}

// Progress takes the place of log lines, unless they are asked for.
func TestLevel(t *testing.T) {
	for _, c := range []struct {
		text            string
		quiet, progress bool
		want            slog.Level
	}{
		{"", false, false, slog.LevelInfo},
		{"", false, true, slog.LevelWarn},
		{"", true, false, slog.LevelWarn},
		{"log.level: info", false, true, slog.LevelInfo},
		{"log.level: debug", true, true, slog.LevelWarn},
		{"log.level: error", true, true, slog.LevelError},
		{"log.level: debug", false, true, slog.LevelDebug},
	} {
		if got := level(resolveFile(t, c.text), c.quiet, c.progress); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

// Every job of the program has flags that can be declared, collide with no
// common flag, and are bound to a run of their own.
func TestJobsFitTheFrame(t *testing.T) {
	c := &call{program: program{jobs: jobs.All}}
	seen := map[string]bool{"help": true}
	for _, job := range c.verbs() {
		if seen[job.Name] || job.Name == "" || job.Usage == "" || job.Run == nil {
			t.Errorf("job %q is declared twice or not whole", job.Name)
		}
		seen[job.Name] = true
		names := map[string]bool{}
		for _, f := range append(job.Flags, commonFlags()...) {
			newFlagSet(f)
			for _, name := range f.Names() {
				if names[name] {
					t.Errorf("%s: flag %s twice", job.Name, name)
				}
				names[name] = true
			}
		}
	}
}
