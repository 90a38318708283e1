package hosted

import (
	"context"
	"encoding/json"

	"github.com/hostsup/hostsup/attach"
	"github.com/hostsup/hostsup/codec/jsonrpc"
	"github.com/hostsup/hostsup/extensions/lsp"
	"github.com/hostsup/hostsup/extensions/mcp"
	"github.com/hostsup/hostsup/supervisor"
	"github.com/hostsup/hostsup/workbench"
	"github.com/hostsup/hostsup/workbench/diagnostics"
	"github.com/hostsup/hostsup/workbench/documents"
	"github.com/hostsup/hostsup/workbench/language"
	"github.com/hostsup/hostsup/workbench/languages"
)

// openLSP puts a language server in front of a host that is to have one.
func (s *services) openLSP(h *supervisor.Host) {
	offered, e := h.Spec().Extensions.LSP, s.household(h)
	if offered == nil || e == nil {
		return
	}
	bench := e.bench
	server := lsp.New(lsp.Options{
		Host: h.Name(), Log: s.tree.Log, MaxMessage: h.Spec().Limits.WithDefaults().Frame,
		Start:       func(ctx context.Context) error { return h.Raise(ctx) },
		Documents:   workbench.Find[*documents.Service](bench),
		Language:    workbench.Find[*language.Service](bench),
		Diagnostics: workbench.Find[*diagnostics.Service](bench),
		Known:       workbench.Find[*languages.Service](bench).Known,
		Allowed:     func(command string) bool { return mcp.Allowed(command, offered.Commands) },
		Execute: func(ctx context.Context, id string, args []json.RawMessage) (out json.RawMessage, err error) {
			params := []any{id}
			for _, a := range args {
				params = append(params, a)
			}
			return out, h.Call(ctx, methodCommand, workbench.Params(params...), &out)
		},
	})
	door := &attach.Door{Protocol: jsonrpc.Headers(jsonrpc.Options{}), Serve: server.Serve}
	s.servers.Store(h.Name(), &served{server, door.Open(h)})
}
