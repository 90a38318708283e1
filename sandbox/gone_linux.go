//go:build !hostsup_posix

package sandbox

import (
	"syscall"
	"time"

	"github.com/hostsup/hostsup/internal/sys"
)

// awaitGone waits until no process of the tree is left, or the Launcher has given it
// up. It must be called by run, after the tree was killed.
func (d *direct) awaitGone() {
	select {
	case <-d.child.gone:
		return
	default:
	}
	wait := d.awaitGroup
	if d.cg != nil {
		wait = func() bool { return d.base.awaitEmpty(d.events, d.child) }
	}
	if wait() {
		d.mu.Lock()
		d.over = true
		d.mu.Unlock()
		d.child.vanish()
	}
}

// pollInterval is the polling interval if the system has no room for a watch.
const pollInterval = 10 * time.Millisecond

// awaitEmpty waits until the cgroup with the open events file is empty; it returns
// false if the Launcher gives up the child before.
func (b *base) awaitEmpty(events int, c *Child) bool {
	changed := make(sys.Told, 1)
	w, err := sys.NewChangeWatch(events, changed)
	if err == nil {
		defer w.Close()
	}
	// Armed before each check, so that no change is missed.
	for watched := err == nil; ; watched = watched && w.Arm() == nil {
		if populated, err := sys.CgroupPopulated(events); err != nil || !populated {
			return true
		}
		if !b.await(changed, watched, c) {
			return false
		}
	}
}

// await waits for a watch, or for lookAgain without one; it returns false if the
// Launcher has given up. NOTE: a change of cgroup.events that another reader has read
// does not wake a watch; Gone reports that change.
func (b *base) await(ready <-chan struct{}, watched bool, c *Child) bool {
	var again <-chan time.Time
	if !watched {
		t := time.NewTimer(pollInterval)
		defer t.Stop()
		again = t.C
	}
	select {
	case <-ready:
	case <-again:
	case <-c.gone:
	case <-b.quit:
		return false
	}
	return true
}

// awaitGroup waits until every member of the process group has ended; it returns
// false if the Launcher gives it up before.
func (d *direct) awaitGroup() bool {
	for {
		members := d.members()
		if len(members) == 0 {
			return true
		}
		if !d.awaitMember(members[0]) {
			return false
		}
	}
}

// members returns the members of the group that have not ended.
func (d *direct) members() []int {
	pids, _ := sys.GroupMembers(d.pid) // unknown without /proc
	return pids
}

// member returns a pidfd of a process that is a member of the group.
func (d *direct) member(pid int) (int, error) {
	fd, err := sys.PidfdOpen(pid)
	if err != nil {
		return -1, err
	}
	// The number may have been reused before the pidfd was opened.
	if st, err := sys.ReadStat(pid); err != nil || st.Group != d.pid {
		sys.Close(fd)
		return -1, syscall.ESRCH
	}
	return fd, nil
}

func (d *direct) killMember(pid int) {
	if fd, err := d.member(pid); err == nil {
		_ = sys.PidfdSignal(fd, syscall.SIGKILL)
		sys.Close(fd)
	}
}

// awaitMember waits until a member has ended; it returns false if the Launcher has
// given up.
func (d *direct) awaitMember(pid int) bool {
	ended := make(sys.Told, 1)
	fd, err := d.member(pid)
	if err == syscall.ESRCH {
		return true
	}
	if err == nil {
		defer sys.Close(fd)
		var w sys.Watch
		if w, err = sys.NewWatch(fd, ended); err == nil {
			defer w.Close()
		}
	}
	return d.base.await(ended, err == nil, d.child)
}
