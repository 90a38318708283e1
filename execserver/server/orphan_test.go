//go:build unix

package server

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/execserver/wire"
	"github.com/hostsup/hostsup/internal/leaktest"
)

// TestServerThatIsKilledLeavesNothing runs a server in a program of its own and
// kills that.
func TestServerThatIsKilledLeavesNothing(t *testing.T) {
	if os.Getenv("EXEC_SERVER_TEST_VICTIM") != "" {
		s, err := Start(Options{})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Println("url", s.URL())
		<-s.Done()
		return
	}
	cmd := exec.Command("/proc/self/exe", "-test.run", "^TestServerThatIsKilledLeavesNothing$")
	// It is killed, and so is what would remove its temporary folder.
	cmd.Env = append(os.Environ(), "EXEC_SERVER_TEST_VICTIM=1", "TMPDIR="+t.TempDir())
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	url := ""
	for lines := bufio.NewScanner(out); url == "" && lines.Scan(); {
		url = strings.TrimPrefix(lines.Text(), "url ")
	}
	c := dial(t, url)
	c.initialize(wire.InitializeParams{})
	tree := leaktest.NewTether(t)
	for i := range 3 {
		id := fmt.Sprint("p", i)
		c.start(shell(id, tree.Hold+"setsid sleep 1000 & echo up; trap '' TERM HUP; wait; sleep 1000"))
		c.awaitOutput(id, wire.Stdout, "\n")
	}
	if !tree.IsHeld() {
		t.Error("they do not run")
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed
	goneWith(t, tree)
}
