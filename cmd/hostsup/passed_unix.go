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

// passing passes signals to a child, which is in a session of its own and gets none
// from the terminal.
type passing struct {
	begun   sync.WaitGroup
	signals chan os.Signal
	ended   chan struct{}
	wait    sync.WaitGroup
	killed  string // why the tree was killed; read after wait
}

// passed begins to hold back the signals that are passed on. Signals that the parent
// ignored stay ignored. A command must not be started before await returns, because
// each signal takes several switches between threads.
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

// to passes the signals on until stop. After a SIGTERM it kills the tree if the
// child has not ended within grace, or with the next signal that asks for an end.
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
					// Ctrl-Z is for both processes. The child cannot refuse: only this
					// process would notice that it is stopped.
					_ = child.Signal(syscall.SIGSTOP)
					_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
					continue
				case late != nil && endsWith(s):
					kill(fmt.Sprintf("the command was asked to end by %s and then %s", signame.Of(int(syscall.SIGTERM)), signame.Of(int(s.(syscall.Signal)))))
					continue
				}
				_ = child.Signal(s) // it may have ended
				if s == syscall.SIGTERM {
					_ = child.Signal(syscall.SIGCONT) // a stopped process does not handle it otherwise
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

// stop stops passing signals on, and returns why the tree was killed, or "" if it
// was not.
func (p *passing) stop() string {
	p.await()
	signal.Stop(p.signals)
	close(p.ended)
	p.wait.Wait()
	return p.killed
}
