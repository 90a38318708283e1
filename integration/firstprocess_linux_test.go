package integration

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/hostsup/hostsup/internal/require"
)

// The first process of a container waits for what hosts leave behind, and its end is
// that of the supervisor.
func TestFirstProcess(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		require.Missing(t, "a pid namespace is made by root")
	}
	unshare := peer(t, "unshare")
	start := func(t *testing.T, config string) (cmd *exec.Cmd, out *strings.Builder) {
		t.Helper()
		dir := place(t, os.Getuid())
		file := filepath.Join(dir, "config.hcl")
		if err := os.WriteFile(file, []byte("supervisor {\n  socket    = \""+dir+"/control\"\n  state_dir = \""+dir+"/state\"\n}\n"+config), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd = exec.CommandContext(ctx(t), unshare, "--pid", "--fork", "--kill-child", "--mount-proc", hostsupBinary(t), "run", "-c", file)
		out = &strings.Builder{}
		cmd.Stdout, cmd.Stderr = out, out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd, out
	}
	t.Run("orphans", func(t *testing.T) {
		t.Parallel()
		// Each orphan is seen by its number: the first process waits for it once it has ended.
		cmd, out := start(t, `
host "leaves" {
  command     = ["/bin/sh", "-c", "for i in 1 2 3; do (setsid tail -f /dev/null &); done; exec sleep 1000"]
  protocol    = "none"
  inherit_env = ["PATH"]
}`)
		var first int
		eventually(t, func() bool {
			if children := below(cmd.Process.Pid); len(children) == 1 {
				first = children[0].pid
			}
			return first != 0
		}, "the supervisor runs")
		var seen []int
		eventually(t, func() bool {
			for _, p := range below(first) {
				if p.name == "tail" && !slices.Contains(seen, p.pid) {
					seen = append(seen, p.pid)
				}
			}
			return len(seen) == 3
		}, "the supervisor has the orphans")
		for _, pid := range seen {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Error(err)
			}
		}
		eventually(t, func() bool {
			return !slices.ContainsFunc(below(first), func(p proc) bool { return p.state == "Z" || slices.Contains(seen, p.pid) })
		}, "it has waited for them")
		if err := syscall.Kill(first, syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil || !strings.Contains(out.String(), "stopping: signal=terminated") {
			t.Errorf("%v: %s", err, out)
		}
	})
	t.Run("invalid", func(t *testing.T) {
		t.Parallel()
		cmd, out := start(t, `host "x" {}`)
		var exit *exec.ExitError
		if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 3 {
			t.Errorf("%v: %s", err, out)
		}
	})
}

type proc struct {
	pid         int
	name, state string
}

// below returns the children of a process, zombies included.
func below(parent int) (out []proc) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		b, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		begin, end := strings.IndexByte(string(b), '('), strings.LastIndexByte(string(b), ')')
		f := strings.Fields(string(b[end+1:]))
		if len(f) > 1 && f[1] == strconv.Itoa(parent) {
			pid, err := strconv.Atoi(strings.TrimSpace(string(b[:begin])))
			if err != nil {
				panic(fmt.Sprintf("%s: %q", path, b))
			}
			out = append(out, proc{pid, string(b[begin+1 : end]), f[0]})
		}
	}
	return out
}
