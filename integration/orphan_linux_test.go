//go:build linux

package integration

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hostsup/hostsup/internal/require"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/sandbox"
	"github.com/hostsup/hostsup/supervisor"
)

// treeEnv marks every process of a test's hosts, however deep.
const treeEnv = "HOSTSUP_TEST_TREE"

// Given to the role "supervisor": how it ends trees, and their mark.
const (
	killEnv = "HOSTSUP_TEST_KILL"
	markEnv = "HOSTSUP_TEST_MARK"
)

func marked(mark string) change { return func(s *supervisor.HostSpec) { s.Env[treeEnv] = mark } }

// processes lists who bears a mark. What is a zombie bears none.
func processes(mark string) []int { return having(treeEnv + "=" + mark) }

// having lists the processes that have this in their environment.
func having(entry string) []int {
	var out []int
	paths, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, p := range paths {
		if env, err := os.ReadFile(p); err == nil && bytes.Contains(env, []byte(entry+"\x00")) {
			pid, _ := strconv.Atoi(strings.Split(p, "/")[2])
			out = append(out, pid)
		}
	}
	return out
}

// unsupported ends a test as a user of a way of ending trees that does not work
// here, which fails it where nothing may be missing. Ordinary users have no
// cgroups.
func unsupported(t *testing.T, uid int, kill sandbox.Kill, why any) {
	t.Helper()
	if kill == sandbox.KillCgroup && uid != 0 {
		t.Skip(why)
	}
	require.Missing(t, "%v", why)
}

// everyWay runs a test for every way of ending whole trees that works here.
func everyWay(t *testing.T, test func(t *testing.T, kill sandbox.Kill)) {
	for _, kill := range []sandbox.Kill{sandbox.KillCgroup, sandbox.KillPidns, sandbox.KillKeeper} {
		t.Run(string(kill), func(t *testing.T) {
			t.Parallel()
			sup, err := supervisor.Start(context.Background(), supervisor.Spec{}, supervisor.WithKill(kill))
			if errors.Is(err, sandbox.ErrUnsupported) {
				unsupported(t, os.Getuid(), kill, err)
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := sup.Status().Supervisor.Kill; got != string(kill) {
				t.Errorf("status names %q", got)
			}
			end(t, sup)
			test(t, kill)
		})
	}
}

// litter leaves children behind that are deaf to SIGTERM, most of them in
// sessions of their own.
func litter(t testing.TB, h *supervisor.Host) {
	t.Helper()
	for _, setsid := range []bool{true, true, false} {
		if err := h.Call(ctx(t), "spawn", map[string]bool{"setsid": setsid}, nil); err != nil {
			t.Fatal(err)
		}
	}
}

// TestWholeTreeEndsWithItsHost ends a host in every way there is.
func TestWholeTreeEndsWithItsHost(t *testing.T) {
	t.Parallel()
	ends := map[string]func(*scene){
		"exit":  func(sc *scene) { exits(3)(sc) },
		"crash": func(sc *scene) { dies("SIGSEGV")(sc) },
		"stop":  persons((*supervisor.Host).Stop),
		"tree":  func(sc *scene) { end(sc.t, sc.sup) },
		"torn": func(sc *scene) {
			ended, cancel := context.WithCancel(context.Background())
			cancel()
			_ = sc.sup.Stop(ended)
		},
	}
	everyWay(t, func(t *testing.T, kill sandbox.Kill) {
		for name, finish := range ends {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				mark := fmt.Sprintf("%d-%s-%s", os.Getpid(), kill, name)
				sup, h := alone(t, demoHost("ts", marked(mark), policy(lifecycle.Never)), supervisor.WithKill(kill))
				litter(t, h)
				if n := len(processes(mark)); n < 4 {
					t.Fatalf("%d processes, want 4 or more", n)
				}
				finish(&scene{t, sup, h})
				eventually(t, func() bool { return len(processes(mark)) == 0 }, "all are gone")
			})
		}
	})
}

// TestRestartLeavesNoneOfTheOldLife holds that only the new life is there.
func TestRestartLeavesNoneOfTheOldLife(t *testing.T) {
	t.Parallel()
	everyWay(t, func(t *testing.T, kill sandbox.Kill) {
		mark := fmt.Sprintf("%d-%s-again", os.Getpid(), kill)
		_, h := alone(t, demoHost("ts", marked(mark), crashes(100)), supervisor.WithKill(kill))
		for life := range uint64(5) {
			runs(t, h, life+1)
			litter(t, h)
			_ = h.Call(ctx(t), "exit", nil, nil)
		}
		runs(t, h, 6)
		fresh := processes(mark)
		eventually(t, func() bool {
			fresh = processes(mark)
			return len(fresh) <= 2 // the host, and with pidns its init
		}, "only the new life is left")
	})
}

// startSupervisor starts a role that is a supervisor, and waits until it is
// ready.
func startSupervisor(t *testing.T, role string, env ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(itself)
	cmd.Env = append(env, roleEnv+"="+role, "GORACE=atexit_sleep_ms=0", "TMPDIR="+t.TempDir())
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || said != "ready\n" {
		t.Errorf("the supervisor says %q, %v", said, err)
	}
	return cmd
}

// killSupervisor ends it with SIGKILL and returns when that was.
func killSupervisor(t *testing.T, cmd *exec.Cmd) time.Time {
	t.Helper()
	if err := cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	began := time.Now()
	if err := cmd.Wait(); err == nil {
		t.Error("it was not killed")
	}
	return began
}

// TestKilledSupervisorLeavesNothing kills a whole supervisor with SIGKILL.
func TestKilledSupervisorLeavesNothing(t *testing.T) {
	t.Parallel()
	everyWay(t, func(t *testing.T, kill sandbox.Kill) {
		mark := fmt.Sprintf("%d-%s-orphans", os.Getpid(), kill)
		cmd := startSupervisor(t, "supervisor", killEnv+"="+string(kill), markEnv+"="+mark)
		before := processes(mark)
		if len(before) < 20 {
			t.Errorf("%d processes, want 5 hosts with 3 children each", len(before))
		}
		began := killSupervisor(t, cmd)
		eventually(t, func() bool { return len(processes(mark)) == 0 }, "all are gone")
		t.Logf("%d processes gone within %s", len(before), time.Since(began))
		eventually(t, func() bool {
			left, _ := filepath.Glob(fmt.Sprintf("/sys/fs/cgroup*/**/hostsup-%d-*", cmd.Process.Pid))
			return len(left) == 0
		}, "its cgroups are gone")
	})
}

func init() {
	// A supervisor to be killed: five hosts, each with children of its own.
	roles["supervisor"] = func() int {
		fail := func(err error) int {
			fmt.Fprintln(os.Stderr, "supervisor:", err)
			return 1
		}
		spec := supervisor.Spec{Groups: []supervisor.GroupSpec{{Name: "editor"}}}
		var err error
		if self, err = os.Executable(); err != nil {
			return fail(err)
		}
		for i := range 5 {
			spec.Groups[0].Hosts = append(spec.Groups[0].Hosts, demoHost(fmt.Sprintf("host-%d", i), marked(os.Getenv(markEnv))))
		}
		ctx := context.Background()
		sup, err := supervisor.Start(ctx, spec, supervisor.WithKill(sandbox.Kill(os.Getenv(killEnv))))
		if err != nil {
			return fail(err)
		}
		if err := sup.Ready(ctx); err != nil {
			return fail(err)
		}
		for _, h := range sup.Hosts() {
			for _, setsid := range []bool{true, true, false} {
				if err := h.Call(ctx, "spawn", map[string]bool{"setsid": setsid}, nil); err != nil {
					return fail(err)
				}
			}
		}
		fmt.Println("ready")
		select {}
	}
}
