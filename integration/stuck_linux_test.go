//go:build linux

package integration

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hostsup/hostsup/internal/freezer"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/record"
	"github.com/hostsup/hostsup/sandbox"
	"github.com/hostsup/hostsup/supervisor"
)

// stuckEvents are the events about processes that do not end.
func stuckEvents(sup *supervisor.Supervisor) (out []supervisor.Event) {
	for _, e := range sup.History() {
		if e.Kind == record.KindStuck {
			out = append(out, e)
		}
	}
	return out
}

// everyKill is everyWay with the process group.
func everyKill(t *testing.T, test func(t *testing.T, kill sandbox.Kill)) {
	everyWay(t, test)
	t.Run(string(sandbox.KillGroup), func(t *testing.T) { t.Parallel(); test(t, sandbox.KillGroup) })
}

// TestFrozenHost stops a host whose process cannot be killed: the stop fails
// and names it, a start begins another life, and so does a host that crashes.
func TestFrozenHost(t *testing.T) {
	t.Parallel()
	everyKill(t, func(t *testing.T, kill sandbox.Kill) {
		sup, h := alone(t, demoHost("ts", crashes(100), func(h *supervisor.HostSpec) { h.Stop.Grace = 10 * time.Millisecond }), supervisor.WithKill(kill))
		pid := *h.Status().PID
		thaw := freezer.Freeze(t, pid)
		err := h.Stop(ctx(t))
		named := fmt.Sprintf("pid %d (state D)", pid)
		if !errors.Is(err, supervisor.ErrFailed) || !strings.Contains(err.Error(), named) {
			t.Errorf("stop: %v", err)
		}
		if st := h.Status(); st.State != lifecycle.Failed || !strings.Contains(*st.Reason, named) {
			t.Errorf("%s: %s", st.State, *st.Reason)
		}
		if e := stuckEvents(sup); len(e) != 1 || !slices.Equal(e[0].PIDs, []int{pid}) || *e[0].Host != "ts" || *e[0].Life != 1 || !strings.Contains(e[0].Reason, named) {
			t.Errorf("events %+v", e)
		}
		if err := h.Start(ctx(t)); err != nil {
			t.Fatal(err)
		}
		echoes(t, h)
		thaw()
		eventually(t, func() bool { return syscall.Kill(pid, 0) != nil }, "the process ends when it can")
	})
}

// TestFrozenChild crashes a host whose child cannot be killed: the next life
// waits for it as long as is said, and no longer.
func TestFrozenChild(t *testing.T) {
	t.Parallel()
	everyWay(t, func(t *testing.T, kill sandbox.Kill) {
		mark := fmt.Sprintf("%d-%s-frozen", os.Getpid(), kill)
		sup, h := alone(t, demoHost("ts", crashes(100), marked(mark)), supervisor.WithKill(kill))
		pid := *h.Status().PID
		if err := h.Call(ctx(t), "spawn", map[string]bool{"setsid": true}, nil); err != nil {
			t.Fatal(err)
		}
		left := slices.DeleteFunc(processes(mark), func(p int) bool { return p == pid || isHelper(p) })
		freezer.Freeze(t, left...)
		signal(t, h, syscall.SIGKILL)
		runs(t, h, 2)
		e := stuckEvents(sup)
		if len(e) != 1 || !slices.Contains(left, e[0].PIDs[0]) || *e[0].Life != 1 {
			t.Errorf("%v left, events %+v", left, e)
		}
		echoes(t, h)
	})
}

// isHelper says whether a process is a keeper or an init of ours.
func isHelper(pid int) bool {
	name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	return string(name) == "hostsup-keeper\n"
}

// TestSupervisorStopsBesideFrozenHost stops a whole supervisor by signals while
// a process of a host cannot be killed: the others are stopped, and it ends
// with a code and says why.
func TestSupervisorStopsBesideFrozenHost(t *testing.T) {
	t.Parallel()
	for _, signals := range []int{1, 2} {
		t.Run(fmt.Sprintf("%d signals", signals), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			config, socket := filepath.Join(dir, "config.hcl"), filepath.Join(dir, "s")
			text := fmt.Sprintf(`
supervisor { state_dir = %q }
host "frozen" {
  command = [%q, "demo-host"]
  stop { grace = "100ms" }
}
host "other" { command = [%[2]q, "demo-host"] }
`, dir, hostsupBinary(t))
			if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			run := exec.CommandContext(ctx(t), hostsupBinary(t), "run", "-c", config, "--socket", socket)
			var said strings.Builder
			run.Stderr = &said
			if err := run.Start(); err != nil {
				t.Fatal(err)
			}
			pidOf := func(host string) (pid int) {
				eventually(t, func() bool {
					var st supervisor.Status
					out, _ := exec.Command(hostsupBinary(t), "--socket", socket, "status", host, "--json").Output()
					if json.Unmarshal(out, &st) != nil || len(st.Hosts) == 0 || st.Hosts[0].State != lifecycle.Running {
						return false
					}
					pid = *st.Hosts[0].PID
					return true
				}, host)
				return pid
			}
			frozen, other := pidOf("frozen"), pidOf("other")
			thaw := freezer.Freeze(t, frozen)
			for range signals {
				if err := run.Process.Signal(syscall.SIGTERM); err != nil {
					t.Error(err)
				}
				eventually(t, func() bool { return syscall.Kill(other, 0) != nil }, "the other host is stopped")
			}
			err := run.Wait()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != 1 {
				t.Errorf("%v", err)
			}
			if want := fmt.Sprintf("pid %d (state D)", frozen); !strings.Contains(said.String(), want) {
				t.Errorf("says nothing of %s:\n%s", want, said.String())
			}
			thaw()
			eventually(t, func() bool { return syscall.Kill(frozen, 0) != nil }, "the keeper ends what is left when it can")
		})
	}
}
