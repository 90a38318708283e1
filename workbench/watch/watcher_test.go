package watch

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
)

// watched is a watcher in a test, and what it tells.
type watched struct {
	*Watcher
	t        *testing.T
	dir      string
	batches  chan []Change
	problems chan string
}

func newWatched(t *testing.T) *watched {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &watched{t: t, dir: dir, batches: make(chan []Change, 1000), problems: make(chan string, 100)}
	w.Watcher = NewWatcher(Options{
		Send:    func(_ string, changes []Change) { w.batches <- changes },
		Problem: func(text string) { w.problems <- text },
	})
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		close(w.problems)
		for text := range w.problems {
			t.Error(text)
		}
	})
	return w
}

func (w *watched) path(name string) string { return filepath.Join(w.dir, filepath.FromSlash(name)) }

// write makes files, and folders for names with a slash at the end.
func (w *watched) write(names ...string) {
	w.t.Helper()
	for _, name := range names {
		path := w.path(name)
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		if strings.HasSuffix(name, "/") {
			err = errors.Join(err, os.MkdirAll(path, 0o755))
		} else {
			err = errors.Join(err, os.WriteFile(path, []byte("x"), 0o644))
		}
		if err != nil {
			w.t.Fatal(err)
		}
	}
}

func (w *watched) remove(names ...string) {
	w.t.Helper()
	for _, name := range names {
		if err := os.RemoveAll(w.path(name)); err != nil {
			w.t.Fatal(err)
		}
	}
}

func (w *watched) rename(from, to string) {
	w.t.Helper()
	if err := os.Rename(w.path(from), w.path(to)); err != nil {
		w.t.Fatal(err)
	}
}

// on watches and waits until it does.
func (w *watched) on(name string, r Request) {
	w.t.Helper()
	r.Path = w.path(name)
	w.Watch(r.Path, r)
	w.settled()
}

func (w *watched) settled() {
	w.t.Helper()
	if err := w.Settle(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

// told returns what is told until the file "last" is, as +made, -removed and ~changed, by path.
func (w *watched) told() []string {
	w.t.Helper()
	got := []string{}
	timeout := time.After(20 * time.Second)
	for last := false; !last; {
		select {
		case changes := <-w.batches:
			for _, c := range changes {
				if filepath.Base(c.Path) == "last" {
					last = true
					continue
				}
				rel, _ := filepath.Rel(w.dir, c.Path)
				got = append(got, map[Kind]string{Created: "+", Deleted: "-", Changed: "~"}[c.Kind]+filepath.ToSlash(rel))
			}
		case <-timeout:
			w.t.Fatalf("only this was told: %v", got)
		}
	}
	slices.SortFunc(got, func(a, b string) int { return cmp.Compare(a[1:], b[1:]) })
	return got
}

// expect compares what is told until the file "last" is.
func (w *watched) expect(want string) {
	w.t.Helper()
	if text := strings.Join(w.told(), " "); text != want {
		w.t.Errorf("%s\nwant %s", text, want)
	}
}

func TestChanges(t *testing.T) {
	t.Parallel()
	all := Request{Recursive: true}
	for name, c := range map[string]struct {
		before []string
		r      Request
		do     func(w *watched)
		want   string
	}{
		"made":                      {nil, all, func(w *watched) { w.write("a/b") }, "+a +a/b"},
		"changed":                   {[]string{"a"}, all, func(w *watched) { w.write("a") }, "~a"},
		"removed":                   {[]string{"a"}, all, func(w *watched) { w.remove("a") }, "-a"},
		"made and removed":          {nil, all, func(w *watched) { w.write("a"); w.remove("a") }, ""},
		"removed and made":          {[]string{"a"}, all, func(w *watched) { w.remove("a"); w.write("a") }, "~a"},
		"made and changed":          {nil, all, func(w *watched) { w.write("a", "a") }, "+a"},
		"renamed":                   {[]string{"a"}, all, func(w *watched) { w.rename("a", "b") }, "-a +b"},
		"renamed over":              {[]string{"a", "b"}, all, func(w *watched) { w.rename("a", "b") }, "-a ~b"},
		"a folder removed":          {[]string{"a/b/c", "a/d"}, all, func(w *watched) { w.remove("a") }, "-a"},
		"a folder renamed":          {[]string{"a/b/c"}, all, func(w *watched) { w.rename("a", "d") }, "-a +d +d/b +d/b/c"},
		"a folder moved in":         {[]string{"../" + "in/b"}, all, func(w *watched) { w.rename("../in", "a") }, "+a +a/b"},
		"a deep folder":             {nil, all, func(w *watched) { w.write("a/b/c/d/e") }, "+a +a/b +a/b/c +a/b/c/d +a/b/c/d/e"},
		"not recursive":             {[]string{"a/b"}, Request{}, func(w *watched) { w.write("a/b", "a/c", "d") }, "+d"},
		"excluded":                  {[]string{"x/y/z"}, Request{Recursive: true, Excludes: []string{"**/x/y/**", "q/**"}}, func(w *watched) { w.write("x/y/z", "x/v", "q/r/s") }, "+x/v"},
		"included":                  {nil, Request{Recursive: true, Includes: []string{"**/*.go", "a/last", "**/last"}}, func(w *watched) { w.write("a/b.go", "a/c.js") }, "+a/b.go"},
		"a file in a later folder":  {nil, all, func(w *watched) { w.write("a/"); w.settled(); w.write("a/b") }, "+a +a/b"},
		"many files":                {nil, all, func(w *watched) { w.write("a", "b", "c", "d/e", "d/f") }, "+a +b +c +d +d/e +d/f"},
		"an excluded folder is not": {[]string{"x/y"}, Request{Recursive: true, Excludes: []string{"**/x/**"}}, func(w *watched) { w.remove("x") }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWatched(t)
			w.dir = w.path("root")
			w.write("./")
			w.write(c.before...)
			w.on(".", c.r)
			c.do(w)
			w.settled()
			w.write("last")
			w.expect(c.want)
		})
	}
}

func TestFolderThatIsMissing(t *testing.T) {
	t.Parallel()
	w := newWatched(t)
	w.on("a/b", Request{Recursive: true})
	w.write("a/other", "a/b/c/d", "a/b/last")
	w.expect("+a/b +a/b/c +a/b/c/d")
	w.remove("a")
	w.write("a/b/x/")
	w.write("a/b/last")
	w.expect("~a/b -a/b/c +a/b/x") // the folder is another one
}

func TestFile(t *testing.T) {
	t.Parallel()
	w := newWatched(t)
	w.write("last", "other")
	w.on("last", Request{Recursive: true})
	w.write("other", "more")
	w.write("new")
	w.rename("new", "last") // as editors save
	w.expect("")
}

func TestUnwatchFreesEverything(t *testing.T) {
	t.Parallel()
	w := newWatched(t)
	w.write("a/b/c", "d/e")
	w.on("a", Request{For: "one", Recursive: true})
	w.on("a/b", Request{For: "two", Recursive: true})
	w.on("d", Request{For: "one"})
	count := func(want int) {
		t.Helper()
		got := make(chan int, 1)
		w.do(func(l *loop) {
			n := 0
			if l.fs != nil {
				n = len(l.fs.WatchList())
			}
			if n != len(l.dirs) {
				t.Errorf("%d folders of the library, %d of ours", n, len(l.dirs))
			}
			got <- n
		})
		if n := <-got; n != want {
			t.Errorf("%d folders watched, want %d", n, want)
		}
	}
	count(3)
	w.Unwatch(w.path("a"))
	count(2)
	w.Forget("one")
	count(1)
	w.write("a/x", "a/b/last")
	w.expect("")
	w.Forget("two")
	count(0)
	w.done.Wait() // the goroutine has ended
	w.on("a", Request{})
	w.write("a/last")
	w.expect("")
}

func TestClosedWatcher(t *testing.T) {
	t.Parallel()
	w := newWatched(t)
	w.on(".", Request{})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	w.on("a", Request{})
	w.Unwatch("a")
}

func TestWrongRequests(t *testing.T) {
	t.Parallel()
	w := newWatched(t)
	for _, r := range []Request{{Path: "relative"}, {Path: w.dir, Excludes: []string{"{" + strings.Repeat("{a,b}", 100)}}} {
		w.Watch("x", r)
		w.settled()
		if text := <-w.problems; !strings.Contains(text, "not watched") {
			t.Error(text)
		}
	}
}

// A link does not lead out of what is watched, but a root may be one.
func TestLinkedFolders(t *testing.T) {
	t.Parallel()
	w := newWatched(t)
	w.write("real/a/", "elsewhere/")
	if err := errors.Join(os.Symlink(w.path("real"), w.path("root")), os.Symlink(w.path("elsewhere"), w.path("real/out"))); err != nil {
		t.Skip(err)
	}
	w.on("root", Request{Recursive: true})
	w.write("elsewhere/x", "real/a/b", "root/last")
	w.expect("+root/a/b")
}

func TestProblemsNameTheSetting(t *testing.T) {
	t.Parallel()
	var texts []string
	l := newLoop(NewWatcher(Options{Send: func(string, []Change) {}, Problem: func(text string) { texts = append(texts, text) }}))
	l.roots["x"] = &root{Request: Request{Path: "/a"}, real: "/a", folder: true}
	for range 2 {
		l.failed(fsnotify.ErrEventOverflow)
		l.noRoom("/a/b", &os.PathError{Op: "add", Path: "/a/b", Err: syscall.ENOSPC})
		l.notOpened(os.NewSyscallError("inotify_init1", syscall.EMFILE))
	}
	if len(texts) != 3 {
		t.Error(texts)
	}
	all := strings.Join(texts, "\n")
	for _, setting := range []string{"max_queued_events", "max_user_watches", "max_user_instances"} {
		if !strings.Contains(all, "fs.inotify."+setting) {
			t.Errorf("%s, want %s", all, setting)
		}
	}
	if changes := l.pending.take(); len(changes) != 1 || changes[0] != (Change{"/a", Changed}) {
		t.Error(changes)
	}
}
