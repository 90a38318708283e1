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

// Walk lists what is below a folder, folder by folder, those of one sorted by
// name. Only files and folders are listed; a link to a folder is one when
// links are followed. Every folder is listed once, so that a walk ends also
// where links go in circles.
func (f *Files) Walk(ctx context.Context, p wire.FSWalkParams) (wire.FSWalkResult, *wire.Error) {
	o := p.Options
	switch {
	case o.MaxDirectories == 0 || o.MaxEntries == 0:
		return wire.FSWalkResult{}, wire.InvalidRequest("filesystem walk limits must be greater than zero")
	case o.MaxDepth > walkDepth || o.MaxDirectories > walkDirectories || o.MaxEntries > walkEntries:
		return wire.FSWalkResult{}, wire.InvalidRequest("filesystem walk limits exceed maximums: depth=%d, directories=%d, entries=%d",
			walkDepth, walkDirectories, walkEntries)
	}
	w := &walker{options: o, left: int(o.MaxEntries), out: wire.FSWalkResult{Entries: []wire.FSWalkEntry{}, Errors: []wire.FSWalkError{}}}
	top, bad := native(p.Sandbox, p.Path)
	if bad != nil {
		return wire.FSWalkResult{}, bad
	}
	if err := w.begin(top); err != nil {
		return wire.FSWalkResult{}, failure(err)
	}
	for len(w.queue) > 0 && !w.full {
		next := w.queue[0]
		w.queue = w.queue[1:]
		err := w.folder(ctx, next)
		switch {
		case ctx.Err() != nil:
			return wire.FSWalkResult{}, failure(ctx.Err())
		case err != nil:
			w.out.Errors = append(w.out.Errors, wire.FSWalkError{Path: wire.FileURI(next.path), Message: failure(err).Message})
		}
	}
	return w.out, nil
}

type walker struct {
	options wire.FSWalkOptions
	out     wire.FSWalkResult
	queue   []step
	folders int             // that are or were in the queue
	seen    map[fileID]bool // the same, when links are followed
	left    int             // entries that may still be looked at
	full    bool            // there are more than that
}

// step is a folder that is to be read.
type step struct {
	path  string // as it is listed
	depth uint
}

// begin queues the top, when it is a folder. A link as the top is none when
// links are not followed.
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
		id, ok := identify(info)
		if ok && w.seen[id] {
			return
		}
		defer func() {
			if ok && w.seen == nil {
				w.seen = map[fileID]bool{}
			}
			if ok {
				w.seen[id] = true
			}
		}()
	}
	if w.folders >= int(w.options.MaxDirectories) {
		w.out.Truncated = true
		return
	}
	w.folders++
	w.queue = append(w.queue, s)
}

// found is an entry of a folder, its kind that of what it leads to.
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
	next := step{path: path, depth: s.depth + 1}
	var info fs.FileInfo
	if w.options.FollowDirectorySymlinks {
		info, _ = os.Stat(path)
	}
	w.push(next, info)
}

// first is the entries of a folder by name: one more than may be looked at,
// however many there are.
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
