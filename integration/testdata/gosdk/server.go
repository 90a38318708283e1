package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const newest = "2026-07-28" // the first revision without the handshake

// modern and legacy are the generations, as the tool "era" names them.
const (
	modern = "modern"
	legacy = "legacy"
)

type nothing struct{}

func text(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}

func newServer() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "gosdk", Version: "1"}, nil)
	var more atomic.Int32
	tool := func(name string, f func(context.Context, *mcp.CallToolRequest) string) {
		mcp.AddTool(s, &mcp.Tool{Name: name, Description: "x"}, func(ctx context.Context, r *mcp.CallToolRequest, _ nothing) (*mcp.CallToolResult, any, error) {
			return text(f(ctx, r)), nil, nil
		})
	}
	tool("era", func(_ context.Context, r *mcp.CallToolRequest) string {
		if v, _ := r.Params.GetMeta()[mcp.MetaKeyProtocolVersion].(string); v >= newest {
			return modern
		}
		return legacy
	})
	tool("more", func(context.Context, *mcp.CallToolRequest) string {
		name := fmt.Sprintf("more-%d", more.Add(1))
		tool(name, func(context.Context, *mcp.CallToolRequest) string { return "" })
		return name
	})
	tool("never", func(ctx context.Context, r *mcp.CallToolRequest) string {
		if token := r.Params.GetProgressToken(); token != nil { // so that the caller knows that it has begun
			_ = r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: 1})
		}
		<-ctx.Done()
		return "taken back"
	})
	return s
}

func serveStdio(ctx context.Context) error {
	err := newServer().Run(ctx, &mcp.StdioTransport{})
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

func serveHTTP(ctx context.Context, address string) error {
	server := newServer()
	get := func(*http.Request) *mcp.Server { return server }
	sessions := mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{EventStore: mcp.NewMemoryEventStore(nil)})
	sessionless := mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{Stateless: true})
	// The SDK has the newest revision in handlers without sessions only.
	handler := func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Protocol-Version") >= newest {
			sessionless.ServeHTTP(w, r)
			return
		}
		sessions.ServeHTTP(w, r)
	}
	s := &http.Server{Addr: address, Handler: http.HandlerFunc(handler)}
	context.AfterFunc(ctx, func() { _ = s.Close() })
	return s.ListenAndServe()
}
