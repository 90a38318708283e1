//go:build !hostsup_posix

package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/hostsup/hostsup/internal/sys"
)

// folderPrefix begins the name of a Launcher's cgroup: hostsup-PID-RANDOM.
const folderPrefix = "hostsup-"

// cgroups is the strongest way: a v2 cgroup per life, below one that belongs
// to this Launcher and is watched over by its keeper.
type cgroups struct {
	*base
	path string // of the Launcher's folder
	// dir is the open folder. It holds the lock by which others know that its
	// owner is there; the keeper has a copy, so the lock goes with the last of
	// the two.
	dir    int
	keeper *keeper

	mu    sync.Mutex
	dead  []grave
	wake  chan struct{} // one token: dead has grown
	quit  chan struct{}
	ended chan struct{}
}

// grave is a cgroup to be removed once its last process is gone.
type grave struct {
	folder string
	child  *Child
}

// newCgroups makes the Launcher's folder. The error says what is missing.
func newCgroups(b *base) (*cgroups, error) {
	parent, err := sys.OwnCgroup()
	if err != nil {
		return nil, err
	}
	sweepStale(parent)
	c := &cgroups{base: b, wake: make(chan struct{}, 1), quit: make(chan struct{}), ended: make(chan struct{})}
	if c.path, c.dir, err = ownFolder(parent); err != nil {
		return nil, err
	}
	if err = c.probe(); err == nil {
		c.keeper, err = newKeeper(c)
	}
	if err != nil {
		_ = sys.RemoveCgroup(sys.AtCWD, c.path)
		sys.Close(c.dir)
		return nil, err
	}
	go c.janitor()
	return c, nil
}

// ownFolder makes and locks a folder for this Launcher.
func ownFolder(parent string) (path string, dir int, err error) {
	for range 10 {
		path = filepath.Join(parent, fmt.Sprintf("%s%d-%08x", folderPrefix, os.Getpid(), rand.Uint32()))
		if err = sys.MakeCgroup(sys.AtCWD, path); err != nil {
			if errors.Is(err, fs.ErrExist) {
				continue
			}
			return "", -1, fmt.Errorf("make a folder in %s: %w", parent, err)
		}
		// Until it is locked it looks stale, and somebody who cleans up may be
		// faster; then it is simply made anew.
		if dir, err = sys.OpenDir(path); err != nil {
			continue
		}
		if err = sys.TryLock(dir); err == nil {
			return path, dir, nil
		}
		sys.Close(dir)
	}
	return "", -1, fmt.Errorf("make a folder in %s: %w", parent, err)
}

// probe finds out whether processes can be born in the folder and killed
// with it: the kernel is asked for a process that then finds no program.
func (c *cgroups) probe() error {
	if _, err := os.Stat(filepath.Join(c.path, "cgroup.kill")); err != nil {
		return errors.New("the kernel has no cgroup.kill (Linux 5.14)")
	}
	p := sys.Process{Path: c.path + "/no-such-program", Args: []string{"probe"}, Cgroup: c.dir}
	_, pidfd, err := c.spawner.start(p)
	switch {
	case err == nil:
		sys.Close(pidfd)
		return errors.New("a program that does not exist was started")
	case errors.Is(err, fs.ErrNotExist):
		return nil
	default:
		return fmt.Errorf("start a process in %s: %w", c.path, err)
	}
}

// sweepStale ends what a Launcher that is gone, with its keeper, has left in
// the folder parent. Whether one is gone is asked of its lock, not of a pid:
// the number may have passed on, or belong to another pid namespace.
func sweepStale(parent string) {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return
	}
	for _, e := range entries {
		if !e.IsDir() || !isOurs(e.Name()) {
			continue
		}
		path := filepath.Join(parent, e.Name())
		dir, err := sys.OpenDir(path)
		if err != nil {
			continue
		}
		if sys.TryLock(dir) == nil {
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
}

// isOurs recognises the name of a Launcher's folder.
func isOurs(name string) bool {
	var pid int
	var random uint32
	n, err := fmt.Sscanf(name, folderPrefix+"%d-%08x", &pid, &random)
	return err == nil && n == 2 && pid > 0 && name == fmt.Sprintf("%s%d-%08x", folderPrefix, pid, random)
}

func (c *cgroups) start(cmd *Command, files []int) (*Child, error) {
	folder, err := c.makeFolder(cmd.Name)
	if err != nil {
		return nil, &StartError{Name: cmd.Name, Step: StepTree, Path: c.path, Err: err}
	}
	dir, err := sys.OpenDirAt(c.dir, folder)
	if err == nil {
		var child *Child
		child, err = c.startDirect(cmd, sys.Process{Files: files, Cgroup: dir}, &direct{folder: folder, cg: c})
		sys.Close(dir)
		if err == nil {
			return child, nil
		}
	}
	_ = sys.RemoveCgroup(c.dir, folder)
	switch err {
	case syscall.ENODEV, syscall.EBUSY, syscall.EOPNOTSUPP: // execve says none of these
		err = &StartError{Name: cmd.Name, Step: StepTree, Path: c.path + "/" + folder, Err: err}
	}
	return nil, err
}

// makeFolder makes a cgroup named after the life; the name of one that is
// still being removed, or of a file of the kernel's, gets a number.
func (c *cgroups) makeFolder(name string) (string, error) {
	name = folderName(name)
	folder := name
	for i := 2; ; i++ {
		err := sys.MakeCgroup(c.dir, folder)
		if err == nil || !errors.Is(err, fs.ErrExist) || i > 10000 {
			return folder, err
		}
		folder = fmt.Sprintf("%s~%d", name, i)
	}
}

func folderName(name string) string {
	name = strings.Map(func(r rune) rune {
		if r == '/' || r < ' ' || r == 0x7f {
			return '_'
		}
		return r
	}, name)
	if len(name) > 200 {
		name = strings.ToValidUTF8(name[:200], "")
	}
	if strings.Trim(name, ".") == "" {
		name = "life" + name
	}
	return name
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

// janitor removes cgroups as their last processes go, which takes a moment
// after SIGKILL. It sleeps for good when there are none.
func (c *cgroups) janitor() {
	defer close(c.ended)
	const first, longest = time.Millisecond, 100 * time.Millisecond
	delay := first
	retry := time.NewTimer(0)
	defer retry.Stop()
	for {
		select {
		case <-c.wake:
			delay = first
		case <-retry.C:
		case <-c.quit:
			return
		}
		if c.clean() > 0 {
			retry.Reset(delay)
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

func (c *cgroups) trouble() []string { return c.keeper.trouble() }

func (c *cgroups) stop() error {
	close(c.quit)
	<-c.ended
	err := sys.RemoveCgroup(sys.AtCWD, c.path)
	if errors.Is(err, syscall.EBUSY) {
		_ = sys.KillCgroup(c.dir, ".")
	}
	sys.Close(c.dir)
	c.keeper.stop() // finds the folder gone, or goes on with it
	if err != nil {
		return fmt.Errorf("remove %s: %w", c.path, err)
	}
	return nil
}
