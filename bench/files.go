package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/hostsup/hostsup/bench/measure"
	"github.com/hostsup/hostsup/bench/peers"
	"github.com/hostsup/hostsup/workbench/watch"
)

const (
	fileCount   = 10_000
	filesFolder = 10 // files of one folder
	openings    = 4  // of a workspace in one round
)

// filesFigures are those of one round, in nanoseconds: of hostsup and of a bare fsnotify loop.
type filesFigures struct {
	Watching [2]float64 // until all folders are watched
	Event    [2]float64 // from a file that is made until that is told
	Burst    [2]float64 // from the first of all files that are changed until all that is told
	Opening  [2]float64 // start of a host with the workspace, and with an empty one; 0 where it is not here
}

// filesSection watches 10,000 files.
func filesSection(opt options) (*report, error) {
	root, err := moduleRoot()
	if err != nil {
		return nil, err
	}
	build := filepath.Join(root, ".cache/peers/node_modules/code-server/lib/vscode")
	var all []filesFigures
	for round := range opt.rounds {
		fmt.Fprintf(os.Stderr, "files: round %d of %d\n", round+1, opt.rounds)
		f, err := hire[filesFigures]("files", build, strconv.Itoa(round))
		if err != nil {
			return nil, err
		}
		all = append(all, f)
	}
	of := func(get func(filesFigures) float64) (out []float64) {
		for _, f := range all {
			out = append(out, get(f))
		}
		return out
	}
	r := &report{
		title: fmt.Sprintf("%d files in %d folders watched", fileCount, fileCount/filesFolder),
		head:  []string{"way", "until watching", "ratio", "one file made", "ratio", "all files changed", "ratio"},
	}
	var watching, event, burst [2][]float64
	for i := range 2 {
		watching[i] = of(func(f filesFigures) float64 { return f.Watching[i] })
		event[i] = of(func(f filesFigures) float64 { return f.Event[i] })
		burst[i] = of(func(f filesFigures) float64 { return f.Burst[i] })
	}
	for i, way := range []string{wayOurs, "bare fsnotify loop"} {
		r.row(way, millis(measure.Median(watching[i])), times(measure.Ratio(watching[i], watching[1])), millis(measure.Median(event[i])),
			times(measure.Ratio(event[i], event[1])), millis(measure.Median(burst[i])), times(measure.Ratio(burst[i], burst[1])))
	}
	r.note("medians of %d rounds, in turns; the bare loop walks the folders, watches each and collects changes for %s too, as VS Code does", opt.rounds, watch.Delay)
	for _, t := range []struct {
		what string
		took [2][]float64
	}{{"files, until watching", watching}, {"files, until told", event}, {"files, all changed", burst}} {
		r.targets = append(r.targets, target{
			what: t.what, ours: millis(measure.Median(t.took[0])), peer: "bare fsnotify loop " + millis(measure.Median(t.took[1])),
			figure: measure.Ratio(t.took[0], t.took[1]), limit: 1.5, unit: " ×",
		})
	}
	with, without := of(func(f filesFigures) float64 { return f.Opening[0] }), of(func(f filesFigures) float64 { return f.Opening[1] })
	if measure.Median(without) == 0 {
		r.note("the start of a host with the workspace is left out: VS Code's host, which ./test peers installs, or node is not here")
		return r, nil
	}
	added := measure.Median(of(func(f filesFigures) float64 { return f.Opening[0] - f.Opening[1] }))
	r.targets = append(r.targets, target{
		what: "files, workspace opened", ours: millis(measure.Median(with)), peer: "an empty workspace " + millis(measure.Median(without)),
		figure: added / 1e6, limit: 20, unit: " ms",
	})
	return r, nil
}

// filesWorker measures both ways once: BUILD ROUND. The ways take turns at being the first.
func filesWorker(args []string) (f filesFigures, err error) {
	if len(args) != 2 {
		return f, errors.New("want BUILD ROUND")
	}
	round, err := strconv.Atoi(args[1])
	if err != nil {
		return f, err
	}
	dir, err := os.MkdirTemp("", "bench-files")
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	work := filepath.Join(dir, "work")
	paths := make([]string, fileCount)
	for i := range paths {
		paths[i] = filepath.Join(work, fmt.Sprintf("d%d", i/filesFolder), fmt.Sprintf("f%d", i))
	}
	if err := writeAll(paths); err != nil {
		return f, err
	}
	ways := []func(string) (watching, error){watchOurs, watchBare}
	for n := range ways {
		i := (n + round) % len(ways)
		if err := f.measure(i, ways[i], work, paths); err != nil {
			return f, err
		}
	}
	node, err := node()
	if _, missing := os.Stat(args[0]); missing != nil || errors.Is(err, peers.ErrMissing) {
		return f, nil
	}
	v := peers.VSCodeHost{Root: args[0], Node: node, Extensions: filepath.Join(dir, "extensions"), State: filepath.Join(dir, "state")}
	empty := filepath.Join(dir, "empty")
	if err := errors.Join(os.Mkdir(empty, 0o755), os.Mkdir(v.Extensions, 0o755), peers.WriteExtensions(v.Extensions, 0)); err != nil {
		return f, err
	}
	var took [2][]float64
	for n := range openings {
		for i := range took {
			i = (i + n) % len(took)
			v.Workspace = []string{work, empty}[i]
			start := time.Now()
			c, err := peers.Commands(v, true)
			if err != nil {
				return f, err
			}
			took[i] = append(took[i], float64(time.Since(start)))
			if err := c.Close(); err != nil {
				return f, err
			}
		}
	}
	f.Opening = [2]float64{measure.Median(took[0]), measure.Median(took[1])}
	return f, nil
}

// writeAll writes files and makes their folders.
func writeAll(paths []string) error {
	for _, p := range paths {
		err := os.WriteFile(p, []byte("text"), 0o644)
		if errors.Is(err, fs.ErrNotExist) {
			err = errors.Join(os.MkdirAll(filepath.Dir(p), 0o755), os.WriteFile(p, []byte("text"), 0o644))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// watching is a way to watch that has begun.
type watching struct {
	told  <-chan []string // paths that have changed
	close func() error
}

// measure measures one way.
func (f *filesFigures) measure(way int, begin func(string) (watching, error), work string, paths []string) (err error) {
	start := time.Now()
	w, err := begin(work)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	f.Watching[way] = float64(time.Since(start))
	made := filepath.Join(filepath.Dir(paths[fileCount/2]), fmt.Sprintf("new%d", way))
	start = time.Now()
	if err := errors.Join(writeAll([]string{made}), w.wait(map[string]bool{made: true})); err != nil {
		return err
	}
	f.Event[way] = float64(time.Since(start))
	all := make(map[string]bool, len(paths))
	for _, p := range paths {
		all[p] = true
	}
	start = time.Now()
	if err := errors.Join(writeAll(paths), w.wait(all)); err != nil {
		return err
	}
	f.Burst[way] = float64(time.Since(start))
	return nil
}

// wait waits until all paths have been told.
func (w watching) wait(paths map[string]bool) error {
	timeout := time.After(30 * time.Second)
	for len(paths) > 0 {
		select {
		case told := <-w.told:
			for _, p := range told {
				delete(paths, p)
			}
		case <-timeout:
			return fmt.Errorf("%d changes were not told", len(paths))
		}
	}
	return nil
}

func watchOurs(dir string) (watching, error) {
	told := make(chan []string, fileCount)
	w := watch.NewWatcher(watch.Options{Send: func(_ string, changes []watch.Change) {
		paths := make([]string, len(changes))
		for i, c := range changes {
			paths[i] = c.Path
		}
		told <- paths
	}})
	w.Watch("bench", watch.Request{Path: dir, Recursive: true, Excludes: watch.DefaultExcludes})
	return watching{told, w.Close}, w.Settle(context.Background())
}

func watchBare(dir string) (watching, error) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return watching{}, err
	}
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() {
			err = w.Add(path)
		}
		return err
	})
	told, done := make(chan []string, fileCount), make(chan struct{})
	go func() {
		defer close(done)
		var paths []string
		var due <-chan time.Time
		for {
			select {
			case e, ok := <-w.Events:
				if !ok {
					return
				}
				if paths = append(paths, e.Name); due == nil {
					due = time.After(watch.Delay)
				}
			case <-due:
				told <- paths
				paths, due = nil, nil
			}
		}
	}()
	return watching{told, func() error { err := w.Close(); <-done; return err }}, err
}
