package sys

import (
	"time"

	"golang.org/x/sys/unix"
)

// AwaitMemberExit returns when a process that is now in the process group has ended, as
// kqueue reports it, or after limit. It may return early: the caller looks at the group
// again. NOTE: the kernel reports an exit before kill(2) no longer finds the process, so a
// caller must not take limit for the shortest time between two looks.
func AwaitMemberExit(group int, limit time.Duration, quit <-chan struct{}) {
	if !awaitExit(group, limit) {
		pause(limit, quit)
	}
}

// awaitExit reports whether it has waited for a process.
func awaitExit(group int, limit time.Duration) bool {
	members, err := unix.SysctlKinfoProcSlice("kern.proc.pgrp", group)
	if err != nil || len(members) == 0 {
		return false
	}
	kq, err := unix.Kqueue()
	if err != nil {
		return false
	}
	defer unix.Close(kq) // no other process has it: a fork does not pass it on
	changes := make([]unix.Kevent_t, len(members))
	for i := range members {
		unix.SetKevent(&changes[i], int(members[i].Proc.P_pid), unix.EVFILT_PROC, unix.EV_ADD|unix.EV_ONESHOT)
		changes[i].Fflags = unix.NOTE_EXIT
	}
	watched := false
	for i := range changes { // one by one: a process that has ended meanwhile is an error
		if _, err := unix.Kevent(kq, changes[i:i+1], nil, nil); err == nil {
			watched = true
		}
	}
	if !watched {
		return false
	}
	timeout := unix.NsecToTimespec(int64(limit))
	n, err := unix.Kevent(kq, nil, make([]unix.Kevent_t, 1), &timeout)
	return n > 0 && err == nil
}
