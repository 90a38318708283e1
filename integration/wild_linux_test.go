//go:build linux

package integration

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/hostsup/hostsup/internal/require"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/sandbox"
	confine "github.com/hostsup/hostsup/sandbox/policy"
	"github.com/hostsup/hostsup/sdk/demo"
	"github.com/hostsup/hostsup/supervisor"
)

// wilds are what a host leaves behind that does not want to end: shell
// commands, each of which says a word when it has got there.
var wilds = []string{
	// In a session of its own, deaf to what asks it to end.
	`setsid sh -c 'trap "" TERM HUP INT; echo there; while :; do sleep 1000; done' &`,
	// A grandchild whose parent has ended.
	`sh -c 'setsid sh -c "echo there; exec sleep 1000" & exit 0' &`,
	// Another process every five milliseconds.
	`again='sleep 0.005; setsid sh -c "$again" & exit 0'; export again; setsid sh -c 'echo there; exec sh -c "$again"' &`,
	// One that has stopped itself.
	`setsid sh -c 'echo there; kill -STOP $$; sleep 1000' &`,
}

func init() {
	// A demo host with wild children, deaf itself.
	roles["wild"] = func() int {
		for _, w := range wilds {
			cmd := exec.Command("/bin/sh", "-c", w)
			out, err := cmd.StdoutPipe()
			if err == nil {
				err = cmd.Start()
			}
			if err == nil {
				_, err = bufio.NewReader(out).ReadString('\n')
			}
			if err == nil {
				// The pipe stays open; a demo host has nothing to say on it.
				_, err = cmd.Process.Wait()
			}
			if err != nil {
				fmt.Fprintln(os.Stderr, "wild:", err)
				return 1
			}
		}
		return demo.Main(context.Background())
	}
	// A supervisor with one such host, to be killed.
	roles["wild-supervisor"] = func() int {
		var err error
		if self, err = os.Executable(); err == nil {
			err = func() error {
				sup, err := supervisor.Start(context.Background(), supervisor.Spec{Groups: []supervisor.GroupSpec{
					supervisor.Alone(wildHost(confine.Level(os.Getenv(levelEnv)), os.Getenv(markEnv)))}})
				if err != nil {
					return err
				}
				return sup.Ready(context.Background())
			}()
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "supervisor:", err)
			return 1
		}
		fmt.Println("ready")
		select {}
	}
}

// levelEnv is the level that the role "wild-supervisor" confines its host at.
const levelEnv = "HOSTSUP_TEST_LEVEL"

// wildHost is confined to the system's programs and this one.
func wildHost(level confine.Level, mark string) supervisor.HostSpec {
	h := demoHost("wild", marked(mark), policy(lifecycle.Never))
	h.Env[roleEnv] = "wild"
	h.Env["PATH"] = "/usr/bin:/bin"
	p, _ := confine.Profile("strict")
	p.Level = level
	// The race detector's runtime maps memory as it likes.
	p.JIT = true
	p.Exec = append(p.Exec, filepath.Dir(self))
	h.Sandbox = &p
	return h
}

// everyLevel runs a test at every level that the supervisor may come to here.
func everyLevel(t *testing.T, test func(t *testing.T, level confine.Level)) {
	best := sandbox.Probe().Level
	if best == confine.None {
		require.Missing(t, "confinement of any kind")
	}
	t.Run(string(best), func(t *testing.T) { t.Parallel(); test(t, best) })
}

// gone waits until nothing bears the mark, and a little longer: what becomes
// another process all the time may be missed by one look.
func gone(t *testing.T, mark string) {
	t.Helper()
	for range 3 {
		eventually(t, func() bool { return len(processes(mark)) == 0 }, "all are gone")
	}
}

// TestWildHostLeavesNothing ends a confined host whose children do all that is
// known to outlive a parent.
func TestWildHostLeavesNothing(t *testing.T) {
	t.Parallel()
	everyLevel(t, func(t *testing.T, level confine.Level) {
		for name, finish := range map[string]func(*scene){
			"exit":  func(sc *scene) { exits(3)(sc) },
			"crash": func(sc *scene) { dies("SIGSEGV")(sc) },
			"stop":  persons((*supervisor.Host).Stop),
			"kill":  func(sc *scene) { signal(sc.t, sc.h, syscall.SIGKILL) },
			"tree":  func(sc *scene) { end(sc.t, sc.sup) },
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				mark := fmt.Sprintf("%d-wild-%s-%s", os.Getpid(), level, name)
				sup, h := alone(t, wildHost(level, mark))
				until(t, h, lifecycle.Running)
				if s := h.Status().Sandbox; s.Level != string(level) {
					t.Errorf("status says level %q", s.Level)
				}
				// The host, and at least what is still where it was started.
				if n := len(processes(mark)); n < 4 {
					t.Fatalf("%d processes, want 4 or more", n)
				}
				finish(&scene{t, sup, h})
				gone(t, mark)
			})
		}
	})
}

// TestKilledSupervisorLeavesNothingWild kills the supervisor of such a host with
// SIGKILL.
func TestKilledSupervisorLeavesNothingWild(t *testing.T) {
	t.Parallel()
	everyLevel(t, func(t *testing.T, level confine.Level) {
		mark := fmt.Sprintf("%d-wild-%s-orphans", os.Getpid(), level)
		cmd := startSupervisor(t, "wild-supervisor", levelEnv+"="+string(level), markEnv+"="+mark)
		if n := len(processes(mark)); n < 4 {
			t.Errorf("%d processes, want 4 or more", n)
		}
		began := killSupervisor(t, cmd)
		gone(t, mark)
		t.Logf("gone within %s", time.Since(began))
	})
}

// TestExitCodes starts a command that does nothing, confined, many times over:
// its exit code is the command's own each time.
func TestExitCodes(t *testing.T) {
	t.Parallel()
	everyLevel(t, func(t *testing.T, level confine.Level) {
		l, err := sandbox.NewLauncher(sandbox.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		p, _ := confine.Profile("strict")
		p.Level = level
		for i := range 200 {
			c, err := l.Start(&sandbox.Command{Name: fmt.Sprintf("true.%d", i), Path: "/bin/true", Args: []string{"true"}, Policy: &p})
			if err != nil {
				t.Fatal(err)
			}
			<-c.Done()
			if e := c.Exit(); e.Code != 0 || e.Signal != 0 {
				t.Errorf("start %d: exit code %d, signal %d", i, e.Code, e.Signal)
			}
			c.Release()
		}
		for i := range 10 {
			out, err := exec.Command(hostsupBinary(t), "sandbox", "run", "--profile", "strict", "--", "/bin/true").CombinedOutput()
			if err != nil {
				t.Errorf("run %d: %v: %s", i, err, out)
			}
		}
	})
}
