package integration

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"go.uber.org/goleak"

	"github.com/hostsup/hostsup/codec/hostsup"
	"github.com/hostsup/hostsup/extension/demo"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/supervisor"
)

// The test program plays all parts: with HOSTSUP_TEST_ROLE it is a demo host
// or a supervisor that is going to be killed.
const roleEnv = "HOSTSUP_TEST_ROLE"

var roles = map[string]func() int{
	"demo": func() int { return demo.Main(context.Background()) },
}

func TestMain(m *testing.M) {
	if role := os.Getenv(roleEnv); role != "" {
		play, ok := roles[role]
		if !ok {
			fmt.Fprintf(os.Stderr, "no role %q\n", role)
			os.Exit(2)
		}
		os.Exit(play())
	}
	temp, err := os.MkdirTemp("", "hostsup-integration-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Setenv("TMPDIR", temp)
	fds := openFDs()
	code := m.Run()
	if code == 0 {
		code = leftovers(temp, fds)
	}
	os.RemoveAll(temp)
	os.Exit(code)
}

// leftovers says what the tests have left behind: goroutines, descriptors,
// children, temporary files.
func leftovers(temp string, fds int) int {
	bad := 0
	complain := func(format string, args ...any) {
		fmt.Fprintf(os.Stderr, "left behind: "+format+"\n", args...)
		bad = 1
	}
	if err := goleak.Find(); err != nil {
		complain("%v", err)
	}
	if now := openFDs(); now > fds {
		complain("%d descriptors", now-fds)
	}
	if kids := children(os.Getpid()); len(kids) > 0 {
		complain("children %v", kids)
	}
	if files, _ := filepath.Glob(filepath.Join(temp, "*")); len(files) > 0 {
		complain("files %v", files)
	}
	return bad
}

func openFDs() int {
	entries, _ := os.ReadDir("/proc/self/fd")
	return len(entries)
}

// children returns the direct children of a process.
func children(pid int) []string {
	var out []string
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, t := range tasks {
		b, _ := os.ReadFile(t)
		out = append(out, strings.Fields(string(b))...)
	}
	return out
}

// demoHost is a host played by this program.
func demoHost(name string, change ...func(*supervisor.HostSpec)) supervisor.HostSpec {
	h := supervisor.HostSpec{
		Name: name, Command: []string{"/proc/self/exe"}, Protocol: hostsup.New(),
		Env: map[string]string{roleEnv: "demo"},
	}
	h.Restart = lifecycle.DefaultRestart()
	h.Restart.Backoff.Initial, h.Restart.Backoff.Max = 10*time.Millisecond, 50*time.Millisecond
	for _, f := range change {
		f(&h)
	}
	return h
}

// alone runs one host by itself and waits for its first try.
func alone(t testing.TB, h supervisor.HostSpec) (*supervisor.Supervisor, *supervisor.Host) {
	t.Helper()
	sup := start(t, supervisor.Spec{Groups: []supervisor.GroupSpec{supervisor.Alone(h)}})
	return sup, host(t, sup, h.Name)
}

// start runs a tree that ends with the test, and waits until it is ready.
func start(t testing.TB, spec supervisor.Spec, opts ...supervisor.Option) *supervisor.Supervisor {
	t.Helper()
	for i := range spec.Groups {
		for j := range spec.Groups[i].Hosts {
			if spec.Groups[i].Hosts[j].Command[0] == "/proc/self/exe" {
				exe, err := os.Executable()
				if err != nil {
					t.Fatal(err)
				}
				spec.Groups[i].Hosts[j].Command = []string{exe}
			}
		}
	}
	log := hclog.New(&hclog.LoggerOptions{Level: hclog.Debug, Output: logWriter{t}, DisableTime: true})
	sup, err := supervisor.Start(context.Background(), spec, append([]supervisor.Option{supervisor.WithLogger(log)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if err := sup.Stop(ctx); err != nil {
			t.Errorf("stop: %v", err)
		}
	})
	if err := sup.Ready(ctx(t)); err != nil {
		t.Fatal(err)
	}
	return sup
}

// ctx is a context that ends a test that hangs with a clear word.
func ctx(t testing.TB) context.Context {
	c, cancel := context.WithTimeout(context.Background(), 60*time.Second)
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

// story returns the state changes of a host so far: "starting running crashed".
func story(sup *supervisor.Supervisor, name string) string {
	var out []string
	for e := range sup.Events(context.Background(), false) {
		if e.Kind == "state" && *e.Host == name {
			out = append(out, string(*e.To))
		}
	}
	return strings.Join(out, " ")
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
