//go:build !hostsup_posix

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/hostsup/hostsup/internal/leaktest"
	"github.com/hostsup/hostsup/sandbox/policy"
)

func init() {
	roles["bind-names"] = bindNames
	roles["user-id"] = userID
}

// The range of ids of these tests.
const testUser, testUsers = 71000, 4096

// bindNames binds abstract sockets until its standard input ends.
func bindNames([]string) int {
	for id := testUser; id < testUser+testUsers; id += 256 {
		s, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
		if err == nil {
			err = syscall.Bind(s, &syscall.SockaddrUnix{Name: fmt.Sprintf("@hostsup-users-%d", id)})
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	fmt.Println("bound")
	_, _ = os.Stdin.Read(make([]byte, 1))
	return 0
}

// userID starts a confined process, prints its user id and waits until standard input
// ends.
func userID([]string) int {
	l, err := NewLauncher(Options{Kill: KillGroup, Users: Range{First: testUser, Count: testUsers}})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer l.Close()
	p, _ := policy.Profile("strict")
	p.Level = policy.Landlock
	cmd := shell("id -u; exec sleep 1000")
	cmd.Policy, cmd.Files = &p, []*os.File{nil, os.Stdout}
	c, err := l.Start(cmd)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	_, _ = os.Stdin.Read(make([]byte, 1))
	_ = c.KillTree()
	<-c.Done()
	c.Release()
	return 0
}

// said starts this program in a role and returns its first line. The program ends with
// the test.
func said(t *testing.T, role string, attr *syscall.SysProcAttr) string {
	t.Helper()
	// A user without rights may not read the folder of the test binary.
	program := filepath.Join(ground(t), "program")
	b, err := os.ReadFile("/proc/self/exe")
	if err == nil {
		err = leaktest.WriteProgram(program, b, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program)
	cmd.Env = []string{quickExit, roleVar + "=" + role, "PATH=/usr/bin:/bin"}
	cmd.SysProcAttr = attr
	var errs strings.Builder
	cmd.Stderr = &errs
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		_ = cmd.Wait() // its output shows errors
	})
	var line string
	if _, err := fmt.Fscanln(out, &line); err != nil {
		t.Fatalf("%s: %v: %s", role, err, errs.String())
	}
	return line
}

// No ordinary user can prevent root from starting confined processes.
func TestUserIDsAreRoots(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root has many users")
	}
	confines(t, policy.Landlock)
	const stranger = 54321
	said(t, "bind-names", &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: stranger, Gid: stranger}})
	said(t, "user-id", nil)
	path := filepath.Join(runtimeFolder(), "hostsup", "users")
	st, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if st.Mode().Perm()&0o077 != 0 || !isOwn(st) {
		t.Errorf("%s: %s", path, st.Mode())
	}
}

// Two supervisors in separate network namespaces use different ids.
func TestUserIDsOverNetworks(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root has many users")
	}
	confines(t, policy.Landlock)
	apart := &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS}
	if a, b := said(t, "user-id", apart), said(t, "user-id", apart); a == b {
		t.Errorf("both have %s", a)
	}
}

// Ids are not allocated if others could have locked them, or if the file of the locks
// cannot be created.
func TestUserLocksAreClosed(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root has many users")
	}
	top := t.TempDir()
	dir := filepath.Join(top, "hostsup")
	before := runtimeFolder
	runtimeFolder = func() string { return top }
	t.Cleanup(func() { runtimeFolder = before })
	for _, c := range []struct {
		name string
		make func() error
		ok   bool
	}{
		{"none yet", func() error { return nil }, true},
		{"a file of others", func() error { return os.Chmod(dir+"/users", 0o644) }, false},
		{"a link", func() error {
			return errors.Join(os.Remove(dir+"/users"), os.WriteFile(top+"/elsewhere", nil, 0o600), os.Symlink(top+"/elsewhere", dir+"/users"))
		}, false},
		{"a folder", func() error { return errors.Join(os.Remove(dir+"/users"), os.Mkdir(dir+"/users", 0o700)) }, false},
		{"a folder of others", func() error { return errors.Join(os.Remove(dir+"/users"), os.Chmod(dir, 0o777)) }, false},
		{"no folder", func() error { return errors.Join(os.RemoveAll(dir), os.WriteFile(dir, nil, 0o600)) }, false},
	} {
		if err := c.make(); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		var u users
		id, err := u.take()
		if u.close(); (err == nil) != c.ok {
			t.Errorf("%s: %d, %v", c.name, id, err)
		}
		if err != nil && !strings.Contains(err.Error(), "RuntimeDirectory=hostsup") {
			t.Errorf("%s: %v says nothing of what to do", c.name, err)
		}
	}
}

// Ids stay with their tree if the file of the locks is removed.
func TestRemovedUserLocksAreReplaced(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root has many users")
	}
	top := t.TempDir()
	before := runtimeFolder
	runtimeFolder = func() string { return top }
	t.Cleanup(func() { runtimeFolder = before })
	var a, b users
	defer a.close()
	defer b.close()
	first, err := a.take()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(top + "/hostsup"); err != nil {
		t.Fatal(err)
	}
	second, err := a.take()
	if err != nil {
		t.Fatal(err)
	}
	third, err := b.take()
	if err != nil || third == first || third == second {
		t.Errorf("%d and %d are taken, and another gets %d, %v", first, second, third, err)
	}
	a.close()
	if again, err := b.take(); err != nil || again != first {
		t.Errorf("after they are given back: %d, %v", again, err)
	}
}
