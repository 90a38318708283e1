package main

import (
	"context"
	"os"

	"github.com/hostsup/hostsup/sandbox"
)

// inProcess starts no processes: a function stands for each. It may return soon after ctx has
// ended, as a process that gets a signal does.
type inProcess struct {
	run func(ctx context.Context) error
}

// Kill implements actors.Launcher.
func (inProcess) Kill() sandbox.Kill { return sandbox.KillGroup }

// Start implements actors.Launcher.
func (l inProcess) Start(cmd *sandbox.Command) (*sandbox.Child, error) {
	ctx, cancel := context.WithCancel(context.Background())
	p := sandbox.NewSimulated(cmd, os.Getpid(), func(*sandbox.Simulated, os.Signal) { cancel() })
	go func() { // ends with the life
		defer cancel()
		exit := sandbox.Exit{}
		if l.run(ctx) != nil {
			exit.Code = 1
		}
		p.End(exit)
		p.Vanish()
	}()
	return p.Child, nil
}
