//go:build unix

package transport

import (
	"context"
	"encoding/hex"
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
	"github.com/hostsup/hostsup/internal/capture"
	"github.com/hostsup/hostsup/lifecycle/hostspec"
)

// opened opens a transport, whose rest is looked for at the end of the test.
func opened(t *testing.T, o Options) *Transport {
	t.Helper()
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	o.Folders = new(Folders)
	tr, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		tr.Close()
		tr.Close() // twice is once
		left, err := filepath.Glob(filepath.Join(temp, "*", "*"))
		if err != nil || len(left) > 0 {
			t.Errorf("left behind: %v, %v", left, err)
		}
		if err := o.Folders.Close(); err != nil {
			t.Error(err)
		}
	})
	return tr
}

// carries holds that what the child writes to f arrives at r.
func carries(t *testing.T, what string, f io.Writer, r io.Reader) {
	t.Helper()
	got := make([]byte, 2)
	if _, err := f.Write([]byte("hi")); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if _, err := io.ReadFull(r, got); err != nil || string(got) != "hi" {
		t.Errorf("%s carries %q, %v", what, got, err)
	}
}

func TestDescriptorsOfEachKind(t *testing.T) {
	for _, row := range []struct {
		kind    hostspec.Transport
		files   int
		conn    int // the child's descriptor of the connection, 0: it is yet to come
		outputs []capture.Stream
	}{
		{"", 3, 0, []capture.Stream{capture.Stdout, capture.Stderr}},
		{hostspec.TransportFD, 4, 3, []capture.Stream{capture.Stdout, capture.Stderr}},
		{hostspec.TransportStdio, 3, 1, []capture.Stream{capture.Stderr}},
		{hostspec.TransportUnix, 3, 0, []capture.Stream{capture.Stdout, capture.Stderr}},
	} {
		t.Run(string(row.kind), func(t *testing.T) {
			tr := opened(t, Options{Kind: row.kind})
			if len(tr.Files) != row.files || len(tr.Outputs) != len(row.outputs) {
				t.Fatalf("%d files, %d outputs", len(tr.Files), len(tr.Outputs))
			}
			for i, s := range row.outputs {
				if tr.Outputs[i].Stream != s {
					t.Errorf("output %d is %s", i, tr.Outputs[i].Stream)
				}
				carries(t, s.String(), tr.Files[s], tr.Outputs[i].File)
			}
			w := tr.Take()
			if (w != nil) != (row.conn > 0) {
				t.Fatalf("the connection is there: %v", w != nil)
			}
			if w != nil {
				defer w.Close()
				carries(t, "the connection", tr.Files[row.conn], w)
			}
			if tr.Take() != nil {
				t.Error("the connection is taken twice")
			}
			own := tr.TakeOwn()
			for _, f := range tr.Files {
				if f != nil && !slices.Contains(own, f) {
					t.Error("a descriptor of the child is nobody's")
				}
			}
			for _, f := range own {
				f.Close()
			}
		})
	}
}

// variable returns what the host finds in its environment.
func variable(t *testing.T, tr *Transport, name string) string {
	t.Helper()
	for _, v := range tr.Env {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	t.Fatalf("no %s in %v", name, tr.Env)
	return ""
}

func knock(t *testing.T, addr string, token []byte) net.Conn {
	t.Helper()
	c, err := net.Dial("unix", addr)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Write(token); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestOnlyTheTokenLetsIn(t *testing.T) {
	tr := opened(t, Options{Kind: hostspec.TransportUnix})
	came := make(chan error, 1)
	tr.Await(func(err error) { came <- err })
	addr := variable(t, tr, EnvAddr)
	token, err := hex.DecodeString(variable(t, tr, EnvToken))
	if err != nil {
		t.Fatal(err)
	}
	silent := knock(t, addr, nil) // is in nobody's way, and ends with the transport
	defer silent.Close()
	stranger := knock(t, addr, make([]byte, len(token)))
	defer stranger.Close()
	if _, err := stranger.Read(make([]byte, 1)); !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("a wrong token: %v", err)
	}
	host := knock(t, addr, token)
	defer host.Close()
	if err := <-came; err != nil {
		t.Fatal(err)
	}
	w := tr.Take()
	defer w.Close()
	carries(t, "the connection", host, w)
	if c, err := net.Dial("unix", addr); err == nil {
		c.Close()
		t.Error("a second host can connect")
	}
}

// Nothing is left of a transport whose host never came, or came at the last moment.
func TestCloseEndsTheWaiting(t *testing.T) {
	tr := opened(t, Options{Kind: hostspec.TransportUnix})
	tr.Await(func(error) {})
	defer knock(t, variable(t, tr, EnvAddr), nil).Close()
	tr.Close()
}

// rendezvous is that of a protocol with a way of its own.
type rendezvous struct {
	inherited *os.File
	stream    codec.Stream
	connected func(ctx context.Context) error
	closed    bool
}

func (m *rendezvous) Env() []string     { return []string{"WAY=own"} }
func (m *rendezvous) Files() []*os.File { return []*os.File{m.inherited} }
func (m *rendezvous) Close() error      { m.closed = true; return nil }
func (m *rendezvous) Connect(ctx context.Context) (codec.Stream, error) {
	return m.stream, m.connected(ctx)
}

func TestMeetingOfAProtocol(t *testing.T) {
	refused := errors.New("refused")
	for name, connected := range map[string]func(context.Context) error{
		"comes":   func(context.Context) error { return nil },
		"refused": func(context.Context) error { return refused },
		"never":   func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
	} {
		t.Run(name, func(t *testing.T) {
			null, err := os.Open(os.DevNull)
			if err != nil {
				t.Fatal(err)
			}
			socket := opened(t, Options{Kind: hostspec.TransportFD})
			m := &rendezvous{inherited: null, stream: socket.Take(), connected: connected}
			defer m.stream.Close()
			tr := opened(t, Options{Rendezvous: func(folder func() (string, error)) (codec.Rendezvous, error) {
				dir, err := folder()
				if info, statErr := os.Stat(dir); err != nil || statErr != nil || !info.IsDir() {
					t.Errorf("its folder: %v, %v", err, statErr)
				}
				return m, nil
			}})
			if len(tr.Files) != 4 || tr.Files[3] != null || variable(t, tr, "WAY") != "own" {
				t.Errorf("files %v, environment %v", tr.Files, tr.Env)
			}
			came := make(chan error, 1)
			tr.Await(func(err error) { came <- err })
			switch name {
			case "comes":
				if err := <-came; err != nil || tr.Take() == nil {
					t.Errorf("%v", err)
				}
			case "refused":
				if err := <-came; !errors.Is(err, refused) || tr.Take() != nil {
					t.Errorf("%v", err)
				}
			}
			tr.Close()
			if !m.closed {
				t.Error("the rendezvous goes on")
			}
		})
	}
}

func TestShortOf(t *testing.T) {
	for _, row := range []struct {
		err            error
		short, limited string
	}{
		{os.NewSyscallError("fork", syscall.EAGAIN), "the supervisor's user or cgroup is short of processes", ""},
		{syscall.ENOMEM, "the machine is short of memory", ""},
		{syscall.ENFILE, "the machine is short of descriptors", "the machine is short of descriptors"},
		{os.ErrNotExist, "", ""},
	} {
		if got := ShortOf(row.err, false); got != row.short {
			t.Errorf("%v: %q", row.err, got)
		}
		if got := ShortOf(row.err, true); got != row.limited {
			t.Errorf("%v with limits: %q", row.err, got)
		}
	}
	if got := ShortOf(syscall.EMFILE, true); !strings.HasPrefix(got, "the supervisor is short of descriptors (limit ") {
		t.Error(got)
	}
}
