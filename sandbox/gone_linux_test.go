//go:build !hostsup_posix

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hostsup/hostsup/internal/freezer"
	"github.com/hostsup/hostsup/internal/leaktest"
	"github.com/hostsup/hostsup/internal/sys"
)

// isGone reports whether Gone is closed.
func isGone(c *Child) bool {
	select {
	case <-c.Gone():
		return true
	default:
		return false
	}
}

// awaitGone fails the test if the tree does not end.
func awaitGone(t *testing.T, c *Child) {
	t.Helper()
	select {
	case <-c.Gone():
	case <-time.After(patience):
		t.Fatalf("pid %d: %v", c.Pid(), c.Stuck())
	}
}

// As in a restart: if no process is left, KillTree closes Gone.
func TestGoneAtOnceWithoutChildren(t *testing.T) {
	everyWay(t, func(t *testing.T, l *Launcher) {
		for range 20 {
			c, _ := start(t, l, shell("exit 3"))
			wait(t, c)
			if err := c.KillTree(); err != nil {
				t.Fatal(err)
			}
			if !isGone(c) {
				t.Error("not gone when KillTree returned")
			}
			if err := c.AwaitGone(time.Minute); err != nil {
				t.Error(err)
			}
			c.Release()
		}
	})
}

func TestGoneOnlyWhenTheTreeIs(t *testing.T) {
	strongWays(t, func(t *testing.T, l *Launcher) {
		for _, script := range []string{stay, leave} {
			c, out := start(t, l, shell(script, "5"))
			lines(t, out, 6)
			tree := ids(t, c)
			if script == leave {
				wait(t, c)
			} else if err := c.KillTree(); err != nil {
				t.Fatal(err)
			}
			if isGone(c) && slices.ContainsFunc(tree, id.alive) {
				t.Error("Gone is closed while the tree runs")
			}
			wait(t, c)
			if err := c.KillTree(); err != nil {
				t.Fatal(err)
			}
			awaitGone(t, c)
			for _, i := range tree {
				if i.alive() {
					t.Errorf("%v is still there", i)
				}
			}
			c.Release()
		}
	})
}

func TestGoneWaitsForTheWholeGroup(t *testing.T) {
	l := launcherOf(t, KillGroup)
	for range 20 {
		c, out := start(t, l, shell(`for i in 1 2 3; do sh -c 'trap "" TERM; echo ready; while :; do sleep 1000; done' & done; echo ready; exit 3`))
		lines(t, out, 4)
		wait(t, c)
		members := groupOf(t, c.Pid())
		if err := c.KillTree(); err != nil {
			t.Fatal(err)
		}
		awaitGone(t, c)
		for _, pid := range members {
			if i, ok := idOf(pid); ok {
				t.Errorf("%v is still there", i)
			}
		}
		c.Release()
	}
}

func init() {
	if os.Getenv(roleVar) == "headless" {
		runtime.LockOSThread() // so that main runs on the first thread
	}
	// Its first thread ends while others run: ps shows a zombie.
	roles["headless"] = func([]string) int {
		go func() {
			for {
				if st, err := sys.ReadStat(os.Getpid()); err == nil && st.State == 'Z' {
					fmt.Println("ready")
					select {}
				}
				time.Sleep(time.Millisecond) //nolint:forbidigo // a process of its own
			}
		}()
		_, _, _ = syscall.RawSyscall(syscall.SYS_EXIT, 0, 0, 0)
		return 1
	}
}

// A process whose first thread has ended, and which looks like a zombie, is killed.
func TestGoneWithoutFirstThread(t *testing.T) {
	everyWay(t, func(t *testing.T, l *Launcher) {
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		detach := "setsid"
		if l.Kill() == KillGroup {
			detach = ""
		}
		cmd := shell(detach+` "$1" & echo $!; wait`, self)
		cmd.Env = append(cmd.Env, roleVar+"=headless", quickExit)
		c, out := start(t, l, cmd)
		lines(t, out, 2)
		if err := c.KillTree(); err != nil {
			t.Fatal(err)
		}
		wait(t, c)
		if err := c.KillTree(); err != nil {
			t.Fatal(err)
		}
		awaitGone(t, c)
		if out.Scan() {
			t.Errorf("its output is still open: %q", out.Text())
		}
		c.Release()
	})
}

// A Release before the end of the process also closes Gone.
func TestGoneAfterRelease(t *testing.T) {
	everyWay(t, func(t *testing.T, l *Launcher) {
		c, out := start(t, l, shell("sleep 1000 & echo ready; wait"))
		lines(t, out, 1)
		c.Release()
		awaitGone(t, c)
		wait(t, c)
	})
}

func TestStuckListsProcesses(t *testing.T) {
	everyWay(t, func(t *testing.T, l *Launcher) {
		c, out := start(t, l, shell("sleep 1000 & echo $!; exit 3"))
		lines(t, out, 1)
		wait(t, c)
		left := groupOf(t, c.Pid())
		left = slices.DeleteFunc(left, func(pid int) bool { return pid == c.Pid() })
		if len(left) != 1 {
			t.Fatalf("%v", left)
		}
		thaw := freezer.Freeze(t, left...)
		if err := c.KillTree(); err != nil {
			t.Fatal(err)
		}
		err := c.AwaitGone(50 * time.Millisecond)
		var stuck *StuckError
		if !errors.As(err, &stuck) || len(stuck.Left) != 1 || stuck.Left[0].PID != left[0] || stuck.Left[0].State != "D" {
			t.Errorf("%v", err)
		}
		if want := fmt.Sprintf("pid %d (state D)", left[0]); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
		c.Release()
		if isGone(c) {
			t.Error("gone")
		}
		thaw()
		awaitGone(t, c)
		if err := c.Stuck(); err != nil {
			t.Error(err)
		}
	})
}

// A process that already had its time gets no more from Close, whose error names it.
func TestCloseNamesWhatIsStuck(t *testing.T) {
	for _, kind := range []Kill{KillCgroup, KillGroup, KillKeeper, KillPidns} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			l := launcherWith(t, Options{Kill: kind})
			t.Cleanup(func() { _ = l.Close() }) // if freezing does not work
			c, out := start(t, l, shell("echo ready; exec sleep 1000"))
			lines(t, out, 1)
			thaw := freezer.Freeze(t, c.Pid())
			if err := c.KillTree(); err != nil {
				t.Error(err)
			}
			c.killed.Add(-int64(closeWait))
			began := time.Now()
			err := l.Close()
			if took := time.Since(began); took > closeWait/2 {
				t.Errorf("took %s", took)
			}
			var stuck *StuckError
			if !errors.As(err, &stuck) || len(stuck.Left) != 1 || stuck.Left[0].PID != c.Pid() {
				t.Errorf("%v", err)
			}
			thaw()
			wait(t, c)
			awaitStuckFolders(t)
		})
	}
}

// awaitStuckFolders waits until the keepers have removed the cgroups that their
// Launchers could not remove.
func awaitStuckFolders(t *testing.T) {
	t.Helper()
	if !eventually(func() bool { return len(leaktest.Cgroups()) == 0 }) {
		t.Errorf("left %v", leaktest.Cgroups())
	}
}
