//go:build !hostsup_posix

package survive_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/native"
	"github.com/hostsup/hostsup/intercept/hook"
	"github.com/hostsup/hostsup/internal/leaktest"
	"github.com/hostsup/hostsup/internal/poll"
	"github.com/hostsup/hostsup/internal/sys"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/hostspec"
	"github.com/hostsup/hostsup/sandbox/policy"
	"github.com/hostsup/hostsup/sdk/demo"
	"github.com/hostsup/hostsup/supervisor"
	"github.com/hostsup/hostsup/survive"
)

// supervisorVar makes this test's program a supervisor that runs the hosts of a plan.
const supervisorVar = "HOSTSUP_SURVIVE_TEST"

func TestMain(m *testing.M) {
	switch {
	case os.Getenv("DEMO") != "":
		leaktest.Exit(demo.Main(context.Background()))
	case os.Getenv(rpcVar) != "":
		if err := serveRPC(os.Getenv(rpcVar)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			leaktest.Exit(1)
		}
		leaktest.Exit(0)
	case os.Getenv(supervisorVar) != "":
		if err := supervise(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			leaktest.Exit(1)
		}
		leaktest.Exit(0)
	}
	leaktest.Main(m)
}

// plan is the configuration of a tree in these tests.
type plan struct {
	State string   // state folder
	Demo  []string // names of hosts that speak the protocol
	Shell []string // names of hosts without a protocol
	Run   string   // the script of these
	Env   map[string]string
	Die   bool // the hosts do not survive
	Lazy  bool
	RPC   bool // a host for each of rpcProtocols
	Most  int  // crashes; 0: the default

	Limits policy.Limits
	Before string // a script that is run before each process; "" without one
}

// spec returns the tree of a plan.
func (p *plan) spec() supervisor.Spec {
	g := supervisor.GroupSpec{Name: "g", Strategy: lifecycle.OneForOne}
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	add := func(s supervisor.HostSpec) {
		if p.Before != "" {
			s.Features = append(s.Features, hook.PreStart{Command: []string{"/bin/sh", "-c", p.Before}})
		}
		if !p.Die {
			s.Features = append(s.Features, survive.Rule{})
		}
		s.Start.Lazy, s.Resources = p.Lazy, p.Limits
		s.Restart = lifecycle.DefaultRestart()
		if p.Most > 0 {
			s.Restart.MaxCrashes = p.Most
		}
		g.Hosts = append(g.Hosts, s)
	}
	for _, name := range p.Demo {
		env := map[string]string{"DEMO": "1"}
		for k, v := range p.Env {
			env[k] = v
		}
		add(supervisor.HostSpec{Name: name, Command: []string{self}, Env: env, Protocol: native.New(), Transport: hostspec.TransportStdio})
	}
	for _, name := range p.Shell {
		add(supervisor.HostSpec{Name: name, Command: []string{"/bin/sh", "-c", p.Run}, InheritEnv: []string{"PATH"}, Env: p.Env})
	}
	if p.RPC {
		for protocol := range rpcProtocols {
			g.Hosts = append(g.Hosts, p.rpc(protocol, self))
		}
	}
	return supervisor.Spec{StateDir: p.State, Groups: []supervisor.GroupSpec{g}, Parts: []supervisor.Part{survive.Part{}}}
}

// supervise runs a plan until it is killed. Each line of its standard input is a call "HOST METHOD
// [PARAMS]", which it answers with a line of JSON; an unanswered one begins with "&".
func supervise() error {
	var p plan
	if err := json.Unmarshal([]byte(os.Getenv(supervisorVar)), &p); err != nil {
		return err
	}
	if err := os.Unsetenv(supervisorVar); err != nil {
		return err
	}
	ctx := context.Background()
	sup, err := supervisor.Start(ctx, p.spec())
	if err != nil {
		return err
	}
	if err := sup.Ready(ctx); err != nil {
		return err
	}
	fmt.Println("ready")
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		host, rest, _ := strings.Cut(strings.TrimPrefix(in.Text(), "&"), " ")
		method, params, _ := strings.Cut(rest, " ")
		h, err := sup.Host(host)
		if err != nil {
			return err
		}
		var args codec.Raw
		var out any
		if params != "" {
			if args, err = h.Spec().Protocol.FromJSON([]byte(params)); err != nil {
				return err
			}
		}
		if in.Text()[0] == '&' {
			if _, err := h.Go(ctx, method, args); err != nil {
				return err
			}
			// A later call of the host is behind it.
			if err := h.Call(ctx, "pid", nil, nil); err != nil {
				return err
			}
		} else if err := h.Call(ctx, method, args, &out, actors.Patient()); err != nil {
			out = err.Error()
		}
		b, err := json.Marshal(out)
		if err != nil {
			return err
		}
		fmt.Println(string(b))
	}
	return sup.Stop(ctx)
}

// first is a supervisor in a process of its own.
type first struct {
	t   *testing.T
	cmd *exec.Cmd
	in  *os.File
	out *bufio.Reader
}

// begin starts a supervisor of a plan, and waits until its hosts are ready.
func begin(t *testing.T, p *plan) *first {
	t.Helper()
	f := launch(t, p)
	if line := f.line(); line != "ready" {
		t.Fatalf("%q", line)
	}
	return f
}

// launch starts a supervisor of a plan.
func launch(t *testing.T, p *plan) *first {
	t.Helper()
	b, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), supervisorVar+"="+string(b))
	cmd.Stderr = os.Stderr
	r, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd.Stdin = r
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	f := &first{t, cmd, in, bufio.NewReader(out)}
	t.Cleanup(f.kill)
	return f
}

func (f *first) line() string {
	f.t.Helper()
	s, err := f.out.ReadString('\n')
	if err != nil {
		f.t.Fatalf("%q, %v", s, err)
	}
	return strings.TrimSpace(s)
}

// call has the supervisor make a call, and returns the answer as JSON.
func (f *first) call(line string) string {
	f.t.Helper()
	if _, err := fmt.Fprintln(f.in, line); err != nil {
		f.t.Fatal(err)
	}
	return f.line()
}

// pid returns the process of a host.
func (f *first) pid(host string) (pid int) {
	f.t.Helper()
	if err := json.Unmarshal([]byte(f.call(host+" pid")), &pid); err != nil {
		f.t.Fatal(err)
	}
	return pid
}

// kill kills the supervisor with SIGKILL.
func (f *first) kill() {
	if f.cmd.ProcessState != nil {
		return
	}
	_ = f.cmd.Process.Kill()
	_ = f.cmd.Wait()
	f.in.Close()
}

// next starts a supervisor of a plan in this process. The end of the test stops it.
func next(t *testing.T, p *plan) *supervisor.Supervisor {
	t.Helper()
	sup, err := supervisor.Start(t.Context(), p.spec())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := sup.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return sup
}

func host(t *testing.T, sup *supervisor.Supervisor, name string) *supervisor.Host {
	t.Helper()
	h, err := sup.Host(name)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// pidOf returns the process that answers a call.
func pidOf(t *testing.T, h *supervisor.Host) (pid int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := h.Call(ctx, "pid", nil, &pid, actors.Patient()); err != nil {
		t.Fatal(err)
	}
	return pid
}

func runs(pid int) bool {
	st, err := sys.ReadStat(pid)
	return err == nil && !st.Ended()
}

// awaitEnd fails the test unless a process ends soon.
func awaitEnd(t *testing.T, pid int) {
	t.Helper()
	poll.Until(t, 20*time.Second, fmt.Sprintf("process %d ends", pid), func() bool { return !runs(pid) })
}
