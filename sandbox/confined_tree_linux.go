//go:build !hostsup_posix

package sandbox

import (
	"os"
	"syscall"
	"time"

	"github.com/hostsup/hostsup/internal/helper"
	"github.com/hostsup/hostsup/internal/sys"
)

// jailed is a child with its own helper, possibly in a cgroup.
type jailed struct {
	nursed
	cg     *cgroups // nil without a cgroup
	cgroup lifeCgroup
}

// adopt creates the Child of a command with a helper.
func (s *starting) adopt(p *helperProc, host *watch) {
	r := helper.RoleInit
	if s.plan.Mode == helper.PlanReaper {
		r = helper.RoleReaper
	}
	d := &jailed{nursed: nursed{child: s.child, base: s.base, helper: p, host: host, role: r}, cg: s.cg, cgroup: s.cgroup}
	s.child.pid, s.child.tree = host.pid, d
	go d.run()
}

// adoptDirect creates the Child of a command without a helper.
func (s *starting) adoptDirect(w *watch) error {
	d := &direct{watch: w, child: s.child, base: s.base, group: s.cg == nil, folder: s.cgroup.folder, events: s.cgroup.events, cg: s.cg}
	s.child.pid, s.child.tree = w.pid, d
	var err error
	d.mu.Lock() // Ready may be called before ended is set
	d.ended, err = sys.NewWatch(w.fd, d)
	d.mu.Unlock()
	if err != nil {
		_ = sys.Kill(-w.pid, syscall.SIGKILL)
		sys.Reap(w.pid)
		w.close()
		return &StartError{Name: s.cmd.Name, Step: StepFork, Err: err}
	}
	return nil
}

func (d *jailed) run() {
	if d.cg == nil {
		d.nursed.run()
		return
	}
	d.await(func() {
		// All processes of the cgroup were in the helper's namespace, and ended with it.
		if populated, err := sys.CgroupPopulated(d.cgroup.events); err != nil || !populated {
			d.child.vanish()
		}
	})
	select {
	case <-d.child.gone:
	default:
		_ = sys.KillCgroup(d.cg.dir, d.cgroup.folder)
		if d.base.awaitEmpty(d.cgroup.events, d.child) {
			d.child.vanish()
		}
	}
	<-d.child.released
	sys.Close(d.cgroup.events)
	d.cg.removeLater(d.cgroup.folder, d.child)
}

func (d *jailed) kill() error {
	err := d.nursed.kill()
	if d.cg == nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.over {
		return nil
	}
	if kerr := sys.KillCgroup(d.cg.dir, d.cgroup.folder); kerr != nil {
		err = kerr
	}
	return err
}

func (d *jailed) pids() ([]int, error) {
	if d.cg == nil {
		return d.nursed.pids()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.over {
		return nil, os.ErrProcessDone
	}
	all, err := sys.CgroupProcs(d.cg.dir, d.cgroup.folder)
	for i, pid := range all {
		if pid == d.helper.pid {
			all = append(all[:i], all[i+1:]...)
			break
		}
	}
	return all, err
}

func (d *jailed) account() (int, string, int) {
	if d.cg == nil {
		return d.nursed.account()
	}
	return d.cg.dir, d.cgroup.folder, 0
}

// sampling is the interval of memory samples without a cgroup.
const sampling = 200 * time.Millisecond

// watchMemory kills the tree when it exceeds its memory limit, if no cgroup does so.
func (c *Child) watchMemory() {
	h := c.held
	if fd := h.bounds.oomEvents(); fd >= 0 {
		o := &oom{child: c}
		w, err := sys.NewWatch(fd, o)
		h.onFree(func() {
			w.Close()
			sys.Close(fd)
		})
		if err == nil {
			return
		}
	}
	if h.sample == 0 {
		return
	}
	stop := make(chan struct{})
	ended := make(chan struct{})
	h.onFree(func() { close(stop); <-ended })
	go func() {
		defer close(ended)
		tick := time.NewTicker(sampling)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
			case <-stop:
				return
			}
			rss, _, err := c.Usage()
			if err != nil {
				continue
			}
			h.peak.Store(max(h.peak.Load(), rss))
			if rss > h.sample {
				h.exceeded.Store(true)
				_ = c.tree.kill()
			}
		}
	}()
}

// oom kills the whole tree when one of its processes was killed for lack of memory,
// because the rest would not work. A v2 cgroup does so itself.
type oom struct{ child *Child }

// Ready implements sys.Waiter.
func (o *oom) Ready() {
	select {
	case <-o.child.done:
	default:
		o.child.held.exceeded.Store(true)
		go func() { _ = o.child.tree.kill() }()
	}
}

// judge adds details to the end of a child.
func (h *held) judge(e *Exit) {
	h.bounds.judge(e)
	if h.sample > 0 {
		e.MemoryPeak = h.peak.Load()
	}
	if h.exceeded.Load() && e.Signal == int(syscall.SIGKILL) {
		e.OutOfMemory, e.Limit = true, "memory"
	}
	h.noteLimits(e)
}
