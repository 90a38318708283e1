package service

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/extensions"
	"github.com/hostsup/hostsup/extensions/activation"
	"github.com/hostsup/hostsup/extensions/blame"
	"github.com/hostsup/hostsup/extensions/location"
	"github.com/hostsup/hostsup/intercept/guard"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/record"
)

// extHost is one host with extensions, and its interceptor. The loop owns its fields.
type extHost struct {
	s      *Service
	name   string
	number int
	cell   string
	ref    *actors.Ref // nil before it is made, or if that failed

	adapter     adapter
	life        uint64       // the life that is up; 0 without one
	line        *actors.Line // to that life
	unconfirmed bool         // the activation machine does not know the life yet

	tasks      []func(ctx context.Context)
	busy       bool
	restarting bool // a restart by the service is in progress
	leaving    bool

	state           lifecycle.State
	stoppedByPerson bool         // stopped by a person
	hang            *hang        // nil while it answers
	memory          *memoryWatch // nil without a life that is watched
	notes           *lifeNotes   // nil without a life that notes its calls
	errors          *guard.Limiter
	dropped         int // uncaught errors that were not reported

	// Shared with other goroutines.
	calls    ledger
	commands sync.Map // command → the life in which it can be executed at once
	starts   sync.Map // startCall → the extension that the request activates
}

func (s *Service) newHost(name string, number int, cell string) *extHost {
	p := &extHost{s: s, name: name, number: number, cell: cell}
	p.adapter = s.dialect.adapter(p)
	return p
}

// do runs task in a goroutine on behalf of the host, after its earlier tasks.
func (p *extHost) do(task func(ctx context.Context)) {
	p.tasks = append(p.tasks, task)
	p.pump()
}

func (p *extHost) pump() {
	if p.busy || len(p.tasks) == 0 {
		return
	}
	task := p.tasks[0]
	p.tasks = p.tasks[1:]
	p.busy = true
	p.s.work.Go(func() {
		task(p.s.ctx)
		p.s.post(func() {
			p.busy = false
			p.pump()
		})
	})
}

// open adds the host of a location.
func (s *Service) open(at location.Place) {
	p := s.newHost(s.name(at), at.Number, at.Cell)
	if at.Cell != "" {
		p.number = s.owner[at.Cell]
	}
	s.hosts[p.name] = p
	p.do(func(ctx context.Context) {
		err := s.tree.Add(ctx, p.name)
		ref := s.tree.Host(p.name)
		switch {
		case err != nil:
		case ref == nil:
			err = fmt.Errorf("%w: %q", actors.ErrNoHost, p.name)
		default:
			ref.Intercept(p.interceptor())
		}
		s.post(func() {
			if err != nil {
				s.problem("", fmt.Errorf("host %q cannot be made: %w", p.name, err))
				s.activation(activation.HostDown{Host: p.name, Next: activation.NextNever, Cause: err.Error()})
				return
			}
			p.ref = ref
		})
	})
}

// shut removes a host without extensions.
func (s *Service) shut(p *extHost) {
	if p.leaving {
		return
	}
	p.leaving = true
	p.do(func(ctx context.Context) {
		err := s.tree.Remove(ctx, p.name)
		s.post(func() {
			if err != nil && !errors.Is(err, actors.ErrNoHost) {
				s.problem("", fmt.Errorf("host %q cannot be removed: %w", p.name, err))
			}
			delete(s.hosts, p.name)
			s.activation(activation.HostDown{Host: p.name, Next: activation.NextIdle, Cause: "nobody lives there"})
			s.relocate() // an extension may need it again
		})
	})
}

// start starts the host.
func (p *extHost) start() {
	p.do(func(ctx context.Context) {
		ref := p.s.tree.Host(p.name)
		if ref == nil {
			p.s.post(func() {
				p.s.activation(activation.HostDown{Host: p.name, Next: activation.NextNever, Cause: "there is no such host"})
			})
			return
		}
		if err := ref.Start(ctx); err != nil { // the states of the host report it
			p.s.log.Debug("host was not started", "host", p.name, "error", err)
		}
	})
}

// restart ends a life with an active extension that no longer belongs there.
func (p *extHost) restart(why string) {
	if p.restarting || p.leaving || p.ref == nil {
		return
	}
	p.restarting = true
	ref := p.ref
	p.s.emit(record.Event{Kind: record.KindExtension, Reason: "the host is restarted: " + why}, p.name, p.life)
	p.do(func(ctx context.Context) {
		if err := ref.Restart(ctx); err != nil {
			p.s.log.Debug("host was not restarted", "host", p.name, "error", err)
		}
		p.s.post(func() { p.restarting = false })
	})
}

func (p *extHost) interceptor() *actors.Interceptor {
	return &actors.Interceptor{
		Name: "extensions", Stage: actors.StageServe, Value: p,
		Starting: p.starting, Up: p.up, Outbound: p.route, Sent: p.called, Answered: p.answered,
		Inbound: p.inbound, Reading: p.s.queue.full, Advise: p.advise,
		Changed: func(t lifecycle.Transition) { p.s.post(func() { p.changed(t) }) },
	}
}

// starting gives the next life its extensions.
func (p *extHost) starting(ctx context.Context, s *actors.Start) error {
	type opening struct {
		init         codec.Raw
		extensionIDs []string
	}
	o, err := get(ctx, p.s, func() opening { return opening{p.adapter.opening(), p.adapter.extensionIDs()} })
	if err != nil { // the service is closing
		return nil //nolint:nilerr // the life ends too
	}
	if o.init != nil {
		s.Hello.Init = o.init
	}
	s.Hello.Extended, s.Hello.Extensions = true, o.extensionIDs
	return nil
}

func (p *extHost) up(line *actors.Line, publish func()) {
	p.s.post(func() { p.lifeBegan(line.Life(), line) })
	publish()
}

func (p *extHost) lifeBegan(life uint64, line *actors.Line) {
	p.life, p.line, p.unconfirmed = life, line, true
	p.s.fault(p.number, blame.LifeStarted{Cell: p.cell, Life: life})
	p.adapter.lifeUp()
	if line != nil {
		p.noteCalls(life)
		p.watchMemory(life)
	}
	p.adapter.sync()
	p.s.settle()
}

// confirm reports the life, and its earlier reports, to the machine.
func (p *extHost) confirm() {
	p.unconfirmed = false
	p.s.activation(activation.HostUp{Host: p.name, Life: p.life})
	p.adapter.confirmed()
}

// noteReply is the answer to a request that only reports something.
var noteReply = &codec.Message{}

func (p *extHost) inbound(life uint64, m *codec.Message) (v actors.Verdict) {
	switch {
	case m.Kind == codec.Notification:
		p.adapter.notification(life, m)
	case p.adapter.noteRequest(life, m.Method, m.Params):
		v.Reply = noteReply
	default:
		v.Handle = p.adapter.handler(m.Method)
	}
	return v
}

func (p *extHost) changed(t lifecycle.Transition) {
	p.state, p.stoppedByPerson = t.To, t.To == lifecycle.Stopped && t.By == lifecycle.ByPerson && !p.restarting
	next := activation.Next("")
	switch {
	case t.To == lifecycle.Unresponsive:
		p.tally(t.Life, false)
		p.s.fault(p.number, blame.Hung{Cell: p.cell, Life: t.Life})
		p.beginHang(t.Life)
		p.readBlocking(t.Life)
	case t.To == lifecycle.Running && t.From == lifecycle.Unresponsive:
		p.endHang()
		p.clearBlocking()
		p.s.fault(p.number, blame.Alive{Cell: p.cell, Life: t.Life})
	case t.To == lifecycle.Starting:
		next = activation.NextRestart
	case t.To == lifecycle.Failed:
		next = activation.NextNever
	case t.To == lifecycle.Stopped && p.restarting:
	case t.To == lifecycle.Stopped && t.By == lifecycle.ByPerson:
		next = activation.NextNever
	case t.To == lifecycle.Stopped:
		next = activation.NextIdle
	}
	if next != "" {
		p.s.activation(activation.HostDown{Host: p.name, Next: next, Cause: t.Reason})
	}
}

// belongsTo returns a function that reports whether an extension belongs to a host.
func (s *Service) belongsTo(p *extHost) func(extensions.Extension) bool {
	return func(e extensions.Extension) bool {
		at := s.placed.Places[e.ID]
		return at.Kind != "" && s.name(at) == p.name
	}
}

// relocate decides again where each extension runs, and carries that out.
func (s *Service) relocate() {
	cells := map[extensions.ID]string{}
	for _, f := range s.faults {
		maps.Copy(cells, f.machine.Cells())
	}
	affinity := make(map[extensions.ID]int, len(s.spec.Affinity))
	for text, n := range s.spec.Affinity {
		affinity[extensions.MakeID(text)] = n
	}
	before := s.placed
	s.placed = location.Assign(location.Input{List: s.registry.All(), Affinity: affinity, Cells: cells, Before: before})
	for _, note := range s.placed.Notes {
		if !s.notes[note] {
			s.notes[note] = true
			s.emit(record.Event{Kind: record.KindExtension, Extension: string(note.ID), Reason: fmt.Sprintf("%s: %s", note.ID, note.Why)}, s.base.Name(), 0)
		}
	}
	for _, m := range s.placed.Moves(before) {
		if from, to := s.name(m.From), s.name(m.To); from != "" && to != "" {
			s.emit(record.Event{Kind: record.KindExtension, Extension: string(m.ID), Reason: fmt.Sprintf("%s moves from host %s to host %s", m.ID, from, to)}, to, 0)
		}
	}
	needed := map[string]bool{}
	for _, h := range s.placed.Hosts() {
		name := s.name(h.Place)
		needed[name] = true
		if s.hosts[name] == nil {
			s.open(h.Place)
		}
	}
	s.dirty = true
	for _, name := range slices.Sorted(maps.Keys(s.hosts)) {
		p := s.hosts[name]
		if p.cell != "" && !needed[name] {
			s.shut(p)
			continue
		}
		p.adapter.sync()
	}
	s.settle()
}

// settle reports the locations to the machine after the hosts know them.
func (s *Service) settle() {
	if s.deltas > 0 {
		return
	}
	if s.dirty {
		s.dirty = false
		where := map[extensions.ID]string{}
		for id, at := range s.placed.Places {
			if at.Kind != "" {
				where[id] = s.name(at)
			}
		}
		s.activation(activation.Installed{List: s.registry.All(), Where: where})
	}
	then := s.then
	s.then = nil
	for _, f := range then {
		f()
	}
	for _, name := range slices.Sorted(maps.Keys(s.hosts)) {
		if p := s.hosts[name]; p.unconfirmed {
			p.confirm()
		}
	}
}
