package attach

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec"
)

// Requests by which a client says what it wants to hear of an MCP server, before
// revision 2026-07-28.
const (
	methodSubscribe   = "resources/subscribe"
	methodUnsubscribe = "resources/unsubscribe"
	methodSetLevel    = "logging/setLevel"
)

// levels are those of MCP's log messages, from the least severe.
var levels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// wishes are what the clients want to hear of an MCP server. Its methods decide and do
// nothing else.
type wishes struct {
	watched map[string][]*client // resources that clients have subscribed to
	levels  map[*client]string   // the least severe messages that a client wants
	level   string               // that the life was asked for last; "": none, or it is not known
	asking  int                  // requests for a level that are under way
	crossed bool                 // there were two at once, which may have arrived in any order
}

// watch adds a subscription.
func (w *wishes) watch(c *client, uri string) {
	if w.watched == nil {
		w.watched = map[string][]*client{}
	}
	if !slices.Contains(w.watched[uri], c) {
		w.watched[uri] = append(w.watched[uri], c)
	}
}

// unwatch ends a subscription. It returns whether the host is to be told: no other
// client has one.
func (w *wishes) unwatch(c *client, uri string) bool {
	rest := slices.DeleteFunc(w.watched[uri], func(o *client) bool { return o == c })
	if len(rest) > 0 {
		w.watched[uri] = rest
		return false
	}
	delete(w.watched, uri)
	return true
}

// setLevel records what a client wants, "" for no wish. It returns the level that the
// host has to be asked for, "" if it need not be asked.
func (w *wishes) setLevel(c *client, level string) string {
	if w.levels == nil {
		w.levels = map[*client]string{}
	}
	if w.levels[c] = level; level == "" {
		delete(w.levels, c)
	}
	low := w.lowest()
	if low == w.level {
		return ""
	}
	return low
}

// lowest is the least severe level that a client wants, "" if none has said.
func (w *wishes) lowest() string {
	low := ""
	for _, level := range w.levels {
		if low == "" || slices.Index(levels, level) < slices.Index(levels, low) {
			low = level
		}
	}
	return low
}

// hears reports whether a client wants messages of a level. A client that has not said
// gets what the host sends, and a level that is not known is for all.
func (w *wishes) hears(c *client, level string) bool {
	n := slices.Index(levels, level)
	return n < 0 || w.levels[c] == "" || n >= slices.Index(levels, w.levels[c])
}

// left drops the wishes of a client. It returns the resources that nobody watches any
// more, sorted.
func (w *wishes) left(c *client) (unwatched []string) {
	for uri, watching := range w.watched {
		if slices.Contains(watching, c) && w.unwatch(c, uri) {
			unwatched = append(unwatched, uri)
		}
	}
	delete(w.levels, c)
	slices.Sort(unwatched)
	return unwatched
}

// resource is the URI that a subscription or an update is about.
func resource(params codec.Raw) string {
	var p struct {
		URI string `json:"uri"`
	}
	_ = json.Unmarshal(params, &p) // the host says what is wrong with it
	return p.URI
}

// severity is the level of a log message, or the one that is asked for.
func severity(params codec.Raw) string {
	var p struct {
		Level string `json:"level"`
	}
	_ = json.Unmarshal(params, &p) // the host says what is wrong with it
	return p.Level
}

func ofResource(uri string) codec.Raw { return encode(map[string]any{"uri": uri}) }

func ofLevel(level string) codec.Raw { return encode(map[string]any{"level": level}) }

// subscribe passes a subscription on. It counts from now on, so that another client's
// unsubscribing does not end it, unless the host refuses it.
func (c *client) subscribe(m *codec.Message) {
	h, uri := c.hub, resource(m.Params)
	h.mu.Lock()
	had := slices.Contains(h.wishes.watched[uri], c)
	h.wishes.watch(c, uri)
	h.mu.Unlock()
	c.attend(m.ID, m.Method, m.Params, nil, func(_ codec.Raw, err error) {
		if err != nil && !had {
			h.mu.Lock()
			h.wishes.unwatch(c, uri)
			h.mu.Unlock()
		}
	})
}

// unsubscribe passes the end of a subscription on if no other client has one.
func (c *client) unsubscribe(m *codec.Message) {
	h, uri := c.hub, resource(m.Params)
	h.mu.Lock()
	last := h.wishes.unwatch(c, uri)
	h.mu.Unlock()
	if !last {
		c.respond(m.ID, codec.Raw("{}"), nil)
		return
	}
	c.attend(m.ID, m.Method, m.Params, nil, func(codec.Raw, error) { h.subscribeAgain(uri) })
}

// subscribeAgain undoes the end of a subscription that a client has crossed with its own.
func (h *Hub) subscribeAgain(uri string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.wishes.watched[uri]) > 0 && h.line != nil {
		h.ask(h.line, methodSubscribe, ofResource(uri))
	}
}

// setLevel asks the host for the least severe messages that a client wants.
func (c *client) setLevel(m *codec.Message) {
	h, level := c.hub, severity(m.Params)
	if !slices.Contains(levels, level) {
		c.forward(m.ID, m.Method, m.Params, nil) // the host says what is wrong with it
		return
	}
	h.mu.Lock()
	w := &h.wishes
	before := w.levels[c]
	low := w.setLevel(c, level)
	if low == "" {
		h.mu.Unlock()
		c.respond(m.ID, codec.Raw("{}"), nil)
		return
	}
	w.level = low
	w.asking++
	w.crossed = w.crossed || w.asking > 1
	h.mu.Unlock()
	params := substitute(m.Params, func(json.RawMessage) json.RawMessage { return json.RawMessage(encode(low)) }, "level")
	c.attend(m.ID, m.Method, params, nil, func(_ codec.Raw, err error) {
		h.mu.Lock()
		defer h.mu.Unlock()
		w.asking--
		if err != nil && w.levels[c] == level {
			w.setLevel(c, before)
			w.level = ""
		}
		if w.crossed && w.asking == 0 {
			w.crossed = false
			h.askForLevel()
		}
	})
}

// askForLevel asks the present life for the level that the clients want. Under the
// lock.
func (h *Hub) askForLevel() {
	w := &h.wishes
	if w.level = w.lowest(); w.level != "" && h.line != nil {
		h.ask(h.line, methodSetLevel, ofLevel(w.level))
	}
}

// ask makes a request of the hub's own to a life, and waits for no answer.
func (h *Hub) ask(line *actors.Line, method string, params codec.Raw) {
	go func() { // ends with the request, the life at the latest
		err := line.Call(context.Background(), method, params, nil)
		h.mu.Lock()
		goesOn := h.line == line
		h.mu.Unlock()
		if err != nil && goesOn {
			h.log.Warn("the host does not take what clients have asked it for before", "host", h.host.Name(), "method", method, "params", string(params), "error", err)
		}
	}()
}

// withdrawWishes takes back what only a client that has left wanted to hear. Under
// the lock.
func (h *Hub) withdrawWishes(c *client) {
	unwatched := h.wishes.left(c)
	if h.line == nil {
		return
	}
	for _, uri := range unwatched {
		h.ask(h.line, methodUnsubscribe, ofResource(uri))
	}
	if low := h.wishes.lowest(); low != "" && low != h.wishes.level {
		h.askForLevel()
	}
}

// renewWishes tells a new life what the clients want to hear. Under the lock.
func (h *Hub) renewWishes() {
	uris := make([]string, 0, len(h.wishes.watched))
	for uri := range h.wishes.watched {
		uris = append(uris, uri)
	}
	slices.Sort(uris)
	for _, uri := range uris {
		h.ask(h.line, methodSubscribe, ofResource(uri))
	}
	h.askForLevel()
}

// spread tells those clients of a notification that want to hear it. It returns false
// if it is for all. Under the lock.
func (h *Hub) spread(m *codec.Message) bool {
	var wants func(*client) bool
	switch m.Method {
	case "notifications/message":
		level := severity(m.Params)
		wants = func(c *client) bool { return h.wishes.hears(c, level) }
	case "notifications/resources/updated":
		// An update may be about a part of what was subscribed to, and is for all then.
		watching := h.wishes.watched[resource(m.Params)]
		wants = func(c *client) bool { return len(watching) == 0 || slices.Contains(watching, c) }
	default:
		return false
	}
	for _, c := range h.clients {
		if wants(c) {
			c.hear(m.Method, m.Params)
		}
	}
	return true
}
