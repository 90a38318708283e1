//go:build !hostsup_posix

package survive_test

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hostsup/hostsup/internal/poll"
	"github.com/hostsup/hostsup/internal/sys"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/sandbox/policy"
	"github.com/hostsup/hostsup/supervisor"
)

// marked returns the processes that have a variable in their environment, those of shims excepted: a shim
// has another environment than its command.
func marked(t *testing.T, variable string) (pids []int) {
	t.Helper()
	paths, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(append([]byte{0}, b...), []byte("\x00"+variable+"\x00")) {
			continue // ended, or another one
		}
		pid, err := strconv.Atoi(strings.Split(path, "/")[2])
		if err == nil && runs(pid) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// settled returns the last supervisor of a plan, once each of its three hosts runs, and runs once.
func settled(t *testing.T, p *plan, mark string) *supervisor.Supervisor {
	t.Helper()
	p.Run = "exec sleep 1000"
	sup := next(t, p)
	if err := sup.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, host := range sup.Hosts() {
		if err := host.Wait(t.Context(), lifecycle.Running); err != nil {
			t.Error(err)
		}
	}
	poll.Until(t, 20*time.Second, "each host runs once", func() bool { return len(marked(t, mark)) == 3 })
	return sup
}

// TestKilledAtRandom kills supervisors at random moments of the starts of their hosts, which end by themselves as
// well. The last supervisor has each host once.
func TestKilledAtRandom(t *testing.T) {
	mark := "SURVIVE_TEST_MARK=" + strconv.Itoa(os.Getpid())
	name, value, _ := strings.Cut(mark, "=")
	p := &plan{State: t.TempDir(), Demo: []string{"a", "b"}, Shell: []string{"s"}, Run: "sleep 0.1; exit 3", Env: map[string]string{name: value}, Most: 1000}
	r := rand.New(rand.NewPCG(3, 4))
	for range 25 {
		f := launch(t, p)
		select {
		case <-time.After(time.Duration(r.IntN(150)) * time.Millisecond):
		case <-t.Context().Done():
		}
		f.kill()
		// The shell runs a program: no host has more than two processes.
		if n := len(marked(t, mark)); n > 4 {
			t.Fatalf("%d processes, expected up to 4", n)
		}
	}
	sup := settled(t, p, mark)
	for _, name := range p.Demo {
		if pid := pidOf(t, host(t, sup, name)); !runs(pid) {
			t.Errorf("%s: process %d does not run", name, pid)
		}
	}
}

// TestLimitedAreKilledAtRandom kills supervisors of hosts with limits, their keepers and shims at random moments. At no moment a process
// runs without its limits, the last supervisor has each host once, and no cgroup is left after it.
func TestLimitedAreKilledAtRandom(t *testing.T) {
	holding(t, "memory", "tasks")
	mark := "SURVIVE_TEST_LIMITED=" + strconv.Itoa(os.Getpid())
	name, value, _ := strings.Cut(mark, "=")
	p := &plan{State: t.TempDir(), Demo: []string{"a", "b"}, Shell: []string{"s"}, Run: "sleep 0.1; exit 3", Env: map[string]string{name: value}, Most: 1000,
		Limits: policy.Limits{Memory: 256 << 20, Tasks: 100}}
	r := rand.New(rand.NewPCG(5, 6))
	pause := func(most int) {
		select {
		case <-time.After(time.Duration(r.IntN(most)) * time.Millisecond):
		case <-t.Context().Done():
		}
	}
	// limited fails the test if a process is not in a cgroup that outlives the supervisor.
	limited := func() {
		t.Helper()
		for _, pid := range marked(t, mark) {
			b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cgroup")
			if err == nil && runs(pid) && !strings.Contains(string(b), ".survive") {
				t.Errorf("process %d runs without limits: %s", pid, b)
			}
		}
	}
	makers := []int{os.Getpid()}
	for range 25 {
		f := launch(t, p)
		makers = append(makers, f.cmd.Process.Pid)
		pause(150)
		limited()
		if victims := helpersOf(t, f.cmd.Process.Pid); len(victims) > 0 && r.IntN(2) == 0 {
			_ = syscall.Kill(victims[r.IntN(len(victims))], syscall.SIGKILL)
			pause(20)
			limited()
		}
		f.kill()
		limited()
		// The shell runs a program: no host has more than two processes.
		if n := len(marked(t, mark)); n > 4 {
			t.Fatalf("%d processes, expected up to 4", n)
		}
	}
	sup := settled(t, p, mark)
	for _, host := range sup.Hosts() {
		s := host.Status()
		if memory, tasks := inForce(t, cgroupsOf(t, p.State, s.Name, int(s.Life)), *s.PID); memory != strconv.Itoa(256<<20) || tasks != "100" {
			t.Errorf("%s: memory %s, tasks %s", s.Name, memory, tasks)
		}
		if err := host.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	}
	removed(t, makers...)
}

// helpersOf returns the keeper and the shims that a supervisor has started.
func helpersOf(t *testing.T, supervisor int) (pids []int) {
	t.Helper()
	children, err := sys.Children(supervisor)
	if err != nil {
		t.Fatal(err)
	}
	for _, pid := range children {
		if b, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline"); strings.HasPrefix(string(b), "hostsup-") {
			pids = append(pids, pid)
		}
	}
	return pids
}
