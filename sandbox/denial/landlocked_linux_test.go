//go:build !hostsup_posix

package denial

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/hostsup/hostsup/internal/require"
	"github.com/hostsup/hostsup/internal/sys"
)

const landlockedArg = "denial-landlocked"

// landlocked runs this program as the child of a test: it may read and run files,
// but not write, listen, connect or signal others, and executes the command. The
// kernel logs its denials also after that.
func landlocked() {
	runtime.LockOSThread()
	const create, restrict = 444, 446
	const write, rest = 1<<1 | 1<<5 | 1<<7 | 1<<8, 1 << 14 // write_file, remove_file, make_dir, make_reg; truncate
	attr := struct{ fs, net, scoped uint64 }{write | rest, 1 | 2, 1 | 2}
	fd, _, errno := syscall.RawSyscall(create, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		fmt.Fprintln(os.Stderr, "landlock", errno)
		os.Exit(99)
	}
	_, _, _ = syscall.RawSyscall6(syscall.SYS_PRCTL, 38, 1, 0, 0, 0, 0) // the next calls fail if this did
	const logNewExec = 2
	if _, _, errno := syscall.RawSyscall(restrict, fd, logNewExec, 0); errno != 0 {
		fmt.Fprintln(os.Stderr, "landlock", errno)
		os.Exit(99)
	}
	_ = syscall.Exec(os.Args[2], os.Args[2:], os.Environ())
	os.Exit(99)
}

// The test reads real kernel records. The audit subsystem belongs to the whole
// machine: the test enables it for a moment only if HOSTSUP_TEST_AUDIT allows it.
func TestAuditReportsDenialsOfLandlock(t *testing.T) {
	on, err := sys.AuditEnabled()
	switch {
	case err != nil:
		require.Privilege(t, "the audit subsystem: %v", err)
	case !on && os.Getenv("HOSTSUP_TEST_AUDIT") == "":
		if _, err := OpenAudit(); !errors.Is(err, ErrAuditOff) {
			t.Error(err)
		}
		t.Skip("the audit subsystem is off, and HOSTSUP_TEST_AUDIT does not allow to enable it")
	case !on:
		if err := sys.SetAuditEnabled(true); err != nil {
			require.Privilege(t, "the audit subsystem: %v", err)
		}
		defer func() {
			if err := sys.SetAuditEnabled(false); err != nil {
				t.Error(err)
			}
		}()
	}
	a, err := OpenAudit()
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	host, port, _ := net.SplitHostPort(l.Addr().String())
	dir := t.TempDir()
	script := fmt.Sprintf("echo x >%s/new; mkdir '%s/sub \"x'; echo x >/proc/self/comm; kill -0 %d; exec 5<>/dev/tcp/%s/%s", dir, dir, os.Getpid(), host, port)
	cmd := exec.Command("/proc/self/exe", landlockedArg, "/bin/bash", "-c", script)
	out, _ := cmd.CombinedOutput() // it must fail
	if strings.Contains(string(out), "landlock") {
		require.Missing(t, "%s", out)
	}
	var mu sync.Mutex
	var seen []Denial
	// Watch after the process has ended: no record is lost.
	stop := a.Watch(func(pid int) bool { return pid == cmd.Process.Pid }, func(d Denial) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, d)
	})
	defer stop()
	want := []Denial{
		{Kind: Write, Path: dir}, {Kind: Connect, Path: l.Addr().String()},
		{Kind: Process, Path: fmt.Sprintf("%d denial.test", os.Getpid())},
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(10 * time.Second); ; <-tick.C {
		mu.Lock()
		missing := slices.DeleteFunc(slices.Clone(want), func(d Denial) bool { return has(seen, d.Kind, d.Path) })
		mu.Unlock()
		if len(missing) == 0 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("missing %v of %v; %s", missing, seen, out)
		}
	}
}
