package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"time"
)

// envChild makes Main the child that the method "spawn" leaves behind.
const envChild = "HOSTSUP_DEMO_CHILD"

// childLife is how long the child sleeps when nobody kills it: long for any
// test, but not for ever on the machine of somebody whose test was interrupted.
const childLife = 30 * time.Minute

// spawn starts this very program again as a child that only sleeps, and
// returns its pid once it is deaf to signals. Nobody waits for it.
func spawn(ctx context.Context, setsid bool) (int, error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	ready, theirs, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	defer ready.Close()
	cmd := exec.Command(self)
	cmd.Args = os.Args
	cmd.Env = append(os.Environ(), envChild+"=1")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr // held open by the child
	cmd.ExtraFiles = extraFiles(theirs)
	if err := detach(cmd, setsid); err != nil {
		return 0, errors.Join(err, theirs.Close())
	}
	err = cmd.Start()
	if err := errors.Join(err, theirs.Close()); err != nil {
		return 0, err
	}
	pid := cmd.Process.Pid
	defer context.AfterFunc(ctx, func() { ready.Close() })()
	// One byte when it is ready; the end of the pipe when it died before.
	if len(cmd.ExtraFiles) > 0 {
		if _, err := io.ReadFull(ready, make([]byte, 1)); err != nil {
			return 0, fmt.Errorf("child %d did not start: %w", pid, err)
		}
	}
	return pid, cmd.Process.Release()
}

// child is the main function of the child.
func child() int {
	signal.Ignore(deaf()...)
	if f := readyFile(); f != nil {
		if _, err := f.Write([]byte{1}); err != nil {
			return 1
		}
		if err := f.Close(); err != nil {
			return 1
		}
	}
	time.Sleep(childLife)
	return 0
}
