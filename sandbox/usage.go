package sandbox

import (
	"time"

	"github.com/hostsup/hostsup/internal/sys"
)

// Pids lists the processes of the tree as seen from outside, the process
// itself included, in no particular order. With KillGroup only those whose
// parents are all still there are found; where the system does not tell, only
// the process itself.
func (c *Child) Pids() ([]int, error) { return c.tree.pids() }

// Usage is what the tree has in memory now, in bytes, and the processor time
// it has used. Memory is the sum over its processes, so pages they share count
// more than once. With KillCgroup the time includes processes that have ended.
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
			last = err // it ended meanwhile, mostly
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
