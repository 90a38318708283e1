package hosted

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/extensions/mcp"
	"github.com/hostsup/hostsup/extensions/plan"
	"github.com/hostsup/hostsup/extensions/service"
	"github.com/hostsup/hostsup/supervisor"
	"github.com/hostsup/hostsup/workbench"
	"github.com/hostsup/hostsup/workbench/tools"
)

// methodCommand executes a command in the host of its extension, which is activated first.
const methodCommand = "ExtHostCommands.$executeContributedCommand"

// newMCP returns an MCP server of a host.
func (s *services) newMCP(h *supervisor.Host, svc *service.Service, e *editor, allowed *plan.MCP) *mcp.Server {
	work := workbench.Find[*tools.Service](e.bench)
	return mcp.New(mcp.Options{
		Host: h.Name(), Log: s.tree.Log, MaxMessage: h.Spec().Limits.WithDefaults().Frame,
		Outlook: func(ctx context.Context, err *actors.HostError) string {
			if other, _ := s.tree.Supervisor.Host(err.Host); other != nil {
				return outlook(ctx, other, err)
			}
			return fmt.Sprintf("The host %q was removed.", err.Host)
		},
		List: func(ctx context.Context) ([]mcp.Tool, error) {
			offers, err := svc.Offers(ctx)
			if err != nil {
				return nil, closed(err)
			}
			var out []mcp.Tool
			if allowed.Languages { // first, so that a tool of an extension does not take a name of theirs
				out = languageTools(h, e)
			}
			work.Describe(offers.Manifests) // hosts tell it only when they have run
			for _, t := range work.Tools() {
				if allowed.Tools == nil || mcp.Allowed(t.ID, allowed.Tools) {
					out = append(out, modelTool(work, t))
				}
			}
			for _, c := range mcp.Commands(offers.Commands, offers.Manifests, allowed.Commands) {
				c.Invoke = command(h, c.ID)
				out = append(out, c)
			}
			mcp.Names(out)
			return out, nil
		},
	})
}

// modelTool returns a language model tool as a tool of MCP.
func modelTool(all *tools.Service, t tools.Tool) mcp.Tool {
	return mcp.Tool{
		ID: t.ID, Name: t.ID, Title: t.DisplayName, Description: t.ModelDescription, Schema: t.InputSchema, Of: "The tool " + t.ID,
		Invoke: func(ctx context.Context, input json.RawMessage, report func(mcp.Progress)) (*mcp.Result, error) {
			out, err := all.Invoke(ctx, t.ID, input, func(p tools.Progress) {
				done := -1.0
				if p.Done != nil {
					done = *p.Done
				}
				report(mcp.Progress{Message: p.Message, Done: done})
			})
			if err != nil {
				return nil, downError(err)
			}
			return mcp.ToolResult(out)
		},
	}
}

// command returns what executes a command with the input {"arguments": […]}.
func command(h *supervisor.Host, id string) func(context.Context, json.RawMessage, func(mcp.Progress)) (*mcp.Result, error) {
	return func(ctx context.Context, input json.RawMessage, _ func(mcp.Progress)) (*mcp.Result, error) {
		var in struct{ Arguments []any }
		if err := json.Unmarshal(input, &in); err != nil {
			return nil, &codec.Error{Name: codec.NameInvalidParams, Message: fmt.Sprintf("an object with a list, arguments, expected: %v", err)}
		}
		var out json.RawMessage
		if err := h.Call(ctx, methodCommand, workbench.Params(append([]any{id}, in.Arguments...)...), &out); err != nil {
			return nil, downError(err)
		}
		return mcp.CommandResult(out), nil
	}
}
