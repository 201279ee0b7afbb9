package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/thtbatch/thtbatch/internal/fault"
	"github.com/thtbatch/thtbatch/internal/jobs"
)

// other is for each key a value that is not the default, as the file, and as
// the environment, would have it.
func other() map[string][2]string {
	return map[string][2]string{
		"lang":                      {"it", "it"},
		"artifacts.dir":             {"/srv/artifacts", "/srv/artifacts"},
		"artifacts.sessions":        {"s/open", "s/open"},
		"artifacts.manifest":        {"m.yaml", "m.yaml"},
		"artifacts.ledger":          {"l.jsonl", "l.jsonl"},
		"artifacts.sql":             {"q.sql", "q.sql"},
		"artifacts.registry":        {"r.jsonl", "r.jsonl"},
		"artifacts.follow_outside":  {"true", "yes"},
		"state.dir":                 {"/srv/state", "/srv/state"},
		"workspace":                 {"007", "007"},
		"accept_degraded":           {"[a, no]", "a, no"},
		"reopen_scope":              {"inclusive", "inclusive"},
		"ledger.withdrawal_type":    {"taken_back", "taken_back"},
		"ledger.reopening_type":     {"opened_again", "opened_again"},
		"ledger.phases":             {"{note: 3, sql_approved: 6}", "{note: 3, sql_approved: 6}"},
		"candidates.cap":            {"7", "7"},
		"solved.statuses":           {"[finalized, closed]", "finalized,closed"},
		"memory.content_template":   {`["{type}, {subject}"]`, `["{type}, {subject}"]`},
		"index.store":               {"qdrant", "qdrant"},
		"index.layout":              {"nested", "nested"},
		"index.adopt_as":            {"old", "old"},
		"index.batch":               {"64", "64"},
		"index.batch_bytes":         {"1000", "1000"},
		"index.url":                 {"https://q.example:6334", "https://q.example:6334"},
		"index.collection":          {"tht", "tht"},
		"index.vector":              {"dense", "dense"},
		"index.key_file":            {"/run/keys/index", "/run/keys/index"},
		"index.delete_key_file":     {"/run/keys/delete", "/run/keys/delete"},
		"index.timeout":             {"1m30s", "90s"},
		"index.tries":               {"2", "2"},
		"index.pause":               {"2s", "2s"},
		"index.streams":             {"4", "4"},
		"embed.provider":            {"ollama", "ollama"},
		"embed.model":               {"nomic-embed-text", "nomic-embed-text"},
		"embed.revision":            {"2026-12", "2026-12"},
		"embed.dimensions":          {"512", "512"},
		"embed.cache":               {"on", "on"},
		"embed.document_prefix":     {`"passage: "`, "passage: "},
		"embed.query_prefix":        {`"query: "`, "query: "},
		"embed.normalise":           {"false", "no"},
		"embed.truncate":            {"head:8000", "head:8000"},
		"embed.batch":               {"64", "64"},
		"embed.batch_tokens":        {"300000", "300000"},
		"embed.concurrency":         {"3", "3"},
		"embed.url":                 {"http://10.0.0.5:8080", "http://10.0.0.5:8080"},
		"embed.key_file":            {"/run/keys/embed", "/run/keys/embed"},
		"embed.allow_remote":        {"true", "1"},
		"embed.send_dimensions":     {"true", "1"},
		"embed.requests_per_minute": {"60", "60"},
		"embed.tries":               {"2", "2"},
		"embed.pause":               {"2s", "2s"},
		"embed.timeout":             {"45s", "45s"},
		"embed.model_dir":           {"/srv/model", "/srv/model"},
		"embed.library":             {"/usr/lib/libonnxruntime.so", "/usr/lib/libonnxruntime.so"},
		"embed.threads":             {"4", "4"},
		"quarantine.excerpt":        {"full", "full"},
		"publish.dir":               {"/srv/www", "/srv/www"},
		"publish.keep":              {"5", "5"},
		"duckdb.memory_limit":       {"640MB", "640 mb"},
		"duckdb.threads":            {"2", "2"},
		"duckdb.temp_directory":     {"/srv/tmp", "/srv/tmp"},
		"log.level":                 {"debug", "debug"},
		"serve.timezone":            {"Europe/Rome", "Europe/Rome"},
		"serve.jobs": {"[{name: nightly, cron: 30 2 * * *, args: [backfill, --quiet]}]",
			`[{"name": "nightly", "cron": "30 2 * * *", "args": ["backfill", "--quiet"]}]`},
	}
}

func env(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func writeFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "conf.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Each key is read from the file in both notations, and from its variable, to
// the same value, and is written back as it was read.
func TestEveryKeyRoundTrips(t *testing.T) {
	values := other()
	if len(values) != len(settings()) {
		t.Errorf("%d values for %d settings", len(values), len(settings()))
	}
	for _, s := range settings() {
		t.Run(s.key, func(t *testing.T) {
			v, ok := values[s.key]
			if !ok {
				t.Fatal("no value to try")
			}
			dotted := resolveFile(t, s.key+": "+v[0]+"\n")
			nested := resolveFile(t, nest(s.key, v[0]))
			got := s.at(&dotted.Settings).get()
			if n := s.at(&nested.Settings).get(); !reflect.DeepEqual(n, got) {
				t.Errorf("nested %v, dotted %v", n, got)
			}
			start := defaults()
			if reflect.DeepEqual(got, s.at(&start).get()) {
				t.Errorf("the default is read: %v", got)
			}
			if dotted.source(s.key) != fromFile {
				t.Errorf("source %s", dotted.source(s.key))
			}
			fromVariable, err := resolve(nil, "", env(s.variable(), v[1]))
			if err != nil {
				t.Fatal(err)
			}
			if env := s.at(&fromVariable.Settings).get(); !reflect.DeepEqual(env, got) {
				t.Errorf("%s gives %v, the file %v", s.variable(), env, got)
			}
			text, err := yaml.Marshal(map[string]any{s.key: got})
			if err != nil {
				t.Fatal(err)
			}
			again := resolveFile(t, string(text))
			if back := s.at(&again.Settings).get(); !reflect.DeepEqual(back, got) {
				t.Errorf("written and read again: %v, was %v", back, got)
			}
		})
	}
}

func resolveFile(t *testing.T, text string) configuration {
	t.Helper()
	c, err := resolve(nil, writeFile(t, text), env())
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return c
}

// nest writes a.b: v as a mapping in a mapping.
func nest(key, v string) string {
	text, indent := "", ""
	for part := range strings.SplitSeq(key, ".") {
		text += "\n" + indent + part + ":"
		indent += "  "
	}
	return text + " " + v + "\n"
}

// What init writes says nothing as it is, and the defaults when every line of
// it is uncommented.
func TestWrittenConfigIsTheDefaults(t *testing.T) {
	var b bytes.Buffer
	if err := writeConfig(&b); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(b.String()) {
		if line != "\n" && line[0] != '#' {
			t.Errorf("not commented out: %q", line)
		}
	}
	untouched := resolveFile(t, b.String())
	plain := regexp.MustCompile(`(?m)^# `).ReplaceAllString(b.String(), "")
	whole := writeFile(t, plain)
	uncommented, err := resolve(nil, whole, env())
	if err != nil {
		t.Fatal(err)
	}
	want := defaults()
	dir := filepath.Dir(whole)
	want.ArtifactsDir, want.StateDir = filepath.Join(dir, "artifacts"), filepath.Join(dir, "state")
	want.PublishDir = filepath.Join(dir, "state", "published")
	if !reflect.DeepEqual(uncommented.Settings, want) {
		t.Errorf("uncommented:\n%+v\ndefaults:\n%+v", uncommented.Settings, want)
	}
	for _, s := range settings() {
		if uncommented.source(s.key) != fromFile || untouched.source(s.key) != fromDefault {
			t.Errorf("%s: %s uncommented, %s untouched", s.key, uncommented.source(s.key), untouched.source(s.key))
		}
		if !strings.Contains(b.String(), "## "+s.doc+"\n## "+s.variable()+"\n# "+s.key+":") {
			t.Errorf("%s is not described", s.key)
		}
	}
}

func TestPrecedence(t *testing.T) {
	file := writeFile(t, "state.dir: from-file\nlog.level: warn\n")
	vars := env("THTBATCH_STATE", "from-env", "THTBATCH_LOG_LEVEL", "error")
	for _, c := range []struct {
		flags     map[string]string
		file      string
		vars      func(string) string
		dir       string
		source    source
		published string
	}{
		{nil, "", env(), "state", fromDefault, "state/published"},
		{nil, file, env(), filepath.Join(filepath.Dir(file), "from-file"), fromFile, filepath.Join(filepath.Dir(file), "from-file/published")},
		{nil, file, vars, "from-env", fromEnv, "from-env/published"},
		{map[string]string{"state.dir": "from-flag"}, file, vars, "from-flag", fromFlag, "from-flag/published"},
	} {
		got, err := resolve(c.flags, c.file, c.vars)
		if err != nil || got.StateDir != c.dir || got.source("state.dir") != c.source || got.PublishDir != c.published {
			t.Errorf("%v: %s from %s, published in %s; %v", c.flags, got.StateDir, got.source("state.dir"), got.PublishDir, err)
		}
	}
}

func TestConfigFileIsFound(t *testing.T) {
	t.Chdir(t.TempDir())
	if got := configFile("", env()); got != "" {
		t.Errorf("%q where there is none", got)
	}
	if err := os.WriteFile(configName, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ named, variable, want string }{
		{"", "", configName}, {"", "b.yaml", "b.yaml"}, {"a.yaml", "b.yaml", "a.yaml"},
	} {
		if got := configFile(c.named, env("THTBATCH_CONFIG", c.variable)); got != c.want {
			t.Errorf("%+v gives %q", c, got)
		}
	}
}

func TestConfigErrors(t *testing.T) {
	const pasted = "sk-very-secret"
	for _, c := range []struct {
		text, id  string
		line      int
		key, near string
	}{
		{"lang: it\nindex.bath: 1", "config_unknown_key", 2, "index.bath", "index.batch"},
		{"index:\n  layuot: flat", "config_unknown_key", 2, "index.layuot", "index.layout"},
		{"batch: 1", "config_unknown_key", 1, "batch", "index.batch"},
		{"artefacts:\n  dir: x", "config_unknown_key", 1, "artefacts", ""},
		{"index: 3", "config_bad_value", 1, "index", ""},
		{"index.batch: -1", "config_bad_value", 1, "index.batch", ""},
		{"\nindex.batch: 1001", "config_bad_value", 2, "index.batch", ""},
		{"index.batch: " + pasted, "config_bad_value", 1, "index.batch", ""},
		{"index.batch: [1]", "config_bad_value", 1, "index.batch", ""},
		{"reopen_scope: upstream", "config_bad_value", 1, "reopen_scope", ""},
		{"accept_degraded: a", "config_bad_value", 1, "accept_degraded", ""},
		{"ledger.phases: {note: 9}", "config_bad_value", 1, "ledger.phases", ""},
		{"artifacts.registry: ../r.jsonl", "config_bad_value", 1, "artifacts.registry", ""},
		{"artifacts.ledger: a/b", "config_bad_value", 1, "artifacts.ledger", ""},
		{"memory.content_template: ['{sql}']", "config_bad_value", 1, "memory.content_template", ""},
		{"memory.content_template: []", "config_bad_value", 1, "memory.content_template", ""},
		{"duckdb.memory_limit: 640", "config_bad_value", 1, "duckdb.memory_limit", ""},
		{"serve.timezone: Mars/Base", "config_bad_value", 1, "serve.timezone", ""},
		{"serve.jobs:\n- name: a\n  corn: x", "config_bad_value", 2, "serve.jobs", ""},
		{"serve.jobs: [{name: a, cron: '@daily', args: []}]", "config_bad_value", 1, "serve.jobs", ""},
		{"lang: it\nlang: en", "config_duplicate_key", 2, "lang", ""},
		{"index.batch: 1\nindex: {batch: 2}", "config_duplicate_key", 2, "index.batch", ""},
		{"embed.api_key: " + pasted, "config_secret_key", 1, "embed.api_key", ""},
		{"embed.key: " + pasted, "config_secret_key", 1, "embed.key", ""},
		{"index: {delete_key: " + pasted + "}", "config_secret_key", 1, "index.delete_key", ""},
		{"embed.url: https://user:" + pasted + "@host", "config_bad_value", 1, "embed.url", ""},
		{"index.url: 'http://host:6334?api_key=" + pasted + "'", "config_bad_value", 1, "index.url", ""},
		{"index.url: localhost:6334", "config_bad_value", 1, "index.url", ""},
		{"index.url: http://", "config_bad_value", 1, "index.url", ""},
		{"index.collection: a/b", "config_bad_value", 1, "index.collection", ""},
		{"index.timeout: 30", "config_bad_value", 1, "index.timeout", ""},
		{"index.timeout: -1s", "config_bad_value", 1, "index.timeout", ""},
		{"index.batch_bytes: 4194304", "config_bad_value", 1, "index.batch_bytes", ""},
		{"embed.truncate: head:0", "config_bad_value", 1, "embed.truncate", ""},
		{"embed.truncate: head:07", "config_bad_value", 1, "embed.truncate", ""},
		{"index:\n  qdrant:\n    x: 1", "config_unknown_key", 2, "index.qdrant", ""},
		{"embed:\n  apiKey: " + pasted, "config_secret_key", 2, "embed.apiKey", ""},
		{"ledger.withdrawal_type: phase_reopened", "config_same_type", 0, "ledger.withdrawal_type", ""},
		{"lang: [", "config_unreadable", 0, "", ""},
		{"- lang", "config_unreadable", 0, "", ""},
		{"lang: it\n---\nlang: en", "config_unreadable", 0, "", ""},
	} {
		t.Run(c.id, func(t *testing.T) {
			path := writeFile(t, c.text)
			_, err := resolve(nil, path, env())
			var f *fault.Error
			if !errors.As(err, &f) || f.ID != c.id || f.Code != fault.Usage || f.Path != path {
				t.Fatalf("%q: %v instead of %s", c.text, err, c.id)
			}
			if c.line > 0 && f.Args["line"] != c.line || c.key != "" && f.Args["key"] != c.key || c.near != "" && f.Args["nearest"] != c.near {
				t.Errorf("%v", f.Args)
			}
			if strings.Contains(fmt.Sprint(err, f.Args), pasted) {
				t.Errorf("a secret is repeated: %v %v", err, f.Args)
			}
		})
	}
}

func TestQuietConfigurations(t *testing.T) {
	for _, text := range []string{"", "# nothing\n", "null\n", "lang:\nindex:\nserve: {jobs: }\n", "\ufefflang: en\n"} {
		c := resolveFile(t, text)
		if c.Index.Batch != defaults().Index.Batch {
			t.Errorf("%q: %+v", text, c.Settings)
		}
	}
	c := resolveFile(t, "artifacts.manifest: &m m.yaml\nartifacts.sql: *m\n")
	if c.ArtifactsSQL != "m.yaml" {
		t.Errorf("an alias is not followed: %s", c.ArtifactsSQL)
	}
}

func TestBadVariables(t *testing.T) {
	for _, s := range settings() {
		bad := "[{none}/../.."
		if w, isWord := s.at(&jobs.Settings{}).(word); isWord && w.among == nil && w.shape == "" {
			bad = " " // any other text will do
			if w.check == nil {
				continue // and this one too
			}
		}
		_, err := resolve(nil, "", env(s.variable(), bad))
		var f *fault.Error
		if !errors.As(err, &f) || f.ID != "env_bad_value" || f.Args["variable"] != s.variable() {
			t.Errorf("%s: %v", s.variable(), err)
		}
	}
	variables := map[string]bool{"THTBATCH_CONFIG": true}
	for _, s := range settings() {
		if variables[s.variable()] {
			t.Errorf("%s twice", s.variable())
		}
		variables[s.variable()] = true
	}
}

func TestMissingAndUnreadableFile(t *testing.T) {
	for path, id := range map[string]string{filepath.Join(t.TempDir(), "none.yaml"): "config_missing", t.TempDir(): "config_unreadable"} {
		_, err := resolve(nil, path, env())
		var f *fault.Error
		if !errors.As(err, &f) || f.ID != id || f.Path != path {
			t.Errorf("%v instead of %s", err, id)
		}
	}
}

func TestSizes(t *testing.T) {
	for text, want := range map[string]int64{"": 0, "640MB": 640e6, "640 MiB": 640 << 20, "2gib": 2 << 30, "5B": 5} {
		var n int64
		if !(size{&n}).text(text) || n != want {
			t.Errorf("%q is %d", text, n)
		}
	}
	for _, text := range []string{"MB", "-1MB", "0MB", "1.5GB", "99999999999TB", "many"} {
		n := int64(1)
		if (size{&n}).text(text) || n != 1 {
			t.Errorf("%q is read as %d", text, n)
		}
	}
}

func TestNearestKey(t *testing.T) {
	for word, want := range map[string]string{"statedir": "state.dir", "layout": "index.layout", "cap": "candidates.cap", "lng": "lang"} {
		if got := nearestKey(word, settings()); got != want {
			t.Errorf("%s: %s instead of %s", word, got, want)
		}
	}
}
