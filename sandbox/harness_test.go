//go:build unix

package sandbox

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/hostsup/hostsup/internal/leaktest"
	"github.com/hostsup/hostsup/internal/poll"
	"github.com/hostsup/hostsup/internal/require"
	"github.com/hostsup/hostsup/internal/sys"
)

// patience bounds every wait in these tests; a test that reaches it fails.
const patience = 3 * time.Minute

// roleVar selects a role that the test binary runs instead of tests; see roles.
const roleVar = "HOSTSUP_TEST_ROLE"

// quickExit is a variable of the environment of a role. Without it this binary, if it is
// built with the race detector, sleeps for a second before it exits.
const quickExit = "GORACE=atexit_sleep_ms=0"

// roles are the functions that tests start in this binary.
var roles = map[string]func(args []string) int{}

func TestMain(m *testing.M) {
	if role := roles[os.Getenv(roleVar)]; role != nil {
		os.Exit(role(os.Args[1:]))
	}
	leaktest.Main(m)
}

// eventually polls a condition until it holds, or patience is over.
func eventually(cond func() bool) bool { return poll.Within(patience, cond) }

// launcherWith returns a Launcher. If the kill method does not work on this machine, it
// skips the test, or fails it if features must not be missing; ordinary users may lack
// cgroups, and portable builds have only the process group.
func launcherWith(t testing.TB, opt Options) *Launcher {
	t.Helper()
	l, err := NewLauncher(opt)
	switch {
	case err == nil:
	case !errors.Is(err, ErrUnsupported):
		t.Fatal(err)
	case portable:
		t.Skipf("this build kills by the process group only: %v", err)
	case opt.Kill == KillCgroup:
		require.Privilege(t, "%v", err)
	default:
		require.Missing(t, "%v", err)
	}
	return l
}

// launcherOf is like launcherWith, and closes the Launcher, which must not fail, at the
// end of the test.
func launcherOf(t testing.TB, kind Kill) *Launcher {
	t.Helper()
	l := launcherWith(t, Options{Kill: kind})
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return l
}

// everyWay runs a test for every kill method that works on this machine.
func everyWay(t *testing.T, test func(t *testing.T, l *Launcher)) {
	for _, kind := range []Kill{KillCgroup, KillPidns, KillKeeper, KillGroup} {
		t.Run(string(kind), func(t *testing.T) { test(t, launcherOf(t, kind)) })
	}
}

// strongWays is everyWay without the process group.
func strongWays(t *testing.T, test func(t *testing.T, l *Launcher)) {
	for _, kind := range []Kill{KillCgroup, KillPidns, KillKeeper} {
		t.Run(string(kind), func(t *testing.T) { test(t, launcherOf(t, kind)) })
	}
}

// shell is a Command that runs a script; $1… are args.
func shell(script string, args ...string) *Command {
	return &Command{
		Name: "test.1",
		Path: "/bin/sh",
		Args: append([]string{"sh", "-c", script, "sh"}, args...),
		Env:  []string{"PATH=/usr/bin:/bin"},
	}
}

// start starts a command and returns the lines of its stdout; its fd 3 is the same
// pipe.
func start(t testing.TB, l *Launcher, cmd *Command) (*Child, *bufio.Scanner) {
	t.Helper()
	r, w, err := sys.Pipe(0)
	if err != nil {
		t.Fatal(err)
	}
	cmd.Files = []*os.File{nil, w, nil, w}
	c, err := l.Start(cmd)
	w.Close()
	if err != nil {
		r.Close()
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return c, bufio.NewScanner(r)
}

// wait waits for the end of a child.
func wait(t testing.TB, c *Child) Exit {
	t.Helper()
	select {
	case <-c.Done():
		return c.Exit()
	case <-time.After(patience):
		t.Fatalf("pid %d does not end", c.Pid())
		return Exit{}
	}
}

// lines reads n lines.
func lines(t testing.TB, s *bufio.Scanner, n int) []string {
	t.Helper()
	var got []string
	for len(got) < n && s.Scan() {
		got = append(got, s.Text())
	}
	if len(got) < n {
		t.Fatalf("%d of %d lines: %q", len(got), n, got)
	}
	return got
}

// id identifies a process permanently: its number and its start time.
type id struct {
	pid   int
	start uint64
}

func (i id) String() string { return fmt.Sprintf("%d@%d", i.pid, i.start) }

func idOf(pid int) (id, bool) {
	st, err := sys.ReadStat(pid)
	return id{pid, st.Start}, err == nil && !st.Ended()
}

// alive reports whether the process runs; a zombie does not.
func (i id) alive() bool {
	now, ok := idOf(i.pid)
	return ok && now == i
}

// ids returns the current processes of a tree.
func ids(t testing.TB, c *Child) []id {
	t.Helper()
	pids, err := c.Pids()
	if err != nil {
		t.Fatal(err)
	}
	var all []id
	for _, pid := range pids {
		if i, ok := idOf(pid); ok {
			all = append(all, i)
		}
	}
	return all
}

// gone waits until all processes have ended.
func gone(t testing.TB, all []id) {
	t.Helper()
	if len(all) == 0 {
		t.Fatal("no processes to wait for")
	}
	var left []id
	if !eventually(func() bool {
		left = slices.DeleteFunc(slices.Clone(all), func(i id) bool { return !i.alive() })
		return len(left) == 0
	}) {
		for _, i := range left {
			b, _ := os.ReadFile("/proc/" + strconv.Itoa(i.pid) + "/cmdline")
			t.Errorf("%v is still there: %q", i, b)
		}
		t.FailNow()
	}
}

// stubborn is a script that starts $1 grandchildren, which lead their own sessions and
// ignore all signals that can be ignored. Each prints "ready", and then the main
// process does.
const stubborn = `
i=0
while [ $i -lt $1 ]; do
	setsid sh -c 'trap "" TERM HUP INT; echo ready; sh -c "exec sleep 1000" & exec sleep 1000' &
	i=$((i+1))
done
trap "" TERM
echo ready
`

// stay keeps the main process; leave ends it with 7, leaving its tree.
const (
	stay  = stubborn + "while :; do sleep 1000; done"
	leave = stubborn + "exit 7"
)

func needLinux(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("reads /proc")
	}
}
