//go:build !hostsup_posix

package sandbox

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hostsup/hostsup/internal/sys"
	"github.com/hostsup/hostsup/sandbox/denial"
	"github.com/hostsup/hostsup/sandbox/policy"
)

// lastingSuffix ends the names of cgroups that outlive their Launcher: hostsup-PID-RANDOM.survive. No Launcher
// takes one for the folder of another Launcher.
const lastingSuffix = ".survive"

// ChooseLasting chooses the paths for a tree with limits. With tree there is to be a cgroup for the whole tree,
// which works where a Launcher has [KillCgroup]. It makes no cgroup. If no cgroup can enforce a
// limit that is strict, the error joins errors of type [*policy.Error].
func ChooseLasting(tree bool, l policy.Limits) (*LastingCgroups, error) {
	c := &LastingCgroups{Limits: map[string]string{}}
	name := fmt.Sprintf("%s%d-%08x%s", folderPrefix, os.Getpid(), rand.Uint32(), lastingSuffix)
	parent := ""
	if tree {
		own, err := sys.OwnCgroup()
		if err != nil {
			return nil, err
		}
		parent = sys.DelegatedCgroup(own)
		c.Tree = filepath.Join(parent, name)
	}
	var refused []error
	for _, controller := range controllers {
		limit := limitNames[controller]
		if !has(l, limit) {
			continue
		}
		v1, err := writableCgroup1(controller)
		switch {
		case err == nil:
			c.Limits[controller] = filepath.Join(v1, name)
			continue
		case tree:
			if err = enableBelow(parent, controller); err == nil {
				c.InTree = append(c.InTree, controller)
				continue
			}
		}
		short := Shortfall{limit, err.Error(), instead(limit, false)}
		c.Weaker = append(c.Weaker, short)
		if l.Enforce != policy.BestEffort {
			refused = append(refused, short.problem(l, nil))
		}
	}
	return c, errors.Join(refused...)
}

// writableCgroup1 returns the v1 cgroup of this process in which it can make others.
func writableCgroup1(controller string) (string, error) {
	path, err := sys.OwnCgroup1(controller)
	if err != nil {
		return "", err
	}
	const write = 2
	if err := syscall.Access(path, write); err != nil {
		return "", fmt.Errorf("make a folder in %s: %w", path, err)
	}
	return path, nil
}

// paths returns the cgroups.
func (c *LastingCgroups) paths() (all []string) {
	if c == nil {
		return nil
	}
	if c.Tree != "" {
		all = append(all, c.Tree)
	}
	for _, controller := range controllers {
		if path := c.Limits[controller]; path != "" {
			all = append(all, path)
		}
	}
	return all
}

// Make makes the cgroups with their limits. After an error it has removed them.
func (c *LastingCgroups) Make(l policy.Limits) (*Lasting, error) {
	for _, path := range c.paths() {
		if err := sys.MakeCgroup(sys.AtCWD, path); err != nil {
			return nil, errors.Join(fmt.Errorf("make %s: %w", path, err), c.Remove(0))
		}
	}
	t, err := c.Open(l)
	if err != nil {
		return nil, errors.Join(err, c.Remove(0))
	}
	return t, nil
}

// Open opens cgroups that Make has made, possibly in another process, and gives them the limits, which may have changed since.
// The error wraps [ErrLimitsFixed] if they cannot have these limits while the tree runs, as for [Child.SetLimits], and
// fs.ErrNotExist if a cgroup was removed.
func (c *LastingCgroups) Open(l policy.Limits) (*Lasting, error) {
	t := &Lasting{cgroups: c, bounds: &bounds{limits: l, init: -1, host: -1}}
	err := t.open(l)
	if err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

func (t *Lasting) open(l policy.Limits) error {
	if tree := t.cgroups.Tree; tree != "" {
		if _, err := os.Stat(filepath.Join(tree, "cgroup.kill")); err != nil {
			return err
		}
	}
	for _, controller := range controllers {
		limit := limitNames[controller]
		g := bound{controller: controller, in: sys.AtCWD, name: t.cgroups.Limits[controller]}
		if slices.Contains(t.cgroups.InTree, controller) {
			g.name, g.v2 = t.cgroups.Tree, true
		}
		weaker := slices.ContainsFunc(t.cgroups.Weaker, func(s Shortfall) bool { return s.Limit == limit })
		switch {
		case has(l, limit) != (g.name != "" || weaker):
			return ErrLimitsFixed
		case weaker && controller == "memory":
			t.sample = l.Memory
		}
		if g.name == "" {
			continue
		}
		var err error
		if g.dir, err = sys.OpenDir(g.name); err != nil {
			return err
		}
		t.bounds.groups = append(t.bounds.groups, g)
		if controller == "memory" { // the kernel would kill the tree at once, or refuse the limit
			if used, err := sys.CgroupMemory(g.dir, "."); err != nil || used > l.Memory {
				return ErrLimitsFixed
			}
		}
		if err := g.set(l); err != nil {
			return fmt.Errorf("limit %s in %s: %w", controller, g.name, err)
		}
	}
	return nil
}

// Remove kills all processes in the cgroups and removes these, and waits up to patience for the end of the
// processes. Cgroups that were never made, or are removed, are not an error, and neither is a nil c.
func (c *LastingCgroups) Remove(patience time.Duration) error {
	start := time.Now()
	for _, path := range c.paths() {
		if !strings.HasPrefix(filepath.Base(path), folderPrefix) || !strings.HasSuffix(path, lastingSuffix) {
			return fmt.Errorf("remove %s: it is not the cgroup of a host that survives", path) // a file that was damaged
		}
		for delay := time.Millisecond; ; delay = min(2*delay, 100*time.Millisecond) {
			_ = sys.KillCgroup(sys.AtCWD, path) // only those of version 2 can
			err := sys.RemoveCgroup(sys.AtCWD, path)
			if err == nil {
				break
			}
			if time.Since(start) >= patience {
				return fmt.Errorf("remove %s: %w", path, err)
			}
			time.Sleep(delay)
		}
	}
	return nil
}

// Lasting are open cgroups of one process tree that outlives this process. They must be closed, which does not remove them.
type Lasting struct {
	cgroups *LastingCgroups
	bounds  *bounds
	sample  int64 // the limit of memory that is sampled; 0: it is not
	held    *held // of the child; nil before Bind, and without limits
	left    atomic.Bool
}

// Entry is what a process needs to be born in the cgroups of a [Lasting], and to have its limits.
type Entry struct {
	Tree  *os.File       // the folder of a cgroup of version 2 in which it begins; nil without one
	Write []*os.File     // to each of which it writes "0"
	Most  map[int]uint64 // its limits of setrlimit, hard and soft
}

// Enter opens the cgroups for a process that enters them. The caller must close the entry.
func (t *Lasting) Enter() (*Entry, error) {
	e := &Entry{Most: map[int]uint64{}}
	if t.bounds.limits.Any() {
		for _, r := range rlimits(t.bounds.limits, false) {
			e.Most[r.Resource] = r.Value
		}
	}
	if t.cgroups.Tree != "" {
		dir, err := sys.OpenDir(t.cgroups.Tree)
		if err != nil {
			return nil, err
		}
		e.Tree = os.NewFile(uintptr(dir), t.cgroups.Tree)
	}
	fds, err := t.bounds.procs()
	if err != nil {
		e.Close()
		return nil, err
	}
	for _, fd := range fds {
		e.Write = append(e.Write, os.NewFile(uintptr(fd), "cgroup"))
	}
	return e, nil
}

// Close closes the files.
func (e *Entry) Close() {
	if e.Tree != nil {
		e.Tree.Close()
	}
	for _, f := range e.Write {
		f.Close()
	}
}

// HasTree reports whether a cgroup holds the whole tree. A nil t has none.
func (t *Lasting) HasTree() bool { return t != nil && t.cgroups.Tree != "" }

// Holds reports whether a process is in all cgroups of the tree and of its limits. One that has ended is in none.
func (t *Lasting) Holds(pid int) bool {
	return !slices.ContainsFunc(t.cgroups.paths(), func(path string) bool {
		pids, err := sys.CgroupProcs(sys.AtCWD, path)
		return err != nil || !slices.Contains(pids, pid)
	})
}

// Leave leaves the processes of the tree to another supervisor: Kill, and a kill of the child, do nothing from then
// on. It does nothing for a nil t.
func (t *Lasting) Leave() {
	if t != nil {
		t.left.Store(true)
	}
}

// Kill kills all processes of the tree. Without a cgroup for it, and after Leave, it does nothing.
func (t *Lasting) Kill() error {
	if !t.HasTree() || t.left.Load() {
		return nil
	}
	return sys.KillCgroup(sys.AtCWD, t.cgroups.Tree)
}

// Empty kills all processes of the tree and waits up to patience for their end, and reports whether they have ended. It
// must not be called without a cgroup for the tree.
func (t *Lasting) Empty(patience time.Duration) bool {
	start := time.Now()
	for delay := time.Millisecond; ; delay = min(2*delay, 100*time.Millisecond) {
		_ = t.Kill()
		if pids, err := sys.CgroupProcs(sys.AtCWD, t.cgroups.Tree); err == nil && len(pids) == 0 {
			return true
		}
		if time.Since(start) >= patience {
			return false
		}
		time.Sleep(delay)
	}
}

// Bind makes the cgroups those of a child: they are what kills its tree, counts and limits it. It must be called before
// the child is used, once. It does nothing for a nil t.
func (t *Lasting) Bind(o *Outside) {
	if t == nil {
		return
	}
	if t.HasTree() {
		o.tree = lastingTree{outsideTree{o}, t}
	}
	if !t.bounds.limits.Any() {
		return
	}
	h := &held{denials: denial.NewLog(0), confinement: Confinement{Level: policy.None, Weaker: t.cgroups.Weaker}}
	for _, s := range t.cgroups.Weaker {
		h.confinement.Missing = append(h.confinement.Missing, "limit "+s.String())
	}
	h.bounds, h.sample = t.bounds, t.sample
	o.held, t.held = h, h
	o.watchMemory()
	if h.bounds.reached()["memory"] > 0 { // while no supervisor could see that
		(&oom{o.Child}).Ready()
	}
}

// Close stops watching the tree and closes the cgroups, whose processes and limits stay as they are. It does nothing for a nil t.
func (t *Lasting) Close() {
	if t == nil {
		return
	}
	if t.held != nil {
		t.held.release()
	}
	b := t.bounds
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range b.groups {
		sys.Close(b.groups[i].dir)
	}
	b.groups = nil
}

// lastingTree is the tree of an Outside in a cgroup of its own.
type lastingTree struct {
	outsideTree
	in *Lasting
}

func (t lastingTree) kill() error { return errors.Join(t.in.Kill(), t.outsideTree.kill()) }

func (t lastingTree) account() (int, string, int) { return sys.AtCWD, t.in.cgroups.Tree, 0 }

func (t lastingTree) pids() ([]int, error) {
	select {
	case <-t.o.gone:
		return nil, os.ErrProcessDone
	default:
		return sys.CgroupProcs(sys.AtCWD, t.in.cgroups.Tree)
	}
}
