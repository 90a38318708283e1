package resolve

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/hostsup/hostsup/internal/leaktest"
	"github.com/hostsup/hostsup/sandbox/policy"
)

// deepTree makes depth nested folders in dir, with a path longer than the kernel
// accepts, and a file in the innermost.
func deepTree(t *testing.T, dir, file string, depth int) {
	t.Helper()
	at, err := syscall.Open(dir, syscall.O_RDONLY|syscall.O_DIRECTORY, 0)
	for range depth {
		if err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mkdirat(at, "deep", 0o755); err != nil {
			t.Fatal(err)
		}
		up := at
		at, err = syscall.Openat(up, "deep", syscall.O_RDONLY|syscall.O_DIRECTORY, 0)
		syscall.Close(up)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(at)
	fd, err := syscall.Openat(at, file, syscall.O_CREAT|syscall.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	syscall.Close(fd)
}

// A process that nests folders must not prevent its next start, and denied files stay
// denied.
func TestDeniedInDeepFolder(t *testing.T) {
	root := tree(t, "a/x.key", "a/b/y.key")
	deepTree(t, filepath.Join(root, "a/b"), "z.key", 3000)
	r, err := Policy(&policy.Policy{Level: policy.NoCgroup, Write: []string{root + "/a"}, Deny: []string{root + "/**/*.key"}}, policy.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	var closed []policy.Denied
	for _, d := range r.Denied {
		if d.Closed != "" {
			closed = append(closed, d)
		}
	}
	if len(closed) != 1 || len(r.Denied) != 3 {
		t.Fatalf("%d denied, %d as a whole", len(r.Denied), len(closed))
	}
	d := closed[0]
	if n := strings.Count(d.Path, "/"); n != maxDepth+1 || !d.Dir || d.Anchor != d.Path || len(d.Pinned) == 0 {
		t.Errorf("denied is %+v, in %d folders", d, n)
	}
	if err := os.RemoveAll(root + "/a"); err != nil {
		t.Error(err)
	}
}

// A process that closes a folder to its own user must neither uncover the denied
// files in it nor prevent its next start. Root may search every folder.
func TestDeniedInClosedFolder(t *testing.T) {
	if os.Getuid() == 0 {
		asStranger(t)
		return
	}
	for _, c := range []struct {
		mode    os.FileMode
		deny    string
		refused string
	}{
		{0, "/a/**/.env", ""},
		{0o400, "/a/**/.env", ""},
		{0, "/a/*/.env", ""},
		{0o400, "/a/*/.env", ""},
		{0o400, "/a/b/*nv", ""},
		{0, "/a/b/.env", ""},
		{0, "/a/l/.env", ""},
		{0, "/a/*/c/.env", ""},
		{0, "/*/b/.env", ""},
	} {
		t.Run(fmt.Sprintf("%s %o", c.deny, c.mode), func(t *testing.T) {
			root := tree(t, "a/b/.env", "a/b/c/.env", "a/l -> b", "a/open/.env")
			folder := root + "/a/b"
			if err := os.Chmod(folder, c.mode); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.Chmod(folder, 0o755) })
			r, err := Policy(&policy.Policy{Level: policy.NoCgroup, Write: []string{root + "/a"}, Deny: []string{root + c.deny}}, policy.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(r.Denied, func(d policy.Denied) bool { return d.Path == folder && d.Dir && d.Closed != "" }) &&
				!slices.ContainsFunc(r.Denied, func(d policy.Denied) bool { return d.Path == folder+"/.env" }) {
				t.Errorf("denied is %q", lines(r, root))
			}
		})
	}
	t.Run("the grant itself", func(t *testing.T) {
		root := tree(t, "a/.env")
		if err := os.Chmod(root+"/a", 0); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Chmod(root+"/a", 0o755) })
		_, err := Policy(&policy.Policy{Level: policy.NoCgroup, Write: []string{root + "/a"}, Deny: []string{root + "/a/**/.env"}}, policy.Limits{})
		if err == nil || !strings.Contains(err.Error(), root+"/a: permission denied") {
			t.Errorf("%v", err)
		}
	})
}

// asStranger runs the test again as a user without rights.
func asStranger(t *testing.T) {
	t.Helper()
	const stranger = 54321
	dir := tree(t)
	for d := dir; d != os.TempDir() && d != "/"; d = filepath.Dir(d) {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile("/proc/self/exe")
	if err == nil {
		err = leaktest.WriteProgram(dir+"/program", b, 0o755)
	}
	if err == nil {
		err = os.Mkdir(dir+"/tmp", 0o755)
	}
	if err == nil {
		err = os.Chown(dir+"/tmp", stranger, stranger)
	}
	if err != nil {
		t.Fatal(err)
	}
	pid, err := syscall.ForkExec(dir+"/program", []string{"program", "-test.run", "^" + t.Name() + "$", "-test.v"}, &syscall.ProcAttr{
		Dir: dir, Env: []string{"TMPDIR=" + dir + "/tmp"}, Files: []uintptr{0, 1, 2},
		Sys: &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: stranger, Gid: stranger}},
	})
	if err != nil {
		t.Fatal(err)
	}
	var ws syscall.WaitStatus
	if _, err := syscall.Wait4(pid, &ws, 0, nil); err != nil || ws.ExitStatus() != 0 {
		t.Errorf("as user %d: %v, %v", stranger, err, ws)
	}
}

// A policy that takes more mounts than the kernel has room for is refused before the
// start, with a remedy.
func TestDeniedNeedsRoom(t *testing.T) {
	root := tree(t, "a/")
	for i := range 400 {
		if err := os.WriteFile(fmt.Sprintf("%s/a/%d.key", root, i), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	before := mountRoom
	t.Cleanup(func() { mountRoom = before })
	p := &policy.Policy{Level: policy.NoCgroup, Write: []string{root + "/a"}, Deny: []string{root + "/a/none", root + "/a/*.key"}}
	if _, err := Policy(p, policy.Limits{}); err != nil {
		t.Error(err)
	}
	mountRoom = func() (int, []string) { return 300, []string{"/", root + "/a/mounted"} }
	_, err := Policy(p, policy.Limits{})
	want := fmt.Sprintf(`deny[1] %q: it denies 400 paths; with what else is denied and granted a start takes 435 mounts, and the kernel has room for 300 (name`, root+"/a/*.key")
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v\nwant\n%s", err, want)
	}
}

// A pattern must search a folder once for each of its parts, not once for each way to
// distribute them.
func TestPatternWithManyStars(t *testing.T) {
	root := tree(t, strings.Repeat("a/", 20)+"x.key")
	g := globber{hasGrant: func(string) bool { return true }, denyFolder: func(error) bool { return false }}
	if err := g.match(root + "/**/**/a/**/a/**/a/**/a/**/x.key"); err != nil {
		t.Fatal(err)
	}
	if len(g.found) != 1 || g.visited > 20*12 {
		t.Errorf("%d found, %d looked at", len(g.found), g.visited)
	}
}

// BenchmarkManyDenied resolves a policy whose pattern matches 20,000 files in 200
// folders.
func BenchmarkManyDenied(b *testing.B) {
	root := b.TempDir()
	for i := range 20_000 {
		dir := fmt.Sprintf("%s/%d", root, i%200)
		if i < 200 {
			if err := os.Mkdir(dir, 0o755); err != nil {
				b.Fatal(err)
			}
		}
		if err := os.WriteFile(fmt.Sprintf("%s/%d.key", dir, i), nil, 0o644); err != nil {
			b.Fatal(err)
		}
	}
	p := &policy.Policy{Level: policy.NoCgroup, Write: []string{root}, Deny: []string{root + "/**/*.key"}}
	for b.Loop() {
		if r, err := Policy(p, policy.Limits{}); err != nil || len(r.Denied) != 20_000 {
			b.Fatal(err)
		}
	}
}
