package sandbox

import (
	"time"

	"github.com/hostsup/hostsup/internal/sys"
)

// Pids returns the process ids of the tree on the host side, including the process
// itself, in no particular order. With KillGroup it misses processes with an ended
// ancestor; on systems that do not list descendants it returns only the process itself.
func (c *Child) Pids() ([]int, error) { return c.tree.pids() }

// Usage returns the current memory of the tree, in bytes, and its processor time.
// Memory is the sum over its processes, so that shared pages count more than once.
// With KillCgroup the time includes processes that have ended.
func (c *Child) Usage() (rss int64, cpu time.Duration, err error) {
	pids, err := c.tree.pids()
	if err != nil {
		return 0, 0, err
	}
	seen := false
	var last error
	for _, pid := range pids {
		m, t, err := sys.ProcStat(pid)
		if err != nil {
			last = err // mostly it ended meanwhile
			continue
		}
		seen = true
		rss += m
		cpu += t
	}
	if !seen && last != nil {
		return 0, 0, last
	}
	if sum, ok := c.tree.cpu(); ok {
		cpu = sum
	}
	return rss, cpu, nil
}
