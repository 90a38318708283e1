//go:build unix

package watch

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/fsnotify/fsnotify"

	"github.com/hostsup/hostsup/workbench"
)

// only is a guard that allows what is below a folder, but not its folder "denied".
type only string

func (o only) Confines() bool { return true }

func (o only) Check(path string, use workbench.Use) (string, error) {
	real := path
	if use == workbench.Read {
		if followed, err := filepath.EvalSymlinks(path); err == nil {
			real = followed
		}
	}
	if !isWithin(real, string(o)) || isWithin(real, filepath.Join(string(o), "denied")) {
		return "", workbench.NoPermissions(path)
	}
	return real, nil
}

func TestConfinedHostIsToldWhatItMaySee(t *testing.T) {
	t.Parallel()
	w := newWatched(t)
	w.dir = w.path("root")
	w.write("denied/x/", "a/", "../outside/")
	g := only(w.dir)
	w.on(".", Request{Recursive: true, Guard: g})
	w.Watch("outside", Request{Path: filepath.Join(w.dir, "..", "outside"), Guard: g})
	w.settled()
	if text := <-w.problems; !strings.Contains(text, "not watched") || !strings.Contains(text, "sandbox") {
		t.Error(text)
	}
	w.write("denied/y", "denied/x/z", "../outside/b", "a/c", "last")
	w.expect("+a/c")
}

// The library may have the watch of another folder than it was asked for, because the host put a link
// in its place for that moment. It then names files from elsewhere.
func TestNamesFromElsewhereAreNotTold(t *testing.T) {
	t.Parallel()
	w := newWatched(t)
	w.dir = w.path("root")
	w.write("a/known", "a/b/")
	w.on(".", Request{Recursive: true, Guard: only(w.dir)})
	w.do(func(l *loop) {
		for _, op := range []fsnotify.Op{fsnotify.Create, fsnotify.Write, fsnotify.Chmod, fsnotify.Remove, fsnotify.Rename} {
			l.event(fsnotify.Event{Name: w.path("a/secret"), Op: op})
		}
		l.event(fsnotify.Event{Name: w.path("a/known"), Op: fsnotify.Write})
	})
	w.settled()
	w.write("last")
	w.expect("~a/known")
}
