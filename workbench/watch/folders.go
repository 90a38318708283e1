package watch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/fsnotify/fsnotify"

	"github.com/hostsup/hostsup/workbench"
	"github.com/hostsup/hostsup/workbench/disk"
)

// dir is a folder that is watched.
type dir struct {
	names   names
	folders map[string]bool // paths of those in it that are watched too
}

// scan is a folder that is to be read. With announce, what is new in it is told.
type scan struct {
	path     string
	announce bool
}

// watch begins a request.
func (l *loop) watch(id string, r Request) {
	if l.roots == nil {
		return // closed
	}
	t, err := newRoot(r)
	if err != nil {
		l.problem("not watched for " + r.For + ": " + err.Error())
		return
	}
	if !l.room(t) {
		l.problem(fmt.Sprintf("not all is watched for %s: at most %d requests, with patterns of %d alternatives together, are", r.For, maxRequests, maxPatterns))
		return
	}
	l.roots[id] = t
	l.attach(t, false)
}

// Limits of what somebody may have watched at one time.
const (
	maxRequests = 5_000
	maxPatterns = 200_000 // alternatives of all patterns
)

// room reports whether there is room for a request besides those of the same host.
func (l *loop) room(t *root) bool {
	requests, patterns := 1, t.patterns()
	for _, other := range l.roots {
		if other.For == t.For {
			requests++
			patterns += other.patterns()
		}
	}
	return requests <= maxRequests && patterns <= maxPatterns
}

// attach has the folder watched that a root begins in.
func (l *loop) attach(t *root, announce bool) {
	anchor := t.anchor()
	if l.dirs[anchor] != nil && t.folder {
		l.descend(anchor)
	}
	l.add(anchor, announce)
}

// descend reads the folders again that are watched already, for a root that came later. They may have
// others in them that no root wanted.
func (l *loop) descend(path string) {
	l.scans = append(l.scans, scan{path, false})
	for sub := range l.dirs[path].folders {
		if l.dirs[sub] != nil {
			l.descend(sub)
		}
	}
}

// add watches a folder and has it read.
func (l *loop) add(path string, announce bool) {
	if l.dirs[path] != nil || !l.open() {
		return
	}
	if err := l.fs.Add(path); err != nil {
		l.noRoom(path, err)
		return
	}
	l.dirs[path] = &dir{}
	if up := l.dirs[filepath.Dir(path)]; up != nil {
		up.enter(path)
	}
	l.scans = append(l.scans, scan{path, announce})
}

func (d *dir) enter(path string) {
	if d.folders == nil {
		d.folders = map[string]bool{}
	}
	d.folders[path] = true
}

// wanted reports whether a folder is to be watched.
func (l *loop) wanted(path string) bool {
	for _, t := range l.roots {
		if t.enters(path) {
			return true
		}
	}
	return false
}

// scanNext reads one folder.
func (l *loop) scanNext() {
	s := l.scans[len(l.scans)-1]
	l.scans = l.scans[:len(l.scans)-1]
	d := l.dirs[s.path]
	if d == nil {
		return
	}
	err := l.list(s.path, func(name string, folder bool) {
		path := filepath.Join(s.path, name)
		if d.names.add(name) {
			if s.announce {
				l.pending.add(path, Created)
			}
			l.appeared(path)
		}
		if folder && l.dirs[path] == nil && l.wanted(path) {
			l.add(path, s.announce)
		}
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !disk.Named(err, disk.NameNotFound) {
		l.problem("folder " + s.path + " is not watched: " + err.Error())
	}
}

// list calls f with the entries of a folder.
func (l *loop) list(path string, f func(name string, folder bool)) error {
	if g := l.guard(path); g != nil {
		entries, err := disk.FS{Guard: g}.ReadDir(path)
		for _, e := range entries {
			f(e.Name, e.Type == disk.TypeDirectory)
		}
		return err
	}
	entries, err := os.ReadDir(path)
	for _, e := range entries {
		f(e.Name(), e.IsDir())
	}
	return err
}

// guard returns the guard of a path that only confined hosts watch, otherwise nil. Such a host can put
// a link in the place of a folder while it begins to be watched. So that it learns no name of a file
// elsewhere, a file is only told that the guard lets be seen at its path, or that was in a list of the
// folder.
func (l *loop) guard(path string) (g workbench.Guard) {
	for _, t := range l.roots {
		if isWithin(path, t.real) || isWithin(t.real, path) {
			if t.Guard == nil {
				return nil
			}
			g = t.Guard
		}
	}
	return g
}

// isSeen reports whether a file may be told that the library names.
func (l *loop) isSeen(path string) bool {
	g := l.guard(path)
	if g == nil {
		return true
	}
	dir := disk.FS{Guard: g}
	_, err := dir.Stat(path)
	return err == nil
}

// unwatch ends requests, and the watches of folders that no other request needs.
func (l *loop) unwatch(which func(id string, t *root) bool) {
	before := len(l.roots)
	for id, t := range l.roots {
		if which(id, t) {
			delete(l.roots, id)
		}
	}
	if len(l.roots) == before {
		return
	}
	if len(l.roots) == 0 { // the library is closed as a whole
		l.stop()
		settled, reported := l.settled, l.reported
		*l = *newLoop(l.w)
		l.settled, l.reported = settled, reported
		return
	}
	anchors := map[string]bool{}
	for _, t := range l.roots {
		anchors[t.anchor()] = true
	}
	for path := range l.dirs {
		if !anchors[path] && !l.wanted(path) {
			l.drop(path, false)
		}
	}
}

// drop ends the watch of a folder; with below, also of those in it.
func (l *loop) drop(path string, below bool) {
	d := l.dirs[path]
	if d == nil {
		return
	}
	delete(l.dirs, path)
	_ = l.fs.Remove(path) // it may be gone already
	if up := l.dirs[filepath.Dir(path)]; up != nil {
		delete(up.folders, path)
	}
	if below {
		for sub := range d.folders {
			l.drop(sub, true)
		}
	}
}

// event handles an event of the library.
func (l *loop) event(e fsnotify.Event) {
	path := filepath.Clean(e.Name)
	up := l.dirs[filepath.Dir(path)]
	name := filepath.Base(path)
	switch {
	case e.Has(fsnotify.Create):
		l.created(path, name, up)
	case e.Has(fsnotify.Remove), e.Has(fsnotify.Rename):
		known := up != nil && up.names.remove(name) || l.dirs[path] != nil
		if known || l.guard(path) == nil {
			l.pending.add(path, Deleted)
		}
		l.drop(path, true)
		for _, t := range l.roots {
			if isWithin(t.real, path) && !t.missing {
				l.pending.add(t.real, Deleted)
				t.missing = true // what is there now is another one
				l.relocate(t)
			}
		}
	case e.Has(fsnotify.Write), e.Has(fsnotify.Chmod):
		if l.dirs[path] == nil && l.isSeen(path) { // of a folder its own times
			l.pending.add(path, Changed)
		}
	}
}

// created handles a name that is new, or has another file.
func (l *loop) created(path, name string, up *dir) {
	if !l.isSeen(path) {
		return
	}
	kind := Created
	if up != nil && !up.names.add(name) {
		kind = Changed
	}
	l.pending.add(path, kind)
	l.drop(path, true) // a folder is another one than before
	l.appeared(path)
	if info, err := os.Lstat(path); err == nil && info.IsDir() && l.wanted(path) {
		l.add(path, true)
	}
}

// appeared looks for roots that were missing, because something is there that may lead to them.
func (l *loop) appeared(path string) {
	for _, t := range l.roots {
		if t.missing && isWithin(t.real, path) {
			l.relocate(t)
		}
	}
}

// relocate finds out where the path of a root leads, because something on the way has come or gone.
func (l *loop) relocate(t *root) {
	was := t.missing
	if err := t.locate(); err != nil {
		t.missing, t.folder = true, false
		l.problem("not watched for " + t.For + ": " + err.Error())
	}
	if was && !t.missing {
		l.pending.add(t.real, Created)
	}
	l.attach(t, was)
}
