package secret_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/thtbatch/thtbatch/internal/fault"
	"github.com/thtbatch/thtbatch/internal/secret"
)

func TestRead(t *testing.T) {
	const key = "s3cr3t-key"
	dir := t.TempDir()
	file := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.WriteFile(path, []byte(text), 0o600), os.Chmod(path, mode)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	pipe := filepath.Join(dir, "pipe")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	good := file("good", "  "+key+"\n", 0o400)
	for name, c := range map[string]struct {
		env, file, want, reason string
	}{
		"nothing":               {"", "", "", ""},
		"environment":           {key, "", key, ""},
		"environment first":     {"other", good, "other", ""},
		"blank environment":     {" ", good, key, ""},
		"file":                  {"", good, key, ""},
		"missing":               {"", filepath.Join(dir, "none"), "", "unreadable"},
		"directory":             {"", dir, "", "not_regular"},
		"pipe":                  {"", pipe, "", "not_regular"},
		"group":                 {"", file("group", key, 0o640), "", "open_to_others"},
		"others":                {"", file("others", key, 0o604), "", "open_to_others"},
		"empty":                 {"", file("empty", " \n", 0o600), "", "empty"},
		"two lines":             {"", file("two", key+"\n"+key, 0o600), "", "not_one_word"},
		"large":                 {"", file("large", strings.Repeat("k", 20_000), 0o600), "", "too_large_for_a_key"},
		"no ASCII":              {"", file("utf", key+"è", 0o600), "", "not_one_word"},
		"a bad variable":        {key + "\x00" + key, "", "", "not_one_word"},
		"a variable, two words": {key + " " + key, "", "", "not_one_word"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := secret.Read("THE_KEY", func(name string) string {
				if name != "THE_KEY" {
					t.Errorf("asked for %s", name)
				}
				return c.env
			}, c.file)
			var f *fault.Error
			switch {
			case c.reason == "" && (err != nil || got != c.want):
				t.Errorf("%q, %v", got, err)
			case c.reason != "" && (!errors.As(err, &f) || f.ID != "secret_unusable" || f.Code != fault.Credential || f.Args["reason"] != c.reason || got != ""):
				t.Errorf("%q, %v, want %s", got, err, c.reason)
			case err != nil && strings.Contains(err.Error(), key):
				t.Errorf("the key is told: %v", err)
			}
		})
	}
}
