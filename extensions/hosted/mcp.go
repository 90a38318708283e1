package hosted

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/extensions/mcp"
	"github.com/hostsup/hostsup/extensions/plan"
	"github.com/hostsup/hostsup/extensions/service"
	"github.com/hostsup/hostsup/supervisor"
	"github.com/hostsup/hostsup/workbench"
	"github.com/hostsup/hostsup/workbench/status"
	"github.com/hostsup/hostsup/workbench/tools"
)

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
			by := mcp.Contributors(offers.Manifests)
			for _, c := range mcp.Commands(offers.Commands, offers.Manifests, allowed.Commands) {
				c.Invoke = command(h, e, by[c.ID], c.ID)
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

// command returns what executes a command of an extension with the input {"arguments": […]}.
func command(h *supervisor.Host, e *editor, extension, id string) func(context.Context, json.RawMessage, func(mcp.Progress)) (*mcp.Result, error) {
	return func(ctx context.Context, input json.RawMessage, report func(mcp.Progress)) (*mcp.Result, error) {
		var in struct{ Arguments []any }
		if err := json.Unmarshal(input, &in); err != nil {
			return nil, &codec.Error{Name: codec.NameInvalidParams, Message: fmt.Sprintf("an object with a list, arguments, expected: %v", err)}
		}
		out, err := e.execute(ctx, h, extension, id, in.Arguments, func(u status.Update) {
			if u.Ended {
				return
			}
			p := mcp.Progress{Message: strings.TrimPrefix(u.Title+": "+u.Message, ": "), Done: -1}
			if u.Message == "" {
				p.Message = u.Title
			}
			if u.Percent != nil {
				p.Done = *u.Percent / 100
			}
			report(p)
		})
		if err != nil {
			return nil, downError(err)
		}
		return mcp.CommandResult(out), nil
	}
}
