package main

import (
	"flag"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/agnivade/levenshtein"
	"github.com/urfave/cli/v2"

	"github.com/thtbatch/thtbatch/internal/fault"
	"github.com/thtbatch/thtbatch/internal/jobs"
)

// request is a command line, sorted out: cli takes flags only before the first
// argument, lets stray arguments pass and answers an unknown command with a
// code that means something else here, so all that is decided before it runs.
type request struct {
	verb          string // "" for the program's own --help and --version
	help, version bool
	given         []given
	args          []string
}

// given is a flag under its first name, and its value.
type given struct{ name, value string }

// argv is the request as cli reads it without surprises.
func (r request) argv() []string {
	out := []string{programName, r.verb}
	for _, g := range r.given {
		out = append(out, "--"+g.name+"="+g.value)
	}
	return append(append(out, "--"), r.args...)
}

// last value that was given to a flag.
func (r request) last(name string) (string, bool) {
	for _, g := range slices.Backward(r.given) {
		if g.name == name {
			return g.value, true
		}
	}
	return "", false
}

// overheard picks the flags that matter for how an error is told out of a
// command line that could not be understood.
func overheard(argv []string) (flags []given) {
	for i, arg := range argv {
		if arg == "--" {
			break
		}
		name, value, hasValue := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		if name == "c" {
			name = "config"
		}
		if !strings.HasPrefix(arg, "-") || name != "lang" && name != "config" {
			continue
		}
		if !hasValue && i+1 < len(argv) {
			value = argv[i+1]
		}
		flags = append(flags, given{name, value})
	}
	return flags
}

// wantsJSON is what --json says, as it was understood; a value that is neither
// true nor false is told as JSON.
func (r request) wantsJSON() bool {
	value, given := r.last("json")
	b, err := strconv.ParseBool(value)
	return given && (b || err != nil)
}

// parse sorts out the arguments that follow the program's name. Flags may stand
// before, between and after the arguments of a command; after "--" nothing is a
// flag. With an error it returns what it had understood so far.
func parse(argv []string, verbs []jobs.Job) (request, error) {
	if len(argv) == 0 {
		return request{}, fault.New(fault.Usage, "no_command")
	}
	switch first := argv[0]; {
	case first == "help" && len(argv) > 1:
		_, err := verbNamed(argv[1], verbs)
		return request{verb: argv[1], help: true}, err
	case slices.Contains([]string{"help", "--help", "-help", "-h"}, first):
		return request{help: true}, nil
	case slices.Contains([]string{"--version", "-version", "-v"}, first):
		return request{version: true}, nil
	case strings.HasPrefix(first, "-"):
		return request{}, beforeCommand(first)
	}
	verb, err := verbNamed(argv[0], verbs)
	if err != nil {
		return request{}, err
	}
	r := request{verb: verb.Name}
	return r, r.read(argv[1:], append(verb.Flags, commonFlags()...))
}

func (r *request) read(argv []string, flags []cli.Flag) error {
	known := flagTable(flags)
	for i := 0; i < len(argv); i++ {
		arg := argv[i]
		if arg == "--" {
			r.args = append(r.args, argv[i+1:]...)
			return nil
		}
		name, value, hasValue := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(arg, "-"), "-"), "=")
		// No flag has a blank in its name: "-- a comment" begins an SQL text.
		if len(arg) < 2 || arg[0] != '-' || strings.ContainsAny(name, " \t\r\n") {
			r.args = append(r.args, arg)
			continue
		}
		f, ok := known[name]
		switch {
		case !ok:
			return unknownFlag(r.verb, arg, known)
		case hasValue:
		case f.boolean:
			value = "true"
		case i+1 < len(argv):
			i++
			value = argv[i]
		default:
			return fault.New(fault.Usage, "flag_no_value", "flag", dashes(f.name))
		}
		if f.name == "help" {
			r.help = true
			return nil
		}
		r.given = append(r.given, given{f.name, value})
	}
	return nil
}

// knownFlag is a flag's first name, and whether it can stand without a value.
type knownFlag struct {
	name    string
	boolean bool
}

func flagTable(flags []cli.Flag) map[string]knownFlag {
	table := map[string]knownFlag{}
	for _, f := range flags {
		set := newFlagSet(f)
		for _, name := range f.Names() {
			b, ok := set.Lookup(name).Value.(interface{ IsBoolFlag() bool })
			table[name] = knownFlag{f.Names()[0], ok && b.IsBoolFlag()}
		}
	}
	return table
}

// newFlagSet panics when a job declares a flag that cannot be: the test of the
// list of jobs finds it.
func newFlagSet(f cli.Flag) *flag.FlagSet {
	set := flag.NewFlagSet("", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	if err := f.Apply(set); err != nil {
		panic("flag " + f.Names()[0] + ": " + err.Error())
	}
	return set
}

// badValue finds the flag whose value cannot be read, by trying each alone on
// flags that were made for this. The error of package flag says it in words
// only.
func badValue(r request, flags []cli.Flag) error {
	for _, g := range r.given {
		i := slices.IndexFunc(flags, func(f cli.Flag) bool { return slices.Contains(f.Names(), g.name) })
		if i >= 0 && newFlagSet(flags[i]).Set(g.name, g.value) != nil {
			return fault.New(fault.Usage, "flag_bad_value", "flag", dashes(g.name), "expected", expected(flags[i]))
		}
	}
	return nil
}

func expected(f cli.Flag) string {
	switch f.(type) {
	case *cli.BoolFlag:
		return "true|false"
	case *cli.IntFlag, *cli.Int64Flag, *cli.UintFlag, *cli.Uint64Flag:
		return "1, 2, 3, …"
	case *cli.Float64Flag:
		return "0.97"
	case *cli.DurationFlag:
		return "90s|5m|1h"
	}
	if described, ok := f.(cli.DocGenerationFlag); ok {
		if _, after, ok := strings.Cut(described.GetUsage(), "`"); ok {
			placeholder, _, _ := strings.Cut(after, "`")
			return placeholder
		}
	}
	return dashes(f.Names()[0])
}

// check is parse, and all that can be said against the request without carrying
// it out.
func check(argv []string, verbs []jobs.Job) (request, error) {
	r, err := parse(argv, verbs)
	if err != nil || r.help || r.verb == "" {
		return r, err
	}
	job, err := verbNamed(r.verb, verbs)
	if err != nil {
		return r, err
	}
	if err := badValue(r, append(job.Flags, commonFlags()...)); err != nil {
		return r, err
	}
	return r, checkCount(job, r.args)
}

// checkCount does not repeat the arguments: one of them may be a question.
func checkCount(job jobs.Job, args []string) error {
	if job.Args >= 0 && len(args) != job.Args {
		return fault.New(fault.Usage, "args_count", "command", job.Name, "expected", job.Args, "got", len(args))
	}
	return nil
}

func verbNamed(name string, verbs []jobs.Job) (jobs.Job, error) {
	names := make([]string, len(verbs))
	for i, v := range verbs {
		if names[i] = v.Name; v.Name == name {
			return v, nil
		}
	}
	// More than a word is no slip but a question without its command, and a
	// question is not repeated.
	word := name
	if at := strings.IndexFunc(name, unicode.IsSpace); at >= 0 {
		word = name[:at] + "…"
	}
	return jobs.Job{}, fault.New(fault.Usage, "unknown_command", "command", word, "nearest", nearest(word, names))
}

func unknownFlag(verb, arg string, known map[string]knownFlag) error {
	arg, _, _ = strings.Cut(arg, "=")
	var names []string
	for name := range known {
		names = append(names, dashes(name))
	}
	return fault.New(fault.Usage, "unknown_flag", "flag", arg, "command", verb, "nearest", nearest(arg, names))
}

func beforeCommand(arg string) error {
	name, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
	if f, ok := flagTable(commonFlags())[name]; ok {
		return fault.New(fault.Usage, "flag_before_command", "flag", dashes(f.name))
	}
	return fault.New(fault.Usage, "unknown_flag", "flag", arg, "command", "", "nearest", nearest(arg, []string{"--help", "--version"}))
}

// asksJSON says whether --json is among the arguments, which has to be known
// before they can be understood.
func asksJSON(argv []string) bool {
	asked := false
	for _, arg := range argv {
		if arg == "--" {
			break
		}
		name, value, hasValue := strings.Cut(arg, "=")
		if name != "--json" && name != "-json" {
			continue
		}
		b, err := strconv.ParseBool(value)
		asked = !hasValue || err != nil || b
	}
	return asked
}

// dashes writes a flag's name as it is typed.
func dashes(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

// nearest is the candidate that takes the fewest changes, the first by name
// where several do.
func nearest(word string, candidates []string) string {
	best, distance := "", -1
	for _, c := range slices.Sorted(slices.Values(candidates)) {
		if d := levenshtein.ComputeDistance(word, c); distance < 0 || d < distance {
			best, distance = c, d
		}
	}
	return best
}

// nearestKey also tries the last part of each key alone, for those who leave
// the section out.
func nearestKey(key string, table []setting) string {
	best, distance := "", -1
	for _, s := range table {
		last := s.key[strings.LastIndex(s.key, ".")+1:]
		d := min(levenshtein.ComputeDistance(key, s.key), levenshtein.ComputeDistance(key, last)+1)
		if distance < 0 || d < distance {
			best, distance = s.key, d
		}
	}
	return best
}
