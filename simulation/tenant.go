package simulation

import (
	"os"
	"time"

	"github.com/hostsup/hostsup/link"
	"github.com/hostsup/hostsup/sandbox"
	"github.com/hostsup/hostsup/supervisor"
)

// tenant is the machine as one supervisor has it. Once that is killed, nothing that it still does has
// an effect: it is there only because goroutines cannot be killed.
type tenant struct {
	*machine
	number int // of the supervisor, from 0 on

	// Guarded by machine.mu.
	dead     bool
	children []*process // which end with it
	conns    []cutter   // to processes that may outlive it
}

// cutter is a connection that ends with its supervisor.
type cutter interface{ cut() }

var _ supervisor.Machine = (*tenant)(nil)

// Wire implements [supervisor.Machine].
func (t *tenant) Wire(cmd *sandbox.Command) link.Wire {
	ours, theirs := connect(t.kernel, t.named(cmd.Name))
	t.mu.Lock()
	defer t.mu.Unlock()
	if host, _ := nameOf(cmd.Name); t.programs[host].serves {
		ours.out.steady = true
	}
	t.waiting[t.named(cmd.Name)] = theirs
	return ours
}

// named returns the name of a life, whose number may come again with another supervisor.
func (t *tenant) named(life string) string {
	for range t.number {
		life += "'"
	}
	return life
}

// Start implements [supervisor.Machine].
func (t *tenant) Start(cmd *sandbox.Command) (*sandbox.Child, error) {
	name := t.named(cmd.Name)
	time.Sleep(t.dice("start %s", name).within(3 * time.Millisecond))
	t.mu.Lock()
	defer t.mu.Unlock()
	conn := t.waiting[name]
	delete(t.waiting, name)
	host, _ := nameOf(cmd.Name)
	if err := t.refuses(host); err != nil {
		_ = conn.Close()
		return nil, &sandbox.StartError{Name: cmd.Name, Step: sandbox.StepFork, Err: err}
	}
	var child *sandbox.Child
	p := t.spawn(cmd.Name, name, conn, func(pid int, p *process) owner {
		s := sandbox.NewSimulated(cmd, pid, func(_ *sandbox.Simulated, sig os.Signal) { p.signal(sig) })
		child = s.Child
		return s
	})
	t.children = append(t.children, p)
	return child, nil
}

// isDead reports whether the supervisor was killed.
func (t *tenant) isDead() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.dead
}

// kill ends the supervisor, with the processes that do not survive it, and its connections to those that do.
func (t *tenant) kill() {
	t.mu.Lock()
	t.dead = true
	children, conns := t.children, t.conns
	t.mu.Unlock()
	for _, p := range children {
		p.m.check.disturbed(p.host, p.life)
		p.m.AfterFunc(p.signals.within(2*time.Millisecond), func() {
			p.exit(sandbox.Exit{Code: -1, Signal: 9})
			p.vanish()
		})
	}
	for _, c := range conns {
		c.cut()
	}
}
