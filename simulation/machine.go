package simulation

import (
	"context"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/hostsup/hostsup/sandbox"
)

// machine is what a simulated tree runs on: a kernel, and the processes that it has
// started.
type machine struct {
	*kernel
	check *checker

	mu       sync.Mutex
	pids     int
	programs map[string]*program // what each host's processes do, from the next one on
	waiting  map[string]wire     // the ends of connections whose process is not started yet, by command
	latest   map[string]*process // by host
	full     bool                // no process can be started

	disk  disk
	shims map[string]*keeper // by folder
}

func newMachine(k *kernel, c *checker) *machine {
	c.after = k.AfterFunc
	return &machine{kernel: k, check: c, programs: make(map[string]*program), waiting: make(map[string]wire), latest: make(map[string]*process), shims: make(map[string]*keeper)}
}

// The signals that freeze a process and have it go on, by the numbers of Linux: not every
// system has names for them.
const (
	goOnSignal = syscall.Signal(18)
	stopSignal = syscall.Signal(19)
)

// nameOf splits the name of a command.
func nameOf(command string) (host string, life int) {
	i := strings.LastIndexByte(command, '.')
	life, _ = strconv.Atoi(command[i+1:])
	return command[:i], life
}

// Kill implements [supervisor.Machine].
func (m *machine) Kill() sandbox.Kill { return sandbox.KillGroup }

// refuses returns why no process of a host can be started; nil if one can. m.mu is held.
func (t *tenant) refuses(host string) error {
	switch {
	case t.dead:
		return sandbox.ErrClosed
	case t.programs[host].refused:
		return syscall.EACCES
	case t.full:
		return syscall.EAGAIN
	}
	return nil
}

// owner is told of the end of a process.
type owner interface {
	End(sandbox.Exit)
	Vanish()
}

// spawn starts the process of a life. unique is a name that no other one has had. own returns its owner. m.mu is held.
func (m *machine) spawn(name, unique string, conn wire, own func(pid int, p *process) owner) *process {
	host, life := nameOf(name)
	m.pids++
	p := &process{
		m: m, host: host, life: life, pid: m.pids, name: unique, do: *m.programs[host], conn: conn, dead: make(chan struct{}),
		dice: m.dice("process %s", unique), signals: m.dice("signals %s", unique),
	}
	p.changed = sync.NewCond(&p.mu)
	p.owner = own(m.pids, p)
	m.latest[host] = p
	m.check.spawned(host, life, m.pids)
	if p.do.serves {
		m.Go(p.serve)
	} else {
		m.Go(p.live)
	}
	return p
}

// wait waits for d, and reports whether ctx still goes on.
func (m *machine) wait(ctx context.Context, d time.Duration) bool {
	over := make(chan struct{})
	t := m.AfterFunc(d, func() { close(over) })
	defer t.Stop()
	select {
	case <-over:
		return true
	case <-ctx.Done():
		return false
	}
}

// process returns the latest process of a host, or nil.
func (m *machine) process(host string) *process {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.latest[host]
}

// change changes what the next processes of a host do.
func (m *machine) change(host string, f func(*program)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f(m.programs[host])
}

// process is one process with its tree.
type process struct {
	owner
	m    *machine
	host string
	life int
	pid  int
	name string // that no other one has
	do   program
	conn wire

	dice    *dice // of what it reads
	signals *dice // of what is done to it

	mu      sync.Mutex
	changed *sync.Cond
	frozen  bool
	talk    *speaker      // its conversation; nil before that has begun
	over    bool          // it has ended
	dead    chan struct{} // closed then
	gone    bool          // its tree, too
}

// signal is the kernel's part of a signal. It takes effect a little later.
func (p *process) signal(sig os.Signal) {
	number, _ := sig.(syscall.Signal)
	if number != stopSignal && number != goOnSignal {
		p.m.check.disturbed(p.host, p.life)
	}
	after := p.signals.within(2 * time.Millisecond)
	if sig == os.Kill && p.signals.chance(0.05) {
		after = p.signals.within(200 * time.Millisecond) // it waits for a disk
	}
	p.m.AfterFunc(after, func() {
		switch {
		case number == stopSignal:
			p.freeze(true)
		case number == goOnSignal:
			p.freeze(false)
		case sig == os.Kill:
			p.exit(sandbox.Exit{Code: -1, Signal: int(number)})
			p.vanish()
		case !p.do.deaf && !p.isFrozen():
			p.exit(sandbox.Exit{Code: -1, Signal: int(number)})
		}
	})
}

func (p *process) freeze(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		return
	}
	p.frozen = on
	p.m.check.froze(p.host, p.life, on)
	p.changed.Broadcast()
}

func (p *process) isFrozen() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.frozen
}

// runs waits while the process is frozen, and reports whether it goes on.
func (p *process) runs() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.frozen && !p.over {
		p.changed.Wait()
	}
	return !p.over
}

// exit ends the process. Its descriptors are closed before it can be waited for.
func (p *process) exit(e sandbox.Exit) {
	p.mu.Lock()
	was := p.over
	p.over = true
	p.changed.Broadcast()
	p.mu.Unlock()
	if was {
		return
	}
	close(p.dead)
	_ = p.conn.Close()
	p.m.check.exited(p.host, p.life, e.Code != 0 || e.Signal != 0)
	p.m.AfterFunc(p.m.dice("end %s", p.name).within(time.Millisecond), func() { p.End(e) })
}

// vanish ends the rest of its tree, once the process itself can be waited for.
func (p *process) vanish() {
	p.m.AfterFunc(2*time.Millisecond, func() {
		p.mu.Lock()
		was := p.gone
		p.gone = true
		p.mu.Unlock()
		if was {
			return
		}
		p.m.check.vanished(p.host, p.life)
		p.Vanish()
	})
}
