package attach

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec"
)

// mcp is the Model Context Protocol.
type mcp struct{}

func (mcp) came(*client)                                     {}
func (mcp) failed() int64                                    { return codeInternal }
func (mcp) opening(params codec.Raw) codec.Raw               { return params }
func (mcp) sameOpening(_, _ codec.Raw) bool                  { return true }
func (mcp) reopening(h *Hub) codec.Raw                       { return h.opening }
func (mcp) sameRoots(_, _ codec.Raw) bool                    { return true }
func (mcp) roots(codec.Raw) string                           { return "" }
func (mcp) asked(_ *Hub, c *client, _ string) actors.Handler { return c.passOn() }

func (mcp) request(c *client, m *codec.Message) error {
	h := c.hub
	switch m.Method {
	case "initialize":
		params, id := m.Params, m.ID
		c.work.Go(func() {
			result, err := h.start(c.starting, c, params)
			if err == nil && result == nil {
				// A host of the generation without sessions: it says so itself.
				c.forward(id, "initialize", params, nil)
				c.hub.mu.Lock()
				c.greeted = true
				c.hub.mu.Unlock()
				c.meet()
				return
			}
			c.welcome(id, result, err)
		})
		return nil
	case "ping":
		c.respond(m.ID, codec.Raw("{}"), nil)
		return nil
	}
	h.mu.Lock()
	// Without initialize it is of the generation that has none.
	c.introduced, c.greeted = true, true
	c.meet()
	switch m.Method {
	case "resources/subscribe":
		h.watched[resource(m.Params)]++
	case "resources/unsubscribe":
		if uri := resource(m.Params); h.watched[uri] > 1 {
			h.watched[uri]--
			h.mu.Unlock()
			c.respond(m.ID, codec.Raw("{}"), nil) // somebody else still wants to hear of it
			return nil
		}
		delete(h.watched, resource(m.Params))
	}
	h.mu.Unlock()
	var tokens []string
	params := h.rename(c, m.Params, &tokens, "_meta", "progressToken")
	c.forward(m.ID, m.Method, params, tokens)
	return nil
}

func resource(params codec.Raw) string {
	var p struct {
		URI string `json:"uri"`
	}
	_ = json.Unmarshal(params, &p) // the host says what is wrong with it
	return p.URI
}

func (mcp) notification(c *client, m *codec.Message) error {
	if m.Method == "notifications/initialized" {
		return nil // the host was told when its life began
	}
	c.hub.tell(c.ctx, m.Method, m.Params, nil)
	return nil
}

// offered says whether the host named a capability in its answer to initialize.
func (h *Hub) offered(name string) bool {
	o, _ := readObject(h.result)
	caps, _ := readObject(o["capabilities"])
	_, ok := caps[name]
	return ok
}

func (mcp) up(h *Hub) {
	for uri := range h.watched {
		go func() { // ends with the request, the life at the latest
			if err := h.host.Call(context.Background(), "resources/subscribe", map[string]any{"uri": uri}, nil); err != nil {
				h.log.Warn("a subscription is lost", "host", h.host.Name(), "uri", uri, "error", err)
			}
		}()
	}
	if h.lives == 1 {
		return
	}
	for _, list := range []string{"tools", "resources", "prompts"} {
		if h.offered(list) {
			h.broadcast("notifications/"+list+"/list_changed", nil)
		}
	}
}

func (mcp) down(*Hub) {}

func (mcp) notified(h *Hub, m *codec.Message) (*client, codec.Raw) {
	if m.Method != "notifications/progress" || !bytes.Contains(m.Params, []byte("progressToken")) {
		return nil, m.Params
	}
	return h.owner(m.Params, "progressToken")
}

func (mcp) left(*Hub, *client) []codec.Message { return nil }
