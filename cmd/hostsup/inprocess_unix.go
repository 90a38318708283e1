//go:build unix

package main

import (
	"context"
	"errors"
	"io"
	"os"

	"github.com/hostsup/hostsup/internal/sys"
	"github.com/hostsup/hostsup/sandbox"
)

// inProcess starts no processes: a function stands for each, which has standard input and
// output. It may return soon after ctx has ended, as a process that gets a signal does.
type inProcess struct {
	run func(ctx context.Context, in io.Reader, out io.Writer) error
}

// Kill implements actors.Launcher.
func (inProcess) Kill() sandbox.Kill { return sandbox.KillGroup }

// Start implements actors.Launcher.
func (l inProcess) Start(cmd *sandbox.Command) (*sandbox.Child, error) {
	in, err := copyOf(cmd.Files[0])
	if err != nil {
		return nil, err
	}
	out, err := copyOf(cmd.Files[1])
	if err != nil {
		return nil, errors.Join(err, in.Close())
	}
	ctx, cancel := context.WithCancel(context.Background())
	p := sandbox.NewSimulated(cmd, os.Getpid(), func(*sandbox.Simulated, os.Signal) { cancel() })
	go func() { // ends with the life
		defer cancel()
		exit := sandbox.Exit{}
		if l.run(ctx, in, out) != nil {
			exit.Code = 1
		}
		_, _ = in.Close(), out.Close() // nothing is lost: what was written is in the pipe
		p.End(exit)
		p.Vanish()
	}()
	return p.Child, nil
}

// copyOf returns a file of this process's own, whose reads and writes end when it is closed.
func copyOf(f *os.File) (*os.File, error) {
	fd, err := sys.Dup(f)
	if err != nil {
		return nil, err
	}
	return sys.NewFile(fd, f.Name())
}
