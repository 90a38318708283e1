//go:build linux

package integration

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

	"github.com/hostsup/hostsup/internal/leaktest"
	"github.com/hostsup/hostsup/internal/transport"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/hostspec"
	"github.com/hostsup/hostsup/sdk/demo"
	"github.com/hostsup/hostsup/supervisor"
)

// through sets the transport.
func through(tr hostspec.Transport) change { return func(s *supervisor.HostSpec) { s.Transport = tr } }

// TestTransports holds that a host over each of them is the same host.
func TestTransports(t *testing.T) {
	t.Parallel()
	for _, tr := range []hostspec.Transport{hostspec.TransportFD, hostspec.TransportStdio, hostspec.TransportUnix} {
		t.Run(string(tr), func(t *testing.T) {
			t.Parallel()
			sup, h := alone(t, demoHost("ts", through(tr)))
			echoes(t, h)
			big := strings.Repeat("x", 3<<20)
			var out string
			if err := h.Call(ctx(t), "echo", big, &out); err != nil || out != big {
				t.Errorf("3 MiB: %d bytes, %v", len(out), err)
			}
			if err := h.Call(ctx(t), "print", map[string]string{"stdout": "to stdout", "stderr": "to stderr"}, nil); err != nil {
				t.Errorf("print: %v", err)
			}
			// With stdio the host's library has moved stdout out of harm's way.
			eventually(t, func() bool { return len(h.Tail(10)) >= 2 })
			n := 0
			for _, err := range h.Stream(ctx(t), "stream", map[string]int{"n": 500}) {
				if err != nil {
					t.Fatal(err)
				}
				n++
			}
			if n != 500 {
				t.Errorf("%d items", n)
			}
			signal(t, h, syscall.SIGKILL)
			runs(t, h, 2)
			echoes(t, h)
			if r := crash(t, sup, "ts"); r.Reason != "killed by SIGKILL" {
				t.Errorf("reason %q", r.Reason)
			}
			if err := h.Stop(ctx(t)); err != nil {
				t.Error(err)
			}
			if e := h.Status().LastExit; e.Code == nil || *e.Code != 0 {
				t.Errorf("it did not hear the goodbye: %+v", e)
			}
		})
	}
}

// unixHost is a host that never comes: the test comes instead. It returns the
// path of its socket and its token.
func unixHost(t *testing.T) (h *supervisor.Host, addr string, token []byte) {
	t.Helper()
	sup := begin(t, supervisor.Spec{Groups: []supervisor.GroupSpec{supervisor.Alone(demoHost("ts", through(hostspec.TransportUnix),
		grace(2*time.Second), func(s *supervisor.HostSpec) { s.Command = []string{"sleep", "1000"} }))}})
	h = host(t, sup, "ts")
	eventually(t, func() bool { return h.Status().PID != nil })
	var env []byte
	eventually(t, func() (there bool) { // it is empty while the program is being loaded
		var err error
		if env, err = os.ReadFile(fmt.Sprintf("/proc/%d/environ", *h.Status().PID)); err != nil {
			t.Fatal(err)
		}
		return len(env) > 0
	})
	for v := range strings.SplitSeq(string(env), "\x00") {
		if a, ok := strings.CutPrefix(v, transport.EnvAddr+"="); ok {
			addr = a
		}
		if s, ok := strings.CutPrefix(v, transport.EnvToken+"="); ok {
			var err error
			if token, err = hex.DecodeString(s); err != nil {
				t.Fatal(err)
			}
		}
	}
	if addr == "" || len(token) != 32 {
		t.Fatalf("address %q, token of %d bytes", addr, len(token))
	}
	return h, addr, token
}

func dial(t *testing.T, addr string) *net.UnixConn {
	t.Helper()
	c, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: addr, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// refused holds that the other side hangs up.
func refused(t *testing.T, c net.Conn) {
	t.Helper()
	if err := c.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	if n, err := c.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("read %d bytes, %v", n, err)
	}
}

func TestUnixSocketWantsItsToken(t *testing.T) {
	t.Parallel()
	h, addr, token := unixHost(t)
	if info, err := os.Stat(filepath.Dir(addr)); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("folder: %v, %v", info, err)
	}
	wrong := dial(t, addr)
	if _, err := wrong.Write(make([]byte, 32)); err != nil {
		t.Fatal(err)
	}
	refused(t, wrong)
	short := dial(t, addr)
	if _, err := short.Write(token[:31]); err != nil {
		t.Fatal(err)
	}
	if err := short.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	refused(t, short)
	// One after the other these would take ten times as long as each may.
	const silent, each = 10, 5 * time.Second
	for range silent {
		dial(t, addr)
	}
	if s := h.Status(); s.State != lifecycle.Starting {
		t.Fatalf("it is %s", s.State)
	}
	right := dial(t, addr)
	if _, err := right.Write(token); err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- demo.Serve(context.Background(), right) }()
	began := time.Now()
	until(t, h, lifecycle.Running)
	if took := time.Since(began); took > (silent-1)*each {
		t.Errorf("the silent ones held it up for %s", took)
	}
	echoes(t, h)
	// The socket is for one host.
	if c, err := net.Dial("unix", addr); err == nil {
		if _, err := c.Write(token); err == nil {
			refused(t, c)
		}
		c.Close()
	}
	if err := h.Stop(ctx(t)); err != nil {
		t.Error(err)
	}
	if err := <-served; err != nil {
		t.Errorf("the host's side: %v", err)
	}
	if _, err := os.Stat(filepath.Dir(addr)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder is still there: %v", err)
	}
}

// TestSilentConnectionHoldsUpNoStop stops a host while somebody is connected
// and has not shown a token.
func TestSilentConnectionHoldsUpNoStop(t *testing.T) {
	t.Parallel()
	// Whoever says nothing is thrown out after 5 s. A stop that waits for that
	// takes as long each time; on a busy machine one that does not may, too.
	for attempt := 1; ; attempt++ {
		h, addr, _ := unixHost(t)
		c := dial(t, addr)
		began := time.Now()
		if err := h.Stop(ctx(t)); err != nil {
			t.Error(err)
		}
		took := time.Since(began)
		refused(t, c)
		if took < 3*time.Second {
			return
		}
		if attempt == 5 {
			t.Fatalf("the stop took %s", took)
		}
	}
}

func TestUnixSocketKnowsItsUser(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only root can be somebody else")
	}
	h, addr, token := unixHost(t)
	// Opened by hand, as it is for nobody else in the first place.
	for path, mode := range map[string]os.FileMode{filepath.Dir(addr): 0o755, filepath.Dir(filepath.Dir(addr)): 0o755, addr: 0o777} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	program := filepath.Join(filepath.Dir(addr), "knock")
	if err := os.Link(self, program); err != nil {
		b, err := os.ReadFile(self)
		if err == nil {
			err = leaktest.WriteProgram(program, b, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(program)
	cmd.Dir = "/"
	cmd.Env = []string{roleEnv + "=knock", "GORACE=atexit_sleep_ms=0", transport.EnvAddr + "=" + addr, transport.EnvToken + "=" + hex.EncodeToString(token)}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != "refused" {
		t.Errorf("another user: %q, %v", out, err)
	}
	if s := h.Status(); s.State != lifecycle.Starting {
		t.Errorf("it is %s", s.State)
	}
}

func init() {
	// Comes to the socket with the token and says whether it was let in.
	roles["knock"] = func() int {
		c, err := net.Dial("unix", os.Getenv(transport.EnvAddr))
		if err != nil {
			fmt.Println(err)
			return 1
		}
		token, err := hex.DecodeString(os.Getenv(transport.EnvToken))
		if err == nil {
			_, err = c.Write(token)
		}
		if err == nil {
			// The supervisor speaks first to whom it lets in.
			if n, _ := c.Read(make([]byte, 1)); n > 0 {
				fmt.Println("let in")
				return 0
			}
		}
		fmt.Println("refused")
		return 0
	}
}

// TestUnixHostsThatDieEarly leaves nothing, whichever step of the rendezvous they
// die at; the checks at the end of all tests look for it.
func TestUnixHostsThatDieEarly(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"die", "exit:0", "version", "early", "close"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			_, h := alone(t, demoHost("ts", through(hostspec.TransportUnix), startsLike(how), crashes(5)))
			until(t, h, lifecycle.Failed)
		})
	}
}
