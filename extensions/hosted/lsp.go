package hosted

import (
	"context"
	"encoding/json"

	"github.com/hostsup/hostsup/extensions/lsp"
	"github.com/hostsup/hostsup/extensions/mcp"
	"github.com/hostsup/hostsup/extensions/plan"
	"github.com/hostsup/hostsup/extensions/service"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/supervisor"
	"github.com/hostsup/hostsup/workbench"
	"github.com/hostsup/hostsup/workbench/diagnostics"
	"github.com/hostsup/hostsup/workbench/documents"
	"github.com/hostsup/hostsup/workbench/language"
	"github.com/hostsup/hostsup/workbench/languages"
	"github.com/hostsup/hostsup/workbench/status"
)

// newLSP returns a language server of a host.
func (s *services) newLSP(h *supervisor.Host, svc *service.Service, e *editor, offered *plan.LSP) *lsp.Server {
	bench := e.bench
	return lsp.New(lsp.Options{
		Host: h.Name(), Log: s.tree.Log, MaxMessage: h.Spec().Limits.WithDefaults().Frame,
		Start:       func(ctx context.Context) error { return h.Raise(ctx) },
		Documents:   workbench.Find[*documents.Service](bench),
		Language:    workbench.Find[*language.Service](bench),
		Diagnostics: workbench.Find[*diagnostics.Service](bench),
		Known:       workbench.Find[*languages.Service](bench).Known,
		Allowed:     func(command string) bool { return mcp.Allowed(command, offered.Commands) },
		Running:     func() bool { return h.State() == lifecycle.Running },
		Progress:    workbench.Find[*status.Service](bench),
		Execute: func(ctx context.Context, id string, args []json.RawMessage, report func(status.Update)) (json.RawMessage, error) {
			offers, err := svc.Offers(ctx)
			if err != nil {
				return nil, closed(err)
			}
			var params []any
			for _, a := range args {
				params = append(params, a)
			}
			return e.execute(ctx, h, mcp.Contributors(offers.Manifests)[id], id, params, report)
		},
	})
}
