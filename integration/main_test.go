//go:build linux

package integration

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/hostsup/hostsup/attach"
	"github.com/hostsup/hostsup/codec/native"
	"github.com/hostsup/hostsup/extensions/hosted"
	"github.com/hostsup/hostsup/inspect"
	"github.com/hostsup/hostsup/intercept/secret/stores"
	"github.com/hostsup/hostsup/internal/leaktest"
	"github.com/hostsup/hostsup/internal/poll"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/sdk/demo"
	"github.com/hostsup/hostsup/supervisor"
)

// The test program plays all parts: with HOSTSUP_TEST_ROLE it is a host of
// some kind, or a supervisor that is going to be killed.
const roleEnv = "HOSTSUP_TEST_ROLE"

var roles = map[string]func() int{
	"demo": func() int { return demo.Main(context.Background()) },
}

// self plays hosts, and is this program, built without the race detector: a start
// with it costs several times as much, and tests start thousands of hosts. What plays
// a supervisor is itself, with the detector.
var self, itself string

// atEnd is done after the last test, before a look at what they have left.
var atEnd []func()

func TestMain(m *testing.M) {
	if role := os.Getenv(roleEnv); role != "" {
		play, ok := roles[role]
		if !ok {
			fmt.Fprintf(os.Stderr, "no role %q\n", role)
			os.Exit(2)
		}
		os.Exit(play())
	}
	// Most tests wait much of the time: for a process to start, or to be called
	// unresponsive. More of them at once starve each other.
	flag.Parse()
	if err := flag.Set("test.parallel", strconv.Itoa(3*runtime.GOMAXPROCS(0))); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	var err error
	if itself, err = os.Executable(); err == nil {
		var remove func()
		self, remove, err = leaktest.WithoutRace()
		atEnd = append(atEnd, remove)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	leaktest.Main(tests{m})
}

// tests are all tests, and what is done after the last one, before a look at
// what they have left.
type tests struct{ *testing.M }

func (t tests) Run() int {
	code := t.M.Run()
	for _, f := range atEnd {
		f()
	}
	return code
}

// hostEnv is the environment of a host played by this program.
func hostEnv(role string) map[string]string {
	return map[string]string{
		roleEnv: role,
		// A program built with the race detector, which a supervisor that this one
		// plays starts, sleeps for a second before it exits, unless told not to.
		"GORACE": "atexit_sleep_ms=0",
	}
}

// demoHost is a demo host, quick to come back, with the changes made to it.
func demoHost(name string, change ...func(*supervisor.HostSpec)) supervisor.HostSpec {
	h := supervisor.HostSpec{Name: name, Command: []string{self}, Protocol: native.New(), Env: hostEnv("demo")}
	h.Restart = lifecycle.DefaultRestart()
	h.Restart.Backoff.Initial, h.Restart.Backoff.Max, h.Restart.Backoff.Jitter = 10*time.Millisecond, 50*time.Millisecond, 0
	for _, f := range change {
		f(&h)
	}
	return h
}

// alone runs one host by itself and waits for its first try.
func alone(t testing.TB, h supervisor.HostSpec, opts ...supervisor.Option) (*supervisor.Supervisor, *supervisor.Host) {
	t.Helper()
	sup := start(t, supervisor.Spec{Groups: []supervisor.GroupSpec{supervisor.Alone(h)}}, opts...)
	return sup, host(t, sup, h.Name)
}

// start runs a tree that ends with the test, and waits until it is ready.
func start(t testing.TB, spec supervisor.Spec, opts ...supervisor.Option) *supervisor.Supervisor {
	t.Helper()
	sup := begin(t, spec, opts...)
	if err := sup.Ready(ctx(t)); err != nil {
		t.Fatal(err)
	}
	return sup
}

// addError is the error of an Add.
func addError(_ *supervisor.Host, err error) error { return err }

// begin runs a tree that ends with the test.
func begin(t testing.TB, spec supervisor.Spec, opts ...supervisor.Option) *supervisor.Supervisor {
	t.Helper()
	if spec.Secrets == nil { // extensions may have some, which are none of this machine's
		spec.Secrets = stores.Options{Backend: stores.File, File: filepath.Join(t.TempDir(), "secrets.age")}
	}
	spec.Parts = slices.Concat(spec.Parts, []supervisor.Part{attach.Part{}, inspect.Part{}})
	if !slices.ContainsFunc(spec.Parts, func(p supervisor.Part) bool { _, own := p.(hosted.Part); return own }) {
		spec.Parts = append(spec.Parts, hosted.Part{})
	}
	sup, err := supervisor.Start(context.Background(), spec, append([]supervisor.Option{supervisor.WithLogger(logger(t))}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		end(t, sup)
		holdHistory(t, sup)
	})
	return sup
}

// end stops a tree, in good time.
func end(t testing.TB, sup *supervisor.Supervisor) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := sup.Stop(ctx); err != nil {
		t.Errorf("stop: %v", err)
	}
}

// logger sends the lines of a tree to the test's log.
func logger(t testing.TB) hclog.Logger {
	return hclog.New(&hclog.LoggerOptions{Level: hclog.Debug, Output: logWriter{t}, DisableTime: true})
}

// patience bounds every wait, so that a test that hangs says where; one that
// needs it all fails. No test judges by it how fast anything is.
const patience = 5 * time.Minute

// ctx is a context that ends a test that hangs with a clear word.
func ctx(t testing.TB) context.Context {
	c, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return c
}

func host(t testing.TB, sup *supervisor.Supervisor, name string) *supervisor.Host {
	t.Helper()
	h, err := sup.Host(name)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// until waits for a state and fails the test when it does not come.
func until(t testing.TB, h *supervisor.Host, states ...lifecycle.State) {
	t.Helper()
	if err := h.Wait(ctx(t), states...); err != nil {
		t.Fatalf("waiting for %v: %v; it is %+v", states, err, h.Status())
	}
}

// runs waits until this life of the host is running. A caller may hear of a
// crash before the state has changed; the number of the life tells old from new.
func runs(t testing.TB, h *supervisor.Host, life uint64) {
	t.Helper()
	eventually(t, func() bool { s := h.Status(); return s.State == lifecycle.Running && s.Life == life })
}

// eventually polls a condition that has no event of its own.
func eventually(t testing.TB, ok func() bool, what ...any) {
	t.Helper()
	poll.Until(t, patience, fmt.Sprint(what...), ok)
}

// signal sends a signal to the process of a host.
func signal(t testing.TB, h *supervisor.Host, sig syscall.Signal) {
	t.Helper()
	pid := h.Status().PID
	if pid == nil {
		t.Fatalf("%s has no process: %+v", h.Name(), h.Status())
	}
	if err := syscall.Kill(*pid, sig); err != nil {
		t.Fatal(err)
	}
}

// echoes fails the test unless the host answers.
func echoes(t testing.TB, h *supervisor.Host) {
	t.Helper()
	var out string
	if err := h.Call(ctx(t), "echo", "hello", &out); err != nil || out != "hello" {
		t.Fatalf("echo of %s: %q, %v", h.Name(), out, err)
	}
}

// crash returns the only crash report of a host, once it is there.
func crash(t testing.TB, sup *supervisor.Supervisor, host string) supervisor.CrashReport {
	t.Helper()
	var found []supervisor.CrashReport
	eventually(t, func() bool {
		found, _ = sup.Crashes(host)
		return len(found) > 0
	}, "crash report of", host)
	if len(found) > 1 {
		t.Fatalf("%d crash reports of %s, want 1", len(found), host)
	}
	return found[0]
}

// logWriter sends log lines to the test's log.
type logWriter struct{ t testing.TB }

func (w logWriter) Write(p []byte) (int, error) {
	s := bufio.NewScanner(strings.NewReader(string(p)))
	for s.Scan() {
		w.t.Log(s.Text())
	}
	return len(p), nil
}
