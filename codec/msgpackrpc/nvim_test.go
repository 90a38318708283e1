//go:build unix

package msgpackrpc_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/mpack"
	"github.com/hostsup/hostsup/codec/msgpackrpc"
	"github.com/hostsup/hostsup/internal/require"
)

// editor is a real Neovim at the other end of a session.
type editor struct {
	t   *testing.T
	p   codec.Protocol
	s   codec.Session
	r   codec.Reader
	in  *os.File // our end of its stdin
	out chan []byte
	id  uint32
	cmd *exec.Cmd
	// answer is asked what to answer to Neovim's own requests.
	answer func(m *codec.Message) codec.Message
}

func startNeovim(t *testing.T) *editor {
	t.Helper()
	nvim, err := exec.LookPath("nvim")
	if err != nil {
		require.Missing(t, "%v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	cmd := exec.CommandContext(ctx, nvim, "--embed", "--headless", "--clean")
	// It is killed, and leaves the folder of its socket.
	home := t.TempDir()
	cmd.Env = []string{"HOME=" + home, "TMPDIR=" + home, "PATH=" + os.Getenv("PATH")}
	cmd.Stderr = os.Stderr
	theirs, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdin = theirs
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	theirs.Close()
	// Beside the test's reading, so that neither side waits for the other.
	messages, written := make(chan []byte, 100), make(chan struct{})
	go func() {
		defer close(written)
		for b := range messages {
			_, _ = in.Write(b) // what is lost the test misses
		}
	}()
	t.Cleanup(func() {
		cancel()
		_ = cmd.Wait()
		in.Close()
		close(messages)
		<-written
	})
	p := msgpackrpc.New(msgpackrpc.Options{})
	s := p.Open(codec.Limits{})
	if first, done := s.Handshake(codec.Hello{Supervisor: "hostsup"}).Start(); len(first) != 0 || !done {
		t.Fatal("there is a handshake")
	}
	return &editor{t: t, p: p, s: s, r: s.NewReader(out), in: in, out: messages, cmd: cmd}
}

func (e *editor) write(m codec.Message) {
	e.t.Helper()
	b, err := e.s.Append(nil, &m)
	if err != nil {
		e.t.Fatal(err)
	}
	e.out <- b
}

func (e *editor) send(method string, params ...any) uint32 {
	e.t.Helper()
	var raw codec.Raw
	if len(params) > 0 {
		var err error
		if raw, err = e.p.Marshal(params); err != nil {
			e.t.Fatal(err)
		}
	}
	e.id++
	e.write(codec.Message{Kind: codec.Request, ID: e.id, Method: method, Params: raw})
	return e.id
}

// wait reads until the answer to a request, and answers what Neovim asks.
func (e *editor) wait(id uint32) (codec.Raw, *codec.Error) {
	e.t.Helper()
	for {
		var m codec.Message
		next(e.t, e.r, &m)
		switch {
		case m.Kind == codec.Response && m.ID == id:
			return m.Result, m.Err
		case m.Kind == codec.Request && e.answer != nil:
			out := e.answer(&m)
			out.Kind, out.ID = codec.Response, m.ID
			e.write(out)
		default:
			e.t.Fatalf("%s %d %q while %d is open", m.Kind, m.ID, m.Method, id)
		}
	}
}

func (e *editor) call(method string, params ...any) (codec.Raw, *codec.Error) {
	e.t.Helper()
	return e.wait(e.send(method, params...))
}

// into calls and decodes the result.
func (e *editor) into(out any, method string, params ...any) {
	e.t.Helper()
	raw, failed := e.call(method, params...)
	if failed != nil {
		e.t.Fatalf("%s: %v", method, failed)
	}
	if err := e.p.Unmarshal(raw, out); err != nil {
		e.t.Fatalf("%s: %v", method, err)
	}
}

func TestNeovim(t *testing.T) {
	e := startNeovim(t)
	var n int
	if e.into(&n, "nvim_eval", "6*7"); n != 42 {
		t.Errorf("6*7 = %d", n)
	}
	var info struct {
		Functions []struct {
			Name string `json:"name"`
		} `json:"functions"`
	}
	var both []codec.Raw
	e.into(&both, "nvim_get_api_info")
	if err := e.p.Unmarshal(both[1], &info); err != nil || len(info.Functions) < 200 {
		t.Errorf("%d functions, %v", len(info.Functions), err)
	}

	// Errors.
	if _, failed := e.call("nvim_nope", 1); !codec.IsMethodNotFound(failed) || failed.Message != "Invalid method: nvim_nope" {
		t.Errorf("a method that does not exist: %#v", failed)
	}
	if _, failed := e.call("nvim_buf_get_name", 99); failed == nil || failed.Code != 1 || failed.Message != "Invalid buffer id: 99" {
		t.Errorf("a buffer that does not exist: %#v", failed)
	}

	// A handle comes as an extension, and goes back as one.
	buffer, failed := e.call("nvim_get_current_buf")
	if text, err := e.p.ToJSON(buffer); failed != nil || err != nil || !strings.HasPrefix(string(text), `{"$ext":0,`) {
		t.Fatalf("the buffer is %s, %v, %v", text, failed, err)
	}
	var loaded bool
	if e.into(&loaded, "nvim_buf_is_loaded", buffer); !loaded {
		t.Error("the buffer came back as another")
	}

	// 10 MB there and back.
	lines := make([]string, 100_000)
	for i := range lines {
		lines[i] = strings.Repeat(string(rune('a'+i%26)), 99)
	}
	e.into(nil, "nvim_buf_set_lines", buffer, 0, -1, true, lines)
	var back []string
	e.into(&back, "nvim_buf_get_lines", buffer, 0, -1, true)
	if strings.Join(back, "\n") != strings.Join(lines, "\n") {
		t.Errorf("%d lines came back, or others", len(back))
	}
	large := strings.Repeat("x", 10<<20)
	if raw, failed := e.call("nvim_exec_lua", "return ...", []string{large}); failed != nil || !bytes.Equal(raw, mpack.AppendString(nil, large)) {
		t.Errorf("one string of 10 MB: %d bytes came back, %v", len(raw), failed)
	}

	// The end of the stream ends it.
	e.in.Close()
	if err := e.r.Next(new(codec.Message)); err == nil {
		t.Error("it said something after the end")
	}
	_ = e.cmd.Wait()
	if state := e.cmd.ProcessState; !state.Exited() {
		t.Errorf("it did not end by itself: %v", state)
	}
}

func TestNeovimAsks(t *testing.T) {
	e := startNeovim(t)
	e.answer = func(m *codec.Message) codec.Message {
		switch m.Method {
		case "double":
			var in []int
			if err := e.p.Unmarshal(m.Params, &in); err != nil {
				t.Error(err)
			}
			raw, err := e.p.Marshal(2 * in[0])
			if err != nil {
				t.Error(err)
			}
			return codec.Message{Result: raw}
		case "eval": // and ask back while it waits
			raw, failed := e.call("nvim_eval", "5+5")
			return codec.Message{Result: raw, Err: failed}
		}
		return codec.Message{Err: &codec.Error{Name: codec.NameMethodNotFound, Message: "there is no " + m.Method}}
	}
	var n int
	if e.into(&n, "nvim_eval", "rpcrequest(1, 'double', 21)"); n != 42 {
		t.Errorf("double: %d", n)
	}
	if e.into(&n, "nvim_eval", "rpcrequest(1, 'eval')"); n != 10 {
		t.Errorf("a request within a request: %d", n)
	}
	if _, failed := e.call("nvim_eval", "rpcrequest(1, 'nope')"); failed == nil || !strings.Contains(failed.Message, "there is no nope") || codec.IsMethodNotFound(failed) {
		t.Errorf("an error of ours: %v", failed)
	}
}

// The liveness question is answered while Neovim waits or works.
func TestNeovimIsAlive(t *testing.T) {
	for _, busy := range []struct{ method, arg string }{
		{"nvim_eval", "getchar()"},
		{"nvim_eval", "input('name? ')"},
		{"nvim_eval", "inputlist(['a', 'b'])"},
		{"nvim_command", "sleep 100"},
		{"nvim_command", "while 1 | endwhile"},
		{"nvim_eval", "system('sleep 10')"},
		{"nvim_eval", "rpcrequest(1, 'never')"},
	} {
		t.Run(busy.arg, func(t *testing.T) {
			t.Parallel()
			e := startNeovim(t)
			if _, failed := e.call("nvim_eval", "1"); failed != nil {
				t.Fatal(failed)
			}
			e.send(busy.method, busy.arg)
			if strings.Contains(busy.arg, "rpcrequest") {
				next(t, e.r, new(codec.Message))
			}
			for range 3 {
				if _, failed := e.call(e.s.Ping()); !codec.IsMethodNotFound(failed) {
					t.Errorf("answered %v", failed)
				}
			}
			if err := e.cmd.Process.Kill(); err != nil {
				t.Error(err)
			}
		})
	}
}
