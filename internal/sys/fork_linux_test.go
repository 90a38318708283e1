package sys

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// While Await waits for a process that waits for this one, the rest of the program
// must run, including the garbage collector: an observed command waits at its execve
// for a goroutine of this program.
func TestProgramGoesOnWhileForkIsAwaited(t *testing.T) {
	const inside = "HOSTSUP_TEST_FORK_AWAITED"
	if os.Getenv(inside) == "" {
		const limit = time.Minute // a runtime that stands still keeps no deadline of its own
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
		cmd.Env = append(os.Environ(), inside+"=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v, %v:\n%s", err, ctx.Err(), out)
		}
		return
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	runtime.LockOSThread() // the process ends with this thread
	defer runtime.UnlockOSThread()
	s := new(Script)
	s.Step("wait")
	s.ParentDeath()
	s.AwaitByte(int(r.Fd()))
	s.Exit()
	f, err := s.Fork(0, 0)
	if err != nil {
		t.Fatal(err)
	}
	reads := fmt.Sprintf("%d 0x%x ", unix.SYS_READ, f.errs)
	awaited := make(chan error, 1)
	go func() { awaited <- f.Await() }()
	for !inCall(t, reads) {
		runtime.Gosched()
	}
	runtime.GC()
	if _, err := w.Write([]byte{0}); err != nil {
		t.Error(err)
	}
	if err := <-awaited; err != nil {
		t.Fatal(err)
	}
	Reap(f.Pid)
	Close(f.Pidfd)
}

// inCall reports whether a thread of this process is in the system call that begins
// its file syscall.
func inCall(t *testing.T, call string) bool {
	t.Helper()
	files, err := filepath.Glob("/proc/self/task/*/syscall")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if b, _ := os.ReadFile(file); strings.HasPrefix(string(b), call) {
			return true
		}
	}
	return false
}
