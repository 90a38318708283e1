package supervisor_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/hostsup/hostsup/supervisor"
)

// ownerEnv makes this test's program a supervisor of the state folder that it names.
const ownerEnv = "HOSTSUP_TEST_STATE_OWNER"

// TestStateFolderOfAKilledSupervisorIsFree has a supervisor of another process, with
// a host that goes on for a moment, refuse the state folder while it runs, and no
// longer when it was killed.
func TestStateFolderOfAKilledSupervisorIsFree(t *testing.T) {
	if dir := os.Getenv(ownerEnv); dir != "" {
		ownState(t, dir)
		return
	}
	dir, temp := filepath.Join(t.TempDir(), "state"), t.TempDir() // of a process that is killed
	for range 5 {
		owner := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
		owner.Env = append(os.Environ(), ownerEnv+"="+dir, "TMPDIR="+temp)
		out, err := owner.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := owner.Start(); err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(out).ReadString('\n'); line != "owned\n" {
			t.Fatalf("the other process: %q, %v", line, err)
		}
		_, err = supervisor.Start(context.Background(), supervisor.Spec{StateDir: dir})
		var used *supervisor.StateInUseError
		if !errors.As(err, &used) || used.Dir != dir || used.PID != owner.Process.Pid {
			t.Errorf("beside process %d: %v", owner.Process.Pid, err)
		}
		if err := owner.Process.Signal(syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		_ = owner.Wait() // killed
		next, err := supervisor.Start(context.Background(), supervisor.Spec{StateDir: dir})
		if err != nil {
			t.Fatalf("after its SIGKILL: %v", err)
		}
		if err := next.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	}
}

// ownState supervises a host with the state folder dir until this process is killed.
func ownState(t *testing.T, dir string) {
	host := supervisor.HostSpec{Name: "h", Command: []string{"/bin/sh", "-c", "trap '' HUP TERM; sleep 1000 & wait"}}
	_, err := supervisor.Start(context.Background(), supervisor.Spec{StateDir: dir, Groups: []supervisor.GroupSpec{{Name: "g", Hosts: []supervisor.HostSpec{host}}}})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println("owned")
	<-t.Context().Done()
}
