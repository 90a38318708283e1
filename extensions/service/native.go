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
	"github.com/hostsup/hostsup/lifecycle/record"
)

// programs is the dialect of hosts of protocol hostsup: a request activates or
// deactivates each extension, and the host requests those that it needs.
type programs struct{ spec plan.Spec }

func (programs) own() bool   { return false }
func (programs) tells() bool { return true }

// find returns the declared extensions.
func (d programs) find(context.Context, []extensions.Extension) found {
	var out found
	for _, a := range d.spec.Declared {
		out.list = append(out.list, unit(a))
	}
	return out
}

func (programs) folders() bool { return false }

func (d programs) adapter(p *extHost) adapter {
	return &program{extHost: p, declared: d.spec.Declared, grace: d.spec.Deactivate}
}

// unit converts a declared or announced extension.
func unit(a codec.Announced) extensions.Extension {
	x := extensions.Extension{
		ID: extensions.MakeID(a.ID), Value: a.ID, Version: a.Version, Origin: extensions.Builtin,
		Main: a.ID, // not empty: it can be activated
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

// program is one such host. The loop owns its fields.
type program struct {
	*extHost
	declared []codec.Announced
	grace    time.Duration
	mute     bool                                   // the life does not support extensions
	active   map[extensions.ID]extensions.Extension // those that the life was asked to activate
	ending   map[extensions.ID]bool
	ends     uint64   // the number of deactivations so far
	later    []func() // activations of extensions that are ending
}

func (p *program) opening() codec.Raw { return nil }

func (p *program) extensionIDs() []string {
	if len(p.s.found) == 0 {
		return nil
	}
	out, belongs := []string{}, p.s.belongsTo(p.extHost)
	for _, x := range p.s.registry.All() {
		if belongs(x) {
			out = append(out, x.Name())
		}
	}
	return out
}

func (p *program) lifeUp() {
	p.active, p.ending = map[extensions.ID]extensions.Extension{}, map[extensions.ID]bool{}
	if p.line == nil {
		return
	}
	list, ok := p.line.Announced()
	if p.mute = !ok; ok {
		p.announced(list)
		return
	}
	p.reportMistake(newMistake("", "host %s has extensions by its configuration, and does not speak of any", p.name))
}

func (p *program) confirmed() {}

func (p *program) hasEarly(uint64) bool { return false }

func (p *program) lifeEnded() { p.active, p.ending, p.later = nil, nil, nil }

// sync ends the extensions that no longer belong here and their dependents, one after
// the other, dependents first.
func (p *program) sync() {
	belongs := p.s.belongsTo(p.extHost)
	var gone []extensions.ID
	for id := range p.active {
		if x, known := p.s.registry.Get(id); !known || !belongs(x) {
			gone = append(gone, id)
		}
	}
	p.end(gone)
}

// end ends extensions with their dependents; the machine already knows that.
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
	if len(order) == 0 || p.line == nil || p.restarting {
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
			// Attribute a crash from now on to it.
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

// firstEnd is the call number of the first deactivation of a life, beyond the 32-bit
// numbers of its calls.
const firstEnd = 1 << 32

// deactivates requests the end of an extension and waits for it.
func (p *program) deactivates(line *actors.Line, name string) error {
	grace := p.grace
	if grace <= 0 {
		grace = 5 * time.Second
	}
	in := native.Deactivate{ID: name, TimeoutMS: grace.Milliseconds()}
	return line.Call(p.s.ctx, native.MethodDeactivate, in, nil, actors.Timeout(grace+late))
}

// late is the additional wait for the answer, which has the reason if the extension does
// not end.
const late = time.Second

// ended handles the results of deactivations.
func (p *program) ended(life uint64, order, more []extensions.ID, err error) {
	if err != nil {
		p.restart(p.s.text(err.Error()))
		return
	}
	belongs := p.s.belongsTo(p.extHost)
	for _, id := range order {
		p.s.emit(record.Event{Kind: record.KindExtension, Extension: string(id), Reason: string(id) + " is deactivated"}, p.name, life)
		delete(p.active, id)
		delete(p.ending, id)
		if x, known := p.s.registry.Get(id); known && belongs(x) && slices.Contains(more, id) {
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

// deactivate implements adapter: moving extensions were already ended before the machine
// knows of the move.
func (p *program) deactivate(id extensions.ID) {
	if _, on := p.active[id]; on {
		p.end([]extensions.ID{id})
	}
}

// activate asks the life; its answer is the result.
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
			return // the end of the life reports it
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
	var hostErr *codec.Error
	if errors.As(err, &hostErr) && hostErr.Stack != "" {
		p.s.log.Warn("stack of a failure", "extension", e.ID, "stack", p.s.text(hostErr.Stack))
	}
	p.s.activation(activation.Failed{Host: e.Host, Life: e.Life, ID: e.ID, Cause: p.s.text(cause)})
}

// millis converts a duration from a host.
func millis(ms float64) time.Duration {
	if !(ms >= 0 && ms < 1e9) {
		return 0
	}
	return time.Duration(ms * float64(time.Millisecond))
}

func (p *program) noteRequest(uint64, string, codec.Raw) bool { return false }

func (p *program) handler(method string) actors.Handler {
	if method == native.MethodNeed {
		return p.need
	}
	return nil
}

// need activates a called extension.
func (p *program) need(ctx context.Context, in *actors.Incoming) (any, error) {
	var q native.Need
	if err := p.s.base.Encoding().Unmarshal(in.Params, &q); err != nil {
		return nil, &codec.Error{Name: codec.NameInvalidParams, Message: err.Error()}
	}
	id := extensions.MakeID(q.ID)
	w := newWaiter()
	refused, err := get(context.WithoutCancel(ctx), p.s, func() string {
		if why := p.whyNotUsable(id); why != "" {
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
	case errors.As(err, &wrong): // the event may concern others too
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

// whyNotUsable returns why an extension cannot be called here; "" if it can.
func (p *program) whyNotUsable(id extensions.ID) string {
	switch x, known := p.s.registry.Get(id); {
	case p.s.disabled[id] != "":
		return "it is " + p.s.disabled[id]
	case p.s.refused[id] != "":
		return p.s.refused[id]
	case !known:
		return "it is not among the extensions of host " + p.s.base.Name()
	case !p.s.belongsTo(p.extHost)(x):
		return "it lives in host " + p.s.name(p.s.placed.Places[id])
	}
	return ""
}

func (p *program) notification(life uint64, m *codec.Message) {
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

// command returns the method itself, if it belongs to an extension.
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
