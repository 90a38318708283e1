package service

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/extensions"
	"github.com/hostsup/hostsup/extensions/activation"
	"github.com/hostsup/hostsup/extensions/blame"
	"github.com/hostsup/hostsup/extensions/manifest"
	"github.com/hostsup/hostsup/extensions/plan"
	"github.com/hostsup/hostsup/extensions/vscode"
)

// editors is the dialect of VS Code's extension hosts, which do the startup of their
// extensions themselves and report the result of each.
type editors struct {
	spec plan.Spec
	base *actors.Ref
}

// Methods of hosts of VS Code.
const (
	methodActivate = "ExtHostExtensionService.$activate"
	methodDelta    = "ExtHostExtensionService.$deltaExtensions"
	methodCommand  = "ExtHostCommands.$executeContributedCommand"
)

func (editors) own() bool   { return true }
func (editors) tells() bool { return false }

// find reads the folders.
func (d editors) find(ctx context.Context, before []extensions.Extension) found {
	opt := manifest.Options{}
	if root, ok := vscode.Root(d.base.Spec().Command); ok {
		if build, err := vscode.ReadBuild(root); err == nil {
			opt.Product = build.Version
		}
	}
	roots := slices.Clone(d.spec.Folders)
	for i := range roots {
		if roots[i].Origin == "" {
			roots[i].Origin = extensions.User
		}
	}
	result := manifest.Scan(ctx, roots, opt)
	list := result.Keeping(before)
	return found{list, result.Problems, blame.NewIndex(resolved(list))}
}

func (d editors) folders() bool { return len(d.spec.Folders) > 0 }

func (editors) adapter(p *extHost) adapter {
	return &editor{extHost: p, searches: make(chan struct{}, maxSearches)}
}

// editor is one such host. The loop owns its fields.
type editor struct {
	*extHost
	opened extensions.View
	view   extensions.View // of the life
	begun  map[extensions.ID]bool
	failed map[extensions.ID]bool // in this life; the host does not try them again
	early  []report               // of a life that is not up yet
	config codec.Raw              // the configuration that the life got last
	owes   *actors.Line           // the line of a life that has not answered the latest changes

	waiting  int           // bytes of early
	searches chan struct{} // of the workspace; shared with other goroutines
}

// opening returns the init data of the next life.
func (p *editor) opening() codec.Raw {
	data, view := p.s.registry.Init(p.mine())
	p.opened = view
	fields := map[string]json.RawMessage{}
	if init := p.s.base.Spec().Init; init != nil {
		raw, err := p.s.base.Encoding().Marshal(init)
		if err != nil || json.Unmarshal(raw, &fields) != nil {
			return raw // the handshake reports its mistakes
		}
	}
	raw, err := json.Marshal(data)
	if err != nil {
		p.s.log.Error("defect: extensions cannot be told", "host", p.name, "error", err)
		return nil
	}
	fields["extensions"] = raw
	out, err := json.Marshal(fields)
	if err != nil {
		p.s.log.Error("defect: extensions cannot be told", "host", p.name, "error", err)
		return nil
	}
	return out
}

// mine returns a function that reports whether the host lists an extension as one of its
// own. Only those are in vscode.extensions.all, so extensions without code belong to
// every host.
func (p *editor) mine() func(extensions.Extension) bool {
	belongs := p.s.belongsTo(p.extHost)
	return func(e extensions.Extension) bool { return !e.HasCode() || belongs(e) }
}

func (p *editor) extensionIDs() []string { return nil }

func (p *editor) lifeUp() {
	p.view, p.begun, p.failed, p.config = p.opened, map[extensions.ID]bool{}, map[extensions.ID]bool{}, nil
	if p.line != nil {
		p.config, _, _ = p.line.Opened()
	}
}

func (p *editor) confirmed() {
	early := p.early
	p.early = nil
	for _, r := range early {
		p.apply(r)
	}
}

// hasEarly reports whether the life has sent reports before it was up.
func (p *editor) hasEarly(life uint64) bool { return len(p.early) > 0 && p.early[0].life == life }

func (p *editor) lifeEnded() { p.early = nil }

// sync sends a life its changes, one after the other: of two changes at once the host
// would lose the first.
func (p *editor) sync() {
	if p.line == nil {
		return
	}
	next, delta, changed := p.view.Move(p.s.registry, p.mine())
	if !changed {
		return
	}
	for _, gone := range slices.Concat(delta.MyToRemove, delta.ToRemove) {
		if p.begun[gone.Lower] {
			p.restart(gone.Value + " is to end")
			return
		}
	}
	if p.owes == p.line {
		return // its answer calls sync again
	}
	p.view, p.owes = next, p.line
	line := p.line
	err := p.reconfigure(delta) // first, because added extensions may be activated at once
	p.s.deltas++
	p.s.work.Go(func() {
		if err == nil {
			err = line.Call(p.s.ctx, methodDelta, []any{delta}, nil)
		}
		p.s.post(func() {
			p.s.deltas--
			if p.owes == line {
				p.owes = nil
			}
			switch {
			case p.line != line:
			case err != nil:
				p.restart("it does not take changes: " + p.s.text(err.Error()))
			default:
				p.sync()
			}
			p.s.settle()
		})
	})
}

// reconfigure sends a life the defaults of the current extensions. Extensions that only
// move between hosts have the same defaults everywhere.
func (p *editor) reconfigure(delta extensions.Delta) error {
	protocol, ok := p.s.base.Spec().Protocol.(*vscode.Protocol)
	if !ok || len(delta.ToAdd)+len(delta.ToRemove) == 0 {
		return nil
	}
	var descriptions []json.RawMessage
	for _, e := range p.s.registry.All() {
		descriptions = append(descriptions, e.Description)
	}
	if e := protocol.Editor(p.name); e != nil {
		return e.Described(p.name, p.life, descriptions, func(config codec.Raw) error {
			return p.line.Tell(vscode.MethodReconfigured, config)
		})
	}
	config, err := protocol.Reconfigured(p.config, descriptions)
	if err != nil || config == nil {
		return err
	}
	p.config = config
	return p.line.Tell(vscode.MethodReconfigured, config)
}

// deactivate implements adapter: an extension cannot be ended alone.
func (p *editor) deactivate(id extensions.ID) { p.restart(string(id) + " is to end") }

// activate asks the life. The host reports the result itself; the answer is used only if
// it does not. An extension that failed in this life, for a dependency that it has now,
// needs another life: the host would take the old failure for the outcome and report nothing.
func (p *editor) activate(e activation.Activate, x extensions.Extension) {
	if p.failed[e.ID] {
		p.restart(fmt.Sprintf("%s failed to activate in this life, and its dependencies are there now", e.ID))
		return
	}
	line := p.line
	p.s.work.Go(func() {
		var ok bool
		err := line.Call(p.s.ctx, methodActivate, []any{x.Identifier(), e.Reason}, &ok)
		var down *actors.HostError
		cause := ""
		switch {
		case errors.As(err, &down), p.s.ctx.Err() != nil:
			return // the end of the life reports it
		case err != nil:
			cause = p.s.text(err.Error())
		case !ok:
			cause = "the host does not know it"
		default:
			return
		}
		p.s.post(func() {
			p.s.activation(activation.Failed{Host: e.Host, Life: e.Life, ID: e.ID, Cause: cause})
		})
	})
}

func (p *editor) notification(uint64, *codec.Message) {}

// command returns the first argument of the call of a command; the rest may be large and
// is not read.
func (p *editor) command(method string, params codec.Raw) (command string, ok bool) {
	if method != methodCommand {
		return "", false
	}
	if rest, ok := bytes.CutPrefix(params, []byte(`["`)); ok {
		// Mostly the name has no escapes and need not be decoded.
		if end := bytes.IndexAny(rest, `"\`); end >= 0 && rest[end] == '"' {
			return string(rest[:end]), true
		}
	}
	args := json.NewDecoder(bytes.NewReader(params))
	if list, err := args.Token(); err != nil || list != json.Delim('[') || args.Decode(&command) != nil {
		return "", false
	}
	return command, true
}

func (p *editor) activates(string, codec.Raw) (extensions.ID, bool) { return "", false }
