//go:build linux

package integration

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/lifecycle"
)

type list = []any

// Several programs share a Neovim, and it is killed under them.
func TestAttachNeovim(t *testing.T) {
	t.Parallel()
	spec := neovim(t, "nvim")
	spec.Attach, spec.Restart.MaxCrashes = true, 10
	sup, h := alone(t, spec)
	if s := h.Status(); s.State != lifecycle.Stopped {
		t.Fatalf("it is %s before anybody has attached", s.State)
	}
	connect := func(name string) *attached {
		a := attachTo(t, sup, "nvim", spec.Protocol)
		a.setReply(func(method string, params codec.Raw) (codec.Raw, *codec.Error) {
			if method == "refuse" {
				return nil, &codec.Error{Message: "not by " + name}
			}
			return a.params(name + " answers " + method), nil
		})
		return a
	}
	eval := func(a *attached, expression, want string) {
		t.Helper()
		if got := a.must("nvim_eval", list{expression}); got != want {
			t.Errorf("%s is %s, want %s", expression, got, want)
		}
	}
	one := connect("one")
	until(t, h, lifecycle.Running) // nobody had to say anything
	two := connect("two")
	eval(one, "6*7", "42")

	// What is said behind each other arrives so, and ids never meet.
	one.tell("nvim_set_var", list{"place", 5})
	eval(one, "g:place", "5")
	var all sync.WaitGroup
	for n, a := range []*attached{one, two} {
		all.Go(func() {
			for i := range 200 {
				eval(a, fmt.Sprintf("%d + %d", i, 1000*n), fmt.Sprint(i+1000*n))
			}
		})
	}
	all.Wait()

	// Handles are handed through as they are.
	_, answer := one.begin("nvim_get_current_buf", nil)
	buffer := <-answer
	if buffer.Err != nil {
		t.Fatal(buffer.Err)
	}
	two.must("nvim_buf_set_lines", list{buffer.Result, 0, -1, true, []string{"a", "b"}})
	if got := one.must("nvim_buf_get_lines", list{buffer.Result, 0, -1, true}); got != `["a","b"]` {
		t.Error(got)
	}

	// Errors are what they are to who has started a Neovim himself.
	fails := func(method string, params list, code int64, text string) {
		t.Helper()
		var e *codec.Error
		if _, err := one.call(method, params); !errors.As(err, &e) || e.Code != code || !strings.Contains(e.Error(), text) {
			t.Errorf("%s %v: %v, want %d, %s", method, params, err, code, text)
		}
	}
	fails("nvim_eval", list{"nosuch"}, 0, "E121")
	fails("nvim_buf_line_count", list{12345}, 1, "Invalid buffer id: 12345")
	fails("nvim_nope", list{}, 0, "MethodNotFound: Invalid method: nvim_nope")

	// What it says by itself is for all; what it asks, for the first.
	one.tell("nvim_eval", list{"rpcnotify(1, 'news', [1, 2])"})
	for _, a := range []*attached{one, two} {
		got := a.until("news", func(m codec.Message) bool { return m.Method == "news" })
		if text, err := a.enc.ToJSON(got.Params); err != nil || string(text) != "[[1,2]]" {
			t.Errorf("%s, %v", text, err)
		}
	}
	eval(two, "rpcrequest(1, 'who')", `"one answers who"`)
	if _, err := two.call("nvim_eval", list{"rpcrequest(1, 'refuse')"}); err == nil || !strings.Contains(err.Error(), "not by one") {
		t.Errorf("what the first has refused: %v", err)
	}

	// A call that is under way when it is killed is answered, and the next one goes
	// to the next life.
	looping := make(chan bool, 1)
	one.setReply(func(string, codec.Raw) (codec.Raw, *codec.Error) {
		looping <- true
		return nil, nil
	})
	_, lost := two.begin("nvim_exec_lua", list{"vim.rpcrequest(1, 'looping') while true do end", list{}})
	<-looping
	signal(t, h, syscall.SIGKILL)
	if _, err := two.wait(lost); err == nil || !strings.Contains(err.Error(), "SIGKILL") {
		t.Errorf("a call that was lost: %v", err)
	}
	eval(one, "exists('g:place')", "0")
	eval(two, "6*7", "42")
	if s := h.Status(); s.Life != 2 {
		t.Errorf("life %d", s.Life)
	}

	// The first leaves: the next is asked; after the last, nobody is.
	_ = one.rw.Close()
	if err := <-one.served; err != nil {
		t.Errorf("attach: %v", err)
	}
	eval(two, "rpcrequest(1, 'who')", `"two answers who"`)
	_ = two.rw.Close()
	<-two.served
	if err := h.Call(ctx(t), "nvim_eval", list{"rpcrequest(1, 'who')"}, nil); err == nil || !strings.Contains(err.Error(), `no method "who"`) {
		t.Errorf("what nobody is there to answer: %v", err)
	}

	// Who comes to one that cannot be started is let go with the reason.
	broken := speaker(t, "broken", "/no/such/program")
	broken.Attach, broken.Restart.MaxCrashes = true, 1
	if _, err := sup.Add(ctx(t), "", broken); err != nil {
		t.Fatal(err)
	}
	three := attachTo(t, sup, "broken", spec.Protocol)
	if err := <-three.served; err == nil || !strings.Contains(err.Error(), "/no/such/program") {
		t.Errorf("attach to a program that is not there: %v", err)
	}
}

// Programs that have never heard of hostsup get to a shared Neovim with `hostsup
// attach` in the place of `nvim --embed`: pynvim, and another Neovim.
func TestAttachNeovimFromPrograms(t *testing.T) {
	t.Parallel()
	nvim, program, python := peer(t, "nvim"), hostsupBinary(t), pynvim(t, "")[0]
	dir := t.TempDir()
	within := func(name string) string { return filepath.Join(dir, name) }
	text := fmt.Sprintf(`
		supervisor { state_dir = %q }
		host "editor" {
			command     = [%q, "--embed", "--headless", "--clean"]
			protocol    = "msgpack-rpc"
			attach      = true
			inherit_env = ["PATH"]
			env         = { HOME = %q, TMPDIR = %q }
		}`, within("state"), nvim, dir, dir)
	if err := os.WriteFile(within("config.hcl"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	socket := within("sock")
	defer runProgram(t, program, "run", "-c", within("config.hcl"), "--socket", socket)()
	run := func(argv ...string) string {
		t.Helper()
		cmd := exec.CommandContext(ctx(t), argv[0], argv[1:]...)
		cmd.Env = append(os.Environ(), "HOME="+dir, "TMPDIR="+dir, "HOSTSUP_SOCKET="+socket, "PROGRAM="+program)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return strings.ReplaceAll(strings.TrimSpace(string(out)), "\r", "")
	}
	if got := run(python, "-c", pynvimClient); got != "all is well" {
		t.Errorf("pynvim: %s", got)
	}
	got := run(nvim, "--headless", "--clean", "-c", `let ch = jobstart([$PROGRAM, 'attach', 'editor'], {'rpc': v:true})`,
		"-c", `call rpcrequest(ch, 'nvim_set_var', 'left', 'by the other')`,
		"-c", `echo rpcrequest(ch, 'nvim_eval', 'join(getline(1, "$"), "-") . g:left')`, "-c", "qa!")
	if got != "one-two"+"by the other" {
		t.Errorf("the other Neovim: %q", got)
	}
}

// pynvimClient drives a Neovim that it seems to have started, both ways: what
// Neovim asks is answered by asking Neovim, which asks again.
const pynvimClient = `
import neovim, os, sys

nvim = neovim.attach("child", argv=[os.environ["PROGRAM"], "attach", "editor"])
assert nvim.eval("6*7") == 42
nvim.current.buffer[:] = ["one", "two"]
assert nvim.current.buffer[1] == "two"
try:
    nvim.eval("nosuch")
    sys.exit("no error")
except neovim.NvimError as e:
    assert "E121" in str(e), e

seen = []

def on_request(name, args):
    if name == "down":
        depth = args[0]
        seen.append(depth)
        if depth == 0:
            return 100
        return nvim.eval("rpcrequest(%d, 'down', %d)" % (nvim.channel_id, depth - 1)) + 1
    raise Exception("unknown " + name)

def on_setup():
    try:
        out = nvim.eval("rpcrequest(%d, 'down', 5)" % nvim.channel_id)
        assert out == 105 and seen == [5, 4, 3, 2, 1, 0], (out, seen)
        print("all is well")
    finally:
        nvim.stop_loop()

nvim.run_loop(on_request, None, on_setup)
`
