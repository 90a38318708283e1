package hosted

import (
	"context"

	"github.com/hostsup/hostsup/extensions/vscode"
	"github.com/hostsup/hostsup/supervisor"
	"github.com/hostsup/hostsup/workbench/documents"
)

// documentsOf returns the documents of a household.
func (s *services) documentsOf(h *supervisor.Host, p *vscode.Protocol, langs documents.Languages) *documents.Service {
	opt := documents.Options{Languages: langs, Opened: func(ctx context.Context, language string) {
		// Extensions that fail to become active are reported by their service.
		_ = s.Activate(ctx, p.Household(h.Name()), "onLanguage:"+language)
	}}
	if s.tree.Log != nil {
		opt.Warn = s.tree.Log.Warn
	}
	return documents.New(opt)
}
