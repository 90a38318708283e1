package sandbox

import (
	"os"
	"time"
)

// Simulated is a Child without a process, for tests and simulations of code that
// starts processes: its creator decides the effect of signals and when it ends.
type Simulated struct {
	*Child
	signals func(os.Signal)
}

// NewSimulated returns a Simulated for a command, with process id pid. It calls signals
// for each signal, and with os.Kill for KillTree, even after End.
func NewSimulated(cmd *Command, pid int, signals func(*Simulated, os.Signal)) *Simulated {
	s := &Simulated{Child: newChild(cmd, time.Now())}
	s.signals = func(sig os.Signal) { signals(s, sig) }
	s.pid, s.tree = pid, simulatedTree{s}
	return s
}

// End ends the process. It must be called once.
func (s *Simulated) End(e Exit) { s.end(e) }

// Vanish ends the rest of the tree. It must be called after End, and may be called
// again.
func (s *Simulated) Vanish() { s.vanish() }

// simulatedTree is the tree of a Simulated.
type simulatedTree struct{ s *Simulated }

func (t simulatedTree) signal(sig os.Signal) error {
	t.s.signals(sig)
	return nil
}

func (t simulatedTree) kill() error {
	t.s.signals(os.Kill)
	return nil
}

func (t simulatedTree) pids() ([]int, error)        { return nil, nil } // no real process
func (t simulatedTree) account() (int, string, int) { return -1, "", 0 }
