package main

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/hostsup/hostsup/internal/filewatch"
)

// watchQuiet is how long files must have been left alone before they are loaded: an editor
// writes a file in several steps.
const watchQuiet = 200 * time.Millisecond

// watcher notices changes of a file, and of those that it names.
type watcher struct {
	*filewatch.Watcher
	path  string
	again chan struct{} // has an element when folders are watched that a load saw before

	mu     sync.Mutex
	others []string          // paths and patterns besides path
	real   map[string]string // files that are reached through links, when they were last looked at
}

// newWatcher watches the folders of a file and of others, and those that they are in when
// links are followed: editors put another file in the place of one, which is another file
// to the system.
func newWatcher(path string, others []string) (*watcher, error) {
	fs, err := filewatch.New()
	if err != nil {
		return nil, err
	}
	w := &watcher{Watcher: fs, path: path}
	if err := w.Add(filepath.Dir(path)); err != nil {
		return nil, errors.Join(err, fs.Close())
	}
	w.watch(others)
	w.again = make(chan struct{}, 1)
	return w, nil
}

// watch makes others the paths and patterns to watch.
func (w *watcher) watch(others []string) {
	w.mu.Lock()
	w.others = others
	w.mu.Unlock()
	was := len(w.WatchList())
	for _, p := range others {
		w.folder(filepath.Dir(p))
	}
	w.follow()
	if len(w.WatchList()) > was {
		select {
		case w.again <- struct{}{}:
		default: // nobody waits yet, or once is enough
		}
	}
}

// folder watches a folder, or the one in which it will appear.
func (w *watcher) folder(dir string) {
	for w.Add(dir) != nil && dir != filepath.Dir(dir) {
		dir = filepath.Dir(dir)
	}
}

// follow looks where links lead now, watches the folders there, and reports whether that has
// changed.
func (w *watcher) follow() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	real := map[string]string{}
	see := func(path string) {
		if to, err := filepath.EvalSymlinks(path); err != nil || to != path {
			real[path] = to // "": it is being replaced
		}
	}
	see(w.path)
	for _, p := range w.others {
		entries, err := os.ReadDir(filepath.Dir(p))
		if err != nil {
			real[p] = ""
		}
		for _, e := range entries {
			if path := filepath.Join(filepath.Dir(p), e.Name()); w.matches(p, path) {
				see(path)
			}
		}
	}
	if maps.Equal(real, w.real) {
		return false
	}
	w.real = real
	for _, to := range real {
		if to != "" {
			w.folder(filepath.Dir(to))
		}
	}
	return true
}

// matches reports whether a pattern names a path.
func (w *watcher) matches(pattern, path string) bool {
	hit, err := filepath.Match(filepath.Base(pattern), filepath.Base(path))
	return filepath.Dir(pattern) == filepath.Dir(path) && (hit && err == nil || pattern == path)
}

// concerns reports whether a change of a path is one of the files, or of a folder that has
// them.
func (w *watcher) concerns(path string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if path == w.path || slices.Contains(slices.Collect(maps.Values(w.real)), path) {
		return true
	}
	return slices.ContainsFunc(w.others, func(p string) bool {
		return w.matches(p, path) || strings.HasPrefix(p, path+string(filepath.Separator))
	})
}

// run calls load when a file has changed, until ctx ends, and closes the watcher.
func (w *watcher) run(ctx context.Context, load func(), report func(error)) {
	defer w.Close()
	quiet := time.NewTimer(time.Hour)
	quiet.Stop()
	changed, waits := false, false
	for {
		select {
		case <-ctx.Done():
			return
		case ev := <-w.Events:
			concerns := !ev.Has(fsnotify.Chmod) && w.concerns(ev.Name)
			if concerns || !waits { // another file may be part of a link
				quiet.Reset(watchQuiet)
			}
			changed, waits = changed || concerns, true
		case <-w.again:
			quiet.Reset(watchQuiet)
			changed, waits = true, true
		case err := <-w.Failed:
			report(err)
			quiet.Reset(watchQuiet) // something may have been missed
			changed, waits = true, true
		case <-quiet.C:
			if w.follow() || changed {
				load()
			}
			changed, waits = false, false
		}
	}
}
