//go:build !hostsup_posix

package sandbox

import (
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/hostsup/hostsup/internal/sys"
)

// watch is a process of ours, reached and reaped by its pidfd. It takes no
// thread while it waits.
type watch struct {
	pid  int
	file *os.File // the pidfd
	raw  syscall.RawConn
}

// newWatch takes over pidfd, also when it fails.
func newWatch(pid, pidfd int) (*watch, error) {
	f, err := sys.NewFile(pidfd, "pidfd")
	if err != nil {
		sys.Close(pidfd)
		return nil, err
	}
	raw, err := f.SyscallConn()
	if err != nil {
		f.Close()
		return nil, err
	}
	return &watch{pid: pid, file: f, raw: raw}, nil
}

// wait returns when the process has ended. Without reap it stays a zombie.
// When somebody else has reaped it (stolen), nothing is known of its end.
func (w *watch) wait(reap bool) (e sys.Exit, stolen bool) {
	e, stolen = sys.Exit{Code: -1}, true
	_ = w.raw.Read(func(fd uintptr) bool {
		got, ended, err := sys.PidfdWait(int(fd), reap)
		if ended {
			e, stolen = got, false
		}
		return ended || err != nil
	})
	return e, stolen
}

// gone waits for the end of a process that is somebody else's child.
func (w *watch) gone() {
	_ = w.raw.Read(func(fd uintptr) bool { return sys.PidfdEnded(int(fd)) })
}

// signal fails with ESRCH once the process is reaped.
func (w *watch) signal(sig syscall.Signal) error {
	var serr error
	if err := w.raw.Control(func(fd uintptr) { serr = sys.PidfdSignal(int(fd), sig) }); err != nil {
		return syscall.ESRCH // the pidfd is closed
	}
	return serr
}

// direct is a child of ours without a helper between: the cgroup and group
// ways.
type direct struct {
	*watch
	child *Child
	base  *base

	// group: the leader stays a zombie until Release, so that the number of its
	// group cannot pass to somebody else.
	group  bool
	folder string   // its cgroup, below cgroups.dir
	cg     *cgroups // nil: none

	mu   sync.Mutex
	over bool // there is nothing left to kill
}

// startDirect spawns cmd and hands it to its goroutine.
func (b *base) startDirect(cmd *Command, p sys.Process, d *direct) (*Child, error) {
	c := newChild(cmd, time.Now())
	p.Path, p.Args, p.Env, p.Dir = cmd.Path, cmd.Args, cmd.Env, cmd.Dir
	p.Files = b.padded(p.Files)
	p.Session, p.DieWithUs = true, true
	pid, pidfd, err := b.spawner.start(p)
	if err != nil {
		return nil, err
	}
	w, err := newWatch(pid, pidfd)
	if err != nil { // out of memory for the poller
		_ = sys.Kill(-pid, syscall.SIGKILL)
		sys.Reap(pid)
		return nil, &StartError{Name: cmd.Name, Step: StepFork, Err: err}
	}
	d.watch, d.child, d.base = w, c, b
	c.pid, c.tree = pid, d
	go d.run()
	return c, nil
}

func (d *direct) run() {
	e, stolen := d.wait(!d.group)
	if d.group && stolen { // the number of the group may be anybody's now
		d.mu.Lock()
		d.over = true
		d.mu.Unlock()
	}
	d.child.end(exitOf(e))
	<-d.child.released
	d.mu.Lock()
	d.over = true
	if d.group {
		_, _ = d.wait(true)
	}
	d.file.Close()
	d.mu.Unlock()
	if d.cg != nil {
		d.cg.bury(d.folder, d.child)
		return
	}
	d.base.leave(d.child)
}

func (d *direct) signal(sig os.Signal) error {
	n, err := number(sig)
	if err != nil {
		return err
	}
	return done(d.watch.signal(n))
}

func (d *direct) kill() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.over {
		return nil
	}
	if d.group {
		return d.killGroup()
	}
	select {
	case <-d.child.done:
		// Mostly it has left nothing behind, which costs less to find out than
		// a kill, on the way to the next start.
		if populated, err := sys.CgroupPopulated(d.cg.dir, d.folder); err == nil && !populated {
			d.over = true
			return nil
		}
	default:
		_ = d.watch.signal(syscall.SIGKILL) // one that moved to another cgroup, too
	}
	return sys.KillCgroup(d.cg.dir, d.folder)
}

// killGroup is safe while the leader is not reaped.
func (d *direct) killGroup() error {
	if err := sys.Kill(-d.pid, syscall.SIGKILL); err != syscall.ESRCH {
		return err
	}
	return nil
}

func (d *direct) pids() ([]int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.over:
		return nil, os.ErrProcessDone
	case d.cg != nil:
		return sys.CgroupProcs(d.cg.dir, d.folder)
	default:
		return withDescendants(d.pid), nil
	}
}

func (d *direct) cpu() (time.Duration, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.over || d.cg == nil {
		return 0, false
	}
	t, err := sys.CgroupCPU(d.cg.dir, d.folder)
	return t, err == nil
}

// group is the weakest way: the process group alone.
type group struct{ *base }

func (g *group) start(cmd *Command, files []int) (*Child, error) {
	return g.startDirect(cmd, sys.Process{Files: files}, &direct{group: true})
}

func (g *group) trouble() []string { return nil }
func (g *group) stop() error       { return nil }
