//go:build unix

package main

import (
	"fmt"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/hostsup/hostsup/internal/signame"
	"github.com/hostsup/hostsup/sandbox"
)

// passing hands signals on to a child, which is in a session of its own and
// gets none from the terminal.
type passing struct {
	begun   sync.WaitGroup
	signals chan os.Signal
	ended   chan struct{}
	wait    sync.WaitGroup
	killed  string // why the tree was killed; read after wait
}

// passed begins to hold back the signals that are passed on. Those that we
// were started to ignore stay ignored. A command must not be started before
// await returns: each signal takes several switches between threads.
func passed() *passing {
	p := &passing{signals: make(chan os.Signal, 16), ended: make(chan struct{})}
	p.begun.Go(func() {
		for _, s := range []os.Signal{
			syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2,
			syscall.SIGWINCH, syscall.SIGTSTP, syscall.SIGCONT, syscall.SIGALRM,
		} {
			if !signal.Ignored(s) {
				signal.Notify(p.signals, s)
			}
		}
	})
	return p
}

// await waits until all of the signals are held back.
func (p *passing) await() { p.begun.Wait() }

// to begins to pass them on; it does so until stop. A SIGTERM is followed by a
// SIGKILL of the tree when the child has not ended after grace, or with the next
// signal that asks for an end.
func (p *passing) to(child *sandbox.Child, grace time.Duration) {
	p.wait.Go(func() {
		var late <-chan time.Time // nil before the first SIGTERM
		kill := func(why string) {
			p.killed = why
			_ = child.KillTree() // Release tries again
		}
		for {
			select {
			case s := <-p.signals:
				switch {
				case s == syscall.SIGTSTP:
					// Ctrl-Z is for both of us. It cannot refuse: nobody but us
					// would see it stopped.
					_ = child.Signal(syscall.SIGSTOP)
					_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
					continue
				case late != nil && endsWith(s):
					kill(fmt.Sprintf("the command was asked to end by %s and then %s", signame.Of(int(syscall.SIGTERM)), signame.Of(int(s.(syscall.Signal)))))
					continue
				}
				_ = child.Signal(s) // one that has ended needs none
				if s == syscall.SIGTERM {
					_ = child.Signal(syscall.SIGCONT) // one that is stopped does not see it otherwise
					timer := time.NewTimer(grace)
					defer timer.Stop()
					late = timer.C
				}
			case <-late:
				late = nil
				kill(fmt.Sprintf("the command did not end within %v of SIGTERM", grace))
			case <-p.ended:
				return
			}
		}
	})
}

// endsWith reports whether a signal asks for an end.
func endsWith(s os.Signal) bool {
	return slices.Contains([]os.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT}, s)
}

// stop ends the passing on, and returns why the tree was killed; empty when it
// was not.
func (p *passing) stop() string {
	p.await()
	signal.Stop(p.signals)
	close(p.ended)
	p.wait.Wait()
	return p.killed
}
