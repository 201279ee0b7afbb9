package main

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/thtbatch/thtbatch/internal/fault"
	"github.com/thtbatch/thtbatch/internal/jobs"
)

// serveJob runs other jobs on their cron expressions until it is told to stop.
// A tick is a command line like any other: the same parser, the same checks,
// the same exit codes.
func (c *call) serveJob() jobs.Job {
	return jobs.Job{
		Name: "serve", Usage: "run the jobs of serve.jobs on their schedule, until SIGINT or SIGTERM",
		Run: func(ctx context.Context, e *jobs.Env, _ []string) error {
			s, err := c.server(e)
			if err != nil {
				return err
			}
			s.run(ctx)
			if e.JSON {
				return json.NewEncoder(e.Stdout).Encode(map[string]any{"served": s.entries})
			}
			return nil
		},
	}
}

// server is the schedule, checked.
type server struct {
	entries  []*scheduled
	location *time.Location
	log      *slog.Logger
	now      func() time.Time
	// execute carries out one command line. It is called from several
	// goroutines.
	execute func(ctx context.Context, argv []string) fault.Code
}

// scheduled is an entry and what became of its ticks since the start. A history
// that outlives the process would be kept where these are counted.
type scheduled struct {
	Name     string     `json:"name"`
	Started  int        `json:"started"`
	Skipped  int        `json:"skipped"`
	LastExit fault.Code `json:"last_exit"`

	argv     []string
	schedule cron.Schedule
	mu       sync.Mutex // guards the counts
}

// server checks the whole schedule before anything is run.
func (c *call) server(e *jobs.Env) (*server, error) {
	if len(e.Settings.ServeJobs) == 0 {
		named, _ := c.last("config")
		return nil, fault.New(fault.Usage, "schedule_empty", "path", configFile(named, c.getenv))
	}
	location, err := time.LoadLocation(e.Settings.ServeTimezone)
	if err != nil {
		return nil, fault.New(fault.Usage, "config_bad_value", "key", "serve.timezone").Because(err)
	}
	// Ticks run at the same time and share the streams. With --json the only
	// document on standard output is the one that closes this job.
	talk := &shared{w: c.stderr}
	ticks := c.program
	ticks.stdout, ticks.stderr = &shared{w: c.stdout}, talk
	if e.JSON {
		ticks.stdout = talk
	}
	s := &server{location: location, log: logger(talk, c.level), now: c.now, execute: ticks.execute}
	for _, entry := range e.Settings.ServeJobs {
		if slices.ContainsFunc(s.entries, func(o *scheduled) bool { return o.Name == entry.Name }) {
			return nil, fault.New(fault.Usage, "schedule_same_name", "name", entry.Name)
		}
		checked, err := c.scheduled(entry, e.Now().In(location))
		if err != nil {
			return nil, err
		}
		s.entries = append(s.entries, checked)
	}
	return s, nil
}

func (c *call) scheduled(entry jobs.ServeEntry, now time.Time) (*scheduled, error) {
	schedule, err := parseCron(entry.Cron)
	if err != nil || schedule.Next(now).IsZero() { // 30 February
		return nil, fault.New(fault.Usage, "cron_bad", "name", entry.Name, "expression", entry.Cron)
	}
	if entry.Args[0] == "serve" {
		return nil, fault.New(fault.Usage, "schedule_serve", "name", entry.Name)
	}
	r, err := check(entry.Args, c.verbs())
	if err != nil {
		message, _ := c.printer().Fault(err)
		return nil, fault.New(fault.Usage, "schedule_bad_entry", "name", entry.Name, "detail", message).Because(err)
	}
	return &scheduled{Name: entry.Name, argv: c.passOn(entry.Args, r), schedule: schedule}, nil
}

// parseCron reads five fields or a descriptor such as @daily, after an optional
// CRON_TZ=zone. The library panics where that is all there is.
func parseCron(expression string) (cron.Schedule, error) {
	expression = strings.TrimSpace(expression)
	zoned := strings.HasPrefix(expression, "TZ=") || strings.HasPrefix(expression, "CRON_TZ=")
	if zoned && !strings.Contains(expression, " ") {
		expression = ""
	}
	return cron.ParseStandard(expression)
}

// passOn adds the common flags that serve was started with to an entry that
// does not give them itself.
func (c *call) passOn(args []string, r request) []string {
	argv := args[:1:1]
	for _, name := range []string{"config", "artifacts", "state", "lang", "log-level", "quiet"} {
		value, given := c.last(name)
		if _, own := r.last(name); given && !own {
			argv = append(argv, "--"+name+"="+value)
		}
	}
	return append(argv, args[1:]...)
}

// run returns when ctx has ended and the jobs that were running have stopped,
// which they do between two batches, because their context is this one.
func (s *server) run(ctx context.Context) {
	runner := cron.New(cron.WithLocation(s.location), cron.WithLogger(cron.DiscardLogger))
	for _, e := range s.entries {
		runner.Schedule(e.schedule, s.job(ctx, e))
		s.log.Info("scheduled", "entry", e.Name, "next", e.schedule.Next(s.now().In(s.location)))
	}
	runner.Start()
	s.log.Info("serving", "entries", len(s.entries), "timezone", s.location.String())
	<-ctx.Done()
	s.log.Info("stopping")
	<-runner.Stop().Done()
	s.log.Info("stopped")
}

// job is an entry as cron calls it. Recover has to be the inner one: outside,
// one panic would keep the token of SkipIfStillRunning, and the entry would
// never run again.
func (s *server) job(ctx context.Context, e *scheduled) cron.Job {
	log := tickLog{
		skipped: func() {
			e.count(func() { e.Skipped++ })
			s.log.Warn("job skipped: the last one still runs", "entry", e.Name)
		},
		panicked: func() { s.log.Error("job panicked", "entry", e.Name) },
	}
	return cron.NewChain(cron.SkipIfStillRunning(log), cron.Recover(log)).
		Then(cron.FuncJob(func() { s.tick(ctx, e) }))
}

func (s *server) tick(ctx context.Context, e *scheduled) {
	if ctx.Err() != nil {
		return
	}
	started := s.now()
	e.count(func() { e.Started++ })
	s.log.Info("job started", "entry", e.Name, "job", e.argv[0])
	code := s.execute(ctx, e.argv)
	e.count(func() { e.LastExit = code })
	level := slog.LevelInfo
	if code != fault.Done && ctx.Err() == nil {
		level = slog.LevelWarn
	}
	s.log.Log(ctx, level, "job ended", "entry", e.Name, "job", e.argv[0], "exit", int(code), "seconds", s.now().Sub(started).Seconds())
}

func (e *scheduled) count(change func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	change()
}

// tickLog hears of what cron does with the ticks of one entry. The value of a
// panic is not logged: it may hold a text of a session.
type tickLog struct{ skipped, panicked func() }

func (l tickLog) Info(string, ...any)         { l.skipped() }
func (l tickLog) Error(error, string, ...any) { l.panicked() }

// shared is a stream for several writers at a time.
type shared struct {
	mu sync.Mutex
	w  io.Writer
}

// through sends what is written from now on to another writer.
func (s *shared) through(w io.Writer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.w = w
}

func (s *shared) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.Write(p)
}
