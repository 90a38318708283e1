package search

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// walker is the engine of this package. The zero value is ready for use.
type walker struct{}

// files implements engine.
func (walker) files(ctx context.Context, q *query, found func(rel string) bool) error {
	w := walk{ctx: ctx, query: q, found: found}
	var above *ignoring
	if q.local && q.parent {
		above = q.files.parents(q.folder)
	}
	if q.files.guard == nil {
		if q.global {
			w.outer = readGlobal(q.folder)
		}
		info, err := os.Stat(q.folder)
		if err != nil {
			return err
		}
		w.dirs = []fs.FileInfo{info}
	}
	if err := w.dir("", above); err != nil && err != fs.SkipAll { //nolint:errorlint // it is never wrapped
		return err
	}
	return ctx.Err()
}

type walk struct {
	*query
	ctx   context.Context //nolint:containedctx // lives as long as the walk
	found func(rel string) bool
	outer *ignoring
	dirs  []fs.FileInfo // from the folder down, if links are followed
}

// dir walks a folder. Its errors are those that end the walk.
func (w *walk) dir(rel string, above *ignoring) error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	dir := filepath.Join(w.folder, filepath.FromSlash(rel))
	entries, err := w.files.list(dir)
	if err != nil {
		if rel == "" {
			return err
		}
		return nil // an unreadable folder has no results
	}
	if w.local {
		above = w.files.ignoring(dir, above)
	}
	for _, e := range entries {
		name := e.name
		if rel != "" {
			name = rel + "/" + name
		}
		isDir, isFile := e.isDir, e.isFile
		var info fs.FileInfo
		if e.link && w.follow {
			if info, err = os.Stat(filepath.Join(dir, e.name)); err != nil {
				continue
			}
			isDir, isFile = info.IsDir(), info.Mode().IsRegular()
		}
		if !isDir && !isFile || w.isExcluded(name) || w.isIgnored(above, dir, e.name, isDir) {
			continue
		}
		if isFile {
			if w.isIncluded(name) && w.files.isAllowed(filepath.Join(dir, e.name)) && !w.found(name) {
				return fs.SkipAll
			}
			continue
		}
		if err := w.enter(name, info, above); err != nil {
			return err
		}
	}
	return nil
}

// enter walks a folder that is not excluded, unless a link has led back to it. info is that of a
// link's target.
func (w *walk) enter(rel string, info fs.FileInfo, above *ignoring) error {
	if !w.follow {
		return w.dir(rel, above)
	}
	same := func(other fs.FileInfo) bool { return os.SameFile(info, other) }
	if info != nil && slices.ContainsFunc(w.dirs, same) {
		return nil
	}
	if info == nil {
		var err error
		if info, err = os.Lstat(filepath.Join(w.folder, filepath.FromSlash(rel))); err != nil {
			return nil //nolint:nilerr // it was removed
		}
	}
	w.dirs = append(w.dirs, info)
	err := w.dir(rel, above)
	w.dirs = w.dirs[:len(w.dirs)-1]
	return err
}

func (w *walk) isIgnored(above *ignoring, dir, name string, isDir bool) bool {
	file := filepath.ToSlash(filepath.Join(dir, name))
	if above != nil {
		if ignored, found := above.has(file, isDir); found {
			return ignored
		}
	}
	if w.outer == nil {
		return false
	}
	ignored, _ := w.outer.has(file, isDir)
	return ignored
}
