//go:build linux

package integration

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/hostsup/hostsup/control"
	"github.com/hostsup/hostsup/internal/poll"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/sdk"
)

func init() {
	// It counts what it is asked.
	roles["counter"] = func() int {
		var count atomic.Int64
		s := sdk.New(sdk.Info{Name: "counter", Version: "1"})
		sdk.Handle(s, "add", func(ctx context.Context, ms int) (int64, error) {
			n := count.Add(1)
			wait := time.NewTimer(time.Duration(ms) * time.Millisecond)
			defer wait.Stop()
			select {
			case <-wait.C:
			case <-ctx.Done():
			}
			return n, nil
		})
		sdk.Handle(s, "count", func(context.Context, any) (int64, error) { return count.Load(), nil })
		if s.Serve(context.Background()) != nil {
			return 1
		}
		return 0
	}
}

// upgraded is a supervisor that is upgraded.
type upgraded struct {
	t      *testing.T
	dir    string
	mark   string // of its hosts
	client *control.Client
	cmd    *exec.Cmd
	log    *os.File
	exited chan struct{}
}

// upgradable writes a configuration with hosts and starts a supervisor of it. The end of the test stops it.
func upgradable(t *testing.T, blocks func(host func(name string, more ...string) string) string) *upgraded {
	t.Helper()
	dir := t.TempDir()
	u := &upgraded{t: t, dir: dir, mark: dir, client: control.NewClient(filepath.Join(dir, "s.sock"))}
	text := blocks(func(name string, more ...string) string {
		return u.host(name, more...)
	})
	text = fmt.Sprintf("supervisor {\n  socket = %q\n  state_dir = %q\n}\n%s", filepath.Join(dir, "s.sock"), filepath.Join(dir, "state"), text)
	if err := os.WriteFile(u.config(), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var err error
	if u.log, err = os.Create(filepath.Join(dir, "log")); err != nil {
		t.Fatal(err)
	}
	u.start()
	t.Cleanup(func() {
		if st, err := u.client.Status(context.Background()); err == nil { // of one that was killed, the process that has taken over
			_ = syscall.Kill(st.Supervisor.PID, syscall.SIGTERM)
		}
		u.client.Close()
		select {
		case <-u.exited:
		case <-time.After(patience):
			t.Error("the supervisor does not end")
			_ = u.cmd.Process.Kill()
			<-u.exited
		}
		poll.Until(t, patience, "all processes of hosts have ended", func() bool { return len(u.processes("")) == 0 })
		poll.Until(t, patience, "what was kept of lives is removed", func() bool {
			left, err := filepath.Glob(filepath.Join(dir, "state", "survive", "*"))
			return err == nil && len(left) == 0
		})
		if t.Failed() {
			b, _ := os.ReadFile(u.log.Name())
			t.Logf("the end of the log:\n%s", b[max(0, len(b)-6000):])
		}
		_ = u.log.Close()
	})
	return u
}

// host returns the block of a host that counts.
func (u *upgraded) host(name string, more ...string) string {
	return fmt.Sprintf("host %q {\n  command = [\"env\", \"%s=counter\", %q]\n  env = { %s = %q }\n  stop {\n    grace = \"1s\"\n  }\n%s\n}\n",
		name, roleEnv, self, upgradeMark, u.mark+":"+name, strings.Join(more, "\n"))
}

// upgradeMark is the variable by which the processes of hosts are found.
const upgradeMark = "UPGRADE_TEST_HOST"

func (u *upgraded) config() string { return filepath.Join(u.dir, "config.hcl") }

// start starts the supervisor.
func (u *upgraded) start() {
	u.t.Helper()
	cmd := exec.Command(hostsupBinary(u.t), "run", "-c", u.config())
	cmd.Stdout, cmd.Stderr = u.log, u.log
	if err := cmd.Start(); err != nil {
		u.t.Fatal(err)
	}
	exited := make(chan struct{})
	u.cmd, u.exited = cmd, exited
	go func() {
		_ = cmd.Wait()
		close(exited)
	}()
}

// processes returns those of a host, "" for all hosts.
func (u *upgraded) processes(host string) (pids []int) {
	prefix := []byte("\x00" + upgradeMark + "=" + u.mark + ":" + host)
	if host != "" {
		prefix = append(prefix, 0)
	}
	paths, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, p := range paths {
		if env, err := os.ReadFile(p); err == nil && bytes.Contains(append([]byte{0}, env...), prefix) {
			var pid int
			if _, err := fmt.Sscanf(p, "/proc/%d/environ", &pid); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// hosts returns the process and the life of each host, once all are running.
func (u *upgraded) hosts() map[string][2]uint64 {
	u.t.Helper()
	out := map[string][2]uint64{}
	poll.Until(u.t, patience, "all hosts run", func() bool {
		st, err := u.client.Status(u.t.Context())
		if err != nil {
			select {
			case <-u.exited:
				u.t.Fatalf("the supervisor has ended: %v", err)
			default:
			}
			return false
		}
		clear(out)
		for _, h := range st.Hosts {
			if h.State != lifecycle.Running || h.PID == nil {
				return false
			}
			out[h.Name] = [2]uint64{uint64(*h.PID), h.Life}
		}
		return true
	})
	return out
}

// upgrade runs the verb.
func (u *upgraded) upgrade(args ...string) (*control.Upgraded, string, int) {
	u.t.Helper()
	cmd := exec.Command(hostsupBinary(u.t), append([]string{"--socket", filepath.Join(u.dir, "s.sock"), "upgrade", "--json"}, args...)...)
	var errout bytes.Buffer
	cmd.Stderr = &errout
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		u.t.Fatal(err)
	}
	done := new(control.Upgraded)
	if err == nil {
		if err := json.Unmarshal(out, done); err != nil {
			u.t.Errorf("%s: %v", out, err)
		}
	}
	return done, errout.String(), cmd.ProcessState.ExitCode()
}

const surviving = "  transport = \"stdio\"\n  survive = true"

// TestUpgradeUnderCalls upgrades a supervisor with 200 hosts several times, while 20 of them are called. Processes and lives stay, and
// each call is answered once.
func TestUpgradeUnderCalls(t *testing.T) {
	const all, called, callers = 200, 20, 12 // the control socket serves 256 connections
	u := upgradable(t, func(host func(string, ...string) string) string {
		var b strings.Builder
		for n := range all {
			b.WriteString(host(fmt.Sprint("h", n), surviving))
		}
		return b.String()
	})
	before := u.hosts()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var answered [called]atomic.Int64
	var mu sync.Mutex
	var slowest []time.Duration // of each caller, since the last upgrade
	var wait sync.WaitGroup
	slowest = make([]time.Duration, called*callers)
	for n := range called * callers {
		host := n % called
		wait.Go(func() {
			client := control.NewClient(filepath.Join(u.dir, "s.sock"))
			defer client.Close()
			for ctx.Err() == nil {
				begun := time.Now()
				_, err := client.Call(context.WithoutCancel(ctx), control.Request{Host: fmt.Sprint("h", host), Method: "add", Params: json.RawMessage("10")})
				if err != nil {
					t.Errorf("h%d: %v", host, err)
					return
				}
				answered[host].Add(1)
				mu.Lock()
				slowest[n] = max(slowest[n], time.Since(begun))
				mu.Unlock()
			}
		})
	}
	for i := range 3 {
		poll.Until(t, patience, "each host is called", func() bool {
			for n := range called {
				if answered[n].Load() < int64(callers*(i+1)) {
					return false
				}
			}
			return true
		})
		mu.Lock()
		clear(slowest)
		mu.Unlock()
		done, errout, code := u.upgrade()
		if code != 0 || len(done.Stayed) != all || len(done.Restarted)+len(done.Removed)+done.Cut > 0 {
			t.Fatalf("exit %d, %s%d stayed, %v restarted, %v removed, %d cut off", code, errout, len(done.Stayed), done.Restarted, done.Removed, done.Cut)
		}
		if after := u.hosts(); !sameHosts(before, after) {
			t.Errorf("after upgrade %d: %v, before: %v", i, after, before)
		}
		mu.Lock()
		times := slices.Sorted(slices.Values(slowest))
		mu.Unlock()
		t.Logf("upgrade %d: %d hosts, %d calls in flight on each of %d: requests waited %.0f ms; slowest call of each caller: p50 %s, p99 %s",
			i, all, callers, called, done.Pause*1000, times[len(times)/2].Round(time.Millisecond), times[len(times)*99/100].Round(time.Millisecond))
	}
	cancel()
	wait.Wait()
	for n := range called {
		out, err := u.client.Call(t.Context(), control.Request{Host: fmt.Sprint("h", n), Method: "count"})
		if want := fmt.Sprint(answered[n].Load()); err != nil || string(out) != want {
			t.Errorf("h%d was asked %s times, and %s calls were answered; %v", n, out, want, err)
		}
	}
}

func sameHosts(a, b map[string][2]uint64) bool {
	if len(a) != len(b) {
		return false
	}
	for name, was := range a {
		if b[name] != was {
			return false
		}
	}
	return true
}

// TestUpgradeStartsOthersAgain has hosts that survive, others, and one that was added without the file.
func TestUpgradeStartsOthersAgain(t *testing.T) {
	t.Parallel()
	u := upgradable(t, func(host func(string, ...string) string) string { return host("stays", surviving) + host("other") })
	before := u.hosts()
	more := filepath.Join(u.dir, "more.hcl")
	if err := os.WriteFile(more, []byte(u.host("added")), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := u.client.Add(t.Context(), more, nil); err != nil {
		t.Fatal(err)
	}
	cut := make(chan error, 1)
	go func() {
		_, err := u.client.Call(t.Context(), control.Request{Host: "stays", Method: "add", Params: json.RawMessage("60000"), Timeout: time.Minute})
		cut <- err
	}()
	poll.Until(t, patience, "the call is under way", func() bool {
		out, err := u.client.Call(t.Context(), control.Request{Host: "stays", Method: "count"})
		return err == nil && string(out) == "1"
	})
	done, errout, code := u.upgrade("--drain", "200ms")
	if code != 0 || !slices.Equal(done.Stayed, []string{"stays"}) || !slices.Equal(done.Restarted, []string{"other"}) || !slices.Equal(done.Removed, []string{"added"}) || done.Cut != 1 {
		t.Fatalf("exit %d, %s%+v", code, errout, done)
	}
	if err := <-cut; control.ClassOf(err) != control.Closed {
		t.Errorf("a call that was longer than the drain: %v", err)
	}
	after := u.hosts()
	if after["stays"] != before["stays"] || after["other"][0] == before["other"][0] || len(after) != 2 {
		t.Errorf("after %v, before %v", after, before)
	}
	st, err := u.client.Status(t.Context())
	if err != nil || st.Supervisor.PID != done.PID || st.Supervisor.PID == u.cmd.Process.Pid {
		t.Errorf("%+v, %v; the verb says process %d", st, err, done.PID)
	}
}
