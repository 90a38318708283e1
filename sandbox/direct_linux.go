//go:build !hostsup_posix

package sandbox

import (
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/hostsup/hostsup/internal/sys"
)

// direct is a child without a helper: the cgroup and group methods.
type direct struct {
	*watch
	child *Child
	base  *base

	// group means that the leader stays a zombie until Release, so that the number of
	// its group cannot be reused.
	group  bool
	folder string   // its cgroup, below cgroups.dir
	events int      // that cgroup's cgroup.events; closed by run
	cg     *cgroups // nil without a cgroup

	mu    sync.Mutex
	over  bool      // no process is left to kill
	ended sys.Watch // set under mu
	// reaped means that the leader of the group is no longer a zombie. Its number
	// stays reserved while the group has members, but must not be signalled.
	reaped bool
}

// startDirect spawns cmd and watches for its end.
func (b *base) startDirect(cmd *Command, p sys.Process, d *direct) (*Child, error) {
	c := newChild(cmd, time.Now())
	p.Path, p.Args, p.Env, p.Dir = cmd.Path, cmd.Args, cmd.Env, cmd.Dir
	p.Files = b.padded(p.Files)
	p.Session, p.Terminal, p.DieWithUs = true, cmd.Terminal, true
	pid, pidfd, err := b.spawner.start(p)
	if err != nil {
		return nil, err
	}
	d.watch, d.child, d.base = newWatch(pid, pidfd), c, b
	c.pid, c.tree = pid, d
	d.mu.Lock() // Ready may be called before ended is set
	d.ended, err = sys.NewWatch(pidfd, d)
	d.mu.Unlock()
	if err != nil { // the system has no room for a watch
		_ = sys.Kill(-pid, syscall.SIGKILL)
		sys.Reap(pid)
		d.close()
		return nil, &StartError{Name: cmd.Name, Step: StepFork, Err: err}
	}
	return c, nil
}

// Ready implements sys.Waiter: the process has ended.
func (d *direct) Ready() { go d.run() }

// run handles a child from its end to its Release.
func (d *direct) run() {
	e, ended, stolen := d.look(!d.group)
	if !ended {
		d.mu.Lock()
		err := d.ended.Arm()
		d.mu.Unlock()
		if err == nil {
			return
		}
	}
	if d.group && stolen { // the number of the group may be reused now
		d.mu.Lock()
		d.over, d.reaped = true, true
		d.mu.Unlock()
		d.child.vanish()
	}
	d.child.end(exitOf(e))
	select {
	case <-d.child.gone:
	case <-d.child.hunted:
	case <-d.child.released:
		_ = d.kill() // the kill of Release was before the end
	}
	d.awaitGone()
	<-d.child.released
	d.mu.Lock()
	d.over = true
	d.ended.Close()
	if d.group && !d.reaped {
		_, _ = d.wait(true)
	}
	d.close()
	if d.cg != nil {
		sys.Close(d.events)
	}
	d.mu.Unlock()
	if d.cg != nil {
		d.cg.removeLater(d.folder, d.child)
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
	ended := false
	select {
	case <-d.child.done:
		ended = true
	default:
	}
	if d.group {
		return d.killGroup(ended)
	}
	if ended {
		// Mostly no process is left, and testing that delays the next start less than
		// a kill.
		if populated, err := sys.CgroupPopulated(d.events); err == nil && !populated {
			d.over = true
			d.child.vanish()
			return nil
		}
	} else {
		_ = d.watch.signal(syscall.SIGKILL) // also if it moved to another cgroup
	}
	return sys.KillCgroup(d.cg.dir, d.folder)
}

// killGroup signals the group by its number while the leader, even as a zombie,
// reserves the number. Then it reaps the leader, so that the number shows whether the
// group has other members. The caller must hold mu.
func (d *direct) killGroup(ended bool) error {
	if d.reaped {
		for _, pid := range d.members() {
			d.killMember(pid)
		}
		return nil
	}
	err := sys.Kill(-d.pid, syscall.SIGKILL)
	if err == syscall.ESRCH {
		err = nil
	}
	if ended {
		_, _ = d.wait(true)
		d.reaped = true
		if sys.Kill(-d.pid, 0) == syscall.ESRCH {
			d.over = true
			d.child.vanish()
		}
	}
	return err
}

func (d *direct) pids() ([]int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.over:
		return nil, os.ErrProcessDone
	case d.cg != nil:
		return sys.CgroupProcs(d.cg.dir, d.folder)
	case d.reaped:
		return d.members(), nil
	default:
		return withDescendants(d.pid), nil
	}
}

func (d *direct) account() (int, string, int) {
	if d.cg == nil {
		return -1, "", 0
	}
	return d.cg.dir, d.folder, 0
}

// group is the weakest kill method: the process group alone.
type group struct{ *base }

func (g *group) start(cmd *Command, files []int) (*Child, error) {
	return g.startDirect(cmd, sys.Process{Files: files}, &direct{group: true})
}

func (g *group) trouble() []string { return nil }
func (g *group) stop() error       { return nil }
