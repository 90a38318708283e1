//go:build !hostsup_posix

package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/hostsup/hostsup/internal/sys"
)

// grave is a cgroup to be removed once its last process is gone.
type grave struct {
	folder string
	child  *Child
}

// bury hands a killed cgroup over to be removed.
func (c *cgroups) bury(folder string, child *Child) {
	c.mu.Lock()
	c.dead = append(c.dead, grave{folder, child})
	c.mu.Unlock()
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// janitor removes cgroups once their last processes are gone, and keeps a
// spare one ready. It sleeps for good when there is neither to do. It lets a
// moment pass before it removes what it was told of: the kernel gives its lock
// on all cgroups to one at a time, and a start may be on its way.
//
// Where others had folders in parent, it looks a second time after a moment:
// one whose owner and keeper were killed just before we came may not have lost
// its lock yet.
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

// clean tries every grave once and returns how many are left.
func (c *cgroups) clean() int {
	c.mu.Lock()
	dead := c.dead
	c.dead = nil
	c.mu.Unlock()
	var left []grave
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

// sweepStale ends what a Launcher that is gone, with its keeper, has left in
// the folder parent. Whether one is gone is asked of its lock, not of a pid:
// the number may have passed on, or belong to another pid namespace. It
// returns how many folders, other than except, have an owner.
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

// isOurs recognises the name of a Launcher's folder.
func isOurs(name string) bool {
	var pid int
	var random uint32
	n, err := fmt.Sscanf(name, folderPrefix+"%d-%08x", &pid, &random)
	return err == nil && n == 2 && pid > 0 && name == fmt.Sprintf("%s%d-%08x", folderPrefix, pid, random)
}
