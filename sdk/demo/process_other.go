//go:build !unix

package demo

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

func extraFiles(f *os.File) []*os.File { return nil }

func readyFile() *os.File { return nil }

func detach(_ *exec.Cmd, setsid bool) error {
	if setsid {
		return errors.New("there are no sessions on this system")
	}
	return nil
}

func deaf() []os.Signal { return []os.Signal{os.Interrupt} }

func signalOf(string) (syscall.Signal, bool) { return syscall.SIGKILL, true }

// die ends this process the hard way: there are no signals here.
func die(syscall.Signal) error {
	p, err := os.FindProcess(os.Getpid())
	if err != nil {
		return err
	}
	return p.Kill()
}

func stops(syscall.Signal) bool { return false }
