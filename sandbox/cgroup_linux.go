//go:build !hostsup_posix

package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/hostsup/hostsup/internal/sys"
)

// folderPrefix is the prefix of the name of a Launcher's cgroup: hostsup-PID-RANDOM.
const folderPrefix = "hostsup-"

// cgroups is the strongest kill method: a v2 cgroup for each life, below one of this
// Launcher, which its keeper watches.
type cgroups struct {
	*base
	path string // of the Launcher's folder
	// dir is the open folder. It holds the lock that shows others that its owner is
	// alive; the keeper has a copy, so the lock ends with the last of the two.
	dir    int
	keeper *keeper
	serial atomic.Uint64 // the number of the last cgroup

	spare  chan lifeCgroup // one made in advance, so that a start need not wait
	refill chan struct{}   // one token: the spare was taken

	mu    sync.Mutex
	dead  []killedCgroup
	wake  chan struct{} // one token: dead has grown
	ended chan struct{}
}

// lifeCgroup is a new cgroup with its open folder and its open cgroup.events: opening the
// file takes ten times as long as reading it.
type lifeCgroup struct {
	folder string
	dir    int
	events int
}

func (p lifeCgroup) close() {
	sys.Close(p.dir)
	sys.Close(p.events)
}

// newCgroups creates the Launcher's folder. The error says what is missing.
func newCgroups(b *base) (*cgroups, error) {
	parent, err := sys.OwnCgroup()
	if err != nil {
		return nil, err
	}
	parent = sys.DelegatedCgroup(parent)
	c := &cgroups{
		base: b, spare: make(chan lifeCgroup, 1), refill: make(chan struct{}, 1),
		wake: make(chan struct{}, 1), ended: make(chan struct{}),
	}
	if c.path, c.dir, err = ownFolder(parent, nil); err != nil {
		return nil, err
	}
	owned := sweepStale(parent, filepath.Base(c.path))
	if err = c.probe(); err == nil {
		c.keeper, err = newKeeper(c)
	}
	if err != nil {
		_ = sys.RemoveCgroup(sys.AtCWD, c.path)
		sys.Close(c.dir)
		return nil, err
	}
	if owned == 0 {
		parent = ""
	}
	go c.janitor(parent)
	return c, nil
}

// ownFolder creates and locks a folder for this Launcher. It calls tell, if it is not
// nil, with the path before it creates the folder.
func ownFolder(parent string, tell func(path string)) (path string, dir int, err error) {
	for range 10 {
		path = filepath.Join(parent, fmt.Sprintf("%s%d-%08x", folderPrefix, os.Getpid(), rand.Uint32()))
		if tell != nil {
			tell(path)
		}
		if err = sys.MakeCgroup(sys.AtCWD, path); err != nil {
			if errors.Is(err, fs.ErrExist) {
				continue
			}
			return "", -1, fmt.Errorf("make a folder in %s: %w", parent, err)
		}
		// Until the folder is locked it looks stale, and another Launcher may remove
		// it; then it is created again.
		if dir, err = sys.OpenDir(path); err != nil {
			continue
		}
		if err = sys.TryLock(dir); err == nil {
			// Another Launcher may have removed it before the lock was taken.
			if _, err = os.Stat(path); err == nil {
				return path, dir, nil
			}
		}
		sys.Close(dir)
	}
	return "", -1, fmt.Errorf("make a folder in %s: %w", parent, err)
}

// probe tests whether processes can be started in the folder and killed with it: it
// starts a program that does not exist.
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

func (c *cgroups) start(cmd *Command, files []int) (*Child, error) {
	p, err := c.lifeCgroup()
	if err != nil {
		return nil, &StartError{Name: cmd.Name, Step: StepTree, Path: c.path, Err: err}
	}
	child, err := c.startDirect(cmd, sys.Process{Files: files, Cgroup: p.dir}, &direct{folder: p.folder, events: p.events, cg: c})
	sys.Close(p.dir)
	select {
	case c.refill <- struct{}{}:
	default:
	}
	if err == nil {
		return child, nil
	}
	sys.Close(p.events)
	_ = sys.RemoveCgroup(c.dir, p.folder)
	switch err {
	case syscall.ENODEV, syscall.EBUSY, syscall.EOPNOTSUPP: // not errors of execve
		err = &StartError{Name: cmd.Name, Step: StepTree, Path: c.path + "/" + p.folder, Err: err}
	}
	return nil, err
}

// lifeCgroup returns the spare cgroup, or a new one.
func (c *cgroups) lifeCgroup() (lifeCgroup, error) {
	select {
	case p := <-c.spare:
		return p, nil
	default:
		return c.newLifeCgroup()
	}
}

// newLifeCgroup creates a cgroup and opens it. Its name is a number: its life is not known
// yet, and a cgroup cannot be renamed.
func (c *cgroups) newLifeCgroup() (lifeCgroup, error) {
	folder := "life-" + strconv.FormatUint(c.serial.Add(1), 10)
	if err := sys.MakeCgroup(c.dir, folder); err != nil {
		return lifeCgroup{}, err
	}
	dir, err := sys.OpenDirAt(c.dir, folder)
	if err == nil {
		var events int
		if events, err = sys.OpenCgroupEvents(dir); err == nil {
			return lifeCgroup{folder, dir, events}, nil
		}
		sys.Close(dir)
	}
	_ = sys.RemoveCgroup(c.dir, folder)
	return lifeCgroup{}, err
}

// prepare creates the spare cgroup if there is none. It ignores errors: the next
// start creates its own cgroup and reports the error.
func (c *cgroups) prepare() {
	if len(c.spare) > 0 {
		return
	}
	p, err := c.newLifeCgroup()
	if err != nil {
		return
	}
	c.spare <- p // only the janitor sends
}

// discard removes the spare cgroup.
func (c *cgroups) discard() {
	select {
	case p := <-c.spare:
		p.close()
		_ = sys.RemoveCgroup(c.dir, p.folder)
	default:
	}
}

func (c *cgroups) trouble() []string { return c.keeper.trouble() }

func (c *cgroups) stop() error {
	<-c.ended
	err := sys.RemoveCgroup(sys.AtCWD, c.path)
	sys.Close(c.dir)
	c.keeper.stop(err != nil)
	if err != nil {
		return fmt.Errorf("remove %s: %w", c.path, err)
	}
	return nil
}
