package settings

import (
	"path/filepath"
	"sync"
	"time"

	"github.com/hostsup/hostsup/internal/filewatch"
)

// quiet is how long files must have been left alone before they are read: an editor writes a file
// in several steps.
const quiet = 100 * time.Millisecond

// Watch calls changed after one of the files may have changed, until stop is called. Files and
// their folders need not exist; the folders of these folders must. If the system cannot watch,
// changed is not called. changed is not called any longer once stop has returned.
func Watch(files []string, changed func()) (stop func()) {
	fs, err := filewatch.New()
	if err != nil {
		return func() {}
	}
	w := &watcher{fs: fs, files: files, names: map[string]bool{}}
	for _, f := range files {
		w.names[f] = true
		w.names[filepath.Dir(f)] = true
	}
	w.follow()
	var loop sync.WaitGroup
	loop.Go(func() { w.run(changed) })
	return func() {
		_ = fs.Close()
		loop.Wait()
	}
}

type watcher struct {
	fs    *filewatch.Watcher
	files []string
	names map[string]bool // of files and their folders
}

// follow watches the folders that exist.
func (w *watcher) follow() {
	for _, f := range w.files {
		dir := filepath.Dir(f)
		_ = w.fs.Add(dir) // it need not exist
		_ = w.fs.Add(filepath.Dir(dir))
	}
}

// run ends when the watcher is closed.
func (w *watcher) run(changed func()) {
	var due <-chan time.Time
	for {
		select {
		case e, ok := <-w.fs.Events:
			if !ok {
				return
			}
			if !w.names[filepath.Clean(e.Name)] {
				continue
			}
			w.follow()
			due = time.After(quiet)
		case _, ok := <-w.fs.Failed:
			if !ok {
				return
			}
			due = time.After(quiet) // events may be lost
		case <-due:
			due = nil
			changed()
		}
	}
}
