//go:build linux

package leaktest

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestLeaksAreSeen makes one leak of each kind and expects it to be reported.
func TestLeaksAreSeen(t *testing.T) {
	temp := t.TempDir()
	before := Descriptors()
	end := make(chan struct{})
	leak := map[string]func(t *testing.T) (undo func()){
		"goroutine": func(t *testing.T) func() {
			go func() { <-end }()
			return func() { close(end) }
		},
		"descriptor": func(t *testing.T) func() {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			return func() { l.Close() }
		},
		"process": func(t *testing.T) func() {
			c := exec.Command("sleep", "1000")
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			return func() {
				_ = c.Process.Kill()
				_ = c.Wait()
			}
		},
		"file": func(t *testing.T) func() {
			f := filepath.Join(temp, "forgotten")
			if err := os.WriteFile(f, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			return func() { _ = os.Remove(f) }
		},
	}
	for what, make := range leak {
		t.Run(what, func(t *testing.T) {
			if left := wait(before, temp); len(left) > 0 {
				t.Fatalf("reported before the leak: %q", left)
			}
			undo := make(t)
			if left := strings.Join(leaks(before, temp), "\n"); !strings.Contains(left, what) {
				t.Errorf("a %s is not reported: %q", what, left)
			}
			undo()
			if left := wait(before, temp); len(left) > 0 {
				t.Errorf("reported after the leak has ended: %q", left)
			}
		})
	}
}

// testsFunc implements Tests.
type testsFunc func() int

func (f testsFunc) Run() int { return f() }

// TestIgnoredSignalsAreNotInherited runs tests with SIGHUP and SIGINT ignored, as
// nohup and a shell's & do, and sends these signals to the programs they start.
func TestIgnoredSignalsAreNotInherited(t *testing.T) {
	const inside = "LEAKTEST_IGNORED"
	if os.Getenv(inside) != "" {
		os.Exit(Run(testsFunc(func() int {
			for _, s := range []string{"HUP", "INT"} {
				if out, err := exec.Command("sh", "-c", "kill -"+s+" $$; echo survived").CombinedOutput(); err == nil {
					t.Logf("%s: %s", s, out)
					return 1
				}
			}
			return 0
		})))
	}
	cmd := exec.Command("sh", "-c", `trap "" HUP INT; exec "$0" -test.run '^'"$1"'$' -test.v`, os.Args[0], t.Name())
	cmd.Env = append(os.Environ(), inside+"=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
