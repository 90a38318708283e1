//go:build !hostsup_posix

package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/internal/sys"
	"github.com/hostsup/hostsup/sandbox/policy"
	"github.com/hostsup/hostsup/sandbox/resolve"
)

func init() { roles["remember"] = remember }

// remembered is what the role remember prints.
type remembered struct {
	Level policy.Level // of the machine
	Used  []string     // stored features that it used
	Error string       // of the start
	Step  Step
	In    policy.Level // the level of the command
}

// remember starts a command that accepts level landlock, with the memory in the folder
// args[0]; the rest of args are claims that are written there first.
func remember(args []string) int {
	runtimeFolder = func() string { return args[0] }
	if claims := args[1:]; len(claims) > 0 {
		if err := poison(claims); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	RememberProbe()
	m := probe()
	r := remembered{Level: m.Level}
	if m.memory != nil {
		r.Used = m.memory.used
	}
	if err := r.start(); err != nil {
		r.Error = err.Error()
		if se, ok := err.(*StartError); ok { //nolint:errorlint // Start promises one
			r.Step = se.Step
		}
	}
	if json.NewEncoder(os.Stdout).Encode(r) != nil {
		return 1
	}
	return 0
}

func (r *remembered) start() error {
	l, err := NewLauncher(Options{Kill: KillGroup})
	if err != nil {
		return err
	}
	defer l.Close()
	p, _ := policy.Profile("strict")
	p.Level = policy.Landlock
	c, err := l.Start(&Command{Name: "true", Path: "/bin/true", Args: []string{"true"}, Policy: &p})
	if err != nil {
		return err
	}
	<-c.Done()
	r.In = c.Confinement().Level
	c.Release()
	return nil
}

// poison writes a memory with claims, as an earlier process would.
func poison(claims []string) error {
	dir, err := privateFolder()
	if err != nil {
		return err
	}
	key, err := memoryKey()
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, memoryFile(key)), []byte(key+strings.Join(claims, "\n")+"\n"), 0o600)
}

// nested is an environment without namespaces: a confined process with its system call
// filter. It has its own runtime folder.
type nested struct {
	*testing.T
	dir    string
	uid    int
	filter sys.Filter
}

func newNested(t *testing.T) *nested {
	t.Helper()
	confines(t, policy.Landlock)
	n := &nested{T: t, dir: t.TempDir(), uid: os.Getuid()}
	if n.uid == 0 {
		n.uid = 54321
		if err := errors.Join(os.Chown(n.dir, n.uid, n.uid), os.Chmod(filepath.Dir(n.dir), 0o711)); err != nil {
			t.Fatal(err)
		}
	}
	p, _ := policy.Profile("strict")
	p.JIT = true
	r, err := resolve.Policy(&p, policy.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	n.filter = filterFor(r, policy.SyscallScope{Level: policy.NoCgroup, JIT: true}, nil)
	return n
}

// run runs the role remember there with claims in the memory.
func (n *nested) run(claims ...string) (r remembered) {
	n.Helper()
	out, w, err := os.Pipe()
	if err != nil {
		n.Fatal(err)
	}
	defer out.Close()
	null, err := os.Open(os.DevNull)
	if err != nil {
		n.Fatal(err)
	}
	defer null.Close()
	var s sys.Script
	if os.Getuid() == 0 {
		s.Step("user")
		s.Groups()
		s.IDs(n.uid, n.uid)
	}
	s.Step("descriptors")
	s.Descriptors([]int{int(null.Fd()), int(w.Fd()), 2})
	s.Step("filter")
	s.NoNewPrivileges()
	s.Filter(n.filter)
	if err := s.Exec("/proc/self/exe", append([]string{"remember", n.dir}, claims...), []string{quickExit, roleVar + "=remember", "PATH=" + os.Getenv("PATH")}); err != nil {
		n.Fatal(err)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	f, err := s.Fork(0, 0)
	w.Close()
	if err == nil {
		err = f.Await()
	}
	if err != nil {
		n.Fatal(err)
	}
	defer func() {
		sys.Reap(f.Pid)
		sys.Close(f.Pidfd)
	}()
	if err := json.NewDecoder(out).Decode(&r); err != nil {
		n.Fatal(err)
	}
	return r
}

func (n *nested) kept() bool {
	files, _ := filepath.Glob(filepath.Join(n.dir, "hostsup", memoryPrefix+"*"))
	return len(files) > 0
}

var spacesFeatures = []string{"user namespaces", "a root of its own", "other namespaces", "private network"}

// A false claim in the memory makes the start fail, although the policy accepts a weaker
// level, which is used without the claim. The claims are removed.
func TestFalseMemoryFailsTheStart(t *testing.T) {
	n := newNested(t)
	if r := n.run(); r.Level != policy.Landlock || r.In != policy.Landlock {
		t.Fatalf("without namespaces: %+v", r)
	}
	r := n.run(spacesFeatures...)
	if r.Level != policy.NoCgroup || !slices.Equal(r.Used, spacesFeatures) {
		t.Fatalf("the claims were not believed: %+v", r)
	}
	if r.In != "" || r.Step != StepTree && r.Step != StepConfine || !strings.Contains(r.Error, "removed now") {
		t.Errorf("the start was not refused: %+v", r)
	}
	if n.kept() {
		t.Error("the claims are kept")
	}
	if r := n.run(); r.In != policy.Landlock {
		t.Errorf("after that: %+v", r)
	}
}

// If owners cannot be mapped, read-only mounts omit that without an error: this claim is
// tested again.
func TestFalseMemoryOfOwnersFailsTheStart(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("owners are mapped for root")
	}
	confines(t, policy.NoCgroup)
	cmd := exec.Command("/proc/self/exe", append([]string{t.TempDir(), featureOwners}, spacesFeatures...)...)
	cmd.Args[0] = "remember"
	cmd.Env = []string{quickExit, roleVar + "=remember", "TMPDIR=/proc"} // whose files have no other owners
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var r remembered
	if err := json.Unmarshal(out, &r); err != nil {
		t.Fatal(err)
	}
	if r.In != "" || r.Step != StepConfine || !strings.Contains(r.Error, "owners") || !strings.Contains(r.Error, "removed now") {
		t.Errorf("the start was not refused: %+v", r)
	}
}

// Features without a claim are tested, and no claim lowers a level. Only the records of
// denials, which no level needs, are not tested.
func TestMemoryDoesNotLowerTheLevel(t *testing.T) {
	n := newNested(t)
	if r := n.run("nothing of this", "landlock", "system call filter", "not user namespaces"); len(r.Used) != 0 || r.In != policy.Landlock {
		t.Errorf("%+v", r)
	}
	old := runtimeFolder
	t.Cleanup(func() { runtimeFolder = old })
	runtimeFolder = func() string { return n.dir }
	if err := os.Chown(n.dir, os.Getuid(), -1); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(n.dir, "hostsup")); err != nil {
		t.Fatal(err)
	}
	remembering.Store(true)
	defer remembering.Store(false)
	want := look()
	remembering.Store(false)
	plain := look()
	remembering.Store(true)
	again := look()
	needed := slices.DeleteFunc(slices.Clone(plain.Features), func(f Feature) bool { return f.Name == FeatureRecords })
	for _, m := range []*machine{want, again} {
		if m.Level != plain.Level || !reflect.DeepEqual(m.Features, needed) {
			t.Errorf("%+v, without a memory %+v", m.Machine, plain.Machine)
		}
	}
	for _, f := range plain.Features {
		if used := again.memory.uses(f.Name); used != (f.Have && slices.Contains(slices.Concat(spacesFeatures, []string{featureOwners, featureMachine, "memory limit", "tasks limit", "cpu limit"}), f.Name)) {
			t.Errorf("%s, which this machine has (%t), was taken over: %t", f.Name, f.Have, used)
		}
	}
}

// Results for programs that no longer run are eventually removed.
func TestMemoryDoesNotGrow(t *testing.T) {
	dir := t.TempDir()
	old := runtimeFolder
	t.Cleanup(func() { runtimeFolder = old })
	runtimeFolder = func() string { return dir }
	for i := range 3 * memoryFiles {
		m := openMemory()
		m.key += fmt.Sprint(i)
		m.file = filepath.Join(filepath.Dir(m.file), memoryFile(m.key))
		if err := m.try("private network", func() error { return nil }); err != nil {
			t.Fatal(err)
		}
		m.keep()
		if text, err := readOwn(m.file); err != nil || text != m.key+"private network\n" {
			t.Fatalf("%q, %v", text, err)
		}
	}
	if files, err := os.ReadDir(filepath.Join(dir, "hostsup")); err != nil || len(files) > memoryFiles {
		t.Errorf("%d files, %v", len(files), err)
	}
}

// A memory that other users can write, or could have written, is not read.
func TestMemoryOfOthersIsIgnored(t *testing.T) {
	key, err := memoryKey()
	if err != nil {
		t.Fatal(err)
	}
	memoryName := memoryFile(key)
	for what, spoil := range map[string]func(dir string) error{
		"file that others can write":   func(dir string) error { return os.Chmod(filepath.Join(dir, "hostsup", memoryName), 0o622) },
		"folder that others can write": func(dir string) error { return os.Chmod(filepath.Join(dir, "hostsup"), 0o733) },
		"runtime folder of others":     func(dir string) error { return os.Chmod(dir, 0o777) },
		"link": func(dir string) error {
			file := filepath.Join(dir, "hostsup", memoryName)
			return errors.Join(os.Rename(file, file+".real"), os.Symlink(file+".real", file))
		},
		"another boot": func(dir string) error {
			file := filepath.Join(dir, "hostsup", memoryName)
			b, err := os.ReadFile(file)
			b[len("program ")]++
			return errors.Join(err, os.WriteFile(file, b, 0o600))
		},
		"nothing": func(string) error { return nil },
	} {
		t.Run(what, func(t *testing.T) {
			dir := t.TempDir()
			old := runtimeFolder
			t.Cleanup(func() { runtimeFolder = old })
			runtimeFolder = func() string { return dir }
			if err := poison([]string{"private network"}); err != nil {
				t.Fatal(err)
			}
			if err := spoil(dir); err != nil {
				t.Fatal(err)
			}
			m := openMemory()
			believed := m != nil && slices.Contains(m.works, "private network")
			if believed != (what == "nothing") {
				t.Errorf("believed: %t", believed)
			}
		})
	}
}
