package sdk_test

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/sdk"
	"github.com/hostsup/hostsup/sdk/internal/counterpart"
)

// envHost makes this test program a host.
const envHost = "EXTENSION_TEST_HOST"

func hostInDisguise() string { return os.Getenv(envHost) }

// runAsHost is the main function of the host that the transport tests start.
func runAsHost(name string) {
	if name == "bench" {
		if err := benchServer().Serve(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, "host:", err)
			os.Exit(1)
		}
		return
	}
	s := newServer(sdk.WithDrain(time.Minute))
	s.HandleRaw("echo", echo, sdk.Inline())
	sdk.Handle(s, "print", func(_ context.Context, text string) (any, error) {
		_, err := fmt.Print(text)
		return nil, err
	})
	sdk.Handle(s, "stdin", func(context.Context, any) (string, error) {
		b, err := io.ReadAll(os.Stdin)
		return string(b), err
	})
	sdk.Handle(s, "env", func(context.Context, any) ([]string, error) {
		var left []string
		for _, kv := range os.Environ() {
			if strings.HasPrefix(kv, "HOSTSUP_HOST_") {
				left = append(left, kv)
			}
		}
		return left, nil
	})
	sdk.Handle(s, "child", func(context.Context, any) (string, error) { return inheritedFiles() })
	s.HandleRaw("wait", func(ctx context.Context, _ codec.Raw) (codec.Raw, error) {
		<-ctx.Done()
		return nil, context.Cause(ctx)
	})
	s.OnShutdown(func(context.Context) error {
		_, err := fmt.Fprintln(os.Stderr, "hook ran")
		return err
	})
	if err := s.Serve(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "host:", err)
		os.Exit(1)
	}
}

// inheritedFiles tells what a child of this process gets above the standard
// descriptors.
func inheritedFiles() (string, error) {
	out, err := exec.Command("/bin/sh", "-c", "ls -l /proc/$$/fd").Output()
	var files []string
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		if len(f) < 3 || f[len(f)-2] != "->" || strings.Contains("012", f[len(f)-3]) {
			continue
		}
		files = append(files, f[len(f)-1])
	}
	return strings.Join(files, " "), err
}

// started is a host process with its connection.
type started struct {
	cmd  *exec.Cmd
	conn counterpart.Conn
	out  *strings.Builder // stdout, complete after Wait
	err  *strings.Builder
}

// stdpipes is the stdio transport from the other side.
type stdpipes struct {
	io.WriteCloser
	r *os.File
}

func (p stdpipes) Read(b []byte) (int, error)        { return p.r.Read(b) }
func (p stdpipes) SetReadDeadline(t time.Time) error { return p.r.SetReadDeadline(t) }

// start starts this test program as a host on the given transport.
func start(t *testing.T, transport string) *started {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	h := &started{cmd: exec.Command(self), out: new(strings.Builder), err: new(strings.Builder)}
	h.cmd.Env = append(os.Environ(), envHost+"=1")
	h.cmd.Stdout, h.cmd.Stderr = h.out, h.err
	run := func() {
		t.Helper()
		if err := h.cmd.Start(); err != nil {
			t.Fatal(err)
		}
	}
	switch transport {
	case "fd":
		mine, theirs := counterpart.Pair(t)
		f, err := theirs.File()
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		theirs.Close()
		h.cmd.ExtraFiles = []*os.File{f}
		h.cmd.Env = append(h.cmd.Env, sdk.EnvFD+"=3")
		run()
		h.conn = mine
	case "unix":
		token := []byte("0123456789abcdef0123456789ABCDEF")
		l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(t.TempDir(), "s"), Net: "unix"})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		h.cmd.Env = append(h.cmd.Env, sdk.EnvAddr+"="+l.Addr().String(), sdk.EnvToken+"="+hex.EncodeToString(token))
		run()
		if err := l.SetDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		conn, err := l.AcceptUnix()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		got := make([]byte, len(token))
		if _, err := io.ReadFull(conn, got); err != nil || string(got) != string(token) {
			t.Fatalf("token %q, %v", got, err)
		}
		h.conn = conn
	case "stdio":
		h.cmd.Stdout = nil
		w, err := h.cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		r, err := h.cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		run()
		h.conn = stdpipes{w, r.(*os.File)}
	}
	t.Cleanup(func() {
		if h.cmd.ProcessState == nil {
			h.cmd.Process.Kill()
			h.cmd.Wait()
		}
	})
	return h
}

func transports(t *testing.T, test func(t *testing.T, transport string)) {
	for _, transport := range []string{"fd", "unix", "stdio"} {
		t.Run(transport, func(t *testing.T) { test(t, transport) })
	}
}

func TestTransports(t *testing.T) {
	transports(t, func(t *testing.T, transport string) {
		h := start(t, transport)
		p := counterpart.Open(t, h.conn)
		for method, want := range map[string]string{"echo": `"text"`, "print": "null", "env": "null"} {
			if m := p.Call(method, "text"); m.Err != nil || p.JSON(m.Result) != want {
				t.Errorf("%s: %s %v", method, p.JSON(m.Result), m.Err)
			}
		}
		if m := p.Call("stdin", nil); p.JSON(m.Result) != `""` {
			t.Errorf("stdin of the host: %s %v", p.JSON(m.Result), m.Err)
		}
		want, err := inheritedFiles() // of the test, which the host's connection must not add to
		if m := p.Call("child", nil); err != nil || p.JSON(m.Result) != p.JSON(p.Raw(want)) {
			t.Errorf("a child of the host has %s, want %q, %v, %v", p.JSON(m.Result), want, m.Err, err)
		}
		if m := p.Call("echo", strings.Repeat("x", 1<<20)); m.Err != nil || len(m.Result) < 1<<20 {
			t.Errorf("a large echo: %d bytes, %v", len(m.Result), m.Err)
		}
		p.Goodbye()
		if err := h.cmd.Wait(); err != nil {
			t.Error(err, h.err)
		}
		printed := h.out.String()
		if transport == "stdio" {
			printed = h.err.String() // out of the way of the protocol
		}
		if !strings.Contains(printed, "text") {
			t.Errorf("printed %q and %q", h.out, h.err)
		}
		if !strings.Contains(h.err.String(), "hook ran") {
			t.Errorf("stderr %q", h.err)
		}
	})
}

func TestSignalEndsGracefully(t *testing.T) {
	transports(t, func(t *testing.T, transport string) {
		h := start(t, transport)
		p := counterpart.Open(t, h.conn)
		p.Call("echo", nil) // nothing is left unread
		if err := h.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if err := p.End(); err != nil {
			t.Error("stream:", err)
		}
		if err := h.cmd.Wait(); err != nil || !strings.Contains(h.err.String(), "hook ran") {
			t.Error(err, h.err)
		}
	})
}

// A host whose handlers do not end is given time once; the second signal does
// not wait.
func TestSecondSignalKills(t *testing.T) {
	h := start(t, "fd")
	p := counterpart.Open(t, h.conn)
	p.Send(p.Request("wait", nil))
	p.Expect(codec.Ack, p.Last)
	if err := h.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	// It refuses work once it has understood, and gives its handler a minute.
	for p.Call("echo", nil).Err == nil {
	}
	ended := make(chan error, 1)
	go func() { ended <- h.cmd.Wait() }()
	for again := time.NewTicker(10 * time.Millisecond); ; {
		select {
		case err := <-ended:
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGTERM {
				t.Error(err, h.err)
			}
			again.Stop()
			return
		case <-again.C:
			_ = h.cmd.Process.Signal(syscall.SIGTERM) // it may be gone
		}
	}
}

func TestLostSupervisorEndsTheProcess(t *testing.T) {
	transports(t, func(t *testing.T, transport string) {
		h := start(t, transport)
		p := counterpart.Open(t, h.conn)
		p.Close()
		err := h.cmd.Wait()
		if h.cmd.ProcessState.ExitCode() != 1 || !strings.Contains(h.err.String(), sdk.ErrPeerGone.Error()) {
			t.Error(err, h.err)
		}
	})
}

func TestOpenSaysWhatIsWrong(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	token := strings.Repeat("ab", 32)
	for name, tt := range map[string]struct{ fd, addr, token, want string }{
		"word":      {"three", "", "", `HOSTSUP_HOST_FD is "three", want the number of a descriptor from 3`},
		"standard":  {"1", "", "", `HOSTSUP_HOST_FD is "1"`},
		"closed":    {"4000", "", "", "HOSTSUP_HOST_FD names descriptor 4000: it is not open"},
		"file":      {fmt.Sprint(file.Fd()), "", "", "it is not a socket"},
		"no token":  {"", "/nowhere", "", "HOSTSUP_HOST_TOKEN is not 32 bytes in hex"},
		"short":     {"", "/nowhere", "abcd", "HOSTSUP_HOST_TOKEN is not 32 bytes in hex"},
		"no socket": {"", filepath.Join(t.TempDir(), "none"), token, "HOSTSUP_HOST_ADDR: dial unix"},
	} {
		t.Run(name, func(t *testing.T) {
			for k, v := range map[string]string{sdk.EnvFD: tt.fd, sdk.EnvAddr: tt.addr, sdk.EnvToken: tt.token} {
				t.Setenv(k, v)
			}
			if _, err := sdk.Open(); err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), token) {
				t.Errorf("%v, want %s", err, tt.want)
			}
			if v, ok := os.LookupEnv(sdk.EnvToken); ok {
				t.Errorf("token %q is left in the environment", v)
			}
		})
	}
	t.Run("device", func(t *testing.T) {
		null, err := os.Open(os.DevNull)
		if err != nil {
			t.Fatal(err)
		}
		defer null.Close()
		defer func(f *os.File) { os.Stdin = f }(os.Stdin)
		os.Stdin = null
		if _, err := sdk.Open(); !errors.Is(err, sdk.ErrNoTransport) {
			t.Error(err)
		}
		if err := newServer().Serve(t.Context()); !errors.Is(err, sdk.ErrNoTransport) {
			t.Error(err)
		}
	})
}
