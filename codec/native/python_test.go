//go:build unix

package native_test

import (
	"context"
	"math"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/native"
	"github.com/hostsup/hostsup/internal/require"
)

// The host that docs/protocol.md shows is run as it stands there.
func TestPythonHostOfTheDocs(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		require.Missing(t, "%v", err)
	}
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "protocol.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, code, found := strings.Cut(string(page), "```python\n")
	code, _, ended := strings.Cut(code, "```\n")
	if !found || !ended {
		t.Fatal("docs/protocol.md shows no Python")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	host := exec.CommandContext(ctx, python, "-c", code)
	host.Env = []string{"HOSTSUP_HOST_FD=3"}
	host.Stderr = os.Stderr
	conn := inherit(t, host)
	defer conn.Close()
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	host.ExtraFiles[0].Close()
	ended = false
	defer func() {
		if !ended {
			host.Process.Kill()
			host.Wait()
		}
	}()

	p := native.New()
	s := p.Open(codec.Limits{})
	r := s.NewReader(conn)
	write := func(out ...codec.Message) {
		t.Helper()
		var b []byte
		for i := range out {
			if b, err = s.Append(b, &out[i]); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := conn.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	var m codec.Message
	opening := s.Handshake(codec.Hello{Supervisor: "test", Version: "1", Host: "py", Life: 1, Init: map[string]any{"a": 1.5}})
	out, _ := opening.Start()
	write(out...)
	next(t, r, &m)
	out, done, err := opening.Handle(&m)
	if err != nil || !done {
		t.Fatalf("handshake: done %v, %v", done, err)
	}
	write(out...)
	if peer := opening.Peer(); peer.Name != "small" || s.Ping() != "$/ping" {
		t.Fatalf("peer %+v, ping %q", peer, s.Ping())
	}

	id := uint32(1)
	call := func(method string, params any) (any, *codec.Error) {
		t.Helper()
		raw, err := p.Marshal(params)
		if err != nil {
			t.Fatal(err)
		}
		id++
		write(codec.Message{Kind: codec.Request, ID: id, Method: method, Params: raw})
		next(t, r, &m)
		if m.Kind != codec.Response || m.ID != id {
			t.Fatalf("%s: %s of %d, want the response to %d", method, m.Kind, m.ID, id)
		}
		var v any
		if err := p.Unmarshal(m.Result, &v); err != nil {
			t.Fatal(err)
		}
		return v, m.Err
	}
	everything := []any{
		nil, true, false, int64(0), int64(127), int64(128), int64(65535), int64(65536), int64(math.MaxInt64), uint64(math.MaxUint64),
		int64(-1), int64(-32), int64(-33), int64(-129), int64(-32769), int64(math.MinInt64), 1.5, "", "é", strings.Repeat("x", 40),
		strings.Repeat("y", 300), strings.Repeat("z", 70000), []byte{}, []byte("bin"), make([]byte, 70000), []any{}, []any{[]any{}},
		map[string]any{"k": map[string]any{}}, make([]any, 20), make([]any, 70000),
	}
	if v, failed := call("echo", everything); failed != nil || !cmp.Equal(v, any(everything)) {
		t.Errorf("echo: %.200v, %v", v, failed)
	}
	if v, failed := call("add", []int{2, 3}); failed != nil || v != int64(5) {
		t.Errorf("add: %v, %v", v, failed)
	}
	if v, failed := call("$/ping", nil); failed != nil || v != nil {
		t.Errorf("ping: %v, %v", v, failed)
	}
	if _, failed := call("none", nil); !codec.IsMethodNotFound(failed) {
		t.Errorf("none: %v", failed)
	}
	if _, failed := call("add", 5); failed == nil || failed.Name != "TypeError" {
		t.Errorf("add of a number: %v", failed)
	}
	bye, _ := s.Goodbye()
	if v, failed := call(bye.Method, nil); failed != nil || v != nil {
		t.Errorf("shutdown: %v, %v", v, failed)
	}
	if err := conn.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if err := host.Wait(); err != nil {
		t.Errorf("the host did not end well: %v", err)
	}
	ended = true
}

// inherit gives the command a socket as descriptor 3 and returns the other
// end.
func inherit(t *testing.T, cmd *exec.Cmd) *net.UnixConn {
	t.Helper()
	syscall.ForkLock.RLock()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(fds[0])
		syscall.CloseOnExec(fds[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := os.NewFile(uintptr(fds[0]), "ours"), os.NewFile(uintptr(fds[1]), "theirs")
	cmd.ExtraFiles = []*os.File{theirs}
	c, err := net.FileConn(ours)
	ours.Close()
	if err != nil {
		theirs.Close()
		t.Fatal(err)
	}
	return c.(*net.UnixConn)
}
