package attach

import (
	"context"
	"encoding/json"
	"errors"
	"path"
	"slices"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec"
)

// inTurn runs f while no other client brings the host to another text of a document:
// what f has the host told, and what f asks then, arrive together. It does nothing
// if ctx ends before.
func (h *Hub) inTurn(ctx context.Context, f func()) {
	select {
	case h.turn <- struct{}{}:
		defer func() { <-h.turn }()
		f()
	case <-ctx.Done():
	}
}

// carry does act under the lock and tells the host what follows from it. It must be
// called in turn, and waits while the host does not read.
func (h *Hub) carry(ctx context.Context, act func() outcome) {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := act()
	h.warn(out)
	line := h.line
	for _, m := range out.host {
		if !h.put(ctx, line, m.Method, m.Params) && line != nil && h.line == line {
			_ = line.Tell(m.Method, m.Params) // the client leaves, and others have the document open
		}
	}
}

// brings gives the host what a client has of the document or notebook that its message
// is about. Under the lock.
func (h *Hub) brings(c *client, params codec.Raw) outcome {
	var p struct {
		about
		NotebookDocument struct {
			URI string `json:"uri"`
		} `json:"notebookDocument"`
	}
	_ = json.Unmarshal(params, &p) // what is no object is about none
	if out := h.books.asks(c, p.NotebookDocument.URI, p.TextDocument.URI); len(out.host) > 0 {
		return out
	}
	return h.docs.asks(c, p.TextDocument.URI)
}

// warn tells clients that the host has another text of a document than theirs.
// Under the lock.
func (h *Hub) warn(out outcome) {
	for _, c := range out.apart {
		if slices.Contains(h.clients, c) {
			c.show(asWarning, path.Base(out.uri)+" has another text in another program that shares this server. The server sees the text of the program that edits it or asks about it last")
		}
	}
}

// put hands a notification to a life and waits while that does not read. It returns
// false if the life is over, of which the next one is told what matters, or if ctx has
// ended. Under the lock, which is not held while put waits.
func (h *Hub) put(ctx context.Context, line *actors.Line, method string, params codec.Raw) bool {
	for line != nil && h.line == line {
		space, err := line.Notify(method, params)
		if !errors.Is(err, actors.ErrBusy) {
			return true // sent, or the end of this life, which the hub is told of
		}
		h.mu.Unlock()
		select {
		case <-space:
		case <-ctx.Done():
		}
		h.mu.Lock()
		if ctx.Err() != nil {
			return false
		}
	}
	return false
}
