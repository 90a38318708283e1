//go:build unix

package vscode

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/vscode/persistent"
)

func met(t *testing.T, opt Options) (codec.Rendezvous, map[string]string) {
	t.Helper()
	opt.Root = fakeBuild(t, product, bundle)
	m, err := New(opt).Rendezvous(in(t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	env := map[string]string{}
	for _, e := range m.Env() {
		name, value, _ := strings.Cut(e, "=")
		env[name] = value
	}
	return m, env
}

func TestMeeting(t *testing.T) {
	m, env := met(t, Options{})
	if env[envEntry] != entry || env[envErrors] != "true" || !strings.Contains(env[envNLS], `/out/nls.messages.json"`) {
		t.Error(env)
	}
	c, err := net.Dial("unix", env[envHook])
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	s, err := m.Connect(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Write([]byte(framed("hello"))); err != nil {
		t.Error(err)
	}
	peer{t, c}.expects("regular 1/0 hello")
	if _, err := net.Dial("unix", env[envHook]); err == nil {
		t.Error("somebody else was let in")
	}
	if _, err := m.Connect(context.Background()); err == nil {
		t.Error("connected twice")
	}
	if err := errors.Join(s.CloseWrite(), s.Close(), m.Close()); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(env[envHook]); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if _, err := s.Write([]byte(framed("hello"))); !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
}

func TestNobodyComes(t *testing.T) {
	m, _ := met(t, Options{})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := m.Connect(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	if _, err := m.Connect(context.Background()); !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
	long := filepath.Join(t.TempDir(), strings.Repeat("x", 100))
	if _, err := New(Options{Root: fakeBuild(t, product, bundle)}).Rendezvous(in(long)); err == nil || !strings.Contains(err.Error(), "set TMPDIR to a shorter one") {
		t.Error(err)
	}
}

func TestEnvironmentIsComplete(t *testing.T) {
	_, env := met(t, Options{})
	names := []string{}
	for name := range env {
		names = append(names, name)
	}
	slices.Sort(names)
	if got := strings.Join(names, " "); got != "VSCODE_ESM_ENTRYPOINT VSCODE_EXTHOST_IPC_HOOK VSCODE_HANDLES_UNCAUGHT_ERRORS VSCODE_NLS_CONFIG" {
		t.Error(got)
	}
}

// fakeHost is the other end of a channel.
type fakeHost struct {
	t       *testing.T
	channel *net.UnixConn
}

// handed waits for a socket.
func (h fakeHost) handed() peer {
	h.t.Helper()
	line, oob := make([]byte, 1000), make([]byte, 100)
	n, oobn, _, _, err := h.channel.ReadMsgUnix(line, oob)
	if err != nil {
		h.t.Fatal(err)
	}
	if string(line[:n]) != lineSocket {
		h.t.Errorf("%q", line[:n])
	}
	messages, err := syscall.ParseSocketControlMessage(oob[:oobn])
	if err != nil || len(messages) != 1 {
		h.t.Fatal(messages, err)
	}
	fds, err := syscall.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		h.t.Fatal(fds, err)
	}
	f := os.NewFile(uintptr(fds[0]), "socket")
	defer f.Close()
	c, err := net.FileConn(f)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { c.Close() })
	return peer{h.t, c}
}

func handedOver(t *testing.T) (codec.Rendezvous, map[string]string, fakeHost) {
	t.Helper()
	m, env := met(t, Options{Reconnect: true})
	if len(m.Files()) != 1 {
		t.Fatalf("%T", m)
	}
	c, err := net.FileConn(m.Files()[0])
	if err != nil {
		t.Fatal(err)
	}
	m.Files()[0].Close()
	channel, ok := c.(*net.UnixConn)
	if !ok {
		t.Fatalf("%T", c)
	}
	t.Cleanup(func() { channel.Close() })
	return m, env, fakeHost{t, channel}
}

func (h fakeHost) writes(text string) {
	h.t.Helper()
	if _, err := h.channel.Write([]byte(text)); err != nil {
		h.t.Fatal(err)
	}
}

const ready = `{"type":"VSCODE_EXTHOST_IPC_READY"}` + "\n"

func TestHandover(t *testing.T) {
	m, env, h := handedOver(t)
	if env[envChannel] != "3" || env[envFormat] != "json" || env[envSent] != "1" || env[envHook] != "" || env[envEntry] != entry {
		t.Error(env)
	}
	h.writes("noise\n" + strings.Repeat("long ", 2000) + lineReady + "\n{\"type\":\"other\"}\n" + ready)
	s, err := m.Connect(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	p := h.handed()
	got := make(chan string)
	go func() {
		defer close(got)
		for {
			b := make([]byte, 100)
			n, err := s.Read(b)
			if err != nil {
				if !errors.Is(err, io.EOF) {
					t.Error(err)
				}
				return
			}
			got <- string(b[:n])
		}
	}()
	if _, err := s.Write([]byte(framed("one") + framed("two"))); err != nil {
		t.Error(err)
	}
	p.expects("regular 1/0 one")
	p.expects("regular 2/0 two")
	p.write(persistent.Header{Type: persistent.Ack, Ack: 1}, "")
	p.says(1, "hello")
	for _, want := range []string{"hello"} {
		if text := <-got; !strings.HasSuffix(text, want) {
			t.Errorf("%q", text)
		}
	}
	// The next socket, and again what has no ack.
	p.c.Close()
	h.writes(`{"cmd":"NODE_HANDLE_ACK"}` + "\n")
	p = h.handed()
	p.expects("ack 0/1 ")
	p.expects("regular 2/1 two")
	p.says(1, "hello")
	p.says(2, "again")
	if text := <-got; !strings.HasSuffix(text, "again") {
		t.Errorf("%q", text)
	}
	if _, err := m.Connect(context.Background()); err == nil {
		t.Error("connected twice")
	}
	// A host that is gone gets none.
	h.channel.Close()
	p.c.Close()
	if text, ok := <-got; ok {
		t.Errorf("%q", text)
	}
	if err := errors.Join(s.Close(), m.Close()); err != nil {
		t.Error(err)
	}
}

func TestNobodyIsReady(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	m, _, _ := handedOver(t)
	if _, err := m.Connect(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	m, _, h := handedOver(t)
	h.channel.Close()
	if _, err := m.Connect(context.Background()); err == nil || !strings.Contains(err.Error(), "closed its channel before it was ready") {
		t.Error(err)
	}
	m, _, _ = handedOver(t)
	done := make(chan error, 1)
	go func() {
		_, err := m.Connect(context.Background())
		done <- err
	}()
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	if err := <-done; err == nil {
		t.Error("connected")
	}
	if _, err := m.Connect(context.Background()); err == nil {
		t.Error("connected")
	}
}
