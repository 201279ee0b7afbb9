package extract

import (
	"context"
	"fmt"
	"os"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestNotRegularFiles(t *testing.T) {
	target := t.TempDir() + "/file"
	must(t, os.WriteFile(target, []byte("id: s\n"), 0o644))
	for name, make := range map[string]func(path string) error{
		"directory": func(path string) error { return os.Mkdir(path, 0o755) },
		"FIFO":      func(path string) error { return unix.Mkfifo(path, 0o644) },
		"link":      func(path string) error { return os.Symlink(target, path) },
		"dangling":  func(path string) error { return os.Symlink("nowhere", path) },
		"socket":    func(path string) error { return unix.Mknod(path, unix.S_IFSOCK|0o644, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newTree(t)
			r.dir("s")
			for _, file := range []string{r.Manifest, r.Ledger, r.SQL} {
				must(t, make(r.path("s", file)))
			}
			sessions := r.list()
			got := r.scan(sessions, Options{})
			want := map[string]string{"manifest": notRegular.reason(), "ledger": notRegular.reason(), "sql": notRegular.reason()}
			if reasons := reasonsOf(got.faults); !reflect.DeepEqual(reasons, want) {
				t.Errorf("reasons %v", reasons)
			}
			if got.ledgers[0]["fault"] == nil || got.sql[0]["fault"] == nil || got.manifests[0]["id"] != nil || got.stats.SessionsRead != 0 {
				t.Errorf("rows %+v", got)
			}
			if again := r.scan(got.known(sessions), Options{}); again.batches != 0 {
				t.Errorf("the same trouble was said twice: %+v", again)
			}
			must(t, os.RemoveAll(r.path("s", r.Manifest)))
			r.write("s", r.Manifest, "id: s\n")
			if again := r.scan(got.known(sessions), Options{}); again.stats.SessionsChanged != 1 || again.manifests[0]["fault"] != nil {
				t.Errorf("what was mended: %+v", again)
			}
		})
	}
}

// A line of 50 MB is data.
func TestLongLine(t *testing.T) {
	if testing.Short() {
		t.Skip("50 MB")
	}
	const size = 50 << 20
	r := newTree(t)
	r.write("s", r.Manifest, "id: s\n")
	r.write("s", r.Ledger, good(1, "")+"\n"+good(2, `"detail":"`+strings.Repeat("è", size/2)+`"`)+"\n"+good(3, "")+"\n"+strings.Repeat("x", size)+"\n")
	sessions := r.list()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var detail, bad int
	_, err := Read(context.Background(), r.Layout, sessions, Options{}, func(b *Batch) error {
		detail = len(rowsOf(b.Lines)[1]["detail"].(string))
		bad = len(rowsOf(b.Faults))
		return nil
	})
	must(t, err)
	runtime.ReadMemStats(&after)
	if detail != size || bad != 1 {
		t.Errorf("a detail of %d bytes, %d faults", detail, bad)
	}
	if mb := (after.TotalAlloc - before.TotalAlloc) >> 20; mb > 500 {
		t.Errorf("%d MB were allocated for a file of 100 MB", mb)
	}
}

// Nothing but the fields themselves may show a text of a session.
func TestNoTextLeaks(t *testing.T) {
	const marker = "Zyxmarker"
	r := newTree(t)
	r.write("a", r.Manifest, "id: a\nquestion: \""+marker+"\nstatus: *"+marker)
	r.write("b", r.Manifest, "id: "+marker+"\n"+marker+": {"+marker+"\n")
	r.write("c", r.Manifest, "id: "+marker+"\nquestion: ["+marker+"]\n")
	r.write("a", r.Ledger, strings.Join([]string{marker, `"` + marker, `{"seq":"` + marker + `","ts":0,"type":"t"}`, `{"seq":1,"ts":"` + marker + `","type":"t"}`,
		`{"` + marker + `":"` + marker + `"}`, `{"seq":1,"ts":0,"type":"t","phase":"` + marker + `"}`, "\xff" + marker, `{"detail":"` + marker}, "\n"))
	r.write("a", r.SQL, "SELECT "+marker+"\xff")
	got := r.scan(r.list(), Options{})
	if len(got.faults) < 12 {
		t.Fatalf("only %d faults: the test tests little", len(got.faults))
	}
	for _, f := range got.faults {
		if text := fmt.Sprint(f); strings.Contains(strings.ToLower(text), "marker") {
			t.Errorf("a fault shows a text: %s", text)
		}
	}
	for _, m := range got.manifests {
		if strings.Contains(fmt.Sprint(m["fault"]), marker) {
			t.Errorf("a reason shows a text: %s", m["fault"])
		}
	}
}
