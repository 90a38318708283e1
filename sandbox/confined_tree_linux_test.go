//go:build !hostsup_posix

package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/internal/sys"
	"github.com/hostsup/hostsup/sandbox/policy"
)

// staying has ways in which a tree tries to survive. Each prints ready three times.
var staying = map[string]string{
	"stubborn": stay,
	"orphans":  leave,
	"stopped":  `setsid sh -c 'echo ready; kill -STOP $$; sleep 1000' & echo ready; echo ready; kill -STOP $$; sleep 1000`,
	// A new session every few milliseconds, whose parent has already ended.
	"reforker": `export S='sleep 0.005; setsid sh -c "$S" & exit'; setsid sh -c "$S" & echo ready; echo ready; echo ready; trap "" TERM; while :; do sleep 1000; done`,
}

// confinedWays runs a test for all levels and kill methods of this machine.
func confinedWays(t *testing.T, test func(t *testing.T, kind Kill, level policy.Level)) {
	confines(t, policy.Landlock)
	for _, level := range []policy.Level{Probe().Level, policy.Landlock} {
		for _, kind := range []Kill{KillCgroup, KillPidns, KillKeeper, KillGroup} {
			if kind == KillGroup && level == policy.Landlock {
				continue // promises less
			}
			t.Run(fmt.Sprintf("%s/%s", level, kind), func(t *testing.T) { test(t, kind, level) })
		}
	}
}

func TestConfinedKillTree(t *testing.T) {
	confinedWays(t, func(t *testing.T, kind Kill, level policy.Level) {
		for name, script := range staying {
			t.Run(name, func(t *testing.T) {
				l := launcherWith(t, Options{Kill: kind, Strongest: level})
				defer func() {
					if err := l.Close(); err != nil {
						t.Error(err)
					}
				}()
				cmd := shell(script, "2")
				cmd.Policy = strict(t)
				cmd.Policy.Level = level
				c, out := start(t, l, cmd)
				lines(t, out, 3)
				all := ids(t, c)
				if len(all) == 0 && name != "orphans" {
					t.Fatal("no processes")
				}
				if err := c.KillTree(); err != nil {
					t.Fatal(err)
				}
				wait(t, c)
				if len(all) > 0 {
					gone(t, all)
				}
				// No process has its output open any more.
				for out.Scan() {
				}
				c.Release()
			})
		}
	})
}

func TestConfinedKilledSupervisorLeavesNothing(t *testing.T) {
	confinedWays(t, func(t *testing.T, kind Kill, level policy.Level) {
		for name, script := range staying {
			t.Run(name, func(t *testing.T) {
				v := newConfinedVictim(t, kind, level, script, 2)
				if len(v.tree) == 0 {
					t.Fatal("no processes")
				}
				marks := limitFolders(v.cmd.Process.Pid)
				v.kill()
				v.nothingLeft()
				if len(marks) == 0 {
					return
				}
				// The next Launcher removes an empty folder. The kernel reports it empty a
				// moment after the processes have ended.
				next := func() {
					l := launcherOf(t, "")
					c, err := l.Start(&Command{Name: "x", Path: "/bin/true", Args: []string{"true"}, Limits: policy.Limits{Tasks: 10, Memory: 1 << 28, CPU: 1, Enforce: policy.BestEffort}})
					if err != nil {
						t.Fatal(err)
					}
					wait(t, c)
					c.Release()
				}
				if !eventually(func() bool { next(); return len(limitFolders(v.cmd.Process.Pid)) == 0 }) {
					t.Errorf("left %v", limitFolders(v.cmd.Process.Pid))
				}
			})
		}
	})
}

// limitFolders returns the cgroups of limits that process pid has created.
func limitFolders(pid int) []string {
	var found []string
	for _, c := range controllers {
		if parent, err := sys.OwnCgroup1(c); err == nil {
			more, _ := filepath.Glob(fmt.Sprintf("%s/%s%d-*", parent, folderPrefix, pid))
			found = append(found, more...)
		}
	}
	return found
}

// The end of a confined tree leaves no mount, no user and no cgroup.
func TestConfinedLeavesNothing(t *testing.T) {
	l := weakly(t, "")
	before, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		output(t, l, strict(t), `setsid sleep 1000 >/dev/null 2>&1 & exit 0`)
	}
	after, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	if a, b := strings.Count(string(before), "\n"), strings.Count(string(after), "\n"); a != b {
		t.Errorf("%d mounts, %d before", b, a)
	}
}

// A start can cover thousands of files, whose mounts take a long script; folders that a
// pattern cannot search are covered as a whole.
func TestConfinedManyDenied(t *testing.T) {
	l := weakly(t, "")
	confines(t, policy.NoCgroup)
	dir := manyFiles(t, 6000)
	deep := dir + "/deep" + strings.Repeat("/d", 150)
	if err := os.MkdirAll(deep, 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, deep+"/deep.key", "secret")
	write(t, dir+"/deep/fine", "fine")
	p := strict(t)
	p.Level = policy.NoCgroup
	p.Write, p.Deny = []string{dir}, []string{dir + "/**/*.key"}
	out, _ := output(t, l, p, `exec 2>/dev/null; cd $1; cat */*.key; cat deep/fine; cd deep; while cd d; do :; done; cat deep.key; ls; echo end`, dir)
	if out != "fined\nend\n" { // the covered folder is visible, but cannot be entered
		t.Errorf("%.500q", out)
	}
}
