package service

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/extensions"
	"github.com/hostsup/hostsup/extensions/activation"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/hostspec"
)

// eventCommand is the prefix of the activation events of commands.
const eventCommand = "onCommand:"

// route redirects the call of a command to the host of its extension, which is activated
// first if it is not active.
func (p *extHost) route(life uint64, m *codec.Message) (v actors.Verdict) {
	command, ok := p.adapter.command(m.Method, m.Params)
	if !ok {
		return v
	}
	if known, ok := p.commands.Load(command); ok && known == life {
		return v
	}
	v.To = func(ctx context.Context) (*actors.Ref, error) {
		target, err := p.s.find(ctx, p, command)
		return target.ref, err
	}
	return v
}

// target is where a command is executed, or what must happen before that is known.
type target struct {
	ref  *actors.Ref
	ours bool // an extension has it, or a host has registered it
	here bool // in the calling host
	wait *waiter
	err  error
}

// find returns where a command that is called in a host is executed. It waits for the
// extension's activation.
func (s *Service) find(ctx context.Context, from *extHost, command string) (target, error) {
	for asked := false; ; asked = true {
		// Even if the caller has left: otherwise an activation would have no waiter.
		g, err := get(context.WithoutCancel(ctx), s, func() target { return s.targetOf(from, command, asked) })
		if err == nil {
			err = g.err
		}
		if err != nil || g.wait == nil {
			return g, err
		}
		if err := s.await(ctx, eventCommand+command, g.wait); err != nil {
			return g, err
		}
	}
}

// targetOf is find without waiting. asked means that the extension was already activated for
// this call.
func (s *Service) targetOf(from *extHost, command string, asked bool) target {
	id, ok := s.ownerOf(command)
	if !ok {
		if at, ok := s.registered[command]; ok {
			if p := s.hosts[at.host]; p != nil && p.ref != nil && p.life == at.life {
				return target{ref: p.ref, ours: true, here: p == from}
			}
		}
		return target{ref: from.ref, here: true} // which reports the unknown command
	}
	missing := func(why string) target {
		return target{ours: true, err: fmt.Errorf("command %q: %s is %w: %s", command, id, ErrNotActive, why)}
	}
	for _, why := range []string{s.disabled[id], s.refused[id]} {
		if why != "" {
			return missing(strings.TrimPrefix(why, string(id)+": "))
		}
	}
	at := s.placed.Places[id]
	p := s.hosts[s.name(at)]
	if at.Kind == "" || p == nil {
		return target{ref: from.ref, ours: true, here: true}
	}
	st, _ := s.active.Get(id)
	patient := s.base.Spec().Requests.WhileDown == hostspec.Queue
	switch {
	case st.State == activation.Active && p.life != 0 && p.ref != nil:
		p.commands.Store(command, p.life)
		fallthrough
	case asked, p.ref != nil && p.refuses(patient):
		if p.ref == nil {
			return missing(fmt.Sprintf("there is no host %s yet", p.name))
		}
		return target{ref: p.ref, ours: true, here: p == from} // which reports why it cannot
	}
	g := target{wait: newWaiter()}
	tag := s.enlist(g.wait)
	if e, _ := s.registry.Get(id); e.WantsEvent(eventCommand + command) {
		s.activation(activation.Request{Event: eventCommand + command, Tag: tag})
	} else {
		s.activation(activation.RequestExtension{ID: id, Tag: tag})
	}
	return g
}

// refuses reports whether a call to the host would currently fail at once.
func (p *extHost) refuses(patient bool) bool {
	switch p.state {
	case lifecycle.Failed:
		return true
	case lifecycle.Crashed, lifecycle.Restarting, lifecycle.Stopping:
		return !patient
	case lifecycle.Stopped:
		return p.stoppedByPerson
	}
	return false
}

// ownerOf returns the extension of a command, in any host.
func (s *Service) ownerOf(command string) (extensions.ID, bool) {
	if ids := s.registry.Interested(eventCommand + command); len(ids) > 0 {
		for _, id := range ids[1:] { // some may only declare the event
			if e, _ := s.registry.Get(id); contributes(e, command) && !s.contributes(ids[0], command) {
				return id, true
			}
		}
		return ids[0], true
	}
	if id, ok := s.command[command]; ok && s.registry.Has(id) {
		return id, true
	}
	for _, e := range s.found { // including inactive ones
		if e.WantsEvent(eventCommand + command) {
			return e.ID, true
		}
	}
	return "", false
}

func (s *Service) contributes(id extensions.ID, command string) bool {
	e, _ := s.registry.Get(id)
	return contributes(e, command)
}

// contributes reports whether a manifest has a command.
func contributes(e extensions.Extension, command string) bool {
	type named struct{ Command string }
	var d struct {
		Contributes struct{ Commands json.RawMessage }
	}
	if json.Unmarshal(e.Description, &d) != nil {
		return false
	}
	var many []named
	var one named
	if json.Unmarshal(d.Contributes.Commands, &many) != nil && json.Unmarshal(d.Contributes.Commands, &one) == nil {
		many = []named{one}
	}
	return slices.Contains(many, named{command})
}

// registration is where a command was registered last.
type registration struct {
	host string
	life uint64
}

// Requests of hosts of VS Code about commands.
const (
	methodExecute = "MainThreadCommands.$executeCommand"
	methodFire    = "MainThreadCommands.$fireCommandActivationEvent"
	methodList    = "MainThreadCommands.$getCommands"
)

// retry is the error message after which a host executes the command itself, so that the
// arguments need not be sent.
const retry = "$executeCommand:retry"

// nothing is undefined, as encoded by VS Code's protocol here.
var nothing = codec.Raw(`{"$undefined":true}`)

// execute handles a request to execute a command that the host does not have; it calls
// the host that has it.
func (p *editor) execute(ctx context.Context, in *actors.Incoming) (any, error) {
	r, err := parse(in)
	if err != nil {
		return nil, err
	}
	var command string
	var again bool
	if json.Unmarshal(r.args[0], &command) != nil || len(command) > maxCommand || len(r.args) > 2 && json.Unmarshal(r.args[2], &again) != nil {
		return nil, &codec.Error{Name: codec.NameInvalidParams, Message: "a command, its arguments, and whether it may be tried again expected"}
	}
	g, err := p.s.find(ctx, p.extHost, command)
	switch {
	case err != nil:
		return nil, err
	case !g.ours:
		if result, ok, err := in.Rest(ctx); ok {
			return result, err
		}
		if command == "setContext" || command == "_setContext" { // it has no visible effect
			return nothing, nil
		}
		if ofEditor(command) {
			return nil, &codec.Error{Name: "NotSupported", Message: fmt.Sprintf("the command %s is not supported: there is no editor", command)}
		}
		return nil, &codec.Error{Name: codec.NameMethodNotFound, Message: fmt.Sprintf("command '%s' not found", command)}
	case g.here && again:
		return nil, &codec.Error{Name: "Error", Message: retry}
	}
	params, err := commandParams(command, r.arg(1))
	if err != nil {
		return nil, err
	}
	var out codec.Raw
	err = g.ref.Call(ctx, methodCommand, params, &out)
	if len(out) == 0 {
		return nothing, err
	}
	return out, err
}

// list handles a request for the names of all commands: those of extensions and, if there is one, of the
// editor.
func (p *editor) list(ctx context.Context, in *actors.Incoming) (any, error) {
	all, err := get(ctx, p.s, p.s.commands)
	if err != nil {
		return nil, err
	}
	var more []string
	rest, ok, err := in.Rest(ctx)
	if raw, is := rest.(codec.Raw); ok && is && err == nil {
		err = in.Encoding.Unmarshal(raw, &more)
	}
	all = append(all, more...)
	slices.Sort(all)
	return slices.Compact(all), err
}

// ofEditor reports whether a command is one of the editor itself.
func ofEditor(command string) bool {
	if strings.HasPrefix(command, "_") {
		return true
	}
	prefix, _, ok := strings.Cut(command, ".")
	return ok && slices.Contains([]string{"workbench", "editor", "vscode"}, prefix)
}

// commandParams returns the parameters of the call of a command. args is a list, or an
// object around a list with values that JSON cannot express.
func commandParams(command string, args json.RawMessage) (codec.Raw, error) {
	wrong := &codec.Error{Name: codec.NameInvalidParams, Message: "a list of arguments expected"}
	var list []json.RawMessage
	if args = bytes.TrimSpace(args); len(args) > 0 && args[0] == '{' {
		var object struct {
			List []json.RawMessage `json:"$object"`
		}
		if json.Unmarshal(args, &object) != nil || object.List == nil {
			return nil, wrong
		}
		for _, arg := range object.List {
			list = append(list, wrapped(arg))
		}
	} else if len(args) > 0 && json.Unmarshal(args, &list) != nil {
		return nil, wrong
	}
	id, err := json.Marshal(command)
	if err != nil {
		return nil, err
	}
	return json.Marshal(append([]json.RawMessage{id}, list...))
}

// wrapped returns a part of such an object as a separate argument.
func wrapped(arg json.RawMessage) json.RawMessage {
	var keys map[string]json.RawMessage
	if json.Unmarshal(arg, &keys) == nil && len(keys) == 1 && (keys["$buffer"] != nil || keys["$undefined"] != nil) {
		return arg
	}
	if !bytes.Contains(arg, []byte(`"$buffer"`)) && !bytes.Contains(arg, []byte(`"$undefined"`)) {
		return arg
	}
	return slices.Concat([]byte(`{"$object":`), arg, []byte("}"))
}

// fired reports that a command was executed within its host, for extensions that declare
// its event.
func (p *editor) fired(ctx context.Context, in *actors.Incoming) (any, error) {
	r, err := parse(in)
	if err != nil {
		return nil, err
	}
	var command string
	if json.Unmarshal(r.args[0], &command) == nil && command != "" && len(command) <= maxCommand {
		_, err = get(ctx, p.s, func() struct{} {
			p.s.activation(activation.Request{Event: eventCommand + command})
			return struct{}{}
		})
	}
	return nil, err
}

// commands returns the ids of all known commands.
func (s *Service) commands() []string {
	all := map[string]bool{}
	for command, at := range s.registered {
		if p := s.hosts[at.host]; p != nil && p.life == at.life {
			all[command] = true
		}
	}
	for _, e := range s.registry.All() {
		for _, event := range e.Events {
			if command, ok := strings.CutPrefix(event, eventCommand); ok {
				all[command] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(all))
}
