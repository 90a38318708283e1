package hosted

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/hostsup/hostsup/extensions/vscode"
	"github.com/hostsup/hostsup/lifecycle/record"
	"github.com/hostsup/hostsup/supervisor"
	"github.com/hostsup/hostsup/workbench"
	"github.com/hostsup/hostsup/workbench/accounts"
	"github.com/hostsup/hostsup/workbench/disk"
	"github.com/hostsup/hostsup/workbench/folders"
	"github.com/hostsup/hostsup/workbench/languages"
	"github.com/hostsup/hostsup/workbench/questions"
	"github.com/hostsup/hostsup/workbench/settings"
	"github.com/hostsup/hostsup/workbench/status"
	"github.com/hostsup/hostsup/workbench/terminals"
	"github.com/hostsup/hostsup/workbench/tools"
	"github.com/hostsup/hostsup/workbench/views"
	"github.com/hostsup/hostsup/workbench/watch"
)

// Workspace implements [vscode.Editor].
func (d described) Workspace() *vscode.Present { return d.work.Workspace() }

// editorOf returns what the services of a workbench have for the start of hosts.
func editorOf(w *workbench.Workbench) vscode.Editor {
	return described{
		workbench.Find[*settings.Service](w), workbench.Find[*languages.Service](w), workbench.Find[*tools.Service](w),
		workbench.Find[*accounts.Service](w), workbench.Find[*folders.Service](w),
		workbench.Find[*terminals.Service](w), workbench.Find[*views.Service](w),
	}
}

// foldersOf returns the workspace of a host and those beside it. Changes of it are told to what
// depends on it.
func (s *services) foldersOf(h *supervisor.Host, p *vscode.Protocol, config *settings.Service, watcher *watch.Service) *folders.Service {
	return folders.New(folders.Options{
		Workspace: p.Options().Workspace, Report: s.reporter(h, record.KindWorkspace),
		Changed: func(dirs []string) {
			watcher.SetFolders(dirs)
			config.SetFolders(dirs)
		},
		Changing: func(dirs []string) { // hosts ask at once what new folders contain
			if svc := s.serviceOf(h); svc != nil {
				svc.SetWorkspace(dirs)
			}
		},
	})
}

// guards are those of the hosts of a household. The zero value is ready.
type guards struct {
	mu  sync.Mutex
	all map[string]*disk.Confined // by host
}

// add makes the guard of a host.
func (g *guards) add(host string) *disk.Confined {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.all == nil {
		g.all = map[string]*disk.Confined{}
	}
	g.all[host] = disk.NewConfined()
	return g.all[host]
}

func (g *guards) remove(host string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.all, host)
}

// of returns the guard of a host; nil if it is not confined now.
func (g *guards) of(host string) workbench.Guard {
	g.mu.Lock()
	defer g.mu.Unlock()
	if one := g.all[host]; one != nil && one.Confines() {
		return one
	}
	return nil
}

// readable returns an error if one of the hosts is confined and must not read a file: the text of a
// document goes to all of them.
func (g *guards) readable(path string) error {
	g.mu.Lock()
	all := slices.Collect(maps.Values(g.all))
	g.mu.Unlock()
	for _, one := range all {
		if !one.Confines() {
			continue
		}
		if err := workbench.Allowed(one, path, workbench.Read); err != nil {
			return err
		}
	}
	return nil
}

// settingsOf returns the settings for a host and those beside it.
func (s *services) settingsOf(h *supervisor.Host, p *vscode.Protocol, g *guards) *settings.Service {
	opt := p.Options()
	o := settings.Options{
		UserFile: opt.SettingsFile, Home: p.EditorHome(nameOf(h)), Defaults: opt.Defaults, Fixed: opt.Settings,
		Guard: g.of, Watch: settings.Watch, Report: s.reporter(h, record.KindSettings),
	}
	if w := opt.Workspace; w != nil {
		o.Folders, o.Untrusted = w.Folders, w.Untrusted
	}
	return settings.New(o)
}

// reporter returns a function that writes events about a host.
func (s *services) reporter(h *supervisor.Host, kind string) func(reason string) {
	return func(reason string) {
		name, group := h.Name(), h.Group()
		s.tree.Journal.Write(record.Event{Kind: kind, Host: &name, Group: &group, Reason: s.tree.Redact(reason)})
	}
}

// questionsOf returns what takes the messages and questions of extensions.
func (s *services) questionsOf(h *supervisor.Host, p *vscode.Protocol) *questions.Service {
	return questions.New(questions.Options{Questions: p.Options().Questions, Report: s.messages(h)})
}

// messages returns a function that writes what the user would be told, about a host of a household.
func (s *services) messages(h *supervisor.Host) func(host, text string) {
	return func(host, text string) { s.said(h, record.KindMessage, host, text) }
}

// statusOf returns what takes the status and progress of extensions.
func (s *services) statusOf(h *supervisor.Host) *status.Service {
	return status.New(status.Options{Redact: s.tree.Redact, Report: func(e status.Event) {
		kind := record.KindStatus
		if e.Progress {
			kind = record.KindProgress
		}
		s.said(h, kind, e.Host, e.Text)
	}})
}

// said writes what a window would show, about a host of the household of h.
func (s *services) said(h *supervisor.Host, kind, host, text string) {
	group := h.Group()
	s.tree.Journal.Write(record.Event{Kind: kind, Host: &host, Group: &group, Reason: s.tree.Redact(text)})
}

// accountsOf returns the accounts for the extensions of a host and those beside it.
func (s *services) accountsOf(h *supervisor.Host, p *vscode.Protocol) *accounts.Service {
	return accounts.New(accounts.Options{
		Providers: s.part.Accounts, Allow: s.part.AllowAccount, Listed: p.Options().Accounts,
		Activate: func(ctx context.Context, event string) error { return s.activateFor(ctx, h, event) },
		Runs: func(ctx context.Context, host, extension string) (bool, error) {
			svc := s.serviceOf(h)
			if svc == nil { // its extensions are known to the host alone, and there are no hosts beside
				return true, nil
			}
			runs, err := svc.Runs(ctx, host, extension)
			return runs, closed(err)
		},
		Hold: s.tree.Hold, Report: s.messages(h),
	})
}

// nameOf returns the name of a host; "" for nil, whose workbench only lists its methods.
func nameOf(h *supervisor.Host) string {
	if h == nil {
		return ""
	}
	return h.Name()
}
