//go:build !hostsup_posix

package sandbox

import (
	"syscall"
	"time"

	"github.com/hostsup/hostsup/internal/sys"
)

// awaitGone returns when nothing of the tree is left, or the Launcher has
// given it up. The tree was killed, and d is its run's.
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

// lookAgain is how often is looked where the system has no room for a watch.
const lookAgain = 10 * time.Millisecond

// awaitEmpty returns true when the cgroup of a child, whose events file is open,
// has no process, false when the Launcher has given it up before that.
func (b *base) awaitEmpty(events int, c *Child) bool {
	changed := make(sys.Told, 1)
	w, err := sys.NewChangeWatch(events, changed)
	if err == nil {
		defer w.Close()
	}
	// Armed before each look, so that no change is missed.
	for watched := err == nil; ; watched = watched && w.Arm() == nil {
		if populated, err := sys.CgroupPopulated(events); err != nil || !populated {
			return true
		}
		if !b.await(changed, watched, c) {
			return false
		}
	}
}

// await waits for a watch, or for a moment where there is none; false: the
// Launcher has given up. NOTE: a change of cgroup.events that somebody else
// has read wakes no watch; it is Gone that tells of that one.
func (b *base) await(ready <-chan struct{}, watched bool, c *Child) bool {
	var again <-chan time.Time
	if !watched {
		t := time.NewTimer(lookAgain)
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

// awaitGroup returns true when every member of the process group has ended,
// false when the Launcher has given it up.
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

// members are those of the group that have not ended.
func (d *direct) members() []int {
	pids, _ := sys.GroupMembers(d.pid) // without /proc nothing is known of them
	return pids
}

// member returns a pidfd of a process that is a member of the group.
func (d *direct) member(pid int) (int, error) {
	fd, err := sys.PidfdOpen(pid)
	if err != nil {
		return -1, err
	}
	// Before there was a pidfd the number may have passed to somebody else.
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

// awaitMember returns when a member has ended; false: the Launcher has given
// up.
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
