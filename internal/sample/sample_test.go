package sample_test

import (
	"crypto/sha256"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/thtbatch/thtbatch/internal/sample"
	"github.com/thtbatch/thtbatch/internal/sample/model"
)

func TestTreeIsWhatTheStatsSay(t *testing.T) {
	dir := t.TempDir()
	stats, err := sample.Tree(dir, 1000, 7, 0)
	if err != nil {
		t.Fatal(err)
	}
	views, err := model.Read(dir, model.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(views.Quarantine) != 0 {
		t.Errorf("a tree without oddities has %d lines in quarantine", len(views.Quarantine))
	}
	if len(views.Sessions) != 1000 || len(views.Decisions) != stats.Decisions || len(views.Memories) != stats.Registry {
		t.Errorf("read %d sessions, %d decisions, %d registry records; stats %+v", len(views.Sessions), len(views.Decisions), len(views.Memories), stats)
	}
	if perSession := float64(stats.Decisions) / 1000; perSession < 8 || perSession > 12 {
		t.Errorf("%.1f decisions a session", perSession)
	}
	t.Logf("%+v", stats)
}

func TestOddSessions(t *testing.T) {
	dir := t.TempDir()
	if _, err := sample.Tree(dir, 1000, 7, 0.5); err != nil {
		t.Fatal(err)
	}
	views, err := model.Read(dir, model.Options{})
	if err != nil {
		t.Fatal(err)
	}
	states := map[string]int{}
	for _, s := range views.Sessions {
		states[s.State]++
	}
	if states["ok"] < 500 || states["degraded"] == 0 || states["invalid"] == 0 {
		t.Errorf("states %v", states)
	}
}

func TestEqualArgumentsGiveEqualTrees(t *testing.T) {
	var sums []string
	for range 2 {
		dir := t.TempDir()
		if _, err := sample.Tree(dir, 600, 3, 0.2); err != nil {
			t.Fatal(err)
		}
		if _, err := sample.Touch(dir, 50, 9); err != nil {
			t.Fatal(err)
		}
		sums = append(sums, sum(t, dir))
	}
	if sums[0] != sums[1] {
		t.Error("two trees of the same arguments differ")
	}
}

func TestTouchAppendsOneDecision(t *testing.T) {
	dir := t.TempDir()
	stats, err := sample.Tree(dir, 200, 3, 0)
	if err != nil {
		t.Fatal(err)
	}
	ids, err := sample.Touch(dir, 20, 1)
	if err != nil {
		t.Fatal(err)
	}
	views, err := model.Read(dir, model.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(ids) != 20 || len(views.Decisions) != stats.Decisions+20 || len(views.Quarantine) != 0 {
		t.Errorf("%d sessions, %d decisions after %d, %d in quarantine", len(ids), len(views.Decisions), stats.Decisions, len(views.Quarantine))
	}
}

func sum(t *testing.T, dir string) string {
	t.Helper()
	h := sha256.New()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		h.Write([]byte(path[len(dir):] + "\x00"))
		h.Write(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(h.Sum(nil))
}

func BenchmarkTree(b *testing.B) {
	for b.Loop() {
		stats, err := sample.Tree(filepath.Join(b.TempDir(), "artifacts"), 10_000, 1, 0)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(stats.Bytes)/float64(stats.Sessions), "bytes/session")
		b.ReportMetric(float64(stats.Decisions)/float64(stats.Sessions), "decisions/session")
	}
}
