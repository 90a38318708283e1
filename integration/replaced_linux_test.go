//go:build linux

package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// TestReplacedGrants has a confined host replace a folder that is granted to it,
// and to another host, by a symbolic link and by another folder. No life that the
// supervisor starts by itself follows; a person's start accepts another folder,
// and never the link.
func TestReplacedGrants(t *testing.T) {
	t.Parallel()
	// Each life replaces the folder once it is told how.
	const swap = `while read -r how < how; do
  case $how in
    link) rmdir shared && ln -s %[1]s/outside shared ;;
    folder) rm -rf shared shared.old; mkdir shared.new && mv shared.new shared ;;
  esac
  echo done > did
  exec sleep 1000
done`
	users(t, func(t *testing.T, uid int) {
		g := &ground{uid: uid, dir: place(t, uid)}
		putAs(t, uid, g.path("outside/secret"), []byte("content outside"), 0o644)
		for _, dir := range []string{"p", "p/shared", "outside"} {
			if err := os.MkdirAll(g.path(dir), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Chown(g.path(dir), uid, uid); err != nil {
				t.Fatal(err)
			}
		}
		program := writtenFor(t, uid, g.dir, "swap.sh", fmt.Sprintf("cd %s/p\n"+swap+"\n", g.dir))
		// It tells what it sees in the shared folder.
		other := writtenFor(t, uid, g.dir, "other.sh", fmt.Sprintf("ls %[1]s/p/shared; cat %[1]s/p/shared/secret; exec sleep 1000\n", g.dir))
		if err := syscall.Mkfifo(g.path("p/how"), 0o666); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(g.path("p/how"), uid, uid); err != nil {
			t.Fatal(err)
		}
		host := func(name, script, grants string) string {
			return fmt.Sprintf(`
host %q {
  protocol = "none"
  command  = ["/bin/sh", %q]
  sandbox {
    profile = "strict"
    level   = "no-cgroup"
    exec    = ["/usr"]
    %s
  }
}
`, name, script, grants)
		}
		blocks := host("swaps", program, fmt.Sprintf("read = [%q]\n    write = [%q, %q]", program, g.path("p"), g.path("p/shared"))) +
			host("other", other, fmt.Sprintf("read = [%q, %q]", other, g.path("p/shared")))
		config := g.config(t, "config.hcl", blocks)
		_, stop := serves(t, uid, g.dir, config)
		defer stop()

		kill := func(name string) {
			t.Helper()
			pid, err := strconv.Atoi(strings.TrimSpace(g.run(t, "status", name, "--pid").out))
			if err != nil {
				t.Fatal(err)
			}
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
		}
		replace := func(how string) {
			t.Helper()
			if err := os.RemoveAll(g.path("p/did")); err != nil {
				t.Fatal(err)
			}
			fifo, err := os.OpenFile(g.path("p/how"), os.O_RDWR, 0) // which waits for nobody
			if err != nil {
				t.Fatal(err)
			}
			defer fifo.Close()
			if _, err := fifo.WriteString(how + "\n"); err != nil {
				t.Fatal(err)
			}
			eventually(t, func() bool { _, err := os.Stat(g.path("p/did")); return err == nil }, "it is replaced by a", how)
		}
		refused := func(name string, reasons ...string) {
			t.Helper()
			var s hostStatus
			eventually(t, func() bool { s = g.status(t, name); return s.State == "failed" }, name, "has failed")
			if s.Restarts != 1 {
				t.Errorf("%s was tried %d times", name, s.Restarts)
			}
			for _, reason := range append(reasons, "not tried again") {
				if out := g.run(t, "status", name, "--json").out; !strings.Contains(out, reason) {
					t.Errorf("%s: status does not tell %q: %s", name, reason, out)
				}
			}
		}

		eventually(t, func() bool { return g.status(t, "swaps").State == "running" && g.status(t, "other").State == "running" }, "both run")
		replace("folder")
		kill("other")
		refused("other", "is another folder than before", "the sandbox of swaps lets "+g.path("p")+" be written", "hostsup start other accepts it")
		kill("swaps")
		refused("swaps", "is another folder than before", "write[0] lets "+g.path("p")+" be written")
		for _, name := range []string{"swaps", "other"} {
			if r := g.run(t, "start", name); r.code != 0 || g.status(t, name).State != "running" {
				t.Fatalf("start %s: %+v", name, r)
			}
		}

		replace("link")
		for _, name := range []string{"other", "swaps"} {
			before := g.status(t, name).Life
			kill(name)
			eventually(t, func() bool { s := g.status(t, name); return s.State == "failed" && s.Life == before+1 }, name, "has failed")
			r := g.run(t, "start", name)
			if want := filepath.Join(g.dir, "p/shared") + " is a symbolic link to " + g.path("outside") + ", which is not followed"; r.code == 0 || !strings.Contains(r.err, want) {
				t.Errorf("start %s: %+v", name, r)
			}
		}
		if logs := g.run(t, "logs", "other").out; strings.Contains(logs, "content outside") || !strings.Contains(logs, "No such file") {
			t.Errorf("what other has seen: %s", logs)
		}
	})
}
