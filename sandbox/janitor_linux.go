//go:build !hostsup_posix

package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/hostsup/hostsup/internal/sys"
)

// killedCgroup is a killed cgroup that is removed when its last process is gone.
type killedCgroup struct {
	folder string
	child  *Child
}

// removeLater passes a killed cgroup to the janitor.
func (c *cgroups) removeLater(folder string, child *Child) {
	c.mu.Lock()
	c.dead = append(c.dead, killedCgroup{folder, child})
	c.mu.Unlock()
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// janitor removes cgroups when their last processes are gone, and prepares a spare
// one. It blocks while there is nothing to do. It waits a moment before it removes a
// cgroup: the kernel has one lock for all cgroups, and a start may need it.
//
// If other Launchers have folders in parent, janitor checks them again after a moment:
// the lock of one whose owner and keeper have just been killed may not be released
// yet.
func (c *cgroups) janitor(parent string) {
	defer close(c.ended)
	defer c.discard()
	c.prepare()
	var again <-chan time.Time
	if parent != "" {
		t := time.NewTimer(time.Second)
		defer t.Stop()
		again = t.C
	}
	const first, longest = 4 * time.Millisecond, 100 * time.Millisecond
	delay := first
	retry, armed := time.NewTimer(first), true
	defer retry.Stop()
	for {
		select {
		case <-c.wake:
			if delay = first; !armed {
				retry.Reset(first)
				armed = true
			}
			continue
		case <-c.refill:
			c.prepare()
			continue
		case <-retry.C:
			armed = false
		case <-again:
			sweepStale(parent, filepath.Base(c.path))
			continue
		case <-c.quit:
			return
		}
		if c.clean() > 0 {
			retry.Reset(delay)
			armed = true
			delay = min(2*delay, longest)
		}
	}
}

// clean tries to remove every grave once and returns how many are left.
func (c *cgroups) clean() int {
	c.mu.Lock()
	dead := c.dead
	c.dead = nil
	c.mu.Unlock()
	var left []killedCgroup
	for _, g := range dead {
		if err := sys.RemoveCgroup(c.dir, g.folder); err != nil {
			_ = sys.KillCgroup(c.dir, g.folder)
			left = append(left, g)
			continue
		}
		c.leave(g.child)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dead = append(c.dead, left...)
	return len(left)
}

// sweepStale kills and removes what ended Launchers, whose keepers have ended too, have
// left in the folder parent. The lock shows whether a Launcher is alive; a pid may be
// reused, or belong to another pid namespace. sweepStale returns how many folders,
// other than except, have an owner.
func sweepStale(parent, except string) (owned int) {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return 0
	}
	for _, e := range entries {
		if !e.IsDir() || !isOurs(e.Name()) || e.Name() == except {
			continue
		}
		path := filepath.Join(parent, e.Name())
		dir, err := sys.OpenDir(path)
		if err != nil {
			continue
		}
		if sys.TryLock(dir) != nil {
			owned++
		} else {
			_ = sys.KillCgroup(dir, ".")
			for delay := time.Millisecond; delay < 200*time.Millisecond; delay *= 2 {
				if sys.RemoveCgroup(sys.AtCWD, path) == nil {
					break
				}
				time.Sleep(delay)
			}
		}
		sys.Close(dir)
	}
	return owned
}

// isOurs reports whether a name is that of a Launcher's folder.
func isOurs(name string) bool {
	var pid int
	var random uint32
	n, err := fmt.Sscanf(name, folderPrefix+"%d-%08x", &pid, &random)
	return err == nil && n == 2 && pid > 0 && name == fmt.Sprintf("%s%d-%08x", folderPrefix, pid, random)
}
