package server

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/hostsup/hostsup/execserver/wire"
	"github.com/hostsup/hostsup/internal/require"
)

// isApart runs the test in a process with mounts of its own, because what it mounts
// would hold up the sandboxes that tests of other packages make meanwhile. It reports
// whether this is that process.
func isApart(t *testing.T) bool {
	t.Helper()
	const is = "HOSTSUP_TEST_APART"
	if os.Getuid() != 0 {
		t.Skip("only root mounts")
	}
	if os.Getenv(is) != "" {
		return true
	}
	cmd := exec.Command("/proc/self/exe", "-test.v", "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), is+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	out, err := cmd.CombinedOutput()
	switch {
	case errors.Is(err, syscall.EPERM):
		require.Missing(t, "mounts of a test's own: %v", err)
	case err != nil:
		t.Errorf("%v\n%s", err, out)
	case bytes.Contains(out, []byte("--- SKIP")):
		t.Skipf("%s", out)
	case !bytes.Contains(out, []byte("--- PASS")):
		t.Errorf("it has not run:\n%s", out)
	}
	return false
}

// hungFolder mounts a file system that does not answer when it is asked for what
// is in its root. It is there as long as the test.
func hungFolder(t *testing.T) string {
	t.Helper()
	fd, err := syscall.Open("/dev/fuse", syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	if err != nil {
		require.Missing(t, "a file system of a test's own: %v", err)
	}
	dir := t.TempDir()
	if err := syscall.Mount("hung", dir, "fuse", syscall.MS_NOSUID|syscall.MS_NODEV, fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0", fd)); err != nil {
		_ = syscall.Close(fd)
		require.Missing(t, "a file system of a test's own: %v", err)
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		buf := make([]byte, 1<<20)
		for {
			n, err := syscall.Read(fd, buf)
			if err == syscall.EINTR || err == syscall.ENOENT {
				continue
			}
			if err != nil || n < 16 {
				return // it is unmounted
			}
			if a := fuseAnswer(buf[:n]); a != nil {
				_, _ = syscall.Write(fd, a) // the request may be over
			}
		}
	}()
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_FORCE|syscall.MNT_DETACH); err != nil { // which ends what waits
			t.Error(err)
		}
		<-served
		_ = syscall.Close(fd)
	})
	return dir
}

// fuseAnswer is the answer of a file system that has a root and hangs; nil for
// none.
func fuseAnswer(request []byte) []byte {
	const getattr, initialize = 3, 26
	head := make([]byte, 16)
	copy(head[8:], request[8:16]) // the number of the request
	switch binary.NativeEndian.Uint32(request[4:]) {
	case initialize:
		body := make([]byte, 64)
		binary.NativeEndian.PutUint32(body, 7) // version 7.31
		binary.NativeEndian.PutUint32(body[4:], 31)
		binary.NativeEndian.PutUint32(body[20:], 64<<10) // most that is written at once
		head = append(head, body...)
	case getattr:
		body := make([]byte, 16+88)
		binary.NativeEndian.PutUint64(body[16:], 1)
		binary.NativeEndian.PutUint32(body[16+60:], syscall.S_IFDIR|0o755)
		binary.NativeEndian.PutUint32(body[16+64:], 2)
		head = append(head, body...)
	default:
		return nil
	}
	binary.NativeEndian.PutUint32(head, uint32(len(head)))
	return head
}

// A command in a folder whose file system does not answer is refused, and holds up
// neither other starts nor this program's collection of garbage.
func TestHungFileSystemHoldsUpNoOtherStart(t *testing.T) {
	t.Parallel()
	if !isApart(t) {
		return
	}
	hung := hungFolder(t)
	s := startServer(t, Options{Listen: "unix://" + filepath.Join(t.TempDir(), "s"), Ping: -1})
	connect := func() *client {
		nc, err := net.Dial("unix", s.addr.path)
		if err != nil {
			t.Fatal(err)
		}
		c := lineClient(t, nc, nc)
		c.initialize(wire.InitializeParams{})
		return c
	}
	c, other := connect(), connect()
	for name, ask := range map[string]wire.ProcessStartParams{
		"in":          {Argv: []string{"/bin/true"}, Cwd: wire.FileURI(hung)},
		"below":       {Argv: []string{"/bin/true"}, Cwd: wire.FileURI(hung + "/folder")},
		"the program": {Argv: []string{hung + "/program"}, Cwd: "file:///"},
	} {
		ask.ProcessID, ask.Env = name, map[string]string{}
		id := c.ask(wire.MethodProcessStart, ask)
		other.start(shell("beside "+name, "true"))
		runtime.GC()
		if g := c.answer(id); g.Kind != wire.KindError || !strings.Contains(g.Err.Message, "does not answer") {
			t.Errorf("%s: %+v", name, g)
		}
	}
	stopServer(t, s)
}

// A file system that does not answer holds up the requests that go there, and
// others of the same connection for a while only. The session can be resumed, and
// the server ends.
func TestHungFileSystemHoldsUpNothingElse(t *testing.T) {
	t.Parallel()
	if !isApart(t) {
		return
	}
	hung := hungFolder(t)
	good := t.TempDir()
	s := startServer(t, Options{Listen: "unix://" + filepath.Join(t.TempDir(), "s"), Ping: -1})
	connect := func() *client {
		t.Helper()
		nc, err := net.Dial("unix", s.addr.path)
		if err != nil {
			t.Fatal(err)
		}
		return lineClient(t, nc, nc)
	}
	c := connect()
	session := c.initialize(wire.InitializeParams{}).SessionID
	path := func(dir, name string) wire.URI { return wire.FileURI(filepath.Join(dir, name)) }
	file := func(n int, dir string) {
		t.Helper()
		call[wire.Empty](c, wire.MethodFSWriteFile, wire.FSWriteFileParams{Path: path(dir, fmt.Sprint(n)), DataBase64: "eA=="})
		if r := call[wire.FSReadFileResult](c, wire.MethodFSReadFile, wire.FSReadFileParams{Path: path(dir, fmt.Sprint(n))}); string(r.Data) != "x" {
			t.Errorf("%q", r.Data)
		}
	}
	file(0, good)
	for range maxFileWork { // as many as work at once
		c.ask(wire.MethodFSReadFile, wire.FSReadFileParams{Path: path(hung, "f")})
	}
	if r := call[wire.FSReadFileResult](c, wire.MethodFSReadFile, wire.FSReadFileParams{Path: path(good, "0")}); string(r.Data) != "x" {
		t.Errorf("%q", r.Data)
	}
	c.ask(wire.MethodFSWriteFile, wire.FSWriteFileParams{Path: path(hung, "f"), DataBase64: "eA=="})
	p := shell("p", "exec sleep 1000") // started after the change before it
	c.start(p)
	file(1, good)

	c.stop()
	var again *client
	eventually(t, "that the session is resumed", func() bool {
		again = connect()
		g := again.answer(again.ask(wire.MethodInitialize, wire.InitializeParams{ClientName: "test", ResumeSessionID: &session}))
		if g.Kind == wire.KindError && g.Err.Code != wire.CodeAlreadyAttached {
			t.Fatal(g.Err)
		}
		if g.Kind == wire.KindError {
			again.stop()
		}
		return g.Kind == wire.KindResult
	})
	stopServer(t, s)
}
