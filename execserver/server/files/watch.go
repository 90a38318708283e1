package files

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/hostsup/hostsup/execserver/wire"
	"github.com/hostsup/hostsup/internal/sys"
)

// maxMissing is how many paths one watch may be about.
const maxMissing = 64

// watchMissing begins to watch for the first of some missing paths to appear, or
// for a present one to change. The notification is a hint and comes once: a folder
// on the way to one of the paths has changed. A connection has one watch; a
// greater id ends the one before, and an id that is not greater is ignored.
// Watching is false when nothing can or need be watched: there is no path, or a
// missing one exists, or one leads through a link, or the file system does not
// report changes.
func (f *Files) watchMissing(_ context.Context, p *wire.FSWatchMissingParams) (any, error) {
	none := &wire.FSWatchMissingResult{}
	missing, bad := natives(p.Missing)
	if bad != nil {
		return nil, bad
	}
	var present []string
	if p.Present != nil {
		if present, bad = natives([]wire.URI{*p.Present}); bad != nil {
			return nil, bad
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
	w := newWatch(missing, present)
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
	return &wire.FSWatchMissingResult{Watching: true}, nil
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

// watch reports one change.
type watch struct {
	notices *sys.Notices
	self    map[int32]bool            // watched paths whose own changes count
	names   map[int32]map[string]bool // entries of a watched folder whose appearance counts
	once    sync.Once
	done    chan struct{}
}

// newWatch watches all the paths, or returns nil.
func newWatch(missing, present []string) *watch {
	n, err := sys.NewNotices()
	if err != nil {
		return nil
	}
	w := &watch{notices: n, self: map[int32]bool{}, names: map[int32]map[string]bool{}, done: make(chan struct{})}
	// A path that has appeared before its folder was watched would not be reported.
	if !every(missing, w.missing) || !every(present, w.present) || !every(missing, isMissing) {
		_ = n.Close()
		return nil
	}
	return w
}

func every(paths []string, ok func(string) bool) bool {
	return !slices.ContainsFunc(paths, func(path string) bool { return !ok(path) })
}

func isMissing(path string) bool {
	_, err := os.Lstat(path)
	return err != nil
}

// missing watches the folder in which the first missing part of path would
// appear, and the folders above it for their removal.
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

// present watches a path that exists.
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

// folders watches the folders from the root down to path for their removal. It
// fails if one of them is a link: its target could change unnoticed.
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

// stop ends a watch and waits until it has ended. A nil watch is ignored.
func (w *watch) stop() {
	if w == nil {
		return
	}
	w.once.Do(func() { _ = w.notices.Close() })
	<-w.done
}
