//go:build !hostsup_posix

package survive_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hostsup/hostsup/internal/poll"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/sandbox"
	"github.com/hostsup/hostsup/sandbox/policy"
	"github.com/hostsup/hostsup/supervisor"
)

// holding skips the test on a machine where no cgroup holds limits.
func holding(t *testing.T, limits ...string) {
	t.Helper()
	for _, limit := range limits {
		if f, _ := sandbox.Probe().Feature(limit + " limit"); !f.Have {
			t.Skip(f.Detail)
		}
	}
}

// cgroupsOf returns the cgroups in the file of a life.
func cgroupsOf(t *testing.T, state, host string, life int) sandbox.LastingCgroups {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(state, "survive", host, strconv.Itoa(life)+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var l struct {
		Cgroups sandbox.LastingCgroups `json:"cgroups"`
	}
	if err := json.Unmarshal(b, &l); err != nil {
		t.Fatal(err)
	}
	return l.Cgroups
}

// inForce returns the limits of memory and of tasks that the kernel has for a process.
func inForce(t *testing.T, c sandbox.LastingCgroups, pid int) (memory, tasks string) {
	t.Helper()
	read := func(controller string, files ...string) string {
		path, v2 := c.Limits[controller], slices.Contains(c.InTree, controller)
		if v2 {
			path = c.Tree
		}
		procs, err := os.ReadFile(filepath.Join(path, "cgroup.procs"))
		if err != nil || !slices.Contains(strings.Fields(string(procs)), strconv.Itoa(pid)) {
			t.Errorf("process %d is not in %q: %q, %v", pid, path, procs, err)
		}
		for _, file := range files {
			if b, err := os.ReadFile(filepath.Join(path, file)); err == nil {
				return strings.TrimSpace(string(b))
			}
		}
		return "no file"
	}
	return read("memory", "memory.max", "memory.limit_in_bytes"), read("pids", "pids.max")
}

// lasting returns the cgroups of hosts that survive, made by these processes.
func lasting(t *testing.T, pids ...int) (found []string) {
	t.Helper()
	err := filepath.WalkDir("/sys/fs/cgroup", func(path string, e os.DirEntry, err error) error {
		for _, pid := range pids {
			if e != nil && e.IsDir() && strings.HasPrefix(e.Name(), fmt.Sprintf("hostsup-%d-", pid)) && strings.HasSuffix(path, ".survive") {
				found = append(found, path)
			}
		}
		return nil // removed meanwhile
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// removed fails the test unless the cgroups that processes have made are removed soon.
func removed(t *testing.T, pids ...int) {
	t.Helper()
	poll.Until(t, 20*time.Second, "no cgroup is left", func() bool { return len(lasting(t, pids...)) == 0 })
}

// TestLimitsStayInForce kills a supervisor of a host with limits, has the next one change them, and the one after it take
// them away.
func TestLimitsStayInForce(t *testing.T) {
	holding(t, "memory", "tasks")
	p := &plan{State: t.TempDir(), Demo: []string{"h"}, Limits: policy.Limits{Memory: 256 << 20, Tasks: 100, Files: 200}}
	f := begin(t, p)
	pid := f.pid("h")
	expect := func(want int) {
		t.Helper()
		memory, tasks := inForce(t, cgroupsOf(t, p.State, "h", 1), pid)
		if memory != strconv.Itoa(want) || tasks != "100" {
			t.Errorf("memory %s, tasks %s, expected %d and 100", memory, tasks, want)
		}
		if b, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", pid)); err != nil || !strings.Contains(strings.Join(strings.Fields(string(b)), " "), "Max open files 200 200 files") {
			t.Errorf("%s, %v", b, err)
		}
	}
	expect(256 << 20)
	f.kill()
	expect(256 << 20)
	second := begin(t, p)
	if got := second.pid("h"); got != pid {
		t.Errorf("process %d, expected %d", got, pid)
	}
	expect(256 << 20)
	second.kill()
	p.Limits.Memory = 300 << 20
	third := begin(t, p)
	if got := third.pid("h"); got != pid {
		t.Errorf("process %d, expected %d", got, pid)
	}
	expect(300 << 20)
	third.kill()
	p.Limits.Memory = 0
	sup := next(t, p)
	h := host(t, sup, "h")
	if got := pidOf(t, h); got == pid || h.Status().Life != 2 {
		t.Errorf("process %d, life %d: its memory is limited still", got, h.Status().Life)
	}
	awaitEnd(t, pid)
	if err := h.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	removed(t, f.cmd.Process.Pid, second.cmd.Process.Pid, third.cmd.Process.Pid, os.Getpid())
}

// hungry is a script that takes more and more memory once a file is there, and removes that file.
func hungry(file string) string {
	return "until test -e " + file + "; do sleep 0.01; done; rm " + file + "; exec tail /dev/zero"
}

// TestOutOfMemoryIsReported has a limited host run out of memory, once with a supervisor that has taken it back, and once
// without one.
func TestOutOfMemoryIsReported(t *testing.T) {
	holding(t, "memory")
	for _, alone := range []bool{false, true} {
		t.Run(fmt.Sprintf("alone %t", alone), func(t *testing.T) {
			eat := filepath.Join(t.TempDir(), "eat")
			p := &plan{State: t.TempDir(), Shell: []string{"h"}, Run: hungry(eat), Limits: policy.Limits{Memory: 32 << 20}}
			f := begin(t, p)
			f.kill()
			var sup *supervisor.Supervisor
			if !alone {
				sup = next(t, p)
				if err := sup.Ready(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.WriteFile(eat, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if alone {
				tree := cgroupsOf(t, p.State, "h", 1).Limits["memory"]
				if tree == "" {
					tree = cgroupsOf(t, p.State, "h", 1).Tree
				}
				poll.Until(t, 20*time.Second, "it has ended", func() bool {
					b, err := os.ReadFile(filepath.Join(tree, "cgroup.procs"))
					return err == nil && len(b) == 0
				})
				sup = next(t, p)
			}
			var reports []supervisor.CrashReport
			poll.Until(t, 20*time.Second, "the report is filed", func() bool {
				reports, _ = sup.Crashes("h")
				return len(reports) > 0
			})
			if r := reports[0]; r.Life != 1 || !strings.Contains(r.Reason, "out of memory (limit 32 MiB") {
				t.Errorf("life %d, %q", r.Life, r.Reason)
			}
			h := host(t, sup, "h")
			if err := h.Wait(t.Context(), lifecycle.Running); err != nil {
				t.Error(err)
			}
			if s := h.Status(); s.Life != 2 || s.Crashes != 1 {
				t.Errorf("%+v", s)
			}
		})
	}
}

// TestTheWholeTreeEndsWithTheShim has a host start a process in a session of its own, and kills the shim: with its
// supervisor, and after that.
func TestTheWholeTreeEndsWithTheShim(t *testing.T) {
	l, err := sandbox.NewLauncher(sandbox.Options{})
	if err != nil {
		t.Fatal(err)
	}
	kill := l.Kill()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if kill != sandbox.KillCgroup {
		t.Skipf("the kill method is %s", kill)
	}
	for _, supervised := range []bool{true, false} {
		t.Run(fmt.Sprintf("supervised %t", supervised), func(t *testing.T) {
			p := &plan{State: t.TempDir(), Demo: []string{"h"}}
			f := begin(t, p)
			pid := f.pid("h")
			child, err := strconv.Atoi(f.call(`h spawn {"setsid":true}`))
			if err != nil {
				t.Fatal(err)
			}
			if !supervised {
				f.kill()
			}
			if err := syscall.Kill(shimOf(t, p.State, "h", 1), syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			awaitEnd(t, pid)
			if supervised {
				awaitEnd(t, child)
				f.kill()
			}
			if got := pidOf(t, host(t, next(t, p), "h")); got == pid {
				t.Error("the old process answers")
			}
			awaitEnd(t, child)
			poll.Until(t, 20*time.Second, "the cgroup is removed", func() bool { return len(lasting(t, f.cmd.Process.Pid)) == 0 })
		})
	}
}

// TestAProcessOutsideOfItsCgroupIsEnded moves the process of a limited host out of its cgroup, while there is no supervisor.
func TestAProcessOutsideOfItsCgroupIsEnded(t *testing.T) {
	holding(t, "tasks")
	p := &plan{State: t.TempDir(), Demo: []string{"h"}, Limits: policy.Limits{Tasks: 100}}
	f := begin(t, p)
	pid := f.pid("h")
	f.kill()
	c := cgroupsOf(t, p.State, "h", 1)
	path := c.Limits["pids"]
	if path == "" {
		path = c.Tree
	}
	if err := os.WriteFile(filepath.Join(filepath.Dir(path), "cgroup.procs"), []byte(strconv.Itoa(pid)), 0); err != nil {
		t.Fatal(err)
	}
	if got := pidOf(t, host(t, next(t, p), "h")); got == pid {
		t.Error("a process without its limits is taken back")
	}
	awaitEnd(t, pid)
	removed(t, f.cmd.Process.Pid)
}

// TestLimitsChangeWhileItRuns changes the limits of a host as a reload does.
func TestLimitsChangeWhileItRuns(t *testing.T) {
	holding(t, "memory", "tasks")
	p := &plan{State: t.TempDir(), Demo: []string{"h"}, Limits: policy.Limits{Memory: 256 << 20, Tasks: 100}}
	sup := next(t, p)
	h := host(t, sup, "h")
	pid := pidOf(t, h)
	if err := h.Ref().Limit(policy.Limits{Memory: 300 << 20, Tasks: 90}, false); err != nil {
		t.Error(err)
	}
	if memory, tasks := inForce(t, cgroupsOf(t, p.State, "h", 1), pid); memory != strconv.Itoa(300<<20) || tasks != "90" {
		t.Errorf("memory %s, tasks %s", memory, tasks)
	}
	if err := h.Ref().Limit(policy.Limits{Memory: 300 << 20}, true); !errors.Is(err, sandbox.ErrLimitsFixed) {
		t.Errorf("without a limit of tasks: %v", err)
	}
	if s := h.Status(); s.RSSBytes == nil || *s.RSSBytes < 1<<20 {
		t.Errorf("%+v", s)
	}
}
