//go:build unix

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/hostsup/hostsup/internal/sys"
	"github.com/hostsup/hostsup/sandbox/policy"
)

// closeWait is how long Close waits for processes that the kernel does not
// let go of.
const closeWait = 10 * time.Second

// base is what every backend shares: the book of children, their descriptors,
// and the order of closing.
type base struct {
	mode    Kill
	weaker  []string // why stronger ways are not in force
	back    backend
	spawner *spawner
	null    *os.File
	pad     int // highest descriptor that would be inherited unless closed
	confine confiner

	mu     sync.Mutex
	closed bool
	busy   int // starts under way and children not gone
	live   map[*Child]struct{}
	empty  chan struct{} // closed when the Launcher is closed and busy is 0

	closing  sync.Once
	closeErr error
}

// backend is one way of killing.
type backend interface {
	// start starts cmd with exactly these descriptors. It sees to it that the
	// child is ended, and that base.leave is called after its Release. The
	// error is a syscall.Errno of fork, chdir or execve, or a *StartError.
	start(cmd *Command, files []int) (*Child, error)
	// trouble is what is wrong at the moment; nil mostly.
	trouble() []string
	// stop is called once, after the last child is gone or was given up.
	stop() error
}

func newBase() (*base, error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	b := &base{null: null, live: map[*Child]struct{}{}, empty: make(chan struct{})}
	// Without a list of descriptors (no /proc), 0, 1 and 2 are still right.
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
			Err: fmt.Errorf("no path but a name, which LookPath has to find: %w", syscall.ENOENT)}
	}
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return fail(StepClosed, ErrClosed)
	}
	b.busy++
	b.mu.Unlock()

	files, err := b.files(cmd)
	if err != nil {
		b.leave(nil)
		return fail(StepFiles, err)
	}
	var c *Child
	if cmd.Policy != nil || cmd.Observe || cmd.Limits != (policy.Limits{}) {
		c, err = b.startHeld(cmd, files)
	} else {
		c, err = b.back.start(cmd, files)
	}
	runtime.KeepAlive(cmd.Files) // the numbers were taken out of them
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

// files are the numbers of the command's descriptors, in order.
func (b *base) files(cmd *Command) ([]int, error) {
	fds := make([]int, max(len(cmd.Files), 3), max(len(cmd.Files), 3, b.pad+1))
	for i := range fds {
		f := b.null
		if i < len(cmd.Files) && cmd.Files[i] != nil {
			f = cmd.Files[i]
		}
		fd := int(f.Fd()) // makes it blocking, which is what programs expect
		if fd < 0 {
			return nil, fmt.Errorf("file %d is closed: %w", i, syscall.EBADF)
		}
		fds[i] = fd
	}
	return fds, nil
}

// padded closes what would be inherited above the command's own descriptors.
func (b *base) padded(files []int) []int {
	for len(files) <= b.pad {
		files = append(files, sys.Closed)
	}
	return files
}

// leave is called when a start has failed, or when all of a child is gone.
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
		children := make([]*Child, 0, len(b.live))
		for c := range b.live {
			children = append(children, c)
		}
		b.mu.Unlock()
		for _, c := range children {
			c.Release()
		}
		timer := time.NewTimer(closeWait)
		defer timer.Stop()
		select {
		case <-b.empty:
		case <-timer.C:
			b.closeErr = b.stuck()
		}
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

// stuck names what did not end in time.
func (b *base) stuck() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	var names []string
	for c := range b.live {
		names = append(names, fmt.Sprintf("%s (pid %d)", c.name, c.pid))
	}
	return fmt.Errorf("close launcher: still there after %v: %s", closeWait, strings.Join(names, ", "))
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

// withDescendants lists pid and what descends from it, as far as the system
// tells.
func withDescendants(pid int) []int {
	below, _ := sys.Descendants(pid)
	return append([]int{pid}, below...)
}

// done tells an ended process from other errors of a signal.
func done(err error) error {
	if err == syscall.ESRCH {
		return os.ErrProcessDone
	}
	return err
}

// number is a signal's, or an error for a foreign implementation of os.Signal.
func number(sig os.Signal) (syscall.Signal, error) {
	if s, ok := sig.(syscall.Signal); ok {
		return s, nil
	}
	return 0, fmt.Errorf("signal %v: %w", sig, ErrUnsupported)
}
