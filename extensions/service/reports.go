package service

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/extensions"
	"github.com/hostsup/hostsup/extensions/activation"
	"github.com/hostsup/hostsup/extensions/activation/workspace"
	"github.com/hostsup/hostsup/extensions/blame"
)

// Reports of a host on its extensions.
const (
	serviceActor   = "MainThreadExtensionService."
	methodWill     = serviceActor + "$onWillActivateExtension"
	methodDid      = serviceActor + "$onDidActivateExtension"
	methodError    = serviceActor + "$onExtensionActivationError"
	methodUncaught = serviceActor + "$onExtensionRuntimeError"
	methodNeeds    = serviceActor + "$activateExtension"
	methodRegister = "MainThreadCommands.$registerCommand"
	methodExists   = "MainThreadWorkspace.$checkExists"
)

// MainThreadMethods returns the methods of main-thread objects that a service answers for hosts of
// VS Code.
func MainThreadMethods() []string {
	return []string{
		methodWill, methodDid, methodError, methodUncaught, methodNeeds, methodRegister, methodExists, methodExecute, methodFire, methodList,
	}
}

// report is a report of a life.
type report struct {
	life   uint64
	method string
	args   []json.RawMessage

	text, stack string // of an error; its argument is then nil
}

// handler implements adapter. The host waits for some of the answers until its report is
// handled.
func (p *editor) handler(method string) actors.Handler {
	switch method {
	case methodWill, methodDid, methodError, methodUncaught:
		return func(ctx context.Context, in *actors.Incoming) (any, error) {
			r, err := parse(in)
			if err != nil {
				return nil, err
			}
			if method == methodError || method == methodUncaught {
				r.parseError()
			}
			_, err = get(ctx, p.s, func() struct{} {
				p.handle(r)
				return struct{}{}
			})
			return nil, err
		}
	case methodNeeds:
		return p.needs
	case methodExecute:
		return p.execute
	case methodFire:
		return p.fired
	case methodList:
		return p.list
	case methodExists:
		return p.exists
	}
	return nil
}

func parse(in *actors.Incoming) (report, error) {
	r := report{life: in.Life, method: in.Method}
	if err := json.Unmarshal(in.Params, &r.args); err != nil || len(r.args) == 0 {
		return r, &codec.Error{Name: codec.NameInvalidParams, Message: "a list with at least one argument expected"}
	}
	return r, nil
}

// handle handles a report, or keeps it until the life is known to be up.
func (p *editor) handle(r report) {
	if p.life == r.life && !p.unconfirmed {
		p.apply(r)
	} else if r.life > p.life || p.unconfirmed && r.life == p.life {
		p.keepEarly(r)
	}
}

// keepEarly keeps a report until the life is up.
func (p *editor) keepEarly(r report) {
	if len(p.early) == 0 {
		p.waiting = 0
	}
	size := 256 + len(r.text) + len(r.stack)
	for _, arg := range r.args {
		size += len(arg)
	}
	switch {
	case p.waiting > maxEarly: // already reported
	case p.waiting+size > maxEarly:
		p.waiting = maxEarly + 1
		p.s.problem("", fmt.Errorf("host %s: it says more of its extensions before it is ready than is kept, %d bytes: the rest is not followed", p.name, maxEarly))
	default:
		p.waiting += size
		p.early = append(p.early, r)
	}
}

// apply handles a report of the life that is up.
func (p *editor) apply(r report) {
	s := p.s
	id, ok := identifier(r.args[0])
	if !ok {
		return
	}
	switch x, known := s.extension(id); {
	case r.method == methodUncaught:
	case known && !x.HasCode():
		return // a dependent had it activated, which runs nothing
	case !known:
		s.log.Debug("a host speaks of an extension that there is not", "host", p.name, "method", r.method, "extension", s.text(string(id)))
		return
	}
	switch r.method {
	case methodWill:
		p.begun[id] = true
		s.fault(p.number, blame.Began{Cell: p.cell, Life: r.life, ID: id})
		s.activation(activation.Began{Host: p.name, Life: r.life, ID: id})
	case methodDid:
		p.begun[id] = true
		s.fault(p.number, blame.Finished{Cell: p.cell, Life: r.life, ID: id})
		done := activation.Done{Host: p.name, Life: r.life, ID: id, Reason: reason(r.arg(4), id)}
		done.Times = activation.Times{CodeLoading: span(r.arg(1)), ActivateCall: span(r.arg(2)), ActivateResolved: span(r.arg(3))}
		s.activation(done)
	case methodError:
		p.begun[id], p.failed[id] = true, true
		s.fault(p.number, blame.Finished{Cell: p.cell, Life: r.life, ID: id})
		var missing struct{ Dependency string }
		_ = json.Unmarshal(r.arg(2), &missing) // mostly null
		s.activation(activation.Failed{Host: p.name, Life: r.life, ID: id, Cause: s.text(withoutPrefix(r.text)), Missing: extensions.MakeID(missing.Dependency)})
	case methodUncaught:
		text := s.text(r.text)
		if thrown, caller, ok := s.index.Thrown(r.stack); ok {
			if id = thrown; caller != thrown {
				s.fault(p.number, blame.Uncaught{Cell: p.cell, Life: r.life, ID: caller, Error: fmt.Sprintf("in its call of %s: %s", thrown, text)})
			}
		}
		name := string(id)
		if _, known := s.extension(id); known {
			s.fault(p.number, blame.Uncaught{Cell: p.cell, Life: r.life, ID: id, Error: text})
		} else {
			name = s.text(name)
		}
		p.uncaught(r.life, name, text)
	}
}

// maxCommands is for how many commands without a manifest entry the extension is
// remembered.
const maxCommands = 10_000

// noteRequest implements adapter: a host registers a command, of which there may be thousands.
func (p *editor) noteRequest(life uint64, method string, params codec.Raw) bool {
	if method != methodRegister {
		return false
	}
	var args []json.RawMessage
	var command string
	if json.Unmarshal(params, &args) == nil && len(args) > 0 && json.Unmarshal(args[0], &command) == nil && len(command) <= maxCommand {
		p.s.post(func() { p.registered(life, command) })
	}
	return true
}

// registered records the extension of a command.
func (p *editor) registered(life uint64, command string) {
	if _, again := p.s.registered[command]; again || len(p.s.registered) < maxCommands {
		p.s.registered[command] = registration{p.name, life}
		p.s.offersChanged()
	}
	if _, ok := p.ownerOf(command); ok || len(p.s.command) >= maxCommands {
		return
	}
	// The host does not name the extension. A command that is in no manifest is
	// registered while its extension is being activated; the result is remembered for
	// lives in which several activations overlap.
	if busy := p.s.active.In(p.name, true); len(busy) == 1 {
		p.s.command[command] = busy[0]
	}
}

// needs activates an extension in another host that one of this host needs.
func (p *editor) needs(ctx context.Context, in *actors.Incoming) (any, error) {
	r, err := parse(in)
	if err != nil {
		return nil, err
	}
	id, ok := identifier(r.args[0])
	if !ok {
		return nil, &codec.Error{Name: codec.NameInvalidParams, Message: "an extension expected"}
	}
	w := newWaiter()
	p.s.post(func() {
		p.s.activation(activation.RequestExtension{ID: id, From: reason(r.arg(1), "").ID, Tag: p.s.enlist(w)})
	})
	return nil, p.s.await(ctx, string(id), w)
}

// exists searches folders of the workspace, which the host requests for the startup of
// its extensions.
func (p *editor) exists(ctx context.Context, in *actors.Incoming) (any, error) {
	r, err := parse(in)
	if err != nil {
		return nil, err
	}
	var asked []struct {
		FSPath string `json:"fsPath"`
		Path   string `json:"path"`
	}
	var patterns []string
	if json.Unmarshal(r.args[0], &asked) != nil || json.Unmarshal(r.arg(1), &patterns) != nil {
		return nil, &codec.Error{Name: codec.NameInvalidParams, Message: "folders and patterns expected"}
	}
	if n := len(strings.Join(patterns, "")); len(patterns) > maxPatterns || n > maxPattern {
		return nil, &codec.Error{Name: codec.NameInvalidParams, Message: fmt.Sprintf("%d patterns of %d bytes, limit %d and %d", len(patterns), n, maxPatterns, maxPattern)}
	}
	select {
	case p.searches <- struct{}{}:
		defer func() { <-p.searches }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	var folders, events []string
	for _, dir := range p.s.folders() {
		for _, f := range asked {
			if f.FSPath == dir || f.Path == filepath.ToSlash(dir) {
				folders = append(folders, dir)
				break
			}
		}
	}
	for _, pattern := range patterns {
		events = append(events, workspace.Prefix+pattern)
	}
	found, err := workspace.Contains(ctx, events, folders, workspace.Dir{})
	if err != nil {
		p.s.log.Warn("problem", "host", p.name, "error", p.s.text(err.Error()))
	}
	return found != "", nil
}

// parseError parses the error of a report, which may be large, outside of the loop.
func (r *report) parseError() {
	if len(r.args) < 2 {
		return
	}
	r.text, r.stack = parseThrown(r.args[1])
	r.args[1], r.stack = nil, r.stack[:min(len(r.stack), maxRead)]
}

// arg returns an argument, or nil.
func (r report) arg(i int) json.RawMessage {
	if i < len(r.args) {
		return r.args[i]
	}
	return nil
}

// identifier parses an id as encoded by the protocol.
func identifier(raw json.RawMessage) (extensions.ID, bool) {
	var text string
	var both extensions.Identifier
	if json.Unmarshal(raw, &text) != nil {
		if json.Unmarshal(raw, &both) != nil {
			return "", false
		}
		text = both.Value
	}
	id := extensions.MakeID(text)
	return id, id.Valid()
}

// span parses a number of milliseconds.
func span(raw json.RawMessage) time.Duration {
	var ms float64
	if json.Unmarshal(raw, &ms) != nil || ms < 0 || ms > 1e9 {
		return 0
	}
	return time.Duration(ms * float64(time.Millisecond))
}

func reason(raw json.RawMessage, id extensions.ID) activation.Reason {
	var in struct {
		Startup bool            `json:"startup"`
		ID      json.RawMessage `json:"extensionId"`
		Event   string          `json:"activationEvent"`
	}
	if json.Unmarshal(raw, &in) != nil {
		return activation.Reason{ID: id}
	}
	out := activation.Reason{Startup: in.Startup, ID: id, Event: in.Event}
	if from, ok := identifier(in.ID); ok {
		out.ID = from
	}
	return out
}

// withoutPrefix is what went wrong in an activation, without the host's word that
// something did.
func withoutPrefix(text string) string {
	rest, ok := strings.CutPrefix(text, "Activating extension '")
	if !ok {
		return text
	}
	if _, why, ok := strings.Cut(rest, "' failed: "); ok {
		return strings.TrimSuffix(why, ".")
	}
	return text
}

// parseThrown parses a thrown value: an error, or any other value.
func parseThrown(raw json.RawMessage) (text, stack string) {
	var e struct{ Name, Message, Stack string }
	if json.Unmarshal(raw, &e) != nil || e.Message == "" && e.Name == "" {
		return string(raw[:min(len(raw), 1000)]), ""
	}
	return e.Message, e.Stack
}
