//go:build !hostsup_posix

package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/hostsup/hostsup/internal/helper"
)

// A killed keeper is replaced, and the new one works.
func TestKeeperIsReplaced(t *testing.T) {
	v := newVictim(t, KillCgroup, stay, 2)
	for range 3 {
		if len(v.helpers) != 1 {
			t.Fatalf("keepers %v", v.helpers)
		}
		old := v.helpers[0]
		if err := syscall.Kill(old.pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		if !eventually(func() bool {
			v.ask()
			return len(v.helpers) == 1 && v.helpers[0] != old && v.missing == nil
		}) {
			t.Fatalf("keepers %v, missing %q", v.helpers, v.missing)
		}
	}
	v.kill()
	v.nothingLeft()
}

// While no keeper runs, Missing reports the consequence.
func TestMissingReportsLostKeeper(t *testing.T) {
	l := launcherOf(t, KillCgroup)
	k := l.impl.(*base).back.(*cgroups).keeper
	if !k.set(k.proc, fmt.Errorf("it ended by SIGKILL")) {
		t.Fatal("closed")
	}
	got := l.Missing()
	if len(got) != 1 || !strings.HasPrefix(got[0], "keeper: it ended by SIGKILL;") {
		t.Errorf("missing %q", got)
	}
}

// The signals of a terminal or a shutdown do not end a keeper, and it works when the
// supervisor ends afterwards.
func TestKeeperIgnoresSignals(t *testing.T) {
	for _, kind := range []Kill{KillCgroup, KillPidns, KillKeeper} {
		t.Run(string(kind), func(t *testing.T) {
			v := newVictim(t, kind, stay, 1)
			for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT} {
				for _, h := range v.helpers {
					if err := syscall.Kill(h.pid, sig); err != nil {
						t.Fatal(err)
					}
				}
			}
			before := v.helpers
			v.ask()
			if len(v.helpers) != 1 || v.helpers[0] != before[0] {
				t.Errorf("helpers %v, before %v", v.helpers, before)
			}
			v.kill()
			v.nothingLeft()
		})
	}
}

// With a keeper or an init per life, the life ends with it.
func TestKillingTheHelperEndsTheLife(t *testing.T) {
	for _, kind := range []Kill{KillPidns, KillKeeper} {
		t.Run(string(kind), func(t *testing.T) {
			l := launcherOf(t, kind)
			c, out := start(t, l, shell("echo ready; exec sleep 1000"))
			lines(t, out, 1)
			tree := ids(t, c)
			if err := c.tree.(*nursed).helper.signal(syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			if e := wait(t, c); e.Signal != 9 {
				t.Errorf("%+v", e)
			}
			for _, i := range tree {
				if i.alive() {
					t.Errorf("%v is still there", i)
				}
			}
			if err := c.KillTree(); err != nil {
				t.Error(err)
			}
			c.Release()
		})
	}
}

// A command that stops its own keeper does not escape.
func TestStoppedKeeperStillEndsTheTree(t *testing.T) {
	l := launcherOf(t, KillKeeper)
	c, out := start(t, l, shell(stay, "2"))
	lines(t, out, 3)
	tree := ids(t, c)
	if err := c.tree.(*nursed).helper.signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if err := c.KillTree(); err != nil {
		t.Fatal(err)
	}
	wait(t, c)
	gone(t, tree)
	c.Release()
}

func TestKeeperIsSmallAndHoldsNothing(t *testing.T) {
	l := launcherOf(t, KillCgroup)
	helpers := helpersOf(os.Getpid())
	if len(helpers) != 1 {
		t.Fatalf("keepers %v", helpers)
	}
	proc := fmt.Sprintf("/proc/%d/", helpers[0].pid)
	read := func(name string) string {
		b, err := os.ReadFile(proc + name)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	if got := strings.TrimSpace(read("comm")); got != helper.Name {
		t.Errorf("ps shows %q", got)
	}
	if cwd, _ := os.Readlink(proc + "cwd"); cwd != "/" {
		t.Errorf("works in %s", cwd)
	}
	if sid := strings.Fields(read("stat"))[5]; sid != strconv.Itoa(helpers[0].pid) {
		t.Errorf("session %s", sid)
	}
	var held []string
	holdsNothing := func() bool {
		entries, err := os.ReadDir(proc + "fd")
		if err != nil {
			t.Fatal(err)
		}
		held = nil
		for _, e := range entries {
			if n, _ := strconv.Atoi(e.Name()); n > helper.FD+1 {
				target, _ := os.Readlink(proc + "fd/" + e.Name())
				held = append(held, e.Name()+" "+target)
			}
		}
		return len(held) == 0
	}
	// While it starts, it reads which memory it can unmap.
	if !eventually(holdsNothing) {
		t.Errorf("holds %s", held)
	}
	var rss, own, threads int
	for line := range strings.Lines(read("status")) {
		_, _ = fmt.Sscanf(line, "VmRSS: %d kB", &rss)
		_, _ = fmt.Sscanf(line, "RssAnon: %d kB", &own)
		_, _ = fmt.Sscanf(line, "Threads: %d", &threads)
	}
	t.Logf("keeper: %d KiB of memory of its own, %d KiB of the program's file mapped; %d threads", own, rss-own, threads)
	if !raceEnabled && (own == 0 || own > 3<<10) {
		t.Errorf("%d KiB of its own", own)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if helpers[0].alive() {
		t.Error("the keeper outlives its launcher")
	}
}

// A program that only happens to have the keeper's name runs as itself.
func TestProgramNamedKeeperRunsAsItself(t *testing.T) {
	cmd := exec.Command("/proc/self/exe", "-test.list", "TestProgramNamedKeeper")
	cmd.Args[0] = helper.Name
	b, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(b), "TestProgramNamedKeeperRunsAsItself") {
		t.Errorf("%v: %s", err, b)
	}
	cmd = exec.Command("/proc/self/exe", "-test.list", "TestProgramNamedKeeper")
	cmd.Args[0] = helper.Name
	cmd.Env = append(os.Environ(), helper.Var+"=3")
	if b, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(b), "TestProgramNamedKeeperRunsAsItself") {
		t.Errorf("with the variable: %v: %s", err, b)
	}
}
