package doctor

import (
	"fmt"
	"os"
	"strings"
	"syscall"

	"github.com/hostsup/hostsup/cmd/hostsup/internal/show"
	"github.com/hostsup/hostsup/internal/sys"
)

const limitProcesses = 6 // RLIMIT_NPROC, which package syscall lacks

// kernel adds which kernel it is, and what that lacks.
func kernel(c show.Check) show.Check {
	if release, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		c.Detail += ", kernel " + strings.TrimSpace(string(release))
	}
	fd, err := sys.PidfdOpen(os.Getpid())
	if err != nil {
		c.Verdict, c.Detail, c.Advice = show.Fault, c.Detail+fmt.Sprintf(", pidfd_open: %v", err), "a kernel from 5.4 on, and a container that allows the call"
		return c
	}
	_ = syscall.Close(fd)
	return c
}

// watches says whether a file can be watched.
func watches() []show.Check {
	c := show.Check{Name: "file watches", Verdict: show.OK, Detail: "for run --watch"}
	fd, err := syscall.InotifyInit1(syscall.IN_CLOEXEC)
	if err != nil {
		c.Verdict, c.Detail = show.Warning, "inotify_init1: "+err.Error()
		c.Advice = "sysctl fs.inotify.max_user_instances=1024; without it, run --watch does not start"
		return []show.Check{c}
	}
	_ = syscall.Close(fd)
	return []show.Check{c}
}
