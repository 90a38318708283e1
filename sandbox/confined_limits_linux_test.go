//go:build !hostsup_posix

package sandbox

import (
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

	"github.com/hostsup/hostsup/internal/require"
	"github.com/hostsup/hostsup/internal/sys"
	"github.com/hostsup/hostsup/sandbox/policy"
)

func init() {
	// eat allocates memory until it is killed.
	roles["eat"] = func([]string) int {
		var all [][]byte
		for range 4096 {
			b := make([]byte, 1<<20)
			for i := 0; i < len(b); i += 4096 {
				b[i] = 1
			}
			all = append(all, b)
			time.Sleep(100 * time.Microsecond) //nolint:forbidigo // slow enough to be sampled
		}
		return len(all) & 1
	}
}

// limited runs a test for commands with limits, with and without a policy.
func limited(t *testing.T, limits policy.Limits, test func(t *testing.T, l *Launcher, cmd func(*Command) *Command)) {
	for _, confined := range []bool{false, true} {
		t.Run(fmt.Sprintf("confined=%v", confined), func(t *testing.T) {
			l := weakly(t, "")
			test(t, l, func(c *Command) *Command {
				c.Limits = limits
				c.Limits.Enforce = policy.BestEffort // refusals are the next test
				if confined {
					c.Policy = strict(t)
					if exe, err := os.Executable(); err == nil {
						c.Policy.Exec = append(c.Policy.Exec, exe)
					}
				}
				return c
			})
		})
	}
}

func roleCommand(name string) *Command {
	exe, _ := os.Executable()
	return &Command{Name: name + ".1", Path: exe, Args: []string{name}, Env: []string{quickExit, roleVar + "=" + name}}
}

// A start is refused exactly for the limits that, according to the probe, no cgroup
// enforces; with best-effort it succeeds and reports them.
func TestLimitsStrict(t *testing.T) {
	for limit, limits := range map[string]policy.Limits{"memory": {Memory: 1 << 30}, "tasks": {Tasks: 100}, "cpu": {CPU: 1}, "": {Files: 64}} {
		for _, confined := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, confined=%v", limit, confined), func(t *testing.T) {
				l := weakly(t, "")
				f, _ := Probe().Feature(limit + " limit")
				held := f.Have || limit == ""
				cmd := shell("exit 3")
				if confined {
					cmd.Policy = strict(t)
				}
				cmd.Limits = limits
				c, err := l.Start(cmd)
				var start *StartError
				switch {
				case err == nil:
					if wait(t, c); !held || len(c.Confinement().Weaker) > 0 {
						t.Errorf("it starts, and lacks %v", c.Confinement().Weaker)
					}
					c.Release()
				case held || !errors.As(err, &start) || start.Step != StepPolicy || !start.Permanent():
					t.Fatal(err)
				default:
					if all := policy.Errors(err); len(all) != 1 || all[0].Field != "limits."+limit || !strings.Contains(all[0].Help, "best-effort") {
						t.Errorf("%q", all)
					}
				}
				weaker, refused := Probe().Limits(cmd.Policy, limits)
				if len(weaker) > 0 || (refused == nil) != held {
					t.Errorf("the probe says %v, %v", weaker, refused)
				}

				cmd.Limits.Enforce = policy.BestEffort
				if c, err = l.Start(cmd); err != nil {
					t.Fatal(err)
				}
				wait(t, c)
				c.Release()
				if in := c.Confinement(); held != (len(in.Weaker) == 0) || !held && (in.Weaker[0].Limit != limit || !slices.Contains(in.Missing, "limit "+in.Weaker[0].String())) {
					t.Errorf("%+v", in)
				}
				if weaker, refused := Probe().Limits(cmd.Policy, cmd.Limits); refused != nil || held != (len(weaker) == 0) {
					t.Errorf("the probe says %v, %v", weaker, refused)
				}
			})
		}
	}
}

func TestLimitMemory(t *testing.T) {
	limit := int64(64 << 20)
	if raceEnabled {
		limit *= 2
	}
	limited(t, policy.Limits{Memory: limit}, func(t *testing.T, l *Launcher, cmd func(*Command) *Command) {
		c, err := l.Start(cmd(roleCommand("eat")))
		if err != nil {
			t.Fatal(err)
		}
		e := wait(t, c)
		c.Release()
		if !e.OutOfMemory || e.Limit != "memory" || e.Signal != int(syscall.SIGKILL) {
			t.Errorf("%+v", e)
		}
		if e.MemoryPeak < limit*3/4 {
			t.Errorf("peak %d of %d", e.MemoryPeak, limit)
		}
		if os.Getuid() == 0 && e.MemoryPeak > limit+1<<20 {
			t.Errorf("peak %d of %d", e.MemoryPeak, limit)
		}
	})
	// A process below the limit is not killed.
	limited(t, policy.Limits{Memory: 1 << 30}, func(t *testing.T, l *Launcher, cmd func(*Command) *Command) {
		c, err := l.Start(cmd(shell("head -c 10000000 /dev/zero | tail -c 1 >/dev/null; exit 3")))
		if err != nil {
			t.Fatal(err)
		}
		e := wait(t, c)
		c.Release()
		if e.OutOfMemory || e.Limit != "" || e.Code != 3 {
			t.Errorf("%+v", e)
		}
	})
}

// What a tree uses of the memory that limits it is what its limit counts: shared pages once,
// and no files that are only cached.
func TestUsageUnderAMemoryLimit(t *testing.T) {
	const own, file = 20 << 20, 30 << 20
	limited(t, policy.Limits{Memory: 1 << 30}, func(t *testing.T, l *Launcher, cmd func(*Command) *Command) {
		dir := t.TempDir()
		script := fmt.Sprintf(`x=$(head -c %d /dev/zero | tr '\0' a); (sleep 1000)& (echo $x >/dev/null; sleep 1000)& `, own)
		var st syscall.Statfs_t
		if err := syscall.Statfs(dir, &st); err != nil {
			t.Fatal(err)
		}
		command := cmd(shell(script))
		const tmpfs = 0x01021994 // its files are memory that cannot be taken back
		if command.Policy == nil && st.Type != tmpfs {
			script += fmt.Sprintf("head -c %d /dev/zero >%s/f; ", file, dir)
		}
		command.Args[2] = script + "echo ready; wait"
		c, out := start(t, l, command)
		defer c.Release()
		lines(t, out, 1)
		memory, _, err := c.Usage()
		if err != nil || memory < own {
			t.Errorf("%d bytes, %v", memory, err)
		}
		_, folder := c.held.account()
		if _, v2, _ := c.tree.account(); folder == "" && v2 == "" || len(c.Confinement().Weaker) > 0 {
			return // it is the sum over the processes
		}
		if memory > own+file {
			t.Errorf("%d bytes, of which %d are cached", memory, file)
		}
	})
}

// What a tree uses can be asked for at any time, also while its limits are removed.
func TestUsageBesideRelease(t *testing.T) {
	limited(t, policy.Limits{Memory: 1 << 30}, func(t *testing.T, l *Launcher, cmd func(*Command) *Command) {
		c, out := start(t, l, cmd(shell("echo ready; exec sleep 1000")))
		lines(t, out, 1)
		over, asked := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(asked)
			for {
				select {
				case <-over:
					return
				default:
					_, _, _ = c.Usage() // of what has ended it is an error
				}
			}
		}()
		if err := c.KillTree(); err != nil {
			t.Error(err)
		}
		wait(t, c)
		c.Release()
		if !eventually(func() bool { _, folder := c.held.account(); return folder == "" }) {
			t.Error("the limits are left")
		}
		close(over)
		<-asked
	})
}

func TestLimitTasks(t *testing.T) {
	limited(t, policy.Limits{Tasks: 10}, func(t *testing.T, l *Launcher, cmd func(*Command) *Command) {
		// The shell ends when it cannot fork.
		c, err := l.Start(cmd(shell(`i=0; while [ $i -lt 60 ]; do sleep 1000 & i=$((i+1)); done; exit 77`)))
		if err != nil {
			t.Fatal(err)
		}
		e := wait(t, c)
		c.Release()
		enforced := os.Getuid() == 0 || c.Confinement().Level != policy.None
		if enforced == (e.Code == 77) {
			t.Errorf("%+v", e)
		}
		if os.Getuid() == 0 && e.Limit != "tasks" {
			t.Errorf("%+v", e)
		}
		if os.Getuid() != 0 && len(c.Confinement().Missing) == 0 {
			t.Error("the confinement does not report how tasks are limited")
		}
	})
}

func confined(c *Child) bool { return c.Confinement().Level != policy.None }

// mayRaiseLimits reports whether processes of this user may raise their limits
// (CAP_SYS_RESOURCE), as root mostly may.
func mayRaiseLimits(t *testing.T) bool {
	t.Helper()
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(b), "CapEff:\t")
	caps, err := strconv.ParseUint(strings.Fields(rest)[0], 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	const sysResource = 24
	return caps&(1<<sysResource) != 0
}

func TestLimitsPerProcess(t *testing.T) {
	limited(t, policy.Limits{Files: 64, FileSize: 1 << 20, CPU: 2}, func(t *testing.T, l *Launcher, cmd func(*Command) *Command) {
		if os.Getuid() != 0 {
			t.Log("cpu is not enforceable here")
		}
		c, out := start(t, l, cmd(shell(`ulimit -Hn; ulimit -Hf; ulimit -Hc; ulimit -n 100 2>/dev/null && echo raised; echo end`)))
		got := strings.Join(lines(t, out, 4), " ")
		if !confined(c) && mayRaiseLimits(t) {
			got = strings.Replace(got, " raised", " end", 1)
		}
		if got != "64 2048 0 end" && got != "64 1024 0 end" {
			t.Errorf("%q", got)
		}
		wait(t, c)
		c.Release()
	})
}

func TestLimitFileSize(t *testing.T) {
	limited(t, policy.Limits{FileSize: 1 << 16}, func(t *testing.T, l *Launcher, cmd func(*Command) *Command) {
		f := filepath.Join(t.TempDir(), "f")
		cm := cmd(shell(`exec head -c 1000000 /dev/zero > $1`, f))
		if cm.Policy != nil {
			cm.Args[len(cm.Args)-1] = "/tmp/f"
		}
		c, err := l.Start(cm)
		if err != nil {
			t.Fatal(err)
		}
		if e := wait(t, c); e.Signal != int(syscall.SIGXFSZ) || e.Limit != "file_size" {
			t.Errorf("%+v", e)
		}
		c.Release()
	})
}

func TestLimitCPU(t *testing.T) {
	if os.Getuid() != 0 {
		require.Privilege(t, "a cgroup to divide")
	}
	limited(t, policy.Limits{CPU: 0.2}, func(t *testing.T, l *Launcher, cmd func(*Command) *Command) {
		began := time.Now()
		c, err := l.Start(cmd(shell(`i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done`)))
		if err != nil {
			t.Fatal(err)
		}
		e := wait(t, c)
		c.Release()
		if took, used := time.Since(began), e.User+e.System; took > 200*time.Millisecond && used > took*2/5 {
			t.Errorf("%v of processor time in %v", used, took)
		}
	})
}

// The whole tree ends with one process that was killed for lack of memory.
func TestLimitMemoryEndsTheTree(t *testing.T) {
	if os.Getuid() != 0 {
		require.Privilege(t, "a cgroup to divide")
	}
	limited(t, policy.Limits{Memory: 64 << 20}, func(t *testing.T, l *Launcher, cmd func(*Command) *Command) {
		c, err := l.Start(cmd(shell(`sleep 1000 & head -c 300000000 /dev/zero | tail -c 200000000 >/dev/null; sleep 1000`)))
		if err != nil {
			t.Fatal(err)
		}
		if e := wait(t, c); !e.OutOfMemory || e.Signal != int(syscall.SIGKILL) {
			t.Errorf("%+v", e)
		}
		c.Release()
	})
}

// For a v2 controller that no v1 hierarchy has, the life's cgroup is split: the init is
// in one part and the limited processes in the other.
func TestLimitUnified(t *testing.T) {
	own, err := sys.OwnCgroup()
	if err != nil {
		require.Missing(t, "a cgroup v2 hierarchy: %v", err)
	}
	top, err := sys.OpenDir(own)
	if err != nil {
		require.Missing(t, "%v", err)
	}
	defer sys.Close(top)
	const controller = "hugetlb" // representative: on many machines those of limits are in v1
	if have, _ := sys.CgroupText(top, "cgroup.controllers"); !strings.Contains(have, controller) {
		require.Missing(t, "the controller %s in %s, which has %q", controller, own, have)
	}
	before, _ := sys.CgroupText(top, "cgroup.subtree_control")
	defer func(old []string) {
		controllers = old
		if after, _ := sys.CgroupText(top, "cgroup.subtree_control"); after != before {
			if err := sys.SetCgroup(top, "cgroup.subtree_control", "-"+controller); err != nil {
				t.Error(err)
			}
		}
	}(controllers)
	for _, confined := range []bool{false, true} {
		t.Run(fmt.Sprintf("confined=%v", confined), func(t *testing.T) {
			l := launcherOf(t, KillCgroup)
			Probe() // before the controllers change
			controllers = []string{controller}
			cmd := shell("sleep 1000 & echo ready; exec sleep 1000")
			cmd.Limits = policy.Limits{CPU: 1} // the cgroup has this controller
			if confined {
				cmd.Policy = strict(t)
			}
			c, out := start(t, l, cmd)
			lines(t, out, 1)
			all := ids(t, c)
			if len(all) != 2 {
				t.Errorf("processes %v", all)
			}
			for _, i := range all {
				b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", i.pid))
				if err != nil {
					t.Fatal(err)
				}
				if !strings.HasSuffix(strings.TrimSpace(string(b)), "/host") {
					t.Errorf("pid %d is in %s", i.pid, b)
				}
			}
			if err := c.KillTree(); err != nil {
				t.Fatal(err)
			}
			wait(t, c)
			gone(t, all)
			c.Release()
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
