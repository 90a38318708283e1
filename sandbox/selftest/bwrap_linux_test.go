//go:build !hostsup_posix

package selftest

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// bwrap is another sandbox, to see that the suite can tell one from none.
func bwrap(t *testing.T) *box {
	path, err := exec.LookPath("bwrap")
	if err != nil {
		t.Skip("bubblewrap is not here")
	}
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is not here")
	}
	return &box{wrap: func(s *stage, argv []string) []string {
		args := []string{path, "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL",
			"--proc", "/proc", "--dev", "/dev", "--size", "33554432", "--tmpfs", "/tmp"}
		for _, p := range []string{"/usr", "/bin", "/sbin", "/lib", "/lib64"} {
			if _, err := os.Stat(p); err == nil {
				args = append(args, "--ro-bind", p, p)
			}
		}
		args = append(args, "--ro-bind", s.suite.tools, s.suite.tools, "--ro-bind", s.path(readDir), s.path(readDir),
			"--bind", s.path(writeDir), s.path(writeDir), "--chdir", s.path(writeDir))
		// It has no way to give argv[0]; a shell has.
		return append(append(args, "--", bash, "-c", `exec -a "$1" "$0" "${@:2}"`), argv...)
	}}
}

// TestTellsApart runs all attempts without a sandbox and in another one, whose
// strong and weak sides are known.
func TestTellsApart(t *testing.T) {
	b := bwrap(t)
	su, err := newSuite(Options{Dir: "/tmp"}, "")
	if err != nil {
		t.Fatal(err)
	}
	defer su.close()
	got := map[string]Cell{}
	list := chosen(append(attempts(), work()...), only())
	cells := make([]Cell, len(list))
	err = su.each(t.Context(), list, func(ctx context.Context, i int) error {
		f, gone, err := su.one(ctx, list[i], &box{})
		if err != nil {
			return err
		}
		cells[i], err = su.cell(ctx, list[i], b, controlled{f, gone})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	n := map[Verdict]int{}
	for i, at := range list {
		got[at.id()] = cells[i]
		n[cells[i].Verdict]++
		t.Logf("%-8s %s\n\twithout: %s\n\tbwrap:   %s", cells[i].Verdict, at.id(), cells[i].Control, cells[i].Evidence)
	}
	t.Log(n)
}

func only() []string {
	if v := os.Getenv("HOSTSUP_SELFTEST_ONLY"); v != "" {
		return strings.Split(v, ",")
	}
	return nil
}
