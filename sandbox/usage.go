package sandbox

import (
	"errors"
	"os"
	"time"

	"github.com/hostsup/hostsup/internal/sys"
	"github.com/hostsup/hostsup/sandbox/policy"
)

// ErrLimitsFixed means that limits cannot be changed while the process runs.
var ErrLimitsFixed = errors.New("limits cannot change while the process runs")

// SetLimits changes Memory, Tasks and CPU of Command.Limits while the tree runs; with dry it only
// reports whether it could. It returns ErrLimitsFixed if no cgroup enforces one of them, if
// one is set that was not or the other way round, or if the tree has more memory than it may.
func (c *Child) SetLimits(l policy.Limits, dry bool) error {
	if c.held == nil {
		return ErrLimitsFixed
	}
	return c.held.bound(l, dry)
}

// Pids returns the process ids of the tree on the host side, including the process
// itself, in no particular order. With KillGroup it misses processes with an ended
// ancestor; on systems that do not list descendants it returns only the process itself.
func (c *Child) Pids() ([]int, error) { return c.tree.pids() }

// Usage returns the current memory of the tree, in bytes, and its processor time.
//
// Memory is what its cgroup counts, without the cached parts of files that the kernel can
// take back at any time. If no cgroup counts it, memory is the sum over the processes, in
// which shared pages count more than once.
//
// The time includes processes that have ended, but with KillGroup those that have lost
// their parent.
func (c *Child) Usage() (memory int64, cpu time.Duration, err error) {
	dir, folder, reaper := c.tree.account()
	whole, known := false, false
	if folder != "" {
		cpu, err = sys.CgroupCPU(dir, folder)
		whole = err == nil
		memory, err = sys.CgroupMemory(dir, folder)
		known = err == nil
	}
	if !known && c.held != nil {
		if dir, folder = c.held.account(); folder != "" {
			memory, err = sys.CgroupMemory(dir, folder)
			known = err == nil
		}
	}
	if whole && known {
		return memory, cpu, nil
	}
	if reaper != 0 {
		st, _ := sys.ReadStat(reaper)
		cpu = st.Reaped
	}
	pids, err := c.tree.pids() // an error if the reaper was none by then
	if err != nil {
		return 0, 0, err
	}
	seen, last := false, os.ErrProcessDone
	for _, pid := range pids {
		st, err := sys.ReadStat(pid)
		if err != nil {
			last = err // mostly it ended meanwhile
			continue
		}
		seen = true
		if !known {
			memory += st.RSS
		}
		if !whole {
			cpu += st.CPU + st.Reaped
		}
	}
	if !seen {
		return 0, 0, last
	}
	return memory, cpu, nil
}
