//go:build linux

package integration

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/msgpackrpc"
	"github.com/hostsup/hostsup/intercept/answer"
	"github.com/hostsup/hostsup/internal/require"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/supervisor"
)

// speaker is a host that speaks MessagePack-RPC.
func speaker(t testing.TB, name string, command ...string) supervisor.HostSpec {
	t.Helper()
	home := t.TempDir()
	return demoHost(name, func(h *supervisor.HostSpec) {
		// A machine that is busy with other tests takes its time.
		h.Liveness.After, h.Stop.Grace = patience, patience
		h.Command, h.Protocol = command, msgpackrpc.New(msgpackrpc.Options{})
		h.Env = map[string]string{"HOME": home, "TMPDIR": home, "PATH": os.Getenv("PATH")}
	})
}

// neovim is a host that is a real Neovim.
func neovim(t testing.TB, name string) supervisor.HostSpec {
	t.Helper()
	return speaker(t, name, peer(t, "nvim"), "--embed", "--headless", "--clean")
}

// evaluates fails the test unless a Neovim does.
func evaluates(t testing.TB, h *supervisor.Host) {
	t.Helper()
	var n int
	if err := h.Call(ctx(t), "nvim_eval", []any{"6*7"}, &n); err != nil || n != 42 {
		t.Fatalf("6*7 is %d, %v", n, err)
	}
}

func TestNeovimAsHost(t *testing.T) {
	t.Parallel()
	spec := neovim(t, "nvim")
	spec.Answers.Handlers = map[string]actors.Handler{
		"double": func(_ context.Context, r *actors.Incoming) (any, error) {
			var in []int
			if err := r.Decode(&in); err != nil || len(in) != 1 {
				return nil, fmt.Errorf("one number expected: %w", err)
			}
			return 2 * in[0], nil
		},
	}
	_, h := alone(t, spec)
	evaluates(t, h)

	var info []codec.Raw
	var api struct {
		Functions []struct {
			Name string `json:"name"`
		} `json:"functions"`
	}
	if err := h.Call(ctx(t), "nvim_get_api_info", nil, &info); err != nil || len(info) != 2 {
		t.Fatalf("%d values, %v", len(info), err)
	}
	if err := h.Encoding().Unmarshal(info[1], &api); err != nil || len(api.Functions) <= 200 {
		t.Errorf("%d functions, %v", len(api.Functions), err) // 246 of Neovim 0.7.2
	}

	var err error
	var n int
	if err = h.Call(ctx(t), "nvim_eval", []any{"rpcrequest(1, 'double', 21)"}, &n); err != nil || n != 42 {
		t.Errorf("what it asked was answered with %d, %v", n, err)
	}
	if err = h.Call(ctx(t), "nvim_eval", []any{"rpcrequest(1, 'nope')"}, nil); err == nil || !strings.Contains(err.Error(), `no method "nope"`) {
		t.Errorf("what it asked in vain: %v", err)
	}
	if err = h.Call(ctx(t), "nvim_nope", nil, nil); !errors.Is(err, actors.ErrNoSuchMethod) {
		t.Errorf("a method that does not exist: %v", err)
	}
	// One value that is no array is an argument.
	if err = h.Call(ctx(t), "nvim_eval", "1 + 1", &n); err != nil || n != 2 {
		t.Errorf("an argument alone: %d, %v", n, err)
	}

	// 10 MB there and back.
	lines := make([]string, 100_000)
	for i := range lines {
		lines[i] = strings.Repeat(string(rune('a'+i%26)), 104)
	}
	var back []string
	if err := h.Call(ctx(t), "nvim_buf_set_lines", []any{0, 0, -1, true, lines}, nil); err != nil {
		t.Fatal(err)
	}
	if err := h.Call(ctx(t), "nvim_buf_get_lines", []any{0, 0, -1, true}, &back); err != nil || strings.Join(back, "\n") != strings.Join(lines, "\n") {
		t.Errorf("%d lines came back, %v", len(back), err)
	}
	if s := h.Status(); s.Liveness != "ping" || s.State != lifecycle.Running || s.Life != 1 {
		t.Errorf("%+v", s)
	}

	// The end of the stream is goodbye enough.
	pid := *h.Status().PID
	if err := h.Stop(ctx(t)); err != nil {
		t.Error(err)
	}
	if s := h.Status(); s.State != lifecycle.Stopped || s.LastExit == nil || s.LastExit.Signal != nil {
		t.Errorf("stopped: %+v, last exit %+v", s, s.LastExit)
	}
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("it is still there: %v", err)
	}
}

// Each of the calls that are open when a Neovim is killed has one outcome, and
// another Neovim takes over.
func TestNeovimKilledInTheMiddle(t *testing.T) {
	t.Parallel()
	looping := make(chan bool, 1)
	spec := neovim(t, "nvim")
	spec.Answers.Handlers = map[string]actors.Handler{
		"looping": func(context.Context, *actors.Incoming) (any, error) {
			looping <- true
			return nil, nil
		},
	}
	sup, h := alone(t, spec)
	evaluates(t, h)
	const calls = 100
	var mu sync.Mutex
	outcomes := make(map[int][]error)
	var all sync.WaitGroup
	for i := range calls {
		method, params := "nvim_eval", []any{fmt.Sprint(i)}
		if i == 0 {
			method, params = "nvim_exec_lua", []any{"vim.rpcrequest(1, 'looping') while true do end", []any{}}
		}
		var opts []supervisor.CallOption
		if i%2 == 1 { // asked again of the next life
			opts = append(opts, supervisor.Idempotent())
		}
		p, err := h.Go(context.Background(), method, params, opts...)
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			<-looping
		}
		all.Go(func() {
			var got int
			err := p.Result(&got)
			if err == nil && got != i {
				err = fmt.Errorf("answered %d instead of %d", got, i)
			}
			mu.Lock()
			defer mu.Unlock()
			outcomes[i] = append(outcomes[i], err)
		})
	}
	signal(t, h, syscall.SIGKILL)
	all.Wait()
	runs(t, h, 2)
	evaluates(t, h)
	failed := 0
	for i := range calls {
		var down *supervisor.HostError
		switch errs := outcomes[i]; {
		case len(errs) != 1:
			t.Errorf("call %d has the outcomes %v", i, errs)
		case errors.As(errs[0], &down) && down.Life == 1:
			failed++
		case errs[0] != nil:
			t.Errorf("call %d: %v", i, errs[0])
		}
	}
	if failed == 0 {
		t.Error("all calls were answered: nothing was open when it was killed")
	}
	t.Logf("%d of %d calls were lost", failed, calls)
	if c := crash(t, sup, "nvim"); c.Life != 1 {
		t.Errorf("crash report: %+v", c)
	}
	eventually(t, func() bool { return h.Status().Pending == 0 }, "nothing is pending")
}

// A Neovim that is stopped gives no sign of life; one that is busy does. Neither
// is killed.
func TestNeovimUnresponsive(t *testing.T) {
	t.Parallel()
	spec := neovim(t, "nvim")
	spec.Liveness.After, spec.Liveness.Ping, spec.Liveness.KillAfter = time.Second, 50*time.Millisecond, 0
	_, h := alone(t, spec)
	evaluates(t, h)
	signal(t, h, syscall.SIGSTOP)
	until(t, h, lifecycle.Unresponsive)
	signal(t, h, syscall.SIGCONT)
	until(t, h, lifecycle.Running)
	evaluates(t, h)
	if s := h.Status(); s.Life != 1 {
		t.Errorf("it was killed: %+v", s)
	}
}

// plugins of Neovim's hosts: "Echo" returns its argument, "Ask" has Neovim
// evaluate it.
const (
	pythonPlugin = `import pynvim

@pynvim.plugin
class Plugin:
    def __init__(self, nvim):
        self.nvim = nvim

    @pynvim.function("Echo", sync=True)
    def echo(self, args):
        return args[0]

    @pynvim.function("Ask", sync=True)
    def ask(self, args):
        return self.nvim.eval(args[0])
`
	nodePlugin = `module.exports = plugin => {
  plugin.registerFunction('Echo', args => args[0], {sync: true})
  plugin.registerFunction('Ask', args => plugin.nvim.eval(args[0]), {sync: true})
}
`
)

// The hosts that Neovim has for its plugins ask before they answer.
func TestNeovimsPluginHosts(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, file, plugin string
		command            func(t *testing.T, plugin string) []string
	}{
		{"pynvim", "plugin.py", pythonPlugin, pynvim},
		{"node", "plugin.js", nodePlugin, nodeHost},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			plugin := written(t, dir, tt.file, tt.plugin)
			written(t, dir, "package.json", "{}") // or node looks for one above
			spec := speaker(t, "plugins", tt.command(t, plugin)...)
			// What Neovim answers as [channel, metadata].
			api, err := exec.CommandContext(ctx(t), peer(t, "nvim"), "--api-info").Output()
			if err != nil {
				t.Fatal(err)
			}
			info := codec.Raw(append([]byte{0x92, 1}, api...))
			asked := make(chan string, 100)
			spec.Answers.Handlers = map[string]actors.Handler{
				"nvim_get_api_info": func(_ context.Context, r *actors.Incoming) (any, error) {
					asked <- r.Method
					return info, nil
				},
			}
			spec.Answers.Forwards = []answer.Forward{{Method: "nvim_*", To: "nvim"}}
			sup := start(t, supervisor.Spec{Groups: []supervisor.GroupSpec{supervisor.Alone(neovim(t, "nvim")), supervisor.Alone(spec)}})
			h := host(t, sup, "plugins")

			var word string
			if err := h.Call(ctx(t), "poll", nil, &word); err != nil || word != "ok" {
				t.Fatalf("poll: %q, %v", word, err)
			}
			if got := <-asked; got != "nvim_get_api_info" {
				t.Errorf("it asked %s", got)
			}
			if err := h.Call(ctx(t), "nope", nil, nil); !errors.Is(err, actors.ErrNoSuchMethod) {
				t.Errorf("a method that does not exist: %v", err)
			}
			function := func(name string, out any, args ...any) error {
				return h.Call(ctx(t), plugin+":function:"+name, []any{args}, out)
			}
			// pynvim 0.4.2 answers the first call, which makes the plugin, with nil.
			if err := function("Echo", nil, 1); err != nil {
				t.Fatal(err)
			}
			large := strings.Repeat("0123456789", 1<<20)
			var back string
			if err := function("Echo", &back, large); err != nil || back != large {
				t.Errorf("10 MB: %d bytes came back, %v", len(back), err)
			}
			var n int
			if err := function("Ask", &n, "6*7"); err != nil || n != 42 {
				t.Errorf("asked Neovim: %d, %v", n, err)
			}
			if err := function("Ask", nil, "nosuch"); err == nil || !strings.Contains(err.Error(), "E121") {
				t.Errorf("asked Neovim for what it does not have: %v", err)
			}

			// One that is killed asks again when it is back.
			signal(t, h, syscall.SIGKILL)
			runs(t, h, 2)
			if err := function("Echo", nil, 1); err != nil {
				t.Error(err)
			}
			if err := function("Ask", &n, "5+5"); err != nil || n != 10 {
				t.Errorf("after a crash: %d, %v", n, err)
			}
			<-asked
			if err := h.Stop(ctx(t)); err != nil {
				t.Error(err)
			}
			if e := h.Status().LastExit; e == nil || e.Code == nil || *e.Code != 0 {
				t.Errorf("it ended with %+v", e)
			}
		})
	}
}

func pynvim(t *testing.T, plugin string) []string {
	t.Helper()
	python := peer(t, "/usr/bin/python3") // Debian's, which Debian's package is for
	if out, err := exec.CommandContext(ctx(t), python, "-c", "import neovim").CombinedOutput(); err != nil {
		require.Missing(t, "python3-pynvim; ./test peers installs it: %s", out)
	}
	return []string{python, "-c", "from neovim import start_host; start_host()", plugin}
}

func nodeHost(t *testing.T, plugin string) []string {
	t.Helper()
	main, err := filepath.Abs(peerDir + "/neovim/bin/cli.js")
	if err == nil {
		_, err = os.Stat(main)
	}
	if err != nil {
		require.Missing(t, "%v; ./test peers installs it", err)
	}
	return []string{peer(t, "node"), main, plugin}
}
