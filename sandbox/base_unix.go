//go:build unix

package sandbox

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/hostsup/hostsup/internal/sys"
)

// closeWait is how long Close waits, from SIGKILL on, for processes that the kernel
// does not end; closeLeast is how long it waits for those that already had that time.
const (
	closeWait  = 10 * time.Second
	closeLeast = time.Second
)

// base is the part that all backends share: the list of children, their descriptors,
// and the order of closing.
type base struct {
	mode    Kill
	weaker  []string // why stronger kill methods are not in use
	back    backend
	spawner *spawner
	null    *os.File
	pad     int // the highest descriptor that children would inherit unless it is closed
	confine confiner
	mounts  mountCheck

	mu     sync.Mutex
	closed bool
	busy   int // starts in progress and children that are not gone
	live   map[*Child]struct{}
	empty  chan struct{} // closed when the Launcher is closed and busy is 0
	quit   chan struct{} // closed when Close gives up remaining children

	closing  sync.Once
	closeErr error
}

// backend is one kill method.
type backend interface {
	// start starts cmd with exactly these descriptors. The backend must end the child
	// and call base.leave after its Release. The error is a syscall.Errno of fork,
	// chdir or execve, or a *StartError.
	start(cmd *Command, files []int) (*Child, error)
	// trouble returns current problems; mostly nil.
	trouble() []string
	// stop is called once, after quit is closed: the last child is gone or was given
	// up.
	stop() error
}

func newBase() (*base, error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	b := &base{null: null, live: map[*Child]struct{}{}, empty: make(chan struct{}), quit: make(chan struct{})}
	// Without a list of descriptors (no /proc), 0, 1 and 2 are still correct.
	fds, _ := sys.Inheritable()
	for _, fd := range fds {
		b.pad = max(b.pad, fd)
	}
	b.spawner = newSpawner(nil)
	return b, nil
}

func (b *base) free() {
	b.spawner.stop()
	b.null.Close()
}

func (b *base) kind() Kill { return b.mode }

func (b *base) missing() []string {
	return append(b.weaker[:len(b.weaker):len(b.weaker)], b.back.trouble()...)
}

func (b *base) start(cmd *Command) (*Child, error) {
	fail := func(step Step, err error) (*Child, error) {
		return nil, &StartError{Name: cmd.Name, Step: step, Err: err}
	}
	if !strings.ContainsRune(cmd.Path, '/') {
		return nil, &StartError{Name: cmd.Name, Step: StepExec, Path: cmd.Path,
			Err: fmt.Errorf("a name, not a path: find it with LookPath: %w", syscall.ENOENT)}
	}
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return fail(StepClosed, ErrClosed)
	}
	b.busy++
	b.mu.Unlock()

	if err := b.mounts.check(cmd); err != nil {
		b.leave(nil)
		return nil, err
	}
	files, err := b.files(cmd)
	if err != nil {
		b.leave(nil)
		return fail(StepFiles, err)
	}
	var c *Child
	if cmd.Policy != nil || cmd.Observe || cmd.Limits.Any() {
		c, err = b.startHeld(cmd, files)
	} else {
		c, err = b.back.start(cmd, files)
	}
	runtime.KeepAlive(cmd.Files) // files has their numbers
	if err != nil {
		b.leave(nil)
		var se *StartError
		if errors.As(err, &se) {
			return nil, se
		}
		return nil, explain(cmd, err)
	}
	b.mu.Lock()
	b.live[c] = struct{}{}
	closed := b.closed
	b.mu.Unlock()
	if closed {
		c.Release()
		return fail(StepClosed, ErrClosed)
	}
	return c, nil
}

// files returns the numbers of the command's descriptors, in order.
func (b *base) files(cmd *Command) ([]int, error) {
	fds := make([]int, max(len(cmd.Files), 3), max(len(cmd.Files), 3, b.pad+1))
	for i := range fds {
		f := b.null
		if i < len(cmd.Files) && cmd.Files[i] != nil {
			f = cmd.Files[i]
		}
		fd := int(f.Fd()) // also makes it blocking, as programs expect
		if fd < 0 {
			return nil, fmt.Errorf("file %d is closed: %w", i, syscall.EBADF)
		}
		fds[i] = fd
	}
	return fds, nil
}

// padded marks inherited descriptors above those of the command for closing.
func (b *base) padded(files []int) []int {
	for len(files) <= b.pad {
		files = append(files, sys.Closed)
	}
	return files
}

// leave must be called when a start has failed, or when a child is released and gone.
func (b *base) leave(c *Child) {
	if c != nil && c.held != nil {
		go func() {
			c.held.free()
			b.left(c)
		}()
		return
	}
	b.left(c)
}

func (b *base) left(c *Child) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.live, c)
	b.busy--
	if b.closed && b.busy == 0 {
		close(b.empty)
	}
}

func (b *base) close() error {
	b.closing.Do(func() {
		b.mu.Lock()
		b.closed = true
		if b.busy == 0 {
			close(b.empty)
		}
		children := slices.Collect(maps.Keys(b.live))
		patience := closeWait
		if len(children) == b.busy { // no start is in progress
			patience = max(patience-leastKilled(children), closeLeast)
		}
		b.mu.Unlock()
		for _, c := range children {
			c.Release()
		}
		timer := time.NewTimer(patience)
		defer timer.Stop()
		select {
		case <-b.empty:
		case <-timer.C:
			b.closeErr = b.stuck()
		}
		close(b.quit)
		if err := b.back.stop(); b.closeErr == nil {
			b.closeErr = err
		}
		if err := b.confine.close(); b.closeErr == nil {
			b.closeErr = err
		}
		b.free()
	})
	return b.closeErr
}

// leastKilled returns how long ago the last of the children was killed: children
// that already had closeWait get no more time.
func leastKilled(children []*Child) time.Duration {
	if len(children) == 0 {
		return 0
	}
	least := closeWait
	for _, c := range children {
		least = min(least, c.sinceKilled())
	}
	return least
}

// stuck returns an error with the children that did not end in time.
func (b *base) stuck() error {
	b.mu.Lock()
	children := slices.Collect(maps.Keys(b.live))
	busy := b.busy
	b.mu.Unlock()
	var errs []error
	for _, c := range children {
		if err := c.Stuck(); err != nil {
			errs = append(errs, err)
		}
	}
	if len(errs) == 0 && busy > 0 {
		errs = append(errs, fmt.Errorf("close launcher: %d starts or process trees are not done after %v", busy, closeWait))
	}
	return errors.Join(errs...)
}

func exitOf(e sys.Exit) Exit {
	return Exit{
		Code:   e.Code,
		Signal: e.Signal,
		Core:   e.Core,
		User:   time.Duration(e.Usage.User),
		System: time.Duration(e.Usage.System),
		MaxRSS: e.Usage.MaxRSS,
	}
}

// withDescendants returns pid and its descendants, as far as the system lists them.
func withDescendants(pid int) []int {
	below, _ := sys.Descendants(pid)
	return append([]int{pid}, below...)
}

// done translates the error of a signal to an ended process.
func done(err error) error {
	if err == syscall.ESRCH {
		return os.ErrProcessDone
	}
	return err
}

// number returns the number of a signal, or an error for another implementation of
// os.Signal.
func number(sig os.Signal) (syscall.Signal, error) {
	if s, ok := sig.(syscall.Signal); ok {
		return s, nil
	}
	return 0, fmt.Errorf("signal %v: %w", sig, ErrUnsupported)
}
