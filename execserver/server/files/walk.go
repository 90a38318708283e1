package files

import (
	"context"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/hostsup/hostsup/execserver/wire"
)

// The most that a walk may be asked for.
const (
	walkDepth       = 64
	walkDirectories = 10_000
	walkEntries     = 50_000
)

// walk lists what is below a folder, folder by folder, the entries of each sorted
// by name. Only files and folders are listed; a link to a folder counts as one
// when links are followed. Every folder is listed once, so that a walk ends even
// if links go in circles.
func (f *Files) walk(ctx context.Context, p *wire.FSWalkParams) (any, error) {
	o := p.Options
	switch {
	case o.MaxDirectories == 0 || o.MaxEntries == 0:
		return nil, wire.InvalidRequest("filesystem walk limits must be greater than zero")
	case o.MaxDepth > walkDepth || o.MaxDirectories > walkDirectories || o.MaxEntries > walkEntries:
		return nil, wire.InvalidRequest("filesystem walk limits exceed maximums: depth=%d, directories=%d, entries=%d",
			walkDepth, walkDirectories, walkEntries)
	}
	w := &walker{options: o, seen: map[fileID]bool{}, left: int(o.MaxEntries), out: wire.FSWalkResult{Entries: []wire.FSWalkEntry{}, Errors: []wire.FSWalkError{}}}
	top, bad := p.Path.Native()
	if bad != nil {
		return nil, bad
	}
	if err := w.begin(top); err != nil {
		return nil, err
	}
	for len(w.queue) > 0 && !w.full {
		next := w.queue[0]
		w.queue = w.queue[1:]
		err := w.folder(ctx, next)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			w.out.Errors = append(w.out.Errors, wire.FSWalkError{Path: wire.FileURI(next.path), Message: failure(err).Message})
		}
	}
	return &w.out, nil
}

type walker struct {
	options wire.FSWalkOptions
	out     wire.FSWalkResult
	queue   []step
	folders int             // how many are or were in the queue
	seen    map[fileID]bool // the folders that are or were in the queue, when links are followed
	left    int             // entries that may still be looked at
	full    bool            // there are more than that
}

// step is a folder that is to be read.
type step struct {
	path  string // as it is listed
	depth uint
}

// begin queues the top if it is a folder. A link does not count as a folder unless
// links are followed.
func (w *walker) begin(top string) error {
	info, err := os.Lstat(top)
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		link := info
		if info, err = os.Stat(top); err == nil && !w.options.FollowDirectorySymlinks {
			info = link
		}
	}
	if err != nil || !info.IsDir() {
		return err
	}
	w.push(step{path: top}, info)
	return nil
}

// push queues a folder unless it was there before or there are too many.
func (w *walker) push(s step, info fs.FileInfo) {
	if info != nil {
		if id, ok := identify(info); ok {
			if w.seen[id] {
				return
			}
			w.seen[id] = true
		}
	}
	if w.folders >= int(w.options.MaxDirectories) {
		w.out.Truncated = true
		return
	}
	w.folders++
	w.queue = append(w.queue, s)
}

// found is an entry of a folder; kind is that of the file it leads to.
type found struct {
	name string
	kind fs.FileMode
	link bool
}

// folder lists one folder.
func (w *walker) folder(ctx context.Context, s step) error {
	all, err := w.first(ctx, s.path)
	if err != nil {
		return err
	}
	for _, e := range all {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if w.left == 0 {
			w.full, w.out.Truncated = true, true
			return nil
		}
		w.left--
		w.entry(s, e)
	}
	return nil
}

func (w *walker) entry(s step, e found) {
	path := join(s.path, e.name)
	switch {
	case e.kind.IsRegular() && !e.link:
		w.out.Entries = append(w.out.Entries, wire.FSWalkEntry{Path: wire.FileURI(path), Kind: wire.FSFile})
		return
	case !e.kind.IsDir() || e.link && !w.options.FollowDirectorySymlinks:
		return
	}
	w.out.Entries = append(w.out.Entries, wire.FSWalkEntry{Path: wire.FileURI(path), Kind: wire.FSDirectory})
	if s.depth >= w.options.MaxDepth || w.options.PruneHiddenDirectories && strings.HasPrefix(e.name, ".") {
		return
	}
	var info fs.FileInfo
	if w.options.FollowDirectorySymlinks {
		info, _ = os.Stat(path)
	}
	w.push(step{path: path, depth: s.depth + 1}, info)
}

// first returns the entries of a folder sorted by name, but at most one more than
// may be looked at.
func (w *walker) first(ctx context.Context, path string) ([]found, error) {
	dir, err := os.OpenFile(path, openFolder, 0)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	most := w.left + 1
	var all []found
	byName := func(a, b found) int { return strings.Compare(a.name, b.name) }
	err = eachEntry(ctx, dir, func(e fs.DirEntry) error {
		link := e.Type()&fs.ModeSymlink != 0
		if kind, ok := target(path, e); ok {
			all = append(all, found{e.Name(), kind, link})
		}
		if len(all) >= 2*most+dirBatch {
			slices.SortFunc(all, byName)
			all = all[:most]
		}
		return nil
	})
	slices.SortFunc(all, byName)
	return all[:min(len(all), most)], err
}
