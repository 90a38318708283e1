//go:build unix

package sandbox

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/hostsup/hostsup/internal/leaktest"
	"github.com/hostsup/hostsup/internal/sys"
)

func TestKillTree(t *testing.T) {
	strongWays(t, func(t *testing.T, l *Launcher) {
		c, out := start(t, l, shell(stay, "3"))
		lines(t, out, 4)
		tree := ids(t, c)
		if len(tree) < 4 {
			t.Fatalf("only %v", tree)
		}
		if err := c.KillTree(); err != nil {
			t.Fatal(err)
		}
		if e := wait(t, c); e.Signal != 9 || e.Code != -1 {
			t.Errorf("%+v", e)
		}
		gone(t, tree)
		for range 3 {
			if err := c.KillTree(); err != nil {
				t.Errorf("again: %v", err)
			}
		}
		c.Release()
		c.Release()
		if err := c.KillTree(); err != nil {
			t.Errorf("after release: %v", err)
		}
	})
}

func TestKillTreeAfterTheMainProcessEnded(t *testing.T) {
	strongWays(t, func(t *testing.T, l *Launcher) {
		c, out := start(t, l, shell(leave, "3"))
		lines(t, out, 4)
		if e := wait(t, c); e.Code != 7 {
			t.Errorf("%+v", e)
		}
		tree := ids(t, c)
		if len(tree) < 3 {
			t.Fatalf("only %v", tree)
		}
		if err := c.KillTree(); err != nil {
			t.Fatal(err)
		}
		gone(t, tree)
		c.Release()
	})
}

func TestReleaseKillsWhatIsLeft(t *testing.T) {
	strongWays(t, func(t *testing.T, l *Launcher) {
		c, out := start(t, l, shell(leave, "2"))
		lines(t, out, 3)
		wait(t, c)
		tree := ids(t, c)
		c.Release()
		gone(t, tree)
	})
}

func TestCloseKillsEverything(t *testing.T) {
	strongWays(t, func(t *testing.T, l *Launcher) {
		var tree []id
		var children []*Child
		for i := range 5 {
			script := stay
			if i%2 == 1 {
				script = leave
			}
			c, out := start(t, l, shell(script, "2"))
			lines(t, out, 3)
			tree = append(tree, ids(t, c)...)
			children = append(children, c)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		gone(t, tree)
		for _, c := range children {
			wait(t, c)
		}
		if left := leaktest.Cgroups(); len(left) > 0 {
			t.Errorf("left %v", left)
		}
		_, err := l.Start(shell("true"))
		var se *StartError
		if !errors.Is(err, ErrClosed) || !errors.As(err, &se) || se.Permanent() {
			t.Errorf("start after close: %v", err)
		}
	})
}

func TestCloseWhileStarting(t *testing.T) {
	everyWay(t, func(t *testing.T, l *Launcher) {
		var wg sync.WaitGroup
		first := make(chan struct{})
		var once sync.Once
		for range 8 {
			wg.Go(func() {
				for {
					c, err := l.Start(shell("exec sleep 1000"))
					if err != nil {
						if !errors.Is(err, ErrClosed) {
							t.Error(err)
						}
						return
					}
					once.Do(func() { close(first) })
					if c.Pid() <= 0 {
						t.Error("no pid")
					}
				}
			})
		}
		<-first
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		wg.Wait()
	})
}

// A process that forks and ends, and whose child does the same, changes its number all
// the time.
func TestKillTreeOfReforkers(t *testing.T) {
	strongWays(t, func(t *testing.T, l *Launcher) {
		r, w, err := sys.Pipe(0)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		cmd := &Command{Name: "reforker", Path: self, Args: []string{"reforker"},
			Env: []string{quickExit, roleVar + "=reforker"}, Files: []*os.File{nil, w}}
		c, err := l.Start(cmd)
		w.Close()
		if err != nil {
			t.Fatal(err)
		}
		// Each generation writes a byte; the pipe ends with the last process.
		b := make([]byte, 1)
		for range 20 {
			if _, err := r.Read(b); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.KillTree(); err != nil {
			t.Fatal(err)
		}
		wait(t, c)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for {
				if _, err := r.Read(b); err != nil {
					return
				}
			}
		}()
		if !eventually(func() bool {
			select {
			case <-ended:
				return true
			default:
				return false
			}
		}) {
			t.Error("it still runs")
		}
		c.Release()
		r.Close()
		<-ended
	})
}

func init() {
	roles["reforker"] = func([]string) int {
		_, _ = os.Stdout.Write([]byte{'.'})
		cmd := exec.Command("/proc/self/exe")
		cmd.Env = os.Environ()
		cmd.Stdout = os.Stdout
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if cmd.Start() != nil {
			return 1
		}
		return 0
	}
}

// The group method kills the group of the session leader, and promises no more.
func TestGroupKillsTheGroup(t *testing.T) {
	l := launcherOf(t, KillGroup)
	c, out := start(t, l, shell(`sh -c 'trap "" TERM; echo ready; while :; do sleep 1000; done' & sh -c 'trap "" HUP; echo ready; while :; do sleep 1000; done' & echo ready; exit 3`))
	lines(t, out, 3)
	if e := wait(t, c); e.Code != 3 {
		t.Errorf("%+v", e)
	}
	var tree []id
	for _, pid := range groupOf(t, c.Pid()) {
		if i, ok := idOf(pid); ok {
			tree = append(tree, i)
		}
	}
	if len(tree) < 2 {
		t.Fatalf("only %v in the group", tree)
	}
	if err := c.KillTree(); err != nil {
		t.Fatal(err)
	}
	gone(t, tree)
	c.Release()
}

// groupOf returns the processes of a process group.
func groupOf(t *testing.T, pgid int) []int {
	t.Helper()
	needLinux(t)
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	var pids []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if got, err := syscall.Getpgid(pid); err == nil && got == pgid {
			pids = append(pids, pid)
		}
	}
	return pids
}

// A running Launcher must not affect the other children of the embedding program.
func TestForeignChildrenAreLeftAlone(t *testing.T) {
	everyWay(t, func(t *testing.T, l *Launcher) {
		var wg sync.WaitGroup
		for i := range 4 {
			wg.Go(func() {
				for range 10 {
					c, err := l.Start(shell("exit " + strconv.Itoa(i)))
					if err != nil {
						t.Error(err)
						return
					}
					<-c.Done()
					if e := c.Exit(); e.Code != i {
						t.Errorf("ours: %+v, want code %d", e, i)
					}
					c.Release()
				}
			})
		}
		for i := range 50 {
			wg.Go(func() {
				err := exec.Command("/bin/sh", "-c", "exit "+strconv.Itoa(i)).Run()
				var ee *exec.ExitError
				if i == 0 && err != nil || i > 0 && (!errors.As(err, &ee) || ee.ExitCode() != i) {
					t.Errorf("foreign %d: %v", i, err)
				}
			})
		}
		wg.Wait()
	})
}

// A life must end even if other code waits for "any child".
func TestChildReapedByOtherCodeEnds(t *testing.T) {
	for _, kind := range []Kill{KillCgroup, KillGroup} {
		t.Run(string(kind), func(t *testing.T) {
			l := launcherOf(t, kind)
			c, out := start(t, l, shell("echo ready; exec sleep 1000"))
			lines(t, out, 1)
			_ = c.Signal(syscall.SIGSTOP)
			stolen := make(chan struct{})
			go func() {
				defer close(stolen)
				var ws syscall.WaitStatus
				_, _ = syscall.Wait4(c.Pid(), &ws, 0, nil)
			}()
			c.KillTree()
			<-stolen
			e := wait(t, c)
			if e.Code != -1 || (e.Signal != 0 && e.Signal != 9) {
				t.Errorf("%+v", e)
			}
			c.Release()
		})
	}
}

func TestTwoLaunchers(t *testing.T) {
	everyWay(t, func(t *testing.T, a *Launcher) {
		b := launcherOf(t, a.Kill())
		ca, outA := start(t, a, shell("echo ready; exec sleep 1000"))
		cb, outB := start(t, b, shell("echo ready; exec sleep 1000"))
		lines(t, outA, 1)
		lines(t, outB, 1)
		tree := ids(t, ca)
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
		gone(t, tree)
		wait(t, ca)
		select {
		case <-cb.Done():
			t.Errorf("the other's child ended: %+v", cb.Exit())
		default:
		}
		cb.KillTree()
		wait(t, cb)
	})
}

func TestThreadsDoNotGrowWithChildren(t *testing.T) {
	needLinux(t)
	everyWay(t, func(t *testing.T, l *Launcher) {
		n := 300
		if l.Kill() == KillPidns || l.Kill() == KillKeeper {
			n = 60 // each has a helper process
		}
		for range n {
			if _, err := l.Start(&Command{Name: "sleeper", Path: "/bin/sleep", Args: []string{"sleep", "1000"}}); err != nil {
				t.Fatal(err)
			}
		}
		tasks, err := os.ReadDir("/proc/self/task")
		if err != nil {
			t.Fatal(err)
		}
		if len(tasks) >= 30 {
			t.Errorf("%d threads for %d children", len(tasks), n)
		}
	})
}

func TestOptions(t *testing.T) {
	if _, err := NewLauncher(Options{Kill: "prayer"}); !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), "prayer") {
		t.Errorf("%v", err)
	}
	everyWay(t, func(t *testing.T, l *Launcher) {
		want := slices.Index([]Kill{KillCgroup, KillPidns, KillKeeper, KillGroup}, l.Kill())
		if got := l.Missing(); len(got) != want && !(len(got) == 1 && strings.Contains(got[0], "this build")) {
			t.Errorf("%s: missing %q", l.Kill(), got)
		}
	})
	l, err := NewLauncher(Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	t.Logf("here: %s, missing %q", l.Kill(), l.Missing())
	if (l.Kill() == KillCgroup) != (l.Missing() == nil) {
		t.Errorf("%s, missing %q", l.Kill(), l.Missing())
	}
}
