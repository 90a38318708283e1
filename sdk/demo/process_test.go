//go:build unix

package demo_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/native"
	"github.com/hostsup/hostsup/sdk"
	"github.com/hostsup/hostsup/sdk/demo"
	"github.com/hostsup/hostsup/sdk/internal/counterpart"
)

// process is the demo host as a process of its own, on an inherited socket.
type process struct {
	*counterpart.Peer
	cmd    *exec.Cmd
	stdout *os.File
	stderr *strings.Builder
}

func start(t *testing.T, how string) *process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	mine, theirs := counterpart.Pair(t)
	f, err := theirs.File()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	theirs.Close()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	h := &process{Peer: counterpart.New(t, mine), cmd: exec.Command(self), stdout: r, stderr: new(strings.Builder)}
	h.cmd.Dir = t.TempDir() // for a core
	h.cmd.Env = append(os.Environ(), envHost+"=1", demo.EnvStart+"="+how, sdk.EnvFD+"=3")
	h.cmd.ExtraFiles = []*os.File{f}
	h.cmd.Stdout = w
	h.cmd.Stderr = h.stderr
	h.cmd.WaitDelay = time.Second // a child may hold stderr
	if err := h.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if h.cmd.ProcessState == nil {
			h.cmd.Process.Kill()
			h.cmd.Wait()
		}
		r.Close()
	})
	return h
}

func running(t *testing.T) *process {
	t.Helper()
	h := start(t, "")
	h.Handshake(codec.Hello{Supervisor: "test", Host: "h", Life: 1})
	return h
}

// exit waits for the process and returns how it ended.
func (h *process) exit(t *testing.T) syscall.WaitStatus {
	t.Helper()
	err := h.cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay) {
		t.Fatal(err)
	}
	return h.cmd.ProcessState.Sys().(syscall.WaitStatus)
}

func TestGoodbyeExitsWithZero(t *testing.T) {
	h := running(t)
	h.Goodbye()
	if st := h.exit(t); st.ExitStatus() != 0 {
		t.Error(st, h.stderr)
	}
}

func TestExit(t *testing.T) {
	for params, want := range map[any]int{nil: 1, 0: 0, 3: 3} {
		h := running(t)
		var in any
		if params != nil {
			in = map[string]any{"code": params}
		}
		h.Send(h.Request("exit", in))
		if st := h.exit(t); st.ExitStatus() != want {
			t.Errorf("exit %v: %d", params, st.ExitStatus())
		}
		if err := h.End(); err != nil {
			t.Error(err)
		}
	}
}

func TestCrash(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("elsewhere the Go runtime turns some signals into an exit")
	}
	for params, want := range map[any]syscall.Signal{
		nil: syscall.SIGABRT, "SIGSEGV": syscall.SIGSEGV, "bus": syscall.SIGBUS, "SIGKILL": syscall.SIGKILL,
		11: syscall.SIGSEGV, "15": syscall.SIGTERM, "usr1": syscall.SIGUSR1, "SIGPIPE": syscall.SIGPIPE,
	} {
		h := running(t)
		var in any
		if params != nil {
			in = map[string]any{"signal": params}
		}
		h.Send(h.Request("crash", in))
		if st := h.exit(t); !st.Signaled() || st.Signal() != want {
			t.Errorf("crash %v: %v, want %v\n%s", params, st, want, h.stderr)
		}
	}
}

func TestPrint(t *testing.T) {
	h := running(t)
	for _, in := range []map[string]any{{"stdout": "out"}, {"stderr": "err"}, {"stdout": "open", "raw": true}, {"stdout": "ed\n"}} {
		if m := h.Call("print", in); m.Err != nil {
			t.Error(m.Err)
		}
	}
	h.Goodbye()
	h.exit(t)
	out, err := io.ReadAll(h.stdout)
	if err != nil || string(out) != "out\nopened\n" || h.stderr.String() != "err\n" {
		t.Errorf("%q %q %v", out, h.stderr, err)
	}
}

func TestSpawnLeavesADeafChild(t *testing.T) {
	for _, setsid := range []bool{false, true} {
		h := running(t)
		m := h.Call("spawn", map[string]any{"setsid": setsid})
		pid, err := strconv.Atoi(h.JSON(m.Result))
		if err != nil || m.Err != nil {
			t.Fatal(m.Err, err)
		}
		defer syscall.Kill(pid, syscall.SIGKILL)
		for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT} {
			if err := syscall.Kill(pid, sig); err != nil {
				t.Fatal(err)
			}
		}
		if pgid, err := syscall.Getpgid(pid); err != nil || (pgid == pid) != setsid {
			t.Errorf("setsid %v: child %d is in process group %d, %v", setsid, pid, pgid, err)
		}
		h.Goodbye()
		if st := h.exit(t); st.ExitStatus() != 0 {
			t.Error(st)
		}
		// The connection has ended although the child lives; stdout has not.
		if err := h.End(); err != nil && !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
		if err := h.stdout.SetReadDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		if _, err := h.stdout.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Error("stdout after the end of the host:", err)
		}
		if err := h.stdout.SetReadDeadline(time.Time{}); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		if _, err := h.stdout.Read(make([]byte, 1)); err != io.EOF {
			t.Error("stdout after the end of the child:", err)
		}
	}
}

func TestGarbageTruncatedEndsTheStream(t *testing.T) {
	h := running(t)
	h.Send(h.Request("garbage", map[string]any{"kind": "truncated"}))
	if err := h.End(); !errors.Is(err, codec.ErrTruncated) {
		t.Error(err)
	}
	h.exit(t)
}

func TestStarts(t *testing.T) {
	hello := codec.Hello{Supervisor: "test", Host: "h", Life: 1}
	tests := map[string]func(t *testing.T, h *process){
		"never": func(t *testing.T, h *process) {
			h.Send(codec.Message{Kind: codec.Request, ID: 1, Method: native.MethodInitialize})
			h.CloseWrite()
			if err := h.End(); err != nil { // no answer, and no more than that
				t.Error(err)
			}
			if st := h.exit(t); st.ExitStatus() != 0 {
				t.Error(st, h.stderr)
			}
		},
		"early": func(t *testing.T, h *process) {
			if err := h.TryHandshake(hello); !errors.Is(err, codec.ErrEarly) {
				t.Error(err)
			}
		},
		"version": func(t *testing.T, h *process) {
			if err := h.TryHandshake(hello); !errors.Is(err, codec.ErrVersion) {
				t.Error(err)
			}
		},
		"die": func(t *testing.T, h *process) {
			if err := h.TryHandshake(hello); err == nil {
				t.Error("it answered")
			}
			if st := h.exit(t); st.ExitStatus() != 7 {
				t.Error(st)
			}
		},
		"close": func(t *testing.T, h *process) {
			h.Handshake(hello)
			if err := h.End(); err != nil {
				t.Error(err)
			}
			// Had it ended by itself, its code would not be 0.
			if err := h.cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			if st := h.exit(t); st.ExitStatus() != 0 {
				t.Error(st, h.stderr)
			}
		},
		"slow": func(t *testing.T, h *process) {
			begin := time.Now()
			h.Handshake(hello)
			if took := time.Since(begin); took < 400*time.Millisecond {
				t.Errorf("took %v", took)
			}
			h.Goodbye()
		},
		"exit": func(t *testing.T, h *process) {
			if st := h.exit(t); st.ExitStatus() != 3 {
				t.Error(st)
			}
		},
		"nocaps": func(t *testing.T, h *process) {
			h.Handshake(hello)
			if h.Host.Caps != 0 {
				t.Error(h.Host)
			}
			h.Goodbye()
		},
		"ignore-term": func(t *testing.T, h *process) {
			h.Handshake(hello)
			if err := h.cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			if m := h.Call("echo", 1); m.Err != nil {
				t.Error(m.Err)
			}
			h.Send(h.Request(native.MethodShutdown, nil))
			h.CloseWrite()
			if err := h.End(); err != nil { // closed without an answer
				t.Error(err)
			}
			if err := h.cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			var st syscall.WaitStatus
			look := time.NewTicker(time.Millisecond)
			defer look.Stop()
			for range 100 {
				<-look.C
				if pid, err := syscall.Wait4(h.cmd.Process.Pid, &st, syscall.WNOHANG, nil); pid != 0 || err != nil {
					t.Fatal("it has ended:", st, err)
				}
			}
		},
		"noise": func(t *testing.T, h *process) {
			h.Handshake(hello)
			line, err := bufio.NewReader(h.stdout).ReadString('\n')
			if err != nil || !strings.Contains(line, "not part of any protocol") {
				t.Error(line, err)
			}
			h.Goodbye()
		},
	}
	for _, s := range demo.Starts() {
		name, _, _ := strings.Cut(s.Name, ":")
		test := tests[name]
		if test == nil || s.What == "" {
			t.Errorf("start %q is not tested", s.Name)
			continue
		}
		t.Run(name, func(t *testing.T) { test(t, start(t, s.Name)) })
	}
	t.Run("unknown", func(t *testing.T) {
		h := start(t, "sideways")
		if st := h.exit(t); st.ExitStatus() != 1 || !strings.Contains(h.stderr.String(), "no way to start") {
			t.Error(st, h.stderr)
		}
	})
}
