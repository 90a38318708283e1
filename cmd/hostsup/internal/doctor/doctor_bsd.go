//go:build unix && !linux

package doctor

import "github.com/hostsup/hostsup/cmd/hostsup/internal/show"

const limitProcesses = 7 // RLIMIT_NPROC, which package syscall lacks

func kernel(c show.Check) show.Check {
	c.Verdict, c.Advice = show.Warning, "hosts are started, watched and restarted; sandboxes and limits of memory, tasks and processors are enforced on Linux only"
	return c
}

func watches() []show.Check { return nil }
