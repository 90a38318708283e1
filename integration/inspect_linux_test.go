//go:build linux

package integration

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hostsup/hostsup/extensions/service"
	"github.com/hostsup/hostsup/internal/capture"
	"github.com/hostsup/hostsup/internal/jsonwalk"
	"github.com/hostsup/hostsup/internal/sys/procnet"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/record"
	"github.com/hostsup/hostsup/supervisor"
)

// cpuProfile is what a test looks for in one.
type cpuProfile struct {
	Nodes []struct {
		HitCount  int
		CallFrame struct{ FunctionName, URL string }
	}
	Samples []int
}

// hits is how many samples were in functions of a name.
func (p *cpuProfile) hits(function string) (n int) {
	for _, node := range p.Nodes {
		if node.CallFrame.FunctionName == function {
			n += node.HitCount
		}
	}
	return n
}

func profiles(t testing.TB, sup *supervisor.Supervisor, host string, d time.Duration) *cpuProfile {
	t.Helper()
	var out bytes.Buffer
	if err := sup.Profile(ctx(t), host, d, &out); err != nil {
		t.Fatal(err)
	}
	p := new(cpuProfile)
	if err := json.Unmarshal(out.Bytes(), p); err != nil {
		t.Fatal(err)
	}
	return p
}

// A profile of a host in a loop shows the function that loops, although the host
// answers nobody, and the port is closed afterwards. The one that a person opens
// stays, also when a profile is taken.
func TestInspect(t *testing.T) {
	t.Parallel()
	for version := range releases {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			spec := extendedOf(t, version, "burns") // which is profiled at the same time, as it hangs
			spec.Stop.Grace = time.Second           // it does not hear of the end
			spec.Liveness.After = 3 * time.Second
			sup, h := alone(t, spec)
			activates(t, sup, "timer", "calm")
			if err := executes(t, h, nil, "timer.run", int(patience/time.Millisecond)); err != nil {
				t.Fatal(err)
			}
			until(t, h, lifecycle.Unresponsive)
			p := profiles(t, sup, "vs", 500*time.Millisecond)
			// V8 counts samples of a function that it has made a part of its caller to the caller, which is
			// node's here, and the profile of the blame takes some of the time.
			if n := p.hits("burnTheProcessor"); n < len(p.Samples)/4 {
				t.Errorf("%d of %d samples: %+v", n, len(p.Samples), p.Nodes)
			}
			in, err := sup.Inspect(ctx(t), "vs")
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(in.URL, "ws://127.0.0.1:") || in.PID != *h.Status().PID || in.Apart {
				t.Errorf("%+v", in)
			}
			profiles(t, sup, "vs", 50*time.Millisecond)
			again, err := sup.Inspect(ctx(t), "vs")
			if err != nil || again.URL != in.URL {
				t.Errorf("%+v, %v", again, err)
			}
		})
	}
}

// An extension that burns the processor in a timer, where no call and no
// activation points to it, is found by the profile that is taken while the host
// hangs, and is put apart; who has a call in flight at that time is not.
func TestProfileBlames(t *testing.T) {
	t.Parallel()
	for version := range releases {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			spec := extendedOf(t, version, "burns")
			spec.Liveness.After, spec.Liveness.KillAfter = 3*time.Second, 12*time.Second
			state := t.TempDir()
			sup := start(t, supervisor.Spec{Groups: []supervisor.GroupSpec{supervisor.Alone(spec)}, StateDir: state})
			h := host(t, sup, "vs")
			for life := uint64(1); life <= 2; life++ {
				activates(t, sup, "timer", "calm")
				waiting := make(chan error, 1)
				go func() { waiting <- h.Call(ctx(t), execute, []any{"calm.wait"}, nil) }()
				if err := executes(t, h, nil, "timer.run", int(patience/time.Millisecond)); err != nil {
					t.Fatal(err)
				}
				if err := <-waiting; !errors.Is(err, supervisor.ErrUnresponsive) {
					t.Fatal(err)
				}
				runs(t, h, life+1)
			}
			eventually(t, func() bool { return extensionOf(t, sup, "timer").Place == "vs~hostsup.timer" }, "it lives alone")
			if s := extensionOf(t, sup, "calm"); s.Place != "vs" || s.Blame.SuspectIn != 0 {
				t.Errorf("%+v", s)
			}
			says(t, told(t, sup, record.KindBlame), "isolated hostsup.timer", "it alone is a suspect in 2 of 2 crashes")
			var found []supervisor.CrashReport
			eventually(t, func() bool {
				found, _ = sup.Crashes("vs")
				return len(found) == 2
			}, "crash reports")
			for _, r := range found {
				p := service.ReportOf(&r).Profile
				if p == nil || len(p.Shares) == 0 || p.Shares[0].ID != "hostsup.timer" || p.Shares[0].Share < 0.5 {
					t.Fatalf("%+v", p)
				}
				eventually(t, func() bool {
					b, err := os.ReadFile(p.File)
					return err == nil && bytes.Contains(b, []byte("burnTheProcessor"))
				}, p.File)
			}
		})
	}
}

// progress takes what is written, and is stuck when nothing more comes for as
// long as a test has patience: how long all of it takes depends on the machine.
type progress struct {
	all   []byte
	stuck *time.Timer
}

func (p *progress) Write(b []byte) (int, error) {
	p.stuck.Reset(patience)
	p.all = append(p.all, b...)
	return len(b), nil
}

// A snapshot of the heap is one that tools can read, and costs the host nothing
// but time: no port is left behind.
func TestHeapSnapshot(t *testing.T) {
	t.Parallel()
	for version := range releases {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			sup, h := alone(t, vscodeHost(t, version))
			activated(t, h)
			snap, cancel := context.WithCancel(context.Background())
			out := progress{stuck: time.AfterFunc(patience, cancel)}
			defer out.stuck.Stop()
			defer cancel()
			if err := sup.HeapSnapshot(snap, "vs", &out); err != nil {
				t.Fatalf("after %d bytes: %v", len(out.all), err)
			}
			heap := out.all
			if err := jsonwalk.Check(heap, nil); err != nil {
				t.Fatal(err)
			}
			nodes, numbers := 0, 1+bytes.Count(jsonwalk.Member(heap, "nodes"), []byte(","))
			if err := json.Unmarshal(jsonwalk.Find(heap, "snapshot.node_count"), &nodes); err != nil {
				t.Fatal(err)
			}
			if nodes == 0 || numbers%nodes != 0 {
				t.Errorf("%d nodes, %d numbers", nodes, numbers)
			}
			if ports, err := procnet.Listening(*h.Status().PID); err != nil || len(ports) > 0 {
				t.Errorf("it listens at %v, %v", ports, err)
			}
			activated(t, h)
			runs(t, h, 1)
		})
	}
}

// What is not node, or does not take the signal that opens an inspector, is
// refused and lives on; and so is a host that does not run at all.
func TestInspectRefuses(t *testing.T) {
	t.Parallel()
	node := peer(t, "node")
	script := filepath.Join(t.TempDir(), "deaf.cjs") // by its name node knows what it is, without a package.json of anybody's
	// Once something listens for SIGUSR1 itself and lets go again, nobody does.
	if err := os.WriteFile(script, []byte(`
const f = () => {};
process.on('SIGUSR1', f);
process.off('SIGUSR1', f);
console.log('deaf');
setInterval(f, 1000);
`), 0o600); err != nil {
		t.Fatal(err)
	}
	plain := func(name string, command ...string) supervisor.HostSpec {
		return demoHost(name, func(s *supervisor.HostSpec) { s.Command, s.Protocol, s.Transport = command, nil, "" })
	}
	sup := start(t, supervisor.Spec{Groups: []supervisor.GroupSpec{
		supervisor.Alone(demoHost("demo")), supervisor.Alone(plain("sleep", "/bin/sleep", "1000")), supervisor.Alone(plain("deaf", node, script)),
	}})
	deaf := host(t, sup, "deaf")
	eventually(t, func() bool {
		tail := deaf.Tail(1)
		return len(tail) > 0 && tail[0].Text == "deaf"
	}, "its handler")
	for name, why := range map[string]string{"demo": "only node has an inspector", "sleep": "only node has an inspector", "deaf": "does not take SIGUSR1"} {
		h := host(t, sup, name)
		pid := *h.Status().PID
		for _, err := range []error{
			func() error { _, err := sup.Inspect(ctx(t), name); return err }(),
			sup.Profile(ctx(t), name, time.Second, io.Discard), sup.HeapSnapshot(ctx(t), name, io.Discard),
		} {
			if !errors.Is(err, supervisor.ErrNoInspector) || !strings.Contains(err.Error(), why) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if s := h.Status(); s.State != lifecycle.Running || s.Life != 1 || *s.PID != pid {
			t.Errorf("%+v", s)
		}
	}
	echoes(t, host(t, sup, "demo"))
	if err := deaf.Stop(ctx(t)); err != nil {
		t.Fatal(err)
	}
	var state *supervisor.StateError
	if _, err := sup.Inspect(ctx(t), "deaf"); !errors.As(err, &state) {
		t.Errorf("%v", err)
	}
	if _, err := sup.Inspect(ctx(t), "nobody"); !errors.Is(err, supervisor.ErrNoHost) {
		t.Errorf("%v", err)
	}
}

// hasPrinted reports whether a host has printed a line that begins with text.
func hasPrinted(h *supervisor.Host, text string) bool {
	return slices.ContainsFunc(h.Tail(100), func(l capture.Line) bool { return strings.HasPrefix(l.Text, text) })
}

// A host that ends while it is inspected, by itself or because it is stopped, ends
// the inspection, and is not held up by it: its node does not wait for us.
func TestInspectedHostEnds(t *testing.T) {
	t.Parallel()
	script := filepath.Join(t.TempDir(), "ends.cjs")
	if err := os.WriteFile(script, []byte(`
const timer = setInterval(() => {}, 1000);
process.on('SIGTERM', () => process.exit(0));
process.on('SIGHUP', () => clearInterval(timer));
process.on('SIGQUIT', () => { throw new Error('on purpose'); });
process.on('newListener', event => event === 'exit' && console.log('inspected'));
console.log('up');
`), 0o600); err != nil {
		t.Fatal(err)
	}
	type program struct {
		sup *supervisor.Supervisor
		h   *supervisor.Host
		// isPrepared reports whether the process knows what to do at its end.
		isPrepared func() bool
	}
	programs := map[string]func(*testing.T) program{
		"VS Code": func(t *testing.T) program {
			sup, h := alone(t, vscodeHost(t, "1.100.3", grace(4*time.Minute)))
			activated(t, h)
			listeners := func() (n int) {
				if err := executes(t, h, &n, "hello.listeners", "exit"); err != nil {
					t.Fatal(err)
				}
				return n
			}
			before := listeners()
			return program{sup, h, func() bool { return listeners() > before }}
		},
		"node": func(t *testing.T) program {
			sup, h := alone(t, demoHost("vs", grace(4*time.Minute), func(s *supervisor.HostSpec) {
				s.Command = []string{peer(t, "node"), "--inspect-port=0", "--inspect-publish-uid=stderr", script}
				s.Protocol, s.Transport = nil, ""
			}))
			eventually(t, func() bool { return hasPrinted(h, "up") })
			return program{sup, h, func() bool { return hasPrinted(h, "inspected") }}
		},
	}
	uses := map[string]func(*testing.T, *supervisor.Supervisor, *supervisor.Host) error{
		"profile": func(t *testing.T, sup *supervisor.Supervisor, h *supervisor.Host) error {
			return sup.Profile(ctx(t), h.Name(), supervisor.MaxProfile, io.Discard)
		},
		"snapshot": func(t *testing.T, sup *supervisor.Supervisor, h *supervisor.Host) (err error) {
			for err == nil {
				err = sup.HeapSnapshot(ctx(t), h.Name(), io.Discard)
			}
			return err
		},
	}
	stop := func(t *testing.T, p program) { _ = p.h.Stop(ctx(t)) } // what follows is looked at
	signals := func(sig syscall.Signal) func(*testing.T, program) {
		return func(t *testing.T, p program) { signal(t, p.h, sig) }
	}
	for name, end := range map[string]struct {
		do       func(*testing.T, program)
		asked    bool   // for which the exit status is 0
		at       string // the line behind which it is done; "": when the process is prepared
		nodeOnly bool
	}{
		"killed":          {do: signals(syscall.SIGKILL)},
		"stopped":         {do: stop, asked: true},
		"stopped at once": {do: stop, asked: true, at: "Debugger attached"},
		"restarted":       {do: func(t *testing.T, p program) { _ = p.h.Restart(ctx(t)) }, asked: true},
		"shut down":       {do: func(t *testing.T, p program) { _ = p.sup.Stop(ctx(t)) }, asked: true},
		"exit":            {do: signals(syscall.SIGTERM), nodeOnly: true},
		"nothing left":    {do: signals(syscall.SIGHUP), nodeOnly: true},
		"exception":       {do: signals(syscall.SIGQUIT), nodeOnly: true},
	} {
		for kind, begin := range programs {
			if end.nodeOnly && kind != "node" {
				continue
			}
			for use, inspect := range uses {
				t.Run(strings.Join([]string{kind, use, name}, " "), func(t *testing.T) {
					t.Parallel()
					p := begin(t)
					done := make(chan error, 1)
					go func() { done <- inspect(t, p.sup, p.h) }()
					if end.at != "" {
						eventually(t, func() bool { return hasPrinted(p.h, end.at) })
					} else {
						eventually(t, p.isPrepared)
					}
					end.do(t, p)
					var state *supervisor.StateError // of a snapshot that was to follow
					if err := <-done; !errors.Is(err, supervisor.ErrNoInspector) && !errors.As(err, &state) {
						t.Errorf("%v", err)
					}
					if e := p.h.Status().LastExit; end.asked && (e == nil || e.Code == nil || *e.Code != 0) {
						t.Errorf("%+v", e)
					}
					_ = p.sup.Stop(ctx(t)) // then all that it has printed is read
					if end.at == "" && hasPrinted(p.h, "Waiting for the debugger") {
						t.Errorf("%v", p.h.Tail(100))
					}
				})
			}
		}
	}
}
