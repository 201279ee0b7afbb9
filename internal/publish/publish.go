//go:build duckdb_arrow

// Package publish turns what a job computed into a publication: a directory
// with a Parquet file for every public view and one DuckDB file with all of
// them, written beside the current one, and a link that is turned over when it
// is whole. Readers hold what they have open.
package publish

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/thtbatch/thtbatch/internal/warehouse"
)

// Current is the name of the link to the newest publication.
const Current = "current"

const (
	contentsFile = "contents.json"
	unfinished   = ".unfinished-"
	fileMode     = 0o640
	dirMode      = 0o750
)

// contents says what a publication was made from.
type contents struct {
	RunID   string                     `json:"run_id"`
	Schema  int                        `json:"schema"`
	Changed map[warehouse.Group]string `json:"changed"`
}

// contentsSchema is raised when the shape of a publication changes.
const contentsSchema = 1

// Result tells what was written.
type Result struct {
	Dir string
	// Views that were written anew; the others are the former files.
	Views []string
	// Unchanged means that only the runs were written, into the current
	// publication.
	Unchanged bool
}

// Options of one publication.
type Options struct {
	Dir   string
	RunID string
	Keep  int  // publications kept, at least 1
	All   bool // write everything anew
}

// Publish publishes. The runs must have been set before, the warehouse's own
// and this one as it will end. A crash leaves an unfinished directory, which
// the next call removes, and the link as it was.
func Publish(ctx context.Context, db *warehouse.DB, o Options) (Result, error) {
	if err := prepare(o.Dir); err != nil {
		return Result{}, err
	}
	changed, err := db.Changed(ctx)
	if err != nil {
		return Result{}, err
	}
	link := filepath.Join(o.Dir, Current)
	before, beforeDir := readContents(link)
	if !o.All && before.Schema == contentsSchema && maps.Equal(before.Changed, changed) {
		return Result{Dir: link, Views: []string{"runs"}, Unchanged: true}, rewrite(ctx, db, beforeDir, "runs")
	}
	if o.All {
		before = contents{}
	}
	target := filepath.Join(o.Dir, o.RunID)
	draft := filepath.Join(o.Dir, unfinished+o.RunID)
	views, err := write(ctx, db, draft, beforeDir, before, changed)
	if err == nil {
		err = seal(draft, contents{RunID: o.RunID, Schema: contentsSchema, Changed: changed})
	}
	if err == nil {
		err = os.Rename(draft, target)
	}
	if err != nil {
		return Result{}, errors.Join(fmt.Errorf("publish in %s: %w", o.Dir, err), os.RemoveAll(draft))
	}
	if err := turn(o.Dir, o.RunID); err != nil {
		return Result{}, fmt.Errorf("publish in %s: %w", o.Dir, err)
	}
	return Result{Dir: link, Views: views}, prune(o.Dir, o.RunID, max(o.Keep, 1))
}

// makeDir makes a directory, and those above it that are missing, for the group
// of readers too, whatever the umask. One that is there keeps its mode.
func makeDir(dir string) error {
	err := os.Mkdir(dir, dirMode)
	if errors.Is(err, fs.ErrNotExist) && filepath.Dir(dir) != dir {
		if err := makeDir(filepath.Dir(dir)); err != nil {
			return err
		}
		err = os.Mkdir(dir, dirMode)
	}
	if errors.Is(err, fs.ErrExist) {
		return nil // what is no directory fails where it is read
	}
	if err != nil {
		return err
	}
	return os.Chmod(dir, dirMode)
}

// prepare makes the directory and removes what a killed run left half written.
func prepare(dir string) error {
	if err := makeDir(dir); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), unfinished) {
			if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// readContents returns nothing for a publication that cannot be used: all is
// then written anew.
func readContents(link string) (contents, string) {
	dir, err := filepath.EvalSymlinks(link)
	if err != nil {
		return contents{}, ""
	}
	text, err := os.ReadFile(filepath.Join(dir, contentsFile))
	var c contents
	if err != nil || json.Unmarshal(text, &c) != nil || !whole(dir) {
		return contents{}, ""
	}
	return c, dir
}

// whole tells whether a publication has all its files.
func whole(dir string) bool {
	names := []string{warehouse.PublishedFile}
	for _, v := range warehouse.Views() {
		names = append(names, warehouse.ParquetFile(v.Name))
	}
	return !slices.ContainsFunc(names, func(name string) bool {
		info, err := os.Lstat(filepath.Join(dir, name))
		return err != nil || !info.Mode().IsRegular()
	})
}

// write fills a new directory: a view whose groups did not change is linked to
// its former file, the others are exported.
func write(ctx context.Context, db *warehouse.DB, dir, beforeDir string, before contents, changed map[warehouse.Group]string) ([]string, error) {
	if err := makeDir(dir); err != nil {
		return nil, err
	}
	var views []string
	for _, v := range warehouse.Views() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		name := warehouse.ParquetFile(v.Name)
		if same(v, before, changed) && os.Link(filepath.Join(beforeDir, name), filepath.Join(dir, name)) == nil {
			continue
		}
		if err := rewrite(ctx, db, dir, v.Name); err != nil {
			return nil, err
		}
		views = append(views, v.Name)
	}
	file := filepath.Join(dir, warehouse.PublishedFile)
	if err := db.ExportDatabase(ctx, file); err != nil {
		return nil, err
	}
	return views, settle(file)
}

func same(v warehouse.View, before contents, changed map[warehouse.Group]string) bool {
	if before.Schema != contentsSchema || len(v.Groups) == 0 {
		return false
	}
	for _, g := range v.Groups {
		if before.Changed[g] != changed[g] {
			return false
		}
	}
	return true
}

// rewrite exports one view beside its file and renames it. What a kill leaves
// of it goes with the next night's, or with the publication.
func rewrite(ctx context.Context, db *warehouse.DB, dir, view string) error {
	path := filepath.Join(dir, warehouse.ParquetFile(view))
	draft := path + ".new"
	err := db.ExportParquet(ctx, view, draft)
	if err == nil {
		err = settle(draft)
	}
	if err == nil {
		err = os.Rename(draft, path)
	}
	if err != nil {
		_ = os.Remove(draft) // it may never have been there
	}
	return err
}

// settle sets the mode of a file, whatever the umask, and brings it to disk.
func settle(path string) (err error) {
	if err := os.Chmod(path, fileMode); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return f.Sync()
}

func seal(dir string, c contents) error {
	text, err := json.Marshal(c)
	if err != nil {
		return err
	}
	path := filepath.Join(dir, contentsFile)
	if err := os.WriteFile(path, text, fileMode); err != nil {
		return err
	}
	if err := settle(path); err != nil {
		return err
	}
	return syncDir(dir)
}

// turn makes the link point to another publication, in one rename.
func turn(dir, target string) error {
	draft := filepath.Join(dir, unfinished+Current)
	if err := os.Remove(draft); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Symlink(target, draft); err != nil {
		return err
	}
	if err := os.Rename(draft, filepath.Join(dir, Current)); err != nil {
		return err
	}
	return syncDir(dir)
}

// prune keeps the newest publications, the current one among them. Their names
// are run ids, which sort by time. A directory that is no publication stays.
func prune(dir, current string, keep int) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var old []string
	for _, e := range entries {
		if _, err := os.Stat(filepath.Join(dir, e.Name(), contentsFile)); err == nil && e.IsDir() && e.Name() != current {
			old = append(old, e.Name())
		}
	}
	slices.Sort(old)
	for len(old) > keep-1 {
		if err := os.RemoveAll(filepath.Join(dir, old[0])); err != nil {
			return err
		}
		old = old[1:]
	}
	return nil
}

func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
