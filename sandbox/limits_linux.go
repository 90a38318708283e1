//go:build !hostsup_posix

package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hostsup/hostsup/internal/helper"
	"github.com/hostsup/hostsup/internal/sys"
	"github.com/hostsup/hostsup/sandbox/policy"
)

// controllers lists the cgroup controllers of limits.
var controllers = []string{"memory", "pids", "cpu"}

// limiter has the cgroups that limit lives. It is set up for the first life with a
// limit.
type limiter struct {
	serial atomic.Uint64 // of lives

	tell func(path string) // makes the keeper remove a folder after this process; nil without a keeper

	mu     sync.Mutex
	opened map[string]*hierarchy
	v2     map[string]error // by controller: nil if it is usable for lives
}

// hierarchy is a folder of this Launcher in one hierarchy.
type hierarchy struct {
	path string
	dir  int // open and locked until the Launcher is closed
}

// hierarchy creates the folder for a v1 controller, once.
func (l *limiter) hierarchy(controller string) (*hierarchy, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if h := l.opened[controller]; h != nil {
		return h, nil
	}
	parent, err := sys.OwnCgroup1(controller)
	if err != nil {
		return nil, err
	}
	path, dir, err := ownFolder(parent, l.tell)
	if err != nil {
		return nil, err
	}
	sweepStale(parent, filepath.Base(path))
	h := &hierarchy{path, dir}
	if l.opened == nil {
		l.opened = map[string]*hierarchy{}
	}
	l.opened[controller] = h
	return h, nil
}

// close removes the folders, which must be empty.
func (l *limiter) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var errs []error
	for _, h := range l.opened {
		if err := sys.RemoveCgroup(sys.AtCWD, h.path); err != nil {
			errs = append(errs, fmt.Errorf("remove %s: %w", h.path, err))
		}
		sys.Close(h.dir)
	}
	l.opened = nil
	return errors.Join(errs...)
}

// bounds are the cgroups that limit one life.
type bounds struct {
	mu     sync.Mutex // for what follows
	limits policy.Limits
	groups []bound

	// With limits by cgroup v2, the cgroup of the life is split into these two open
	// folders; otherwise -1.
	init, host int
}

// bound is a cgroup of one life.
type bound struct {
	controller string
	in         int    // the open parent folder; only for v1, as v2 is removed with the life's cgroup
	name       string // of the cgroup
	dir        int    // open
	v2         bool
}

// bound creates the cgroups for limits. missing has the controllers that are not
// usable, with the reasons. cg and life are the v2 cgroup of the life; cg is nil
// without one.
func (l *limiter) bound(name string, limits policy.Limits, cg *cgroups, life lifeCgroup) (b *bounds, missing map[string]error, err error) {
	b, missing = &bounds{limits: limits, init: -1, host: -1}, map[string]error{}
	var unified []string
	for _, controller := range controllers {
		if !has(limits, limitNames[controller]) {
			continue
		}
		h, err := l.hierarchy(controller)
		if err != nil {
			switch {
			case cg != nil:
				err = l.unified(cg, controller)
			case errors.Is(err, sys.ErrNoHierarchy):
				if err = tryUnified(controller); err == nil {
					err = errors.New("lives have no cgroup of their own, because the kill method is not cgroup")
				}
			}
			if err != nil {
				missing[controller] = err
			} else {
				unified = append(unified, controller)
			}
			continue
		}
		g := bound{controller: controller, in: h.dir, name: name}
		if err = sys.MakeCgroup(h.dir, name); err == nil {
			if g.dir, err = sys.OpenDirAt(h.dir, name); err != nil {
				_ = sys.RemoveCgroup(h.dir, name)
			}
		}
		if err != nil {
			b.remove()
			return nil, nil, fmt.Errorf("make a cgroup in %s: %w", h.path, err)
		}
		b.groups = append(b.groups, g)
		if err := g.set(limits); err != nil {
			b.remove()
			return nil, nil, fmt.Errorf("limit %s in %s/%s: %w", controller, h.path, name, err)
		}
	}
	if err := b.split(life, unified); err != nil {
		b.remove()
		return nil, nil, fmt.Errorf("limit %s in %s/%s: %w", strings.Join(unified, ", "), cg.path, life.folder, err)
	}
	return b, missing, nil
}

// unified enables a v2 controller for the cgroups of lives, once.
func (l *limiter) unified(cg *cgroups, controller string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	err, known := l.v2[controller]
	if !known {
		if l.v2 == nil {
			l.v2 = map[string]error{}
		}
		err = enable(filepath.Dir(cg.path), cg.dir, controller)
		l.v2[controller] = err
	}
	return err
}

// enable enables a v2 controller in the folder parent, for the children of the open
// folder dir in it.
func enable(parent string, dir int, controller string) error {
	if err := enableBelow(parent, controller); err != nil {
		return err
	}
	return sys.SetCgroup(dir, "cgroup.subtree_control", "+"+controller)
}

// enableBelow enables a v2 controller for the children of the folder parent.
func enableBelow(parent, controller string) error {
	top, err := sys.OpenDir(parent)
	if err != nil {
		return err
	}
	defer sys.Close(top)
	have, err := sys.CgroupText(top, "cgroup.controllers")
	if err != nil {
		return err
	}
	if !slices.Contains(strings.Fields(have), controller) {
		return fmt.Errorf("the controller %s is neither in a v1 hierarchy of ours nor in %s", controller, parent)
	}
	// In a cgroup with processes the kernel refuses some controllers. Others it
	// allows, but then child cgroups can only have threads, and no process of ours.
	// The root cgroup, which has no type, is an exception.
	busy := fmt.Errorf("%s contains processes, this one among them, so that its children cannot have limits", parent)
	if _, err := sys.CgroupText(top, "cgroup.type"); err == nil {
		if procs, err := sys.CgroupText(top, "cgroup.procs"); err == nil && procs != "" {
			return busy
		}
	}
	switch err := sys.SetCgroup(top, "cgroup.subtree_control", "+"+controller); {
	case errors.Is(err, syscall.EBUSY):
		return busy
	case err != nil:
		return fmt.Errorf("enable the controller %s in %s: %w", controller, parent, err)
	}
	return nil
}

// split divides the cgroup of a life, which has no process yet: a cgroup with limits
// must not have processes, and our init must not count.
func (b *bounds) split(life lifeCgroup, list []string) error {
	if len(list) == 0 {
		return nil
	}
	if err := sys.SetCgroup(life.dir, "cgroup.subtree_control", "+"+strings.Join(list, " +")); err != nil {
		return err
	}
	for name, fd := range map[string]*int{"init": &b.init, "host": &b.host} {
		err := sys.MakeCgroup(life.dir, name)
		if err == nil {
			*fd, err = sys.OpenDirAt(life.dir, name)
		}
		if err != nil {
			return err
		}
	}
	for _, controller := range list {
		g := bound{controller: controller, dir: b.host, v2: true}
		if err := g.set(b.limits); err != nil {
			return err
		}
		b.groups = append(b.groups, g)
	}
	return nil
}

// socketShare is the fraction of a memory limit that sockets may use in addition, if
// the kernel counts them separately (cgroup v1).
const socketShare = 8

// cpuPeriod is the kernel's default, in microseconds.
const cpuPeriod = 100_000

// set writes the limit.
func (g *bound) set(l policy.Limits) error {
	quota := strconv.FormatInt(max(int64(l.CPU*cpuPeriod), 1000), 10)
	memory := strconv.FormatInt(l.Memory, 10)
	switch {
	case g.controller == "pids":
		return sys.SetCgroup(g.dir, "pids.max", strconv.Itoa(l.Tasks))
	case g.controller == "cpu" && g.v2:
		return sys.SetCgroup(g.dir, "cpu.max", quota+" "+strconv.Itoa(cpuPeriod))
	case g.controller == "cpu":
		if err := sys.SetCgroup(g.dir, "cpu.cfs_period_us", strconv.Itoa(cpuPeriod)); err != nil {
			return err
		}
		return sys.SetCgroup(g.dir, "cpu.cfs_quota_us", quota)
	case g.controller == "memory" && g.v2:
		if err := sys.SetCgroup(g.dir, "memory.max", memory); err != nil {
			return err
		}
		_ = sys.SetCgroup(g.dir, "memory.swap.max", "0") // absent without swap
		return sys.SetCgroup(g.dir, "memory.oom.group", "1")
	case g.controller == "memory":
		_ = sys.SetCgroup(g.dir, "memory.memsw.limit_in_bytes", memory) // it is never less than the other
		if err := sys.SetCgroup(g.dir, "memory.limit_in_bytes", memory); err != nil {
			return err
		}
		_ = sys.SetCgroup(g.dir, "memory.memsw.limit_in_bytes", memory) // absent without swap accounting
		// Memory of sockets is counted separately, and only from now on.
		sockets := strconv.FormatInt(l.Memory/socketShare, 10)
		if err := sys.SetCgroup(g.dir, "memory.kmem.tcp.limit_in_bytes", sockets); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// change puts other limits in the place of those that cgroups enforce, or only reports
// whether it would.
func (b *bounds) change(l policy.Limits, dry bool) error {
	if b == nil {
		return ErrLimitsFixed
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	var changed []*bound
	for _, c := range controllers {
		is, was := has(l, limitNames[c]), has(b.limits, limitNames[c])
		i := slices.IndexFunc(b.groups, func(g bound) bool { return g.controller == c })
		switch {
		case is && was && i >= 0:
			changed = append(changed, &b.groups[i])
		case is || was:
			return ErrLimitsFixed
		}
	}
	for _, g := range changed {
		if g.controller == "memory" && l.Memory < b.limits.Memory {
			// The kernel would kill the tree at once, or refuse the limit.
			if used, err := sys.CgroupMemory(g.dir, "."); err != nil || used > l.Memory {
				return ErrLimitsFixed
			}
		}
	}
	if dry {
		return nil
	}
	for _, g := range changed {
		if err := g.set(l); err != nil {
			return fmt.Errorf("limit %s: %w", g.controller, err)
		}
	}
	b.limits.Memory, b.limits.Tasks, b.limits.CPU = l.Memory, l.Tasks, l.CPU
	return nil
}

// procs opens the files to which a process writes itself to enter the cgroups.
func (b *bounds) procs() ([]int, error) {
	if b == nil {
		return nil, nil
	}
	var fds []int
	joined := false
	for i := range b.groups {
		if b.groups[i].v2 {
			if joined {
				continue // one folder has all controllers
			}
			joined = true
		}
		fd, err := sys.OpenCgroupTasks(b.groups[i].dir, b.groups[i].v2)
		if err != nil {
			closeAll(fds)
			return nil, err
		}
		fds = append(fds, fd)
	}
	return fds, nil
}

func closeAll(fds []int) {
	for _, fd := range fds {
		sys.Close(fd)
	}
}

// oomEvents returns a descriptor that reports when the memory limit was hit; -1 if
// the kernel then kills the tree itself.
func (b *bounds) oomEvents() int {
	if b == nil {
		return -1
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range b.groups {
		if g := &b.groups[i]; g.controller == "memory" && !g.v2 {
			if fd, err := sys.OOMEvents(g.dir); err == nil {
				return fd
			}
		}
	}
	return -1
}

// account returns the cgroup of version 1 that limits the memory, or -1 and "".
func (b *bounds) account() (dir int, folder string) {
	if b == nil {
		return -1, ""
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range b.groups {
		if g := &b.groups[i]; g.controller == "memory" && !g.v2 {
			return g.in, g.name // its parent stays open; a name that is gone is an error to who reads it
		}
	}
	return -1, ""
}

// judge adds the data of the cgroups to the end of a child.
func (b *bounds) judge(e *Exit) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	bad := e.Signal != 0 || e.Code != 0
	for i := range b.groups {
		g := &b.groups[i]
		switch g.controller {
		case "memory":
			peak, events, key := "memory.max_usage_in_bytes", "memory.oom_control", "oom_kill"
			if g.v2 {
				peak, events = "memory.peak", "memory.events"
			}
			e.MemoryPeak, _ = sys.CgroupNumber(g.dir, peak, "")
			if n, err := sys.CgroupNumber(g.dir, events, key); err == nil && n > 0 && bad {
				e.OutOfMemory, e.Limit = true, "memory"
			}
		case "pids":
			if n, err := sys.CgroupNumber(g.dir, "pids.events", "max"); err == nil && n > 0 && bad && e.Limit == "" {
				e.Limit = "tasks"
			}
		}
	}
	const sigxfsz = 25
	if e.Signal == sigxfsz && b.limits.FileSize > 0 {
		e.Limit = "file_size"
	}
}

// remove removes the cgroups, whose processes are dead or dying. It leaves those that
// it cannot remove within a minute to the next Launcher.
func (b *bounds) remove() {
	if b == nil {
		return
	}
	b.mu.Lock()
	groups, split := b.groups, []int{b.init, b.host}
	b.groups, b.init, b.host = nil, -1, -1
	b.mu.Unlock()
	for _, g := range groups {
		if !g.v2 {
			sys.Close(g.dir)
			removeCgroup(g.in, g.name, helper.KeepFor)
		}
	}
	for _, fd := range split {
		if fd >= 0 {
			sys.Close(fd)
		}
	}
}

// removeCgroup removes a cgroup whose processes are dying.
func removeCgroup(in int, name string, patience time.Duration) {
	start := time.Now()
	for delay := time.Millisecond; sys.RemoveCgroup(in, name) != nil && time.Since(start) < patience; delay = min(2*delay, 100*time.Millisecond) {
		time.Sleep(delay)
	}
}

const (
	// noCoreDump is the core limit at which the kernel writes no core dump and does not
	// run the machine's core dump program. At 0 it runs that program.
	noCoreDump = 1
	// waitingSignals bounds the pending signals of confined processes; the kernel
	// counts them for each user, not for each process.
	waitingSignals = 1024
)

// rlimits returns the limits of each process; some apply only if it is confined.
func rlimits(l policy.Limits, confined bool) []helper.Rlimit {
	out := []helper.Rlimit{lowered(sys.LimitCore, noCoreDump)}
	if confined {
		out = append(out, lowered(sys.LimitSignals, waitingSignals))
	}
	if l.Files > 0 {
		out = append(out, helper.Rlimit{Resource: sys.LimitFiles, Value: uint64(l.Files)})
	}
	if l.FileSize > 0 {
		out = append(out, helper.Rlimit{Resource: sys.LimitFileSize, Value: uint64(l.FileSize)})
	}
	if l.AddressSpace > 0 {
		out = append(out, helper.Rlimit{Resource: sys.LimitAddressSpace, Value: uint64(l.AddressSpace)})
	}
	return out
}

// lowered returns a limit of at most the hard limit of this process, because raising
// that needs privileges.
func lowered(resource int, value uint64) helper.Rlimit {
	if hard, err := sys.HardLimit(resource); err == nil {
		value = min(value, hard)
	}
	return helper.Rlimit{Resource: resource, Value: value}
}
