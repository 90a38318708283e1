//go:build linux

package integration

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix" //nolint:depguard // memory without a file, which nothing but this test maps

	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/sandbox"
	"github.com/hostsup/hostsup/sdk/demo"
	"github.com/hostsup/hostsup/supervisor"
)

const (
	portEnv = "HOSTSUP_TEST_PORT" // the address that the child listens at

	// What the child has mapped, so that its end takes a moment: the same pages again
	// and again, because a virtual machine takes seconds to find so many of its own.
	heldPages = 4 << 20 // bytes
	heldTimes = 256
)

func init() {
	// A demo host whose child has its memory and its listening port. Without the
	// port it is of no use, and exits with 98.
	roles["landlord"] = func() int {
		child := exec.Command("/proc/self/exe")
		child.Env = append(os.Environ(), roleEnv+"=tenant")
		child.Stderr = os.Stderr
		out, err := child.StdoutPipe()
		if err == nil {
			err = child.Start()
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "landlord:", err)
			return 1
		}
		if _, err := io.ReadFull(out, make([]byte, 1)); err != nil {
			return 98
		}
		return demo.Main(context.Background())
	}
	// Listens until it is killed.
	roles["tenant"] = func() int {
		l, err := net.Listen("tcp", os.Getenv(portEnv))
		if err != nil {
			fmt.Fprintln(os.Stderr, "tenant:", err)
			return 1
		}
		defer l.Close()
		fd, err := unix.MemfdCreate("held", unix.MFD_CLOEXEC)
		if err == nil {
			err = unix.Ftruncate(fd, heldPages)
		}
		for range heldTimes {
			if err == nil {
				_, err = unix.Mmap(fd, 0, heldPages, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE)
			}
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "tenant:", err)
			return 1
		}
		fmt.Print(".")
		select {}
	}
}

var loopbacks atomic.Uint32

// freePort returns a loopback address that nobody uses: it has an IP address of
// its own, so that no other connection comes by the port while nobody listens.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", fmt.Sprintf("127.%d.%d.%d:0", 1+os.Getpid()>>8&0x7f, os.Getpid()&0xff, 1+loopbacks.Add(1)))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// oldTree starts, kills, restarts and stops a host whose child holds what the
// next life needs, and returns what did not go well.
func oldTree(ctx context.Context, kill sandbox.Kill, addr string, opts ...supervisor.Option) (err error) {
	spec := demoHost("ts", func(h *supervisor.HostSpec) {
		h.Env = hostEnv("landlord")
		h.Env[portEnv] = addr
	}, crashes(100))
	sup, err := supervisor.Start(ctx, supervisor.Spec{Groups: []supervisor.GroupSpec{supervisor.Alone(spec)}},
		append(opts, supervisor.WithKill(kill))...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, sup.Stop(ctx)) }()
	h, err := sup.Host("ts")
	if err != nil {
		return err
	}
	if err := h.Wait(ctx, lifecycle.Running); err != nil {
		return err
	}
	const times = 3
	for range times {
		st := h.Status()
		if err := syscall.Kill(*st.PID, syscall.SIGKILL); err != nil {
			return err
		}
		for e := range sup.Follow(ctx) {
			if e.To != nil && *e.To == lifecycle.Running && *e.Life > st.Life {
				break
			}
		}
	}
	for range times {
		if err := h.Restart(ctx); err != nil {
			return err
		}
	}
	for range times {
		if err := h.Stop(ctx); err != nil {
			return err
		}
		if c, err := net.DialTimeout("tcp", addr, time.Second); err == nil {
			return errors.Join(errors.New("stopped, and its child still listens"), c.Close())
		}
		if err := h.Start(ctx); err != nil {
			return err
		}
	}
	crashes := 0
	for _, e := range sup.History() {
		if e.To != nil && *e.To == lifecycle.Crashed {
			crashes++
		}
	}
	if crashes != times {
		return fmt.Errorf("%d crashes after %d kills, and as many restarts and stops", crashes, times)
	}
	return nil
}

func init() {
	// oldTree as the user of this process.
	roles["old-tree"] = func() int {
		var err error
		if self, err = os.Executable(); err == nil {
			err = oldTree(context.Background(), sandbox.Kill(os.Getenv(killEnv)), os.Getenv(portEnv))
		}
		switch {
		case errors.Is(err, sandbox.ErrUnsupported):
			fmt.Println("skip:", err)
		case err != nil:
			fmt.Println(err)
			return 1
		}
		return 0
	}
}

// TestNextLifeWaitsForTheOldTree holds that no life begins, and no stop is over,
// while processes of the life before are there.
func TestNextLifeWaitsForTheOldTree(t *testing.T) {
	t.Parallel()
	for _, kill := range []sandbox.Kill{sandbox.KillCgroup, sandbox.KillPidns, sandbox.KillKeeper, sandbox.KillGroup} {
		t.Run(string(kill), func(t *testing.T) {
			users(t, func(t *testing.T, uid int) {
				if uid == os.Getuid() {
					err := oldTree(ctx(t), kill, freePort(t), supervisor.WithLogger(logger(t)))
					if errors.Is(err, sandbox.ErrUnsupported) {
						unsupported(t, uid, kill, err)
					}
					if err != nil {
						t.Error(err)
					}
					return
				}
				dir := place(t, uid)
				program := filepath.Join(dir, "old-tree")
				copyFile(t, itself, program)
				cmd := as(uid, exec.CommandContext(ctx(t), program))
				cmd.Dir = dir
				cmd.Env = []string{roleEnv + "=old-tree", killEnv + "=" + string(kill), portEnv + "=" + freePort(t), "TMPDIR=" + dir, "HOME=" + dir}
				out, err := cmd.CombinedOutput()
				if skip, ok := strings.CutPrefix(string(out), "skip: "); ok {
					unsupported(t, uid, kill, skip)
				}
				if err != nil {
					t.Errorf("%v\n%s", err, out)
				}
			})
		})
	}
}

// copyFile copies a program by another process. One that this process had open for
// writing could not be started while a child that is just being forked has it open
// too ("text file busy").
func copyFile(t testing.TB, from, to string) {
	t.Helper()
	if out, err := exec.CommandContext(ctx(t), "cp", from, to).CombinedOutput(); err != nil {
		t.Fatalf("cp: %v\n%s", err, out)
	}
}
