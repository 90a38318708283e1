//go:build linux

package integration

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/jsonrpc"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/supervisor"
)

func everything(t testing.TB) supervisor.HostSpec {
	return fromPeers(t, jsonrpc.Lines(jsonrpc.Options{}), "mcp-server-everything", "stdio")
}

// tool calls a tool and fails the test unless the answer has the words.
func tool(t testing.TB, h *supervisor.Host, name string, args object, words string) {
	t.Helper()
	var out codec.Raw
	if err := h.Call(ctx(t), "tools/call", object{"name": name, "arguments": args}, &out); err != nil || !strings.Contains(string(out), words) {
		t.Fatalf("%s: %q, %v", name, out, err)
	}
}

func TestMCPEverythingAsHost(t *testing.T) {
	t.Parallel()
	progress := make(chan string, 100)
	_, h := alone(t, everything(t), supervisor.WithNotifications(func(n supervisor.Notification) {
		if n.Method == "notifications/progress" {
			progress <- string(n.Params)
		}
	}))
	var list struct {
		Tools []struct{ Name string } `json:"tools"`
	}
	for life := uint64(1); life <= 2; life++ {
		runs(t, h, life)
		if err := h.Call(ctx(t), "tools/list", nil, &list); err != nil || len(list.Tools) < 5 {
			t.Fatalf("%d tools, %v", len(list.Tools), err)
		}
		tool(t, h, "echo", object{"message": "two\nlines"}, `two\nlines`)
		if life == 1 {
			signal(t, h, syscall.SIGKILL)
		}
	}

	// Who brings a token of his own hears of his progress.
	long := func(duration float64, token string) object {
		p := object{"name": "trigger-long-running-operation", "arguments": object{"duration": duration, "steps": 2}}
		if token != "" {
			p["_meta"] = object{"progressToken": token}
		}
		return p
	}
	if err := h.Call(ctx(t), "tools/call", long(0.2, "mine"), nil); err != nil {
		t.Error(err)
	}
	if got := <-progress; !strings.Contains(got, `"mine"`) {
		t.Errorf("progress %s", got)
	}

	// A call that nobody waits for is taken back, and never answered.
	c, cancel := context.WithCancel(ctx(t))
	p, err := h.Go(c, "tools/call", long(2, "gone"))
	if err != nil {
		t.Fatal(err)
	}
	tool(t, h, "echo", object{"message": "behind it"}, "behind it") // so that it has arrived
	p.Cancel()
	if err := p.Result(nil); !errors.Is(err, supervisor.ErrCancelled) {
		t.Error(err)
	}
	cancel()
	eventually(t, func() bool { return h.Status().Pending == 0 })
	tool(t, h, "echo", object{"message": "after it"}, "after it")

	if err := h.Call(ctx(t), "nope/nope", nil, nil); !errors.Is(err, supervisor.ErrNoSuchMethod) {
		t.Errorf("a method that does not exist: %v", err)
	}
	if s := h.Status(); s.Liveness != "ping" || s.Noise != 0 || s.State != lifecycle.Running || s.Life != 2 {
		t.Errorf("%+v", s)
	}
	endsWell(t, h)
}

// Progress, for which the server is asked when idle_timeout is set, keeps a call
// alive for longer than that.
func TestMCPProgressPutsOffIdleTimeout(t *testing.T) {
	t.Parallel()
	spec := everything(t)
	spec.Requests.IdleTimeout = 2 * time.Second
	_, h := alone(t, spec)
	tool(t, h, "trigger-long-running-operation", object{"duration": 5, "steps": 20}, "completed")
	err := h.Call(ctx(t), "tools/call", object{"name": "trigger-long-running-operation", "arguments": object{"duration": 10, "steps": 1}}, nil)
	if !errors.Is(err, supervisor.ErrTimeout) {
		t.Errorf("a call that tells nothing: %v", err)
	}
}

func TestMCPServerThatHangs(t *testing.T) {
	t.Parallel()
	spec := everything(t)
	reported(&spec)
	_, h := alone(t, spec)
	hangsAndIsBack(t, h)
	tool(t, h, "echo", object{"message": "back"}, "back")
	endsWell(t, h)
}

func TestMCPFilesystemAsHost(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "a.txt")
	if err := os.WriteFile(file, []byte("contents"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, h := alone(t, fromPeers(t, jsonrpc.Lines(jsonrpc.Options{}), "mcp-server-filesystem", dir))
	for life := uint64(1); life <= 2; life++ {
		runs(t, h, life)
		tool(t, h, "read_text_file", object{"path": file}, "contents")
		tool(t, h, "read_text_file", object{"path": "/etc/passwd"}, "Access denied")
		if life == 1 {
			signal(t, h, syscall.SIGKILL)
		}
	}
	endsWell(t, h)
}

// A server that prints to its standard output before it speaks is understood,
// and what it printed is in its log; unless that is to be an end.
func TestMCPServerThatPrints(t *testing.T) {
	t.Parallel()
	printing := func(opt jsonrpc.Options) supervisor.HostSpec {
		spec := everything(t)
		spec.Protocol = jsonrpc.Lines(opt)
		spec.Command = append([]string{"/bin/sh", "-c", `echo "[INFO] hello"; echo ready when you are; exec "$@"`, "sh"}, spec.Command...)
		return spec
	}
	_, h := alone(t, printing(jsonrpc.Options{}))
	runs(t, h, 1)
	tool(t, h, "echo", object{"message": "x"}, "x")
	if s := h.Status(); s.Noise != 2 {
		t.Errorf("%d lines of noise", s.Noise)
	}
	var printed []string
	for _, l := range h.Tail(100) {
		printed = append(printed, l.Text)
	}
	mentions(t, strings.Join(printed, "\n"), "[INFO] hello", "ready when you are")
	endsWell(t, h)

	spec := printing(jsonrpc.Options{FailOnNoise: true})
	spec.Restart.MaxCrashes = 1
	sup, h := alone(t, spec)
	until(t, h, lifecycle.Failed)
	mentions(t, crash(t, sup, h.Name()).Reason, "text on stdout", "[INFO] hello")
}

// A server of the generation without a session is found out and called; its
// life is asked for by what it is told to be asked by.
func TestMCPSessionlessAsHost(t *testing.T) {
	t.Parallel()
	script, err := filepath.Abs("../codec/jsonrpc/testdata/sessionless.py")
	if err != nil {
		t.Fatal(err)
	}
	for ping, liveness := range map[string]string{"": "none", "server/discover": "ping"} {
		_, h := alone(t, demoHost("sessionless", func(s *supervisor.HostSpec) {
			s.Command, s.Protocol = []string{peer(t, "python3"), script}, jsonrpc.Lines(jsonrpc.Options{Ping: ping})
			s.Env = map[string]string{"PATH": os.Getenv("PATH")}
			reported(s)
		}))
		for life := uint64(1); life <= 2; life++ {
			runs(t, h, life)
			tool(t, h, "who", object{}, "you are hostsup")
			if life == 1 {
				signal(t, h, syscall.SIGKILL)
			}
		}
		if s := h.Status(); s.Liveness != liveness {
			t.Errorf("liveness %s", s.Liveness)
		}
		endsWell(t, h)
	}
}
