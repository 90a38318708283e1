package hosted

import (
	"context"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/extensions/vscode"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/record"
	"github.com/hostsup/hostsup/supervisor"
	"github.com/hostsup/hostsup/workbench"
	"github.com/hostsup/hostsup/workbench/commands"
	"github.com/hostsup/hostsup/workbench/diagnostics"
	"github.com/hostsup/hostsup/workbench/fileinfo"
	"github.com/hostsup/hostsup/workbench/language"
	"github.com/hostsup/hostsup/workbench/languages"
	"github.com/hostsup/hostsup/workbench/output"
	"github.com/hostsup/hostsup/workbench/questions"
	"github.com/hostsup/hostsup/workbench/status"
	"github.com/hostsup/hostsup/workbench/tools"
	"github.com/hostsup/hostsup/workbench/window"
)

// editor is what a host of VS Code and the hosts beside it have in the place of an editor.
type editor struct {
	bench  *workbench.Workbench
	hosts  map[string]*attached // by name
	guards *guards

	commands commandRuns
}

// attached is the interceptor of a host.
type attached struct {
	ref   *actors.Ref
	own   *actors.Interceptor
	watch *actors.Interceptor // of questions
}

// workbenchOf returns the services for a host of VS Code.
func (s *services) workbenchOf(h *supervisor.Host, p *vscode.Protocol, g *guards) *workbench.Workbench {
	config := s.settingsOf(h, p, g)
	shown := s.statusOf(h)
	langs := &languages.Service{Associations: associations(config), Changed: shown.Language}
	clip := &window.Service{Unseen: func(host, text string) { s.said(h, record.KindUnseen, host, text) }}
	all, watcher := s.filesOf(h, p, config)
	docs, reloads := s.documentsOf(h, p, langs, config, clip, all)
	work := s.foldersOf(h, p, config, watcher)
	activate := func(ctx context.Context, event string) error { return s.activateFor(ctx, h, event) }
	asks, channels, found := s.questionsOf(h, p), s.channelsOf(h, p), diagnostics.New()
	start := func(ctx context.Context) error { return h.Raise(ctx) }
	features := language.New(language.Options{Documents: docs, Activate: activate, Start: start, Configuration: known(langs, docs)})
	own := commands.New(docs.Commands(), features.Commands(), asks.Commands(work.Folders))
	trees := s.viewsOf(activate, own)
	return workbench.New(
		all.Service, watcher,
		s.terminalsOf(h, tasksOf{config, work, asks, docs, channels, found}),
		clip,
		config,
		s.searchOf(p, config, work),
		langs,
		docs, reloads,
		found,
		features,
		own,
		work,
		asks,
		shown,
		trees, s.scmOf(own, all), s.testsOf(start), fileinfo.New(fileinfo.Options{Redact: s.tree.Redact}),
		output.New(),
		s.accountsOf(h, p),
		channels,
		tools.New(tools.Options{Activate: activate, Changed: func() { s.offersChanged(h.Name()) }}),
	)
}

// openEditor adds the workbench to a host of VS Code. Hosts of one household share it.
func (s *services) openEditor(h *supervisor.Host) {
	p, ok := h.Spec().Protocol.(*vscode.Protocol)
	if !ok {
		return
	}
	name := p.Household(h.Name())
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.editors[name]
	if e == nil {
		g := &guards{}
		e = &editor{bench: s.workbenchOf(h, p, g), hosts: map[string]*attached{}, guards: g}
		if s.editors == nil {
			s.editors = map[string]*editor{}
		}
		s.editors[name] = e
	}
	p.Follow(name, editorOf(e.bench))
	guard := e.guards.add(h.Name())
	a := &attached{ref: h.Ref(), own: e.bench.Interceptor(h.Ref(), guard)}
	resolve := func() {
		if err := guard.Resolve(h.Spec().Sandbox, h.Spec().Resources); err != nil {
			// The start fails for the same reason and says more.
			s.tree.Log.Debug("files for a host are not allowed", "host", h.Name(), "error", err)
		}
	}
	a.own.Starting = func(context.Context, *actors.Start) error {
		resolve()
		return nil
	}
	shown := workbench.Find[*status.Service](e.bench)
	a.own.Changed = func(t lifecycle.Transition) { shown.SetStarting(h.Name(), t.To == lifecycle.Starting) }
	a.own.Closed = func() { shown.SetStarting(h.Name(), false) }
	// The first start of a host may have begun already, and is then not announced. Code of a life that
	// is up could have changed where the paths of its policy lead.
	state := h.State()
	fresh := state.AtRest() || state == lifecycle.Starting && h.Ref().Life() <= 1
	if h.Spec().Sandbox == nil || fresh {
		resolve()
	}
	missed := h.Ref().Life()
	if fresh {
		missed = 0
	}
	a.watch = workbench.Find[*questions.Service](e.bench).Watch(h.Name(), missed)
	e.hosts[h.Name()] = a
	a.ref.Intercept(a.watch)
	a.ref.Intercept(a.own)
}

// closeEditor takes the workbench away from a host that is removed or gets another protocol. It
// ends with its last host.
func (s *services) closeEditor(h *supervisor.Host) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, e := range s.editors {
		a := e.hosts[h.Name()]
		if a == nil {
			continue
		}
		a.ref.Withdraw(a.own)
		a.ref.Withdraw(a.watch)
		delete(e.hosts, h.Name())
		e.guards.remove(h.Name())
		if len(e.hosts) > 0 {
			continue
		}
		delete(s.editors, name)
		if p, ok := h.Spec().Protocol.(*vscode.Protocol); ok {
			p.Follow(name, nil)
		}
		if err := e.bench.Close(); err != nil {
			s.tree.Log.Warn("workbench has not ended well", "host", h.Name(), "error", err)
		}
	}
}
