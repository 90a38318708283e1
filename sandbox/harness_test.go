//go:build unix

package sandbox

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/hostsup/hostsup/internal/sys"
)

// patience bounds every wait in these tests; a test that needs it fails.
const patience = 3 * time.Minute

// roleVar names what the test binary does instead of testing; see roles.
const roleVar = "HOSTSUP_TEST_ROLE"

// roles are what this binary is started as by its own tests.
var roles = map[string]func(args []string) int{}

func TestMain(m *testing.M) {
	if role := roles[os.Getenv(roleVar)]; role != nil {
		os.Exit(role(os.Args[1:]))
	}
	before := openFiles()
	code := m.Run()
	if code == 0 {
		code = leaks(before)
	}
	os.Exit(code)
}

// leaks says what the tests have left behind.
func leaks(before []string) int {
	var left []string
	ok := eventually(func() bool {
		left = nil
		if err := goleak.Find(); err != nil {
			left = append(left, err.Error())
		}
		for _, f := range openFiles() {
			if !slices.Contains(before, f) {
				left = append(left, "open file "+f)
			}
		}
		kids, _ := sys.Children(os.Getpid())
		for _, pid := range kids {
			left = append(left, fmt.Sprintf("process %d", pid))
		}
		left = append(left, leftFolders()...)
		return len(left) == 0
	})
	if !ok {
		fmt.Fprintf(os.Stderr, "left behind:\n%s\n", strings.Join(left, "\n"))
		return 1
	}
	return 0
}

// openFiles lists this process's descriptors as "number target".
func openFiles() []string {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return nil
	}
	var files []string
	for _, e := range entries {
		if target, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && !strings.Contains(target, "eventpoll") && !strings.Contains(target, "eventfd") {
			files = append(files, e.Name()+" "+target)
		}
	}
	return files
}

// leftFolders lists cgroups made by this process that are still there.
func leftFolders() []string {
	var left []string
	for _, parent := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"} {
		found, _ := filepath.Glob(fmt.Sprintf("%s/hostsup-%d-*", parent, os.Getpid()))
		left = append(left, found...)
	}
	return left
}

// eventually polls a condition until it holds, or patience is over.
func eventually(cond func() bool) bool {
	deadline := time.Now().Add(patience)
	for delay := 100 * time.Microsecond; ; delay = min(2*delay, 20*time.Millisecond) {
		if cond() {
			return true
		}
		if time.Now().After(deadline) {
			return false
		}
		time.Sleep(delay) //nolint:forbidigo // polls a condition with a deadline
	}
}

// launcher makes a Launcher that is closed, without an error, with the test.
// A way that does not work here skips the test.
func launcherOf(t testing.TB, kind Kill) *Launcher {
	t.Helper()
	l, err := NewLauncher(Options{Kill: kind})
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return l
}

// everyWay runs a test for every way of killing that works here.
func everyWay(t *testing.T, test func(t *testing.T, l *Launcher)) {
	for _, kind := range []Kill{KillCgroup, KillPidns, KillKeeper, KillGroup} {
		t.Run(string(kind), func(t *testing.T) { test(t, launcherOf(t, kind)) })
	}
}

// strongWays is everyWay for what the process group alone cannot do.
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

// start starts a command whose stdout comes back as lines, and whose fd 3 is
// the same pipe.
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

// id names a process for good: its number and when it started.
type id struct {
	pid   int
	start uint64
}

func (i id) String() string { return fmt.Sprintf("%d@%d", i.pid, i.start) }

func idOf(pid int) (id, bool) {
	st, err := sys.ReadStat(pid)
	return id{pid, st.Start}, err == nil && st.State != 'Z'
}

// alive is false for a zombie: what is left of it is its parent's business.
func (i id) alive() bool {
	now, ok := idOf(i.pid)
	return ok && now == i
}

// ids are the processes of a tree now.
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

// gone waits until none of the processes is there.
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

// stubborn is a script whose main process goes on after starting $1
// grandchildren that lead sessions of their own and ignore what can be
// ignored. It says "ready" once for each, and the main process says it last.
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
