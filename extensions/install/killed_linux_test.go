package install_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/hostsup/hostsup/extensions/install"
	"github.com/hostsup/hostsup/extensions/install/index"
	"github.com/hostsup/hostsup/internal/leaktest"
)

// killAt is a variable of the environment: this process is an installer that kills itself
// before the step of this number.
const killAt = "HOSTSUP_TEST_KILL_AT"

func TestMain(m *testing.M) {
	if n, err := strconv.Atoi(os.Getenv(killAt)); err == nil {
		if err := installUntil(n, os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	leaktest.Main(m)
}

// installUntil carries out an operation on a folder: install PACKAGE, rollback or uninstall.
func installUntil(n int, args []string) error {
	ctx := context.Background()
	in := &install.Installer{Dir: args[0], Keep: 2}
	install.OnStep(in, func(string) {
		if n--; n == 0 {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	})
	var err error
	switch args[1] {
	case "install":
		var p *install.Package
		if p, err = install.Open(ctx, args[2], install.Limits{}); err != nil {
			return err
		}
		_, err = in.Install(ctx, p)
	case "rollback":
		_, err = in.Rollback(ctx, "acme.words")
	case "uninstall":
		_, err = in.Uninstall(ctx, "acme.words")
	}
	return err
}

// TestKilledInstallerLeavesOldOrNew kills an installer before each of its steps: a scan finds
// the old or the new version, whole, and the next operation removes what was left.
func TestKilledInstallerLeavesOldOrNew(t *testing.T) {
	third := write(t, archive(t, whole("1.2.0", file{name: "extension/a/b/c", text: "c"})...))
	for _, c := range []struct {
		args     []string
		old, new string
		least    int // steps
	}{
		{[]string{"install", third}, "acme.words 1.1.0", "acme.words 1.2.0", 9},
		{[]string{"rollback"}, "acme.words 1.1.0", "acme.words 1.0.0", 4},
		{[]string{"uninstall"}, "acme.words 1.1.0", "", 4},
	} {
		t.Run(c.args[0], func(t *testing.T) {
			isNew := false
			for n := 1; ; n++ {
				in := &install.Installer{Dir: t.TempDir(), Keep: 2}
				mustInstall(t, in, vsix(t, "1.0.0"))
				mustInstall(t, in, vsix(t, "1.1.0"))
				// What an installer leaves that was killed before is one more step.
				if err := os.Mkdir(filepath.Join(in.Dir, index.Folder, "tmp-x"), 0o755); err != nil {
					t.Fatal(err)
				}
				done := runKilled(t, n, append([]string{in.Dir}, c.args...))
				switch got := scanned(t, in.Dir); {
				case got == c.new:
					isNew = true
				case got != c.old, isNew:
					t.Errorf("killed at step %d: a scan finds %q", n, got)
				}
				if err := in.Clean(t.Context()); err != nil {
					t.Errorf("killed at step %d: %v", n, err)
				}
				checkClean(t, in, n)
				if done {
					if !isNew || n < c.least {
						t.Errorf("%d steps, new: %v", n, isNew)
					}
					return
				}
			}
		})
	}
}

// runKilled runs an installer and reports whether it got to its end.
func runKilled(t *testing.T, n int, args []string) (done bool) {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), killAt+"="+strconv.Itoa(n))
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err == nil {
		return true
	}
	if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("step %d: %v: %s", n, err, out)
	}
	return false
}

// checkClean checks that a folder has what its list names, and nothing else.
func checkClean(t *testing.T, in *install.Installer, n int) {
	t.Helper()
	x, err := index.Read(in.Dir)
	if err != nil {
		t.Fatal(err)
	}
	listed := x.Folders()
	entries, err := os.ReadDir(filepath.Join(in.Dir, index.Folder))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if name := e.Name(); name != index.File && name != "lock" && !listed[name] {
			t.Errorf("killed at step %d: %s is left", n, name)
		}
		delete(listed, e.Name())
	}
	if len(listed) > 0 {
		t.Errorf("killed at step %d: %s missing", n, strings.Join(keys(listed), ", "))
	}
}

func keys(m map[string]bool) (out []string) {
	for k := range m {
		out = append(out, k)
	}
	return out
}
