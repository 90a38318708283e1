//go:build !hostsup_posix

package selftest

import (
	"context"
	"os"
	"os/exec"
	"testing"

	"github.com/hostsup/hostsup/internal/require"
)

// sandboxes that are not ours, to see that the suite can tell.

// none is no sandbox at all, taken for one.
func none(*testing.T) *box { return &box{} }

// shut runs something else in place of the attempt.
func shut(*testing.T) *box {
	return &box{wrap: func(*stage, []string) []string { return []string{"/bin/true"} }}
}

// bwrap is one that is good at files, processes and the network.
func bwrap(t *testing.T) *box {
	path, err := exec.LookPath("bwrap")
	if err != nil {
		require.Missing(t, "%v; ./test peers installs it", err)
	}
	bash, err := exec.LookPath("bash")
	if err != nil {
		require.Missing(t, "%v", err)
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

// TestTellsApart holds that the suite sees the strong and the weak sides of
// sandboxes that are known.
func TestTellsApart(t *testing.T) {
	type expectation map[string]Verdict
	// What anybody can do without a sandbox.
	open := expectation{}
	for _, id := range []string{
		"files/read", "files/write", "files/stat", "files/chmod", "files/inherited-file", "files/inherited-socket",
		"own code/file", "own code/memfd", "network/tcp", "network/udp", "network/unix-abstract", "network/listen-tcp",
		"other processes/kill", "other processes/ptrace", "other processes/prlimit", "other processes/proc-environ",
		"privileges/set-uid-chmod", "privileges/no-filter", "dangerous calls/personality", "environment/variables",
		"exhaustion/files", "exhaustion/file-size", "outliving/session-kill", "outliving/deaf-stop", "work/read", "work/signal",
	} {
		open[id] = Escaped
	}
	closed := expectation{}
	for id := range open {
		closed[id] = Broken
	}
	tests := []struct {
		name string
		box  func(*testing.T) *box
		want expectation
	}{
		{"none", none, open},
		{"shut", shut, closed},
		{"bubblewrap", bwrap, expectation{
			"files/read": Held, "files/write": Held, "files/chmod": Held, "files/inherited-file": Escaped, "files/inherited-socket": Escaped,
			"own code/file": Escaped, "network/tcp": Held, "network/unix-abstract": Held, "network/listen-tcp": Held,
			"other processes/kill": Held, "other processes/proc-environ": Held, "privileges/set-uid-chmod": Escaped,
			"privileges/no-filter": Escaped, "environment/variables": Escaped, "exhaustion/file-size": Escaped,
			"outliving/session-kill": Held, "work/read": Escaped,
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b := test.box(t)
			su, err := newSuite(Options{Dir: t.TempDir()}, "")
			if err != nil {
				t.Fatal(err)
			}
			defer su.close()
			var list []*attempt
			for id := range test.want {
				at := find(id)
				if at == nil {
					t.Fatalf("no attempt %q", id)
				}
				list = append(list, at)
			}
			err = su.each(t.Context(), list, func(ctx context.Context, i int) error {
				control, err := su.one(ctx, list[i], &box{})
				if err != nil {
					return err
				}
				c, err := su.cell(ctx, list[i], b, control)
				if want := test.want[list[i].id()]; c.Verdict != want {
					t.Errorf("%s is %s, want %s\n\twithout: %s\n\twithin:  %s", list[i].id(), c.Verdict, want, c.Control, c.Evidence)
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		})
	}
}
