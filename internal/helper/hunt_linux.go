//go:build !hostsup_posix

package helper

import (
	"errors"
	"os"
	"syscall"
	"time"

	"github.com/hostsup/hostsup/internal/sys"
)

// hunt kills everything that descends from this process until it is ended by
// nurse, which sees when nothing is left. Processes are stopped before any is
// killed, so that none can have children faster than they are found.
func hunt() {
	for delay := 100 * time.Microsecond; ; delay = min(2*delay, 10*time.Millisecond) {
		prey := quarry{}
		for range 100 {
			if prey.stop() == 0 {
				break
			}
		}
		if prey.kill() > 0 {
			delay = 100 * time.Microsecond
		}
		time.Sleep(delay)
	}
}

// quarry are processes that were found and stopped, by number; the value is
// a pidfd, or -1.
type quarry map[int]int

// stop stops every descendant that is not in it yet, and returns how many
// these were.
func (q quarry) stop() (found int) {
	self := os.Getpid()
	next := []int{self}
	for len(next) > 0 {
		parent := next[0]
		next = next[1:]
		kids, _ := sys.Children(parent)
		for _, pid := range kids {
			next = append(next, pid)
			if _, ok := q[pid]; ok {
				continue
			}
			fd, err := sys.PidfdOpen(pid)
			if err != nil && !errors.Is(err, syscall.EMFILE) {
				continue
			}
			// Between the list and the pidfd the number may have passed to a
			// process that is none of ours.
			st, serr := sys.ReadStat(pid)
			if serr != nil || st.Ended() || (st.Parent != parent && st.Parent != self) {
				if err == nil {
					sys.Close(fd)
				}
				continue
			}
			found++
			if err != nil { // more processes than descriptors
				_ = sys.Kill(pid, syscall.SIGKILL)
				continue
			}
			_ = sys.PidfdSignal(fd, syscall.SIGSTOP)
			q[pid] = fd
		}
	}
	return found
}

func (q quarry) kill() int {
	for _, fd := range q {
		_ = sys.PidfdSignal(fd, syscall.SIGKILL)
		sys.Close(fd)
	}
	return len(q)
}
