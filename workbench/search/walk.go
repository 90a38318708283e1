package search

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
)

// maxWorkers bounds how many folders a walk reads at once.
const maxWorkers = 8

// walk calls found with the paths of the files, relative to the folder and with slashes, in any order.
// Calls do not overlap; found returns false to end the walk. ripgrep would take longer for it, most of
// it to start and to print.
func (q *query) walk(ctx context.Context, found func(rel string) bool) error {
	w := walk{ctx: ctx, query: q, found: found}
	w.changed.L = &w.mu
	root := folder{}
	if q.local && q.parent {
		root.above = q.files.parents(q.folder)
	}
	if q.files.guard == nil {
		if q.global {
			w.outer = readGlobal(q.folder)
		}
		info, err := os.Stat(q.folder)
		if err != nil {
			return err
		}
		root.way = &way{info, nil}
	}
	if err := w.read(root); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, w.end)
	defer stop()
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), maxWorkers) {
		workers.Go(w.work)
	}
	workers.Wait()
	return ctx.Err()
}

// walk reads folders side by side.
type walk struct {
	*query
	ctx   context.Context //nolint:containedctx // lives as long as the walk
	found func(rel string) bool
	outer *ignoring

	mu      sync.Mutex
	changed sync.Cond
	todo    []folder // the last is read first, so that few are waiting
	busy    int      // are being read
	over    bool     // nothing more is wanted
}

// folder is one that is to be read.
type folder struct {
	rel   string // "" is the root
	above *ignoring
	way   *way
}

// way has the folders that lead to one. It is kept where links are followed, which may lead back.
type way struct {
	info fs.FileInfo
	up   *way
}

// end makes the workers end.
func (w *walk) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
	w.changed.Broadcast()
}

// work reads folders until all are read, or nothing more is wanted.
func (w *walk) work() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for {
		for len(w.todo) == 0 && w.busy > 0 && !w.over {
			w.changed.Wait()
		}
		if w.over || len(w.todo) == 0 {
			return
		}
		last := len(w.todo) - 1
		next := w.todo[last]
		w.todo = w.todo[:last]
		w.busy++
		w.mu.Unlock()
		_ = w.read(next) // an unreadable folder has no results
		w.mu.Lock()
		w.busy--
		w.changed.Broadcast()
	}
}

// read reads a folder, tells of its files, and puts off its folders.
func (w *walk) read(at folder) error {
	dir := filepath.Join(w.folder, filepath.FromSlash(at.rel))
	entries, err := w.files.list(dir)
	if err != nil {
		return err
	}
	if w.local {
		at.above = w.files.ignoring(dir, at.above, func(name string) bool {
			return slices.ContainsFunc(entries, func(e entry) bool { return e.name == name })
		})
	}
	var names []string
	var folders []folder
	for _, e := range entries {
		if w.ctx.Err() != nil {
			return nil
		}
		name := e.name
		if at.rel != "" {
			name = at.rel + "/" + name
		}
		var info fs.FileInfo
		if e.link && w.follow {
			if info, err = os.Stat(filepath.Join(dir, e.name)); err != nil {
				continue
			}
			e.isDir, e.isFile = info.IsDir(), info.Mode().IsRegular()
		}
		switch {
		case !e.isDir && !e.isFile || w.isExcluded(name) || w.isIgnored(at.above, dir, e.name, e.isDir):
		case e.isDir:
			if way, ok := w.into(name, info, at.way); ok {
				folders = append(folders, folder{name, at.above, way})
			}
		case w.isIncluded(name) && w.files.isAllowed(filepath.Join(dir, e.name)):
			names = append(names, name)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, name := range names {
		w.over = w.over || !w.found(name)
	}
	w.todo = append(w.todo, folders...)
	return nil
}

// into returns the way to a folder; false if a link has led back to one on the way. info is that of
// a link's target.
func (w *walk) into(rel string, info fs.FileInfo, up *way) (*way, bool) {
	if !w.follow {
		return nil, true
	}
	for at := up; info != nil && at != nil; at = at.up {
		if os.SameFile(info, at.info) {
			return nil, false
		}
	}
	if info == nil {
		var err error
		if info, err = os.Lstat(filepath.Join(w.folder, filepath.FromSlash(rel))); err != nil {
			return nil, false // it was removed
		}
	}
	return &way{info, up}, true
}

func (w *walk) isIgnored(above *ignoring, dir, name string, isDir bool) bool {
	if above == nil && w.outer == nil {
		return false
	}
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
