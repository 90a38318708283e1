package sandbox

import (
	"fmt"
	"strings"
	"time"

	"github.com/hostsup/hostsup/internal/sys"
)

// Gone returns a channel that is closed when no process of the tree is left, as far
// as the kill method can tell: with KillCgroup the cgroup is empty, with KillPidns
// and KillKeeper the helper has no child left or has ended, with KillGroup all members
// of the process group have ended. NOTE: the Launcher checks the tree only after a
// KillTree or a Release that follows Done; if the process leaves no other process,
// Gone is closed when that KillTree returns.
func (c *Child) Gone() <-chan struct{} { return c.gone }

// vanish closes gone.
func (c *Child) vanish() { c.vanished.Do(func() { close(c.gone) }) }

// AwaitGone waits until the tree is gone. KillTree must have been called; AwaitGone
// returns a *StuckError if the tree is not gone within that time after the first
// KillTree.
func (c *Child) AwaitGone(within time.Duration) error {
	timer := time.NewTimer(within - c.sinceKilled())
	defer timer.Stop()
	select {
	case <-c.gone:
		return nil
	case <-timer.C:
		return c.Stuck()
	}
}

// sinceKilled returns the time since the first KillTree; 0 without one.
func (c *Child) sinceKilled() time.Duration {
	at := c.killed.Load()
	if at == 0 {
		return 0
	}
	return time.Since(time.Unix(0, at))
}

// StuckError means that processes have not ended after SIGKILL: the kernel does not
// end them (an uninterruptible wait, a frozen cgroup), or they belong to a user that
// this process may not signal.
type StuckError struct {
	Name  string        // Command.Name
	After time.Duration // since the SIGKILL
	Left  []Left        // the processes; empty if they cannot be listed
}

// Left is a process that has not ended.
type Left struct {
	PID   int    `json:"pid"`
	State string `json:"state"` // the letter that ps shows: "D", "T"; "" if unknown
}

// Error returns text such as "ts.3 is still there 10s after SIGKILL: pid 4711 (state
// D)".
func (e *StuckError) Error() string {
	text := fmt.Sprintf("%s is still there %s after SIGKILL", e.Name, e.After.Round(time.Second))
	if len(e.Left) == 0 {
		return text
	}
	names := make([]string, 0, len(e.Left))
	for _, l := range e.Left[:min(len(e.Left), maxNamed)] {
		if l.State == "" {
			names = append(names, fmt.Sprintf("pid %d", l.PID))
		} else {
			names = append(names, fmt.Sprintf("pid %d (state %s)", l.PID, l.State))
		}
	}
	if more := len(e.Left) - maxNamed; more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return text + ": " + strings.Join(names, ", ")
}

// maxNamed bounds the number of processes in a message.
const maxNamed = 16

// Stuck returns nil if the tree is gone, and otherwise a *StuckError with the
// remaining processes.
func (c *Child) Stuck() error {
	select {
	case <-c.gone:
		return nil
	default:
	}
	e := &StuckError{Name: c.name, After: c.sinceKilled()}
	pids, _ := c.tree.pids() // without a list the error has fewer details
	for _, pid := range pids {
		l := Left{PID: pid}
		if st, err := sys.ReadStat(pid); err == nil {
			if st.Ended() {
				continue
			}
			l.State = string(st.State)
		}
		e.Left = append(e.Left, l)
	}
	return e
}
