//go:build unix

package control_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/hostsup/hostsup/control"
	"github.com/hostsup/hostsup/control/controltest"
	"github.com/hostsup/hostsup/lifecycle/record"
)

func listen(t *testing.T, path string) *control.Listener {
	t.Helper()
	l, err := control.Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

func mode(t *testing.T, path string) os.FileMode {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode()
}

func TestListenMakesPrivateFilesAndRemovesThem(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	path := filepath.Join(dir, "s")
	l := listen(t, path)
	if got := mode(t, dir).Perm(); got != 0o700 {
		t.Errorf("folder has mode %#o", got)
	}
	if got := mode(t, path); got != os.ModeSocket|0o600 {
		t.Errorf("socket has mode %v", got)
	}
	if got := mode(t, path+".lock").Perm(); got != 0o600 {
		t.Errorf("lock has mode %#o", got)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if err := l.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
}

func TestListenRefusesALiveOwner(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	listen(t, path)
	_, err := control.Listen(path)
	var used *control.InUseError
	if !errors.As(err, &used) || used.PID != os.Getpid() || used.Socket != path {
		t.Errorf("got %v", err)
	}
	if mode(t, path).Type() != os.ModeSocket {
		t.Error("the owner's socket is gone")
	}
}

// A process that answers at the socket is its owner even without the lock.
func TestListenRefusesASocketThatAnswers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	other, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	_, err = control.Listen(path)
	var used *control.InUseError
	if !errors.As(err, &used) || used.PID != os.Getpid() {
		t.Errorf("got %v", err)
	}
	if _, err := os.Lstat(path + ".lock"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("lock: %v", err)
	}
}

func TestListenReplacesAStaleSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	dead, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	dead.SetUnlinkOnClose(false)
	dead.Close()
	if err := os.WriteFile(path+".lock", []byte("999999\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	listen(t, path)
	if c, err := net.Dial("unix", path); err != nil {
		t.Error(err)
	} else {
		c.Close()
	}
}

func TestListenLeavesWhatIsNotASocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := control.Listen(path); err == nil || !strings.Contains(err.Error(), "is not a socket") {
		t.Errorf("got %v", err)
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "precious" {
		t.Errorf("%q, %v", b, err)
	}
}

// Close must not remove a socket that another process made.
func TestCloseLeavesAnothersSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l := listen(t, path)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	other, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if c, err := net.Dial("unix", path); err != nil {
		t.Error(err)
	} else {
		c.Close()
	}
}

// The owner must be found even after the socket and the lock were removed.
func TestListenRefusesAnOwnerWithoutFiles(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has an identity without a file")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "s")
	listen(t, path)
	for _, file := range []string{path, path + ".lock"} {
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{path, filepath.Join(link, "s")} {
		_, err := control.Listen(path)
		var used *control.InUseError
		if !errors.As(err, &used) || used.PID != os.Getpid() {
			t.Errorf("Listen(%s): %v", path, err)
		}
	}
	listen(t, path+"2")
	listen(t, filepath.Join(t.TempDir(), "s"))
}

// TestKeep removes a control socket in each way, and calls its owner again.
func TestKeep(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a")
	path := filepath.Join(dir, "s")
	l := listen(t, path)
	srv := control.NewServer(&controltest.Supervisor{}, control.Options{})
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }()
	ctx, cancel := context.WithCancel(t.Context())
	told, kept := make(chan string, 16), make(chan struct{})
	go func() {
		defer close(kept)
		l.Keep(ctx, func(what string, err error) { told <- fmt.Sprintf("%s: %v", what, err) })
	}()
	remove := func(file string) {
		t.Helper()
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
	rename := func(from, to string) {
		t.Helper()
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	tells := func(want string) {
		t.Helper()
		if got := <-told; got != want {
			t.Errorf("told %q, want %q", got, want)
		}
	}
	answers := func() {
		t.Helper()
		c := control.NewClient(path)
		defer c.Close()
		if _, err := c.Status(t.Context()); err != nil {
			t.Error(err)
		}
		if got := mode(t, path); got != os.ModeSocket|0o600 {
			t.Errorf("socket has mode %v", got)
		}
		if got := mode(t, path+".lock").Perm(); got != 0o600 {
			t.Errorf("lock has mode %#o", got)
		}
	}
	answers()
	remove(path)
	tells("the control socket " + path + " was removed: <nil>")
	answers()
	remove(path + ".lock")
	tells("the lock " + path + ".lock of the control socket was removed: <nil>")
	answers()
	rename(dir, dir+".gone")
	tells("the control socket " + path + " and its lock were removed: <nil>")
	answers()
	if err := os.WriteFile(path+".file", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	rename(path+".file", path)
	tells("the control socket " + path + " was removed: " + path + " exists and is not a socket: remove it, or choose another path for the control socket")
	remove(path)
	tells("the control socket " + path + " was removed: <nil>")
	answers()
	cancel()
	<-kept
	if err := srv.Close(context.Background()); err != nil {
		t.Error(err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestPathsThatCannotBe(t *testing.T) {
	for _, path := range []string{"", "@abstract", "a\x00b", "/tmp/" + strings.Repeat("x", 200)} {
		if _, err := control.Listen(path); err == nil {
			t.Errorf("Listen(%q) succeeds", path)
		}
		_, err := control.NewClient(path).Status(t.Context())
		var e *control.Error
		if !errors.As(err, &e) || e.Class != control.Invalid {
			t.Errorf("client of %q: %v", path, err)
		}
	}
}

// In a folder where all users can make folders, one of another user, or one that
// others may write to, must be refused by both sides.
func TestFolderOfOthers(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("giving a folder away takes root")
	}
	shared := filepath.Join(t.TempDir(), "shared")
	mkdir := func(dir string, mode os.FileMode, uid int) string {
		t.Helper()
		for _, err := range []error{os.Mkdir(dir, 0o700), os.Chown(dir, uid, uid), os.Chmod(dir, mode)} {
			if err != nil {
				t.Fatal(err)
			}
		}
		return filepath.Join(dir, "s")
	}
	mkdir(shared, 0o777|os.ModeSticky, 0)
	for _, path := range []string{
		mkdir(filepath.Join(shared, "theirs"), 0o700, 12345),
		mkdir(filepath.Join(shared, "open"), 0o777, 0),
	} {
		if _, err := control.Listen(path); err == nil || !strings.Contains(err.Error(), filepath.Dir(path)) {
			t.Errorf("Listen(%s): %v", path, err)
		}
		_, err := control.NewClient(path).Status(t.Context())
		var e *control.Error
		if !errors.As(err, &e) || e.Class != control.Forbidden {
			t.Errorf("client of %s: %v", path, err)
		}
	}
	listen(t, mkdir(filepath.Join(shared, "mine"), 0o700, 0))

	// Root may talk to a supervisor that a person has named.
	path := filepath.Join(shared, "theirs", "s")
	other, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	go func() { // ends with its one caller
		if c, err := other.Accept(); err == nil {
			c.Close()
		}
	}()
	c := control.NewClient(path, control.AnyOwner())
	defer c.Close()
	_, err = c.Status(t.Context())
	var e *control.Error
	if !errors.As(err, &e) || e.Class != control.Disconnected {
		t.Errorf("client of root: %v", err)
	}
}

// A stream that stops without its end was cut off, and must be an error.
func TestStreamIsCutOff(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l := listen(t, path)
	go func() { // ends with its one caller
		if c, err := l.Accept(); err == nil {
			_, _ = c.Read(make([]byte, 1))
			_, _ = c.Write([]byte("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{\"item\":1}\n"))
			c.Close()
		}
	}()
	c := control.NewClient(path)
	defer c.Close()
	var items []string
	var last error
	for item, err := range c.Stream(t.Context(), control.Request{Host: "ts", Method: "m"}) {
		if last = err; err == nil {
			items = append(items, string(item))
		}
	}
	var e *control.Error
	if len(items) != 1 || items[0] != "1" || !errors.As(last, &e) || e.Class != control.Disconnected {
		t.Errorf("%v, %v", items, last)
	}
}

func TestNobodyThere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	_, err := control.NewClient(path).Status(t.Context())
	var e *control.Error
	if !errors.As(err, &e) || e.Class != control.NoSupervisor || !strings.Contains(e.Message, `no supervisor at `+path+`: start one with "hostsup run"`) {
		t.Errorf("got %v", err)
	}
}

// A supervisor that goes away must be distinguished from one that never existed.
func TestSupervisorGoesAway(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l := listen(t, path)
	go func() { // ends with its one caller
		if c, err := l.Accept(); err == nil {
			_, _ = c.Read(make([]byte, 1))
			c.Close()
		}
	}()
	c := control.NewClient(path)
	defer c.Close()
	_, err := c.Start(t.Context(), "ts")
	var e *control.Error
	if !errors.As(err, &e) || e.Class != control.Disconnected {
		t.Errorf("got %v", err)
	}
}

func TestClientDeadline(t *testing.T) {
	h := controltest.NewHost(record.HostStatus{Name: "ts"})
	h.OnVerb = func(ctx context.Context, _ string) error {
		<-ctx.Done()
		return ctx.Err()
	}
	c := control.NewClient(controltest.Serve(t, &controltest.Supervisor{Members: []*controltest.Host{h}}, control.Options{}))
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err := c.Start(ctx, "ts")
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}
