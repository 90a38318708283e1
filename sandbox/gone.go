package sandbox

import (
	"fmt"
	"strings"
	"time"

	"github.com/hostsup/hostsup/internal/sys"
)

// Gone is closed when the process has ended and nothing of its tree is left,
// as far as the way of killing in force can tell: with KillCgroup the cgroup
// has no process, with KillPidns and KillKeeper the helper has no child left
// or has ended, with KillGroup the process group has no member that has not
// ended. NOTE: the tree is looked for only after a KillTree or a Release that
// follows Done; where the process leaves nothing behind, Gone is closed when
// that KillTree returns.
func (c *Child) Gone() <-chan struct{} { return c.gone }

// vanish says that the tree is gone.
func (c *Child) vanish() { c.vanished.Do(func() { close(c.gone) }) }

// AwaitGone waits until the tree is gone. The error is a *StuckError when that
// has not happened by the time that within has passed since the first KillTree,
// which must have been called.
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

// sinceKilled is how long ago KillTree was called first, 0 when it was not.
func (c *Child) sinceKilled() time.Duration {
	at := c.killed.Load()
	if at == 0 {
		return 0
	}
	return time.Since(time.Unix(0, at))
}

// StuckError tells that processes have not ended although they were sent
// SIGKILL: the kernel does not let go of them (an uninterruptible wait, a
// frozen cgroup), or they belong to a user that we may not signal.
type StuckError struct {
	Name  string        // Command.Name
	After time.Duration // since the SIGKILL
	Left  []Left        // the processes; empty when they cannot be listed
}

// Left is a process that has not ended.
type Left struct {
	PID   int    `json:"pid"`
	State string `json:"state"` // the letter that ps shows: "D", "T"; "" where the system does not tell
}

// Error reads "ts.3 is still there 10s after SIGKILL: pid 4711 (state D)".
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

// maxNamed is how many processes a message names.
const maxNamed = 16

// Stuck returns nil when the tree is gone, and otherwise a *StuckError with the
// processes that are there now.
func (c *Child) Stuck() error {
	select {
	case <-c.gone:
		return nil
	default:
	}
	e := &StuckError{Name: c.name, After: c.sinceKilled()}
	pids, _ := c.tree.pids() // without a list the error says less
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
