//go:build unix

package doctor

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"syscall"

	"github.com/hostsup/hostsup/cmd/hostsup/internal/show"
)

// System says what the system is, and what a supervisor lacks there.
func System() show.Check {
	c := show.Check{Name: "system", Verdict: show.OK, Detail: runtime.GOOS + "/" + runtime.GOARCH}
	if os.Getuid() == 0 {
		c.Detail += ", as root"
	}
	return kernel(c)
}

// What a supervisor has open by itself, and for a host at most, a confined one included.
const (
	ownFiles  = 64
	hostFiles = 16
)

// Limits says whether what this user may have is enough for so many hosts.
func Limits(hosts int) []show.Check {
	out := []show.Check{atMost("open files", syscall.RLIMIT_NOFILE, uint64(ownFiles+hostFiles*hosts), "LimitNOFILE=%d in the unit, or ulimit -Hn %[1]d", hosts)}
	if os.Getuid() != 0 { // root has no limit of processes
		out = append(out, atMost("processes", limitProcesses, uint64(hosts+16), "LimitNPROC=%d in the unit, or ulimit -Hu %[1]d", hosts))
	}
	return append(out, watches()...)
}

// atMost says whether a limit is at least what is needed. The hard one counts: a
// program in Go raises the soft one to it.
func atMost(name string, resource int, needed uint64, advice string, hosts int) show.Check {
	var r syscall.Rlimit
	if err := syscall.Getrlimit(resource, &r); err != nil {
		return show.Check{Name: name, Verdict: show.Warning, Detail: err.Error()}
	}
	most, limit := uint64(r.Max), fmt.Sprint(r.Max) //nolint:unconvert // signed on some systems
	if most >= math.MaxInt64 {
		limit = "any number"
	}
	c := show.Check{Name: name, Verdict: show.OK, Detail: fmt.Sprintf("%s allowed, at most %d needed for %d %s", limit, needed, hosts, show.Plural(hosts, "host", "hosts"))}
	if most < needed {
		c.Verdict, c.Advice = show.Fault, fmt.Sprintf(advice, needed)
	}
	return c
}

// Bits of access(2).
const (
	mayEnter = 1
	mayWrite = 2
)

func writable(dir string) bool { return syscall.Access(dir, mayWrite|mayEnter) == nil }

// room returns the bytes that are free for this user.
func room(dir string) (free int64, ok bool) {
	var st syscall.Statfs_t
	if syscall.Statfs(dir, &st) != nil {
		return 0, false
	}
	return int64(st.Bavail) * int64(st.Bsize), true //nolint:unconvert // the types differ from system to system
}

// writers says who can replace or change what is at a path, besides root and this user;
// "" if nobody can.
func writers(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return ""
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	mode := info.Mode()
	switch {
	case !ok, mode&os.ModeSticky != 0: // others cannot replace what is not theirs
		return ""
	case st.Uid != 0 && int(st.Uid) != os.Getuid():
		return fmt.Sprintf("the user with uid %d", st.Uid)
	case mode&0o002 != 0:
		return "every user"
	case mode&0o020 != 0 && st.Gid != 0 && int(st.Gid) != os.Getgid():
		return fmt.Sprintf("the group with gid %d", st.Gid)
	}
	return ""
}
