package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/native"
	"github.com/hostsup/hostsup/extensions"
	"github.com/hostsup/hostsup/extensions/activation"
	"github.com/hostsup/hostsup/extensions/blame"
	"github.com/hostsup/hostsup/extensions/plan"
)

// programs is the dialect of hosts of protocol hostsup: each of their extensions
// is switched on and off by a request, and the host asks for those that it needs.
type programs struct{ spec plan.Spec }

func (programs) own() bool   { return false }
func (programs) tells() bool { return true }

// find returns what is declared.
func (d programs) find(context.Context, []extensions.Extension) found {
	var out found
	for _, a := range d.spec.Declared {
		out.list = append(out.list, unit(a))
	}
	return out
}

func (programs) folders() bool { return false }

func (d programs) voice(p *place) voice {
	return &program{place: p, declared: d.spec.Declared, grace: d.spec.Deactivate}
}

// unit is an extension as it is declared or announced.
func unit(a codec.Announced) extensions.Extension {
	x := extensions.Extension{
		ID: extensions.MakeID(a.ID), Value: a.ID, Version: a.Version, Origin: extensions.Builtin,
		Main: a.ID, // there is something to activate
	}
	for _, on := range a.DependsOn {
		x.Dependencies = append(x.Dependencies, extensions.MakeID(on))
	}
	for _, event := range a.Events {
		if !slices.Contains(x.Events, event) {
			x.Events = append(x.Events, event)
		}
	}
	for _, method := range a.Methods {
		if event := eventCommand + method; !slices.Contains(x.Events, event) {
			x.Events = append(x.Events, event)
		}
	}
	return x
}

// program is one such host. Its fields are the loop's.
type program struct {
	*place
	declared []codec.Announced
	grace    time.Duration
	mute     bool                                   // the life does not speak of extensions
	active   map[extensions.ID]extensions.Extension // that the life was asked to activate
	ending   map[extensions.ID]bool
	ends     uint64   // how many have been begun
	later    []func() // activations of those that are ending
}

func (p *program) opening() codec.Raw { return nil }

func (p *program) living() []string {
	if len(p.s.found) == 0 {
		return nil
	}
	out, lives := []string{}, p.s.lives(p.place)
	for _, x := range p.s.registry.All() {
		if lives(x) {
			out = append(out, x.Name())
		}
	}
	return out
}

func (p *program) up() {
	p.active, p.ending = map[extensions.ID]extensions.Extension{}, map[extensions.ID]bool{}
	if p.line == nil {
		return
	}
	list, ok := p.line.Announced()
	if p.mute = !ok; ok {
		p.announced(list)
		return
	}
	p.wrong(complain("", "host %s has extensions by its configuration, and does not speak of any", p.name))
}

func (p *program) welcome() {}

func (p *program) ahead(uint64) bool { return false }

func (p *program) over() { p.active, p.ending, p.later = nil, nil, nil }

// sync ends those who do not live here any more, and those who need them, one
// after the other: who needs another goes before it.
func (p *program) sync() {
	lives := p.s.lives(p.place)
	var gone []extensions.ID
	for id := range p.active {
		if x, known := p.s.registry.Get(id); !known || !lives(x) {
			gone = append(gone, id)
		}
	}
	p.end(gone)
}

// end ends some, with who needs them; those the machine knows to be over.
func (p *program) end(gone []extensions.ID) {
	all := slices.SortedFunc(maps.Values(p.active), func(a, b extensions.Extension) int { return cmp.Compare(a.ID, b.ID) })
	more := extensions.Dependents(all, gone...)
	var order []extensions.ID
	for _, group := range slices.Backward(extensions.Groups(all)) {
		for _, x := range group {
			if (slices.Contains(gone, x.ID) || slices.Contains(more, x.ID)) && !p.ending[x.ID] {
				order = append(order, x.ID)
			}
		}
	}
	if len(order) == 0 || p.line == nil || p.again {
		return
	}
	for _, id := range order {
		p.ending[id] = true
	}
	p.commands.Clear()
	line, life, first, names := p.line, p.life, p.ends, make([]string, len(order))
	for i, id := range order {
		names[i] = p.active[id].Name()
	}
	p.ends += uint64(len(order))
	p.s.deltas++
	p.s.work.Go(func() {
		var err error
		for i, name := range names {
			// A crash now is its fault.
			call := blame.CallBegan{Cell: p.cell, Life: life, Call: firstEnd + first + uint64(i), ID: order[i], Method: native.MethodDeactivate}
			p.s.post(func() { p.s.fault(p.number, call) })
			if err = p.deactivates(line, name); err != nil {
				err = fmt.Errorf("%s is to end, and does not: %w", name, err)
				break
			}
			p.s.post(func() { p.s.fault(p.number, blame.CallEnded{Cell: call.Cell, Life: life, Call: call.Call}) })
		}
		var down *actors.HostError
		gone := errors.As(err, &down) // and the extensions with it
		p.s.post(func() {
			p.s.deltas--
			if p.line == line && !gone {
				p.ended(life, order, more, err)
			}
			p.s.settle()
		})
	})
}

// firstEnd is the number of the first end among the calls of a life, whose own
// numbers have 32 bits.
const firstEnd = 1 << 32

// deactivates asks for the end of one and waits for it.
func (p *program) deactivates(line *actors.Line, name string) error {
	grace := p.grace
	if grace <= 0 {
		grace = 5 * time.Second
	}
	in := native.Deactivate{ID: name, TimeoutMS: grace.Milliseconds()}
	return line.Call(p.s.ctx, native.MethodDeactivate, in, nil, actors.Timeout(grace+late))
}

// late is how much longer the answer is waited for, which says what it is that
// does not end.
const late = time.Second

// ended takes what has become of the ends of some.
func (p *program) ended(life uint64, order, more []extensions.ID, err error) {
	if err != nil {
		p.restart(p.s.text(err.Error()))
		return
	}
	lives := p.s.lives(p.place)
	for _, id := range order {
		p.s.tell(actors.Event{Kind: actors.KindExtension, Extension: string(id), Reason: string(id) + " is deactivated"}, p.name, life)
		delete(p.active, id)
		delete(p.ending, id)
		if x, known := p.s.registry.Get(id); known && lives(x) && slices.Contains(more, id) {
			p.s.then = append(p.s.then, func() {
				p.s.activation(activation.Ended{Host: p.name, Life: life, ID: id, Why: "what it needs has ended"})
			})
		}
	}
	later := p.later
	p.later = nil
	for _, f := range later {
		f()
	}
}

// deactivate implements voice: those who move were ended before the machine has
// heard of it.
func (p *program) deactivate(id extensions.ID) {
	if _, on := p.active[id]; on {
		p.end([]extensions.ID{id})
	}
}

// activate asks the life. Its answer is what becomes of it.
func (p *program) activate(e activation.Activate, x extensions.Extension) {
	if p.mute {
		p.s.post(func() { p.failed(e, "the host does not speak of extensions", nil) })
		return
	}
	if p.ending[e.ID] {
		p.later = append(p.later, func() { p.activate(e, x) })
		return
	}
	p.active[e.ID] = x
	p.s.fault(p.number, blame.Began{Cell: p.cell, Life: e.Life, ID: e.ID})
	line := p.line
	p.s.work.Go(func() {
		var done native.Activated
		err := line.Call(p.s.ctx, native.MethodActivate, native.Activate{ID: x.Name(), Event: e.Reason.Event, Startup: e.Reason.Startup}, &done)
		var down *actors.HostError
		if errors.As(err, &down) || p.s.ctx.Err() != nil {
			return // the end of the life says so
		}
		p.s.post(func() {
			if err != nil {
				p.failed(e, err.Error(), err)
				return
			}
			p.s.activation(activation.Done{
				Host: e.Host, Life: e.Life, ID: e.ID, Reason: e.Reason,
				Times: activation.Times{ActivateCall: millis(done.TookMS)},
			})
		})
	})
}

func (p *program) failed(e activation.Activate, cause string, err error) {
	if p.life == e.Life {
		delete(p.active, e.ID)
	}
	var said *codec.Error
	if errors.As(err, &said) && said.Stack != "" {
		p.s.log.Warn("stack of a failure", "extension", e.ID, "stack", p.s.text(said.Stack))
	}
	p.s.activation(activation.Failed{Host: e.Host, Life: e.Life, ID: e.ID, Cause: p.s.text(cause)})
}

// millis is a time that a host has told.
func millis(ms float64) time.Duration {
	if !(ms >= 0 && ms < 1e9) {
		return 0
	}
	return time.Duration(ms * float64(time.Millisecond))
}

func (p *program) noted(uint64, string, codec.Raw) bool { return false }

func (p *program) asked(method string) actors.Handler {
	if method == native.MethodNeed {
		return p.need
	}
	return nil
}

// need has an extension activated that was called.
func (p *program) need(ctx context.Context, in *actors.Incoming) (any, error) {
	var q native.Need
	if err := p.s.base.Encoding().Unmarshal(in.Params, &q); err != nil {
		return nil, &codec.Error{Name: codec.NameInvalidParams, Message: err.Error()}
	}
	id := extensions.MakeID(q.ID)
	w := newWaiter()
	refused, err := get(context.WithoutCancel(ctx), p.s, func() string {
		if why := p.unfit(id); why != "" {
			return why
		}
		tag := p.s.enlist(w)
		if x, _ := p.s.registry.Get(id); x.WantsEvent(q.Event) {
			p.s.activation(activation.Request{Event: q.Event, Tag: tag})
		} else {
			p.s.activation(activation.RequestExtension{ID: id, Tag: tag})
		}
		return ""
	})
	switch {
	case err != nil:
		return nil, err
	case refused != "":
		return nil, &codec.Error{Name: codec.NameNotActive, Message: q.ID + ": " + refused}
	}
	var wrong *ActivationError
	switch err := p.s.await(ctx, q.ID, w); {
	case errors.As(err, &wrong): // the event may be for others, too
		for _, e := range wrong.Errs {
			if e.ID == id {
				return nil, &codec.Error{Name: codec.NameNotActive, Message: e.Error()}
			}
		}
	case err != nil:
		return nil, err
	}
	return nil, nil
}

// unfit says why an extension cannot be called here; "" when it can.
func (p *program) unfit(id extensions.ID) string {
	switch x, known := p.s.registry.Get(id); {
	case p.s.disabled[id] != "":
		return "it is " + p.s.disabled[id]
	case p.s.refused[id] != "":
		return p.s.refused[id]
	case !known:
		return "it is not among the extensions of host " + p.s.base.Name()
	case !p.s.lives(p.place)(x):
		return "it lives in host " + p.s.name(p.s.placed.Places[id])
	}
	return ""
}

func (p *program) notified(life uint64, m *codec.Message) {
	if m.Method != native.MethodUncaught {
		return
	}
	var in native.Uncaught
	if err := p.s.base.Encoding().Unmarshal(m.Params, &in); err != nil {
		p.s.log.Debug("not understood", "host", p.name, "method", m.Method, "error", err)
		return
	}
	id := extensions.MakeID(in.ID)
	p.s.post(func() {
		if _, known := p.s.extension(id); !known {
			return
		}
		text := p.s.text((&codec.Error{Name: in.Error.Name, Message: in.Error.Message}).Error())
		p.s.fault(p.number, blame.Uncaught{Cell: p.cell, Life: life, ID: id, Error: text})
		p.uncaught(life, string(id), text)
	})
}

// command is the method itself, if it is one of an extension.
func (p *program) command(method string, _ codec.Raw) (string, bool) {
	m := p.s.methods.Load()
	return method, m != nil && (*m)[method]
}

func (p *program) activates(method string, params codec.Raw) (extensions.ID, bool) {
	if method != native.MethodActivate {
		return "", false
	}
	var in native.Activate
	if p.s.base.Encoding().Unmarshal(params, &in) != nil {
		return "", false
	}
	return extensions.MakeID(in.ID), true
}
