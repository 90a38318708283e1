package files

import (
	"context"
	"os"
	"path/filepath"
	"sync"

	"github.com/hostsup/hostsup/execserver/wire"
	"github.com/hostsup/hostsup/internal/sys"
)

// maxMissing is how many paths one watch may be about.
const maxMissing = 64

// WatchMissing begins to watch for the first of some missing paths to appear,
// or a present one to change. It is a hint and comes once: something on the way
// to a path has changed. A connection has one watch; a greater id ends the one
// before, an id that is not greater is passed over. Watching is false when
// nothing can or need be watched: no path, one that is there, one that leads
// through a link, a file system that tells nothing.
func (f *Files) WatchMissing(_ context.Context, p wire.FSWatchMissingParams) (wire.FSWatchMissingResult, *wire.Error) {
	var none wire.FSWatchMissingResult
	missing, bad := natives(p.Missing)
	if bad != nil {
		return none, bad
	}
	var there []string
	if p.Present != nil {
		if there, bad = natives([]wire.URI{*p.Present}); bad != nil {
			return none, bad
		}
	}
	f.mu.Lock()
	if f.closed || f.seenID && p.WatchID <= f.lastID {
		f.mu.Unlock()
		return none, nil
	}
	f.seenID, f.lastID = true, p.WatchID
	old := f.watch
	f.watch = nil
	f.mu.Unlock()
	old.stop()
	if len(missing) == 0 || len(missing) > maxMissing || f.limits.Changed == nil {
		return none, nil
	}
	w := newWatch(missing, there)
	if w == nil {
		return none, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed || f.lastID != p.WatchID { // a newer one came meanwhile
		_ = w.notices.Close()
		return none, nil
	}
	f.watch = w
	go w.run(func() { f.limits.Changed(wire.FSMissingChanged{WatchID: p.WatchID}) })
	return wire.FSWatchMissingResult{Watching: true}, nil
}

func natives(uris []wire.URI) ([]string, *wire.Error) {
	out := make([]string, 0, len(uris))
	for _, u := range uris {
		path, bad := u.Native()
		if bad != nil {
			return nil, bad
		}
		out = append(out, path)
	}
	return out, nil
}

// watch tells once of a change.
type watch struct {
	notices *sys.Notices
	self    map[int32]bool            // watched paths that are not to change
	names   map[int32]map[string]bool // what is not to appear in a folder
	once    sync.Once
	done    chan struct{}
}

// newWatch watches all the paths, or returns nil.
func newWatch(missing, there []string) *watch {
	n, err := sys.NewNotices()
	if err != nil {
		return nil
	}
	w := &watch{notices: n, self: map[int32]bool{}, names: map[int32]map[string]bool{}, done: make(chan struct{})}
	for _, path := range missing {
		if !w.missing(path) {
			_ = n.Close()
			return nil
		}
	}
	for _, path := range there {
		if !w.present(path) {
			_ = n.Close()
			return nil
		}
	}
	// What appeared before its folder was watched would never be told of.
	for _, path := range missing {
		if _, err := os.Lstat(path); err == nil {
			_ = n.Close()
			return nil
		}
	}
	return w
}

// missing watches the folder that the first missing part of path would appear
// in, and those above it for going away.
func (w *watch) missing(path string) bool {
	folder, name := filepath.Dir(path), filepath.Base(path)
	if _, err := os.Lstat(path); err == nil || !missingOnly(err) {
		return false
	}
	for {
		info, err := os.Lstat(folder)
		if err == nil {
			if !info.IsDir() || !w.folders(folder) {
				return false
			}
			id, err := w.notices.Add(folder, sys.NoticeMade|sys.NoticeState|sys.NoticeGone)
			if err != nil {
				return false
			}
			w.self[id] = true
			if w.names[id] == nil {
				w.names[id] = map[string]bool{}
			}
			w.names[id][name] = true
			return true
		}
		if !missingOnly(err) || folder == filepath.Dir(folder) {
			return false
		}
		folder, name = filepath.Dir(folder), filepath.Base(folder)
	}
}

// present watches a path that is there.
func (w *watch) present(path string) bool {
	info, err := os.Lstat(path)
	if err != nil || !info.IsDir() && !info.Mode().IsRegular() || !w.folders(filepath.Dir(path)) {
		return false
	}
	what := uint32(sys.NoticeState | sys.NoticeGone)
	if !info.IsDir() {
		what |= sys.NoticeChanged
	}
	id, err := w.notices.Add(path, what)
	if err != nil {
		return false
	}
	w.self[id] = true
	return true
}

// folders watches the folders from the root down to path for going away. None
// may be a link: what it leads to could change unnoticed.
func (w *watch) folders(path string) bool {
	if !sys.TellsChanges(path) {
		return false
	}
	for dir := path; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		info, err := os.Lstat(dir)
		if err != nil || !info.IsDir() {
			return false
		}
		id, err := w.notices.Add(dir, sys.NoticeGone)
		if err != nil {
			return false
		}
		w.self[id] = true
	}
	return true
}

func missingOnly(err error) bool { return wire.FileError(err).Code == wire.CodeNotFound }

// run waits for the first change that matters.
func (w *watch) run(tell func()) {
	defer close(w.done)
	for {
		got, err := w.notices.Read()
		if err != nil {
			return // closed
		}
		for _, n := range got {
			if w.matters(n) {
				_ = w.notices.Close()
				tell()
				return
			}
		}
	}
}

func (w *watch) matters(n sys.Notice) bool {
	if n.Name == "" {
		return n.Watch < 0 || w.self[n.Watch]
	}
	return w.names[n.Watch][n.Name]
}

// stop ends a watch and waits until it has ended. Nil is none.
func (w *watch) stop() {
	if w == nil {
		return
	}
	w.once.Do(func() { _ = w.notices.Close() })
	<-w.done
}
