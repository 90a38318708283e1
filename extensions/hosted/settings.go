package hosted

import (
	"github.com/hostsup/hostsup/extensions/vscode"
	"github.com/hostsup/hostsup/lifecycle/record"
	"github.com/hostsup/hostsup/supervisor"
	"github.com/hostsup/hostsup/workbench/settings"
)

// settingsOf returns the settings for a host and those beside it.
func (s *services) settingsOf(h *supervisor.Host, p *vscode.Protocol) *settings.Service {
	opt := p.Options()
	o := settings.Options{
		UserFile: opt.SettingsFile, Home: p.EditorHome(nameOf(h)), Defaults: opt.Defaults, Fixed: opt.Settings,
		Watch: settings.Watch, Report: s.reporter(h, record.KindSettings),
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

// nameOf returns the name of a host; "" for nil, whose workbench only lists its methods.
func nameOf(h *supervisor.Host) string {
	if h == nil {
		return ""
	}
	return h.Name()
}
