package main

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"github.com/thtbatch/thtbatch/internal/fault"
	"github.com/thtbatch/thtbatch/internal/jobs"
	"github.com/thtbatch/thtbatch/internal/words"
)

// program is what a run of the command line has of the world outside.
type program struct {
	stdout, stderr io.Writer
	getenv         func(string) string
	now            func() time.Time
	jobs           func() []jobs.Job
	umask          fs.FileMode // that the program was started with
}

// verbs are all commands, in the order of the help text.
func (c *call) verbs() []jobs.Job {
	return append(c.jobs(),
		c.serveJob(),
		c.listJob(),
		c.initJob(),
	)
}

// readsFile tells the commands that need the configuration file from those that
// must also work where it is missing or wrong.
func readsFile(verb string) bool { return verb != "jobs" && verb != "init" }

// commonFlags are taken by every command, after its name.
func commonFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "config", Aliases: []string{"c"}, Usage: "read the configuration from `FILE`", DefaultText: configName + ", if there is one"},
		&cli.StringFlag{Name: "artifacts", Usage: "read the artifacts in `DIR`"},
		&cli.StringFlag{Name: "state", Usage: "keep the state in `DIR`"},
		&cli.BoolFlag{Name: "json", Usage: "write one JSON document to standard output", DisableDefaultText: true},
		&cli.StringFlag{Name: "log-level", Usage: "log what is of `LEVEL` debug, info, warn or error, or above"},
		&cli.BoolFlag{Name: "quiet", Usage: "say nothing but warnings and errors", DisableDefaultText: true},
		&cli.StringFlag{Name: "lang", Usage: "speak `LANG`, it or en"},
		&cli.BoolFlag{Name: "help", Aliases: []string{"h"}, Usage: "show this help", DisableDefaultText: true},
	}
}

// settingFlags are the flags that are settings, by the setting's key. Only
// commands that touch the index take --collection.
func settingFlags() map[string]string {
	return map[string]string{
		"artifacts.dir": "artifacts", "state.dir": "state", "log.level": "log-level", "lang": "lang",
		"index.collection": "collection",
	}
}

// call is one command line being carried out.
type call struct {
	program
	request
	json bool
	out  *counted
	// words and log are set as soon as the configuration is known.
	words *words.Printer
	log   *slog.Logger
	level slog.Level
}

// execute carries out one command line, without the program's name, and
// returns its exit code; whatever went wrong has been said by then. Every call
// is independent of all others, also at the same time.
func (p program) execute(ctx context.Context, argv []string) (code fault.Code) {
	c := &call{program: p, json: asksJSON(argv), out: &counted{w: p.stdout}}
	defer func() {
		if r := recover(); r != nil {
			code = c.report(c.panicked(r))
		}
	}()
	return c.report(c.carryOut(ctx, argv))
}

func (c *call) carryOut(ctx context.Context, argv []string) (err error) {
	verbs := c.verbs()
	if c.request, err = parse(argv, verbs); err != nil {
		c.given = overheard(argv)
		return err
	}
	c.json = c.wantsJSON()
	switch app := c.app(verbs); {
	case c.version:
		_, err = fmt.Fprintln(c.out, programName, versionText())
		return err
	case c.help:
		return c.showHelp(app)
	default:
		return app.RunContext(ctx, c.argv())
	}
}

// app is built anew for every call: the flags of a job are bound to the
// variables of one run.
func (c *call) app(verbs []jobs.Job) *cli.App {
	app := &cli.App{
		Name: programName, Usage: "what the sessions of a text-to-SQL assistant leave behind, computed and indexed",
		Writer: c.out, ErrWriter: c.stderr,
		CustomAppHelpTemplate: appHelp,
		// cli's own help and version flags are shared by all apps of a process.
		HideHelp: true, HideVersion: true,
		// cli's handler would exit past the deferred calls.
		ExitErrHandler: func(*cli.Context, error) {},
		OnUsageError:   c.usageError,
		Action:         func(*cli.Context) error { return fault.New(fault.Usage, "no_command") },
	}
	for _, job := range verbs {
		app.Commands = append(app.Commands, &cli.Command{
			Name: job.Name, Usage: job.Usage, ArgsUsage: job.ArgsUsage,
			Flags:    append(slices.Clone(job.Flags), commonFlags()...),
			HideHelp: true, CustomHelpTemplate: commandHelp,
			OnUsageError: c.usageError,
			Action:       func(cc *cli.Context) error { return c.start(cc, job) },
		})
	}
	return app
}

// usageError says which flag it was.
func (c *call) usageError(_ *cli.Context, err error, _ bool) error {
	if job, err := verbNamed(c.verb, c.verbs()); err == nil {
		if err := badValue(c.request, append(job.Flags, commonFlags()...)); err != nil {
			return err
		}
	}
	return fault.New(fault.Usage, "flags_unusable", "reason", err.Error())
}

// start checks the arguments, resolves the configuration and runs the job.
func (c *call) start(cc *cli.Context, job jobs.Job) error {
	if err := checkCount(job, cc.Args().Slice()); err != nil {
		return err
	}
	if file, given := c.last("config"); given && file == "" {
		return fault.New(fault.Usage, "flag_bad_value", "flag", "--config", "expected", configName)
	}
	conf, err := c.configuration()
	c.words = words.For(words.Language(conf.Lang, c.getenv))
	if err != nil {
		return err
	}
	e := &jobs.Env{
		Settings: conf.Settings, Now: c.now, Stdout: c.out, Stderr: c.stderr,
		JSON: cc.Bool("json"), Quiet: cc.Bool("quiet"), Terminal: isTerminal(c.stderr, c.getenv),
		Words: c.words, Getenv: c.getenv,
	}
	c.level = level(conf, e.Quiet, e.Terminal && job.Writes)
	talk := &shared{w: c.stderr}
	c.log = logger(talk, c.level)
	e.Log, e.LogThrough = c.log, talk.through
	return interrupted(cc.Context, job.Run(cc.Context, e, cc.Args().Slice()))
}

// configuration of this call, as far as the command line was understood.
func (c *call) configuration() (configuration, error) {
	flags := map[string]string{}
	for key, name := range settingFlags() {
		if value, given := c.last(name); given {
			flags[key] = value
		}
	}
	file := ""
	if readsFile(c.verb) {
		file, _ = c.last("config")
		file = configFile(file, c.getenv)
	}
	return resolve(flags, file, c.getenv)
}

func logger(w io.Writer, least slog.Level) *slog.Logger {
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: least}))
}

// level is the least that is logged. A person sees progress instead of lines,
// unless a level was asked for.
func level(c configuration, quiet, progress bool) slog.Level {
	var l slog.Level
	if err := l.UnmarshalText([]byte(c.LogLevel)); err != nil {
		l = slog.LevelInfo // the table lets no other word pass
	}
	if quiet || progress && c.source("log.level") == fromDefault {
		l = max(l, slog.LevelWarn)
	}
	return l
}

func isTerminal(w io.Writer, getenv func(string) string) bool {
	f, ok := w.(*os.File)
	return ok && getenv("TERM") != "dumb" && term.IsTerminal(int(f.Fd()))
}

// counted knows whether anything was written: a document that a job began is
// not followed by a second one.
type counted struct {
	w io.Writer
	n int64
}

func (c *counted) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}
