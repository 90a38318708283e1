package watch

import (
	"context"
	"errors"
	"io/fs"
	"sync"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/hostsup/hostsup/internal/filewatch"
)

// Delay is how long changes are collected before they are told, as in VS Code.
const Delay = 75 * time.Millisecond

// Options of a [Watcher].
type Options struct {
	// Send tells changes. It must not block.
	Send func(to string, changes []Change)
	// Problem reports what is not watched and why, once each. It must not block. nil: nothing is
	// reported.
	Problem func(text string)
}

// Watcher watches files and folders of this machine. It must be made with [NewWatcher]. It is safe
// for concurrent use; its methods do not block on files.
type Watcher struct {
	opt Options

	mu      sync.Mutex
	queue   []func(*loop) // what the goroutine is to do
	wake    chan struct{} // has room for one
	running bool
	closed  bool
	done    sync.WaitGroup
}

// NewWatcher returns a watcher that watches nothing yet.
func NewWatcher(opt Options) *Watcher {
	if opt.Problem == nil {
		opt.Problem = func(string) {}
	}
	return &Watcher{opt: opt, wake: make(chan struct{}, 1)}
}

// Watch watches for a request until [Watcher.Unwatch] is called with the same id. A request with
// that id before is replaced. A request that is wrong, or not allowed, is reported as a problem.
func (w *Watcher) Watch(id string, r Request) {
	w.do(func(l *loop) {
		l.unwatch(func(other string, _ *root) bool { return other == id })
		l.watch(id, r)
	})
}

// Unwatch ends a request.
func (w *Watcher) Unwatch(id string) {
	w.do(func(l *loop) { l.unwatch(func(other string, _ *root) bool { return other == id }) })
}

// Forget ends all requests of somebody.
func (w *Watcher) Forget(who string) {
	w.do(func(l *loop) { l.unwatch(func(_ string, t *root) bool { return t.For == who }) })
}

// Settle waits until everything that was asked for is watched, or ctx is done.
func (w *Watcher) Settle(ctx context.Context) error {
	settled := make(chan struct{})
	w.do(func(l *loop) { l.settled = append(l.settled, settled) })
	select {
	case <-settled:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Close ends all requests and waits until nothing runs any more. Changes that were not told yet are
// dropped.
func (w *Watcher) Close() error {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.poke()
	w.done.Wait()
	return nil
}

func (w *Watcher) poke() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// do runs f on the goroutine of the watcher, which it starts if it does not run.
func (w *Watcher) do(f func(*loop)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		l := &loop{w: w} // nothing is watched
		f(l)
		l.settle()
		return
	}
	w.queue = append(w.queue, f)
	if !w.running {
		w.running = true
		w.done.Go(func() { newLoop(w).run() })
	}
	w.poke()
}

// next takes what is to be done. Without anything, and if idle, the goroutine must end.
func (w *Watcher) next(idle bool) (todo []func(*loop), end bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	todo, w.queue = w.queue, nil
	if w.closed || idle && len(todo) == 0 {
		w.running = false
		return todo, true
	}
	return todo, false
}

// loop is the state of the goroutine.
type loop struct {
	w     *Watcher
	fs    *filewatch.Watcher
	roots map[string]*root
	dirs  map[string]*dir
	scans []scan // folders that are to be read, the last first

	pending  pending
	timer    *time.Timer
	due      bool // the timer runs
	settled  []chan struct{}
	reported map[string]bool // problems
}

func newLoop(w *Watcher) *loop {
	l := &loop{w: w, roots: map[string]*root{}, dirs: map[string]*dir{}, reported: map[string]bool{}, timer: time.NewTimer(time.Hour)}
	l.timer.Stop()
	return l
}

// run works until nothing is watched.
func (l *loop) run() {
	defer l.stop()
	for {
		todo, end := l.w.next(len(l.roots) == 0)
		for _, f := range todo {
			f(l)
		}
		if len(l.scans) == 0 || end {
			l.settle()
		}
		if end {
			return
		}
		if len(l.roots) > 0 {
			l.step()
		}
	}
}

func (l *loop) settle() {
	for _, c := range l.settled {
		close(c)
	}
	l.settled = nil
}

// stop gives back what the loop has.
func (l *loop) stop() {
	l.timer.Stop()
	if l.fs != nil {
		_ = l.fs.Close()
	}
}

// step waits for something to happen, or reads a folder if one is to be read.
func (l *loop) step() {
	var events chan fsnotify.Event
	var errs <-chan error
	if l.fs != nil {
		events, errs = l.fs.Events, l.fs.Failed
	}
	var more chan struct{}
	if len(l.scans) > 0 {
		more = closed
	}
	select {
	case e := <-events:
		l.event(e)
	case err := <-errs:
		l.failed(err)
	case <-l.timer.C:
		l.flush()
	case <-l.w.wake:
	case <-more:
		l.scanNext()
	}
	if len(l.pending.order) > 0 && !l.due {
		l.due = true
		l.timer.Reset(Delay)
	}
}

// closed is always ready.
var closed = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// flush tells the changes to everybody who watches them.
func (l *loop) flush() {
	l.due = false
	changes := l.pending.take()
	told := map[string][]Change{}
	seen := map[string]map[Change]bool{}
	for _, t := range l.roots {
		for _, c := range changes {
			path, ok := t.tells(c.Path)
			one := Change{path, c.Kind}
			if !ok || seen[t.For][one] {
				continue
			}
			if seen[t.For] == nil {
				seen[t.For] = map[Change]bool{}
			}
			seen[t.For][one] = true
			told[t.For] = append(told[t.For], one)
		}
	}
	for to, list := range told {
		l.w.opt.Send(to, outermost(list))
	}
}

// maxProblems limits the problems that are reported: hosts have paths without end that are not watched.
const maxProblems = 1_000

// problem reports a text once, and nothing after maxProblems.
func (l *loop) problem(text string) {
	if !l.reported[text] && len(l.reported) < maxProblems {
		l.reported[text] = true
		l.w.opt.Problem(text)
	}
}

// failed handles an error of the library.
func (l *loop) failed(err error) {
	if !errors.Is(err, fsnotify.ErrEventOverflow) {
		l.problem("watching files: " + err.Error())
		return
	}
	l.problem("so many files changed at once that the system dropped changes, and all watched folders are read again; raise fs.inotify.max_queued_events on Linux")
	for _, t := range l.roots {
		l.pending.add(t.real, Changed)
	}
	for path := range l.dirs {
		l.scans = append(l.scans, scan{path, true})
	}
}

// open opens the library's watcher.
func (l *loop) open() bool {
	if l.fs != nil {
		return true
	}
	library, err := filewatch.New()
	if err != nil {
		l.notOpened(err)
		return false
	}
	l.fs = library
	return true
}

// notOpened reports that nothing can be watched.
func (l *loop) notOpened(err error) {
	text := "files cannot be watched: " + err.Error()
	if errors.Is(err, syscall.EMFILE) {
		text += "; raise fs.inotify.max_user_instances on Linux, or the limit of open files"
	}
	l.problem(text)
}

// noRoom reports that a folder is not watched.
func (l *loop) noRoom(path string, err error) {
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR): // it is gone, which is told
	case errors.Is(err, syscall.ENOSPC):
		l.problem("the system has no room for more watched folders, so that changes in some folders are not told; raise fs.inotify.max_user_watches on Linux")
	default:
		l.problem("folder " + path + " is not watched: " + err.Error())
	}
}
