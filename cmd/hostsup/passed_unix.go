//go:build unix

package main

import (
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/hostsup/hostsup/sandbox"
)

// passing hands signals on to a child, which is in a session of its own and
// gets none from the terminal.
type passing struct {
	signals chan os.Signal
	ended   chan struct{}
	wait    sync.WaitGroup
}

// passed begins to hold back the signals that are passed on. Those that we
// were started to ignore stay ignored.
func passed() *passing {
	p := &passing{signals: make(chan os.Signal, 16), ended: make(chan struct{})}
	for _, s := range []os.Signal{
		syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2,
		syscall.SIGWINCH, syscall.SIGTSTP, syscall.SIGCONT, syscall.SIGALRM,
	} {
		if !signal.Ignored(s) {
			signal.Notify(p.signals, s)
		}
	}
	return p
}

// to begins to pass them on; it does so until stop.
func (p *passing) to(child *sandbox.Child) {
	p.wait.Go(func() {
		for {
			select {
			case s := <-p.signals:
				if s == syscall.SIGTSTP {
					// Ctrl-Z is for both of us. It cannot refuse: nobody but us
					// would see it stopped.
					_ = child.Signal(syscall.SIGSTOP)
					_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
					continue
				}
				_ = child.Signal(s) // one that has ended needs none
			case <-p.ended:
				return
			}
		}
	})
}

func (p *passing) stop() {
	signal.Stop(p.signals)
	close(p.ended)
	p.wait.Wait()
}
