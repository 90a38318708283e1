//go:build !hostsup_posix

package survive

import (
	"context"
	"errors"
	"syscall"
	"time"

	"github.com/hostsup/hostsup/internal/shim"
	"github.com/hostsup/hostsup/internal/sys"
)

// Machine is what hosts outlive their supervisor on: it has the shims and the files of the
// state folder. [On] has hosts use one in the place of this machine; see package simulation.
type Machine interface {
	Files
	// StateDir returns the state folder, in the place of that of the tree.
	StateDir() string
	// Start starts a shim as [shim.Start] does.
	Start(shim.Options) (Conn, error)
	// Open connects to a shim as [shim.Open] does, with the same errors.
	Open(dir string) (Conn, error)
	// Remove removes the folder of a shim as [shim.Remove] does, with the same errors.
	Remove(dir string) error
	// Hunt kills what a shim that was killed has left of its command's process group, and waits
	// for its end.
	Hunt(shim.Record)
}

// Conn is a connection to a shim, with the methods of [shim.Conn].
type Conn interface {
	Record() shim.Record
	Stdout() Stream
	Stderr() Stream // nil: it is not read
	Exited() <-chan struct{}
	Exit() sys.Exit
	Gone() <-chan struct{}
	Lost() <-chan struct{}
	Send(p []byte) error
	TrySend(p []byte) (bool, error)
	CloseInput() error
	Signal(syscall.Signal) error
	Kill() error
	Hangup()
	Release(context.Context) error
	Close() error
}

// Stream is an output of a command, with the methods of [shim.Stream].
type Stream interface {
	From() uint64
	Read(p []byte) (int, error)
	Ack(offset uint64) error
}

// On returns the feature of a host, and the part of its tree, that use m in the place of this machine.
func On(m Machine) (Rule, Part) { return Rule{m}, Part{m} }

// machine is a Machine, or nil for this one.
type machine = Machine

// machineOf returns the Machine that m stands for, and its state folder, given that of the tree.
func machineOf(m machine, stateDir string) (Machine, string) {
	if m == nil {
		return thisMachine{}, stateDir
	}
	return m, m.StateDir()
}

// thisMachine is the Machine that this program runs on.
type thisMachine struct{ disk }

// StateDir implements Machine.
func (thisMachine) StateDir() string { return "" }

// Start implements Machine.
func (thisMachine) Start(o shim.Options) (Conn, error) { return connOf(shim.Start(o)) }

// Open implements Machine.
func (thisMachine) Open(dir string) (Conn, error) { return connOf(shim.Open(dir)) }

// Remove implements Machine.
func (thisMachine) Remove(dir string) error { return shim.Remove(dir) }

// conn is a shim.Conn as a Conn.
type conn struct{ *shim.Conn }

func connOf(c *shim.Conn, err error) (Conn, error) {
	if err != nil {
		return nil, err
	}
	return conn{c}, nil
}

// Stdout implements Conn.
func (c conn) Stdout() Stream { return c.Conn.Stdout() }

// Stderr implements Conn.
func (c conn) Stderr() Stream { return c.Conn.Stderr() }

// Hunt implements Machine.
func (thisMachine) Hunt(r shim.Record) {
	late := time.NewTimer(releaseWait)
	defer late.Stop()
	again := time.NewTicker(2 * time.Millisecond)
	defer again.Stop()
	for {
		// The number of a group is not given again while the group has members.
		pids, err := sys.GroupMembers(r.Command.PID)
		if err != nil || len(pids) == 0 {
			return
		}
		if st, err := sys.ReadStat(r.Command.PID); err == nil && st.Start != r.Command.Start {
			return
		}
		_ = sys.Kill(-r.Command.PID, syscall.SIGKILL)
		select {
		case <-again.C:
		case <-late.C:
			return
		}
	}
}

// connect opens a shim, and waits while the supervisor before is still connected.
func connect(m Machine, dir string) (Conn, error) {
	var c Conn
	err := whileBusy(busyWait, func() (err error) {
		c, err = m.Open(dir)
		return err
	})
	return c, err
}

// removed waits until no process holds the folder of a shim that has ended, and removes it.
func removed(m Machine, dir string) error {
	return whileBusy(releaseWait, func() error { return m.Remove(dir) })
}

// whileBusy calls f until its error is not shim.ErrBusy any more, for the time most.
func whileBusy(most time.Duration, f func() error) error {
	late := time.NewTimer(most)
	defer late.Stop()
	again := time.NewTicker(2 * time.Millisecond)
	defer again.Stop()
	for {
		err := f()
		if !errors.Is(err, shim.ErrBusy) {
			return err
		}
		select {
		case <-again.C:
		case <-late.C:
			return err
		}
	}
}
