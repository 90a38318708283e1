//go:build !hostsup_posix

package helper

import (
	"errors"
	"os"
	"syscall"
	"time"

	"github.com/hostsup/hostsup/internal/sys"
)

// hunt kills all descendants of this process until nurse, which sees when none is left,
// ends it. It stops processes before it kills any, so that none can fork faster than
// hunt finds them.
func hunt() {
	for before, delay := (quarry{}), time.Duration(0); ; {
		prey := quarry{}
		for range 100 {
			if prey.stop() == 0 {
				break
			}
		}
		prey.kill()
		delay = prey.pause(before, delay)
		before = prey
		time.Sleep(delay)
	}
}

// pause returns how long hunt waits after a round, where it has waited for last after the
// one before: shortly if it has found new processes, else longer and longer. Those that
// are frozen do not end for as long as they are.
func (q quarry) pause(before quarry, last time.Duration) time.Duration {
	const shortest = 100 * time.Microsecond
	for pid := range q {
		if _, known := before[pid]; !known {
			return shortest
		}
	}
	return min(max(2*last, shortest), 10*time.Millisecond)
}

// quarry are the processes that were found and stopped, by number; the value is a pidfd,
// or -1.
type quarry map[int]int

// stop stops every descendant that is not in q yet, and returns how many it found.
func (q quarry) stop() (found int) {
	self := os.Getpid()
	next := []int{self}
	for len(next) > 0 {
		parent := next[0]
		next = next[1:]
		kids, _ := sys.Children(parent)
		for _, pid := range kids {
			if _, ok := q[pid]; ok {
				next = append(next, pid)
				continue
			}
			fd, err := sys.PidfdOpen(pid)
			if err != nil && !errors.Is(err, syscall.EMFILE) {
				continue
			}
			// Between the list and the pidfd another process may have got the number.
			st, serr := sys.ReadStat(pid)
			if serr != nil || st.Ended() || (st.Parent != parent && st.Parent != self) {
				if err == nil {
					sys.Close(fd)
				}
				continue
			}
			next = append(next, pid)
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

func (q quarry) kill() {
	for _, fd := range q {
		_ = sys.PidfdSignal(fd, syscall.SIGKILL)
		sys.Close(fd)
	}
}
