package attach

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec"
)

// rootsChanged is the news after which a host asks for the roots.
const rootsChanged = "notifications/roots/list_changed"

// mcp is the Model Context Protocol in both of its generations: with the handshake,
// up to revision 2025-11-25, and without it, from 2026-07-28 on. A life speaks one of
// them, see Hub.sessionless.
type mcp struct{}

func (mcp) came(*client)                       {}
func (mcp) failed() int64                      { return codeInternal }
func (mcp) opening(params codec.Raw) codec.Raw { return params }

// sameOpening: without the handshake, each request says itself what its client can.
func (mcp) sameOpening(have, params codec.Raw) bool {
	return sameJSON(have, params) || isSessionless(versionOf(have)) && isSessionless(versionOf(params))
}

func (mcp) reopening(h *Hub) codec.Raw                       { return h.opening }
func (mcp) sameRoots(_, _ codec.Raw) bool                    { return true }
func (mcp) roots(codec.Raw) string                           { return "" }
func (mcp) asked(_ *Hub, c *client, _ string) actors.Handler { return c.passOn() }

// reply: whether this side lives needs no client.
func (mcp) reply(_ *Hub, m *codec.Message) *codec.Message {
	if m.Method != "ping" {
		return nil
	}
	return &codec.Message{Result: codec.Raw("{}")}
}

func (mcp) purpose(method string) purpose {
	p := purpose{likely: "tools/call"}
	switch method {
	case "sampling/createMessage":
		p.needs = []string{"sampling"}
	case "elicitation/create":
		p.needs = []string{"elicitation"}
	case "roots/list":
		p.needs, p.likely = []string{"roots"}, rootsChanged
	}
	return p
}

// related finds the client whose call the host has made a task of, to which the
// request belongs.
func (mcp) related(h *Hub, m *codec.Message) *client {
	const key = "io.modelcontextprotocol/related-task"
	if !bytes.Contains(m.Params, []byte(key)) {
		return nil
	}
	var p struct {
		Meta map[string]json.RawMessage `json:"_meta"`
	}
	var of struct {
		TaskID string `json:"taskId"`
	}
	if json.Unmarshal(m.Params, &p) != nil || json.Unmarshal(p.Meta[key], &of) != nil {
		return nil
	}
	return h.tasks[of.TaskID]
}

// maxTasks bounds the tasks of all clients that are known. What the host asks for
// further ones is attributed as what belongs to no task.
const maxTasks = 16 << 10

// begun notes whose task the host has made of a call.
func (h *Hub) begun(c *client, result codec.Raw) {
	var p struct {
		Task struct {
			TaskID string `json:"taskId"`
		} `json:"task"`
	}
	if !bytes.Contains(result, []byte(`"taskId"`)) || json.Unmarshal(result, &p) != nil || p.Task.TaskID == "" {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.tasks) < maxTasks && slices.Contains(h.clients, c) {
		h.tasks[p.Task.TaskID] = c
	}
}

func (mcp) causes(method string) bool { return method != methodListen && method != rootsChanged }

func (mcp) request(c *client, m *codec.Message) error {
	h := c.hub
	switch m.Method {
	case "initialize":
		params, id := m.Params, m.ID
		h.mu.Lock()
		c.capabilities = capabilitiesOf(params)
		c.generation = generation(isSessionless(versionOf(params)))
		h.mu.Unlock()
		c.work.Go(func() {
			result, err := h.start(c.starting, c, params)
			c.welcome(id, result, err)
		})
		return nil
	case "ping":
		c.respond(m.ID, codec.Raw("{}"), nil)
		return nil
	}
	if err := c.admit(m.Params); err != nil {
		c.respond(m.ID, nil, err)
		return nil
	}
	h.mu.Lock()
	sessionless := h.sessionless
	h.mu.Unlock()
	switch {
	case sessionless && m.Method == methodListen:
		c.listen(m)
		return nil
	case sessionless:
	case m.Method == methodSubscribe:
		c.subscribe(m)
		return nil
	case m.Method == methodUnsubscribe:
		c.unsubscribe(m)
		return nil
	case m.Method == methodSetLevel:
		c.setLevel(m)
		return nil
	}
	var tokens []string
	params := h.rename(c, m.Params, &tokens, "_meta", "progressToken")
	c.attend(m.ID, m.Method, params, tokens, func(result codec.Raw, err error) {
		if err == nil {
			h.begun(c, result)
		}
	})
	return nil
}

func (mcp) notification(c *client, m *codec.Message) error {
	if m.Method == "notifications/initialized" {
		return nil // the host was told when its life began
	}
	c.hub.tell(c.ctx, m.Method, m.Params, func() bool {
		if m.Method == rootsChanged {
			c.news = m.Method
		}
		return true
	})
	return nil
}

// offered says whether the host named a capability in its answer to the handshake.
func (h *Hub) offered(name string) bool {
	o, _ := readObject(h.result)
	caps, _ := readObject(o["capabilities"])
	_, ok := caps[name]
	return ok
}

func (mcp) up(h *Hub) {
	h.recognize()
	if h.sessionless {
		h.renewListening()
	} else {
		h.renewWishes()
	}
	if h.lives == 1 {
		return
	}
	for _, list := range []string{"tools", "resources", "prompts"} {
		if h.offered(list) {
			h.listChanged(list)
		}
	}
}

func (mcp) down(h *Hub) {
	h.lacks = ""
	clear(h.tasks)
	for _, c := range h.clients {
		c.news = ""
	}
	h.wishes.level = ""
	h.heard.clear()
}

func (mcp) notified(h *Hub, m *codec.Message) (*client, codec.Raw) {
	switch {
	case h.sessionless && h.listened(m), h.spread(m):
		return nobody, nil
	case m.Method != "notifications/progress" || !bytes.Contains(m.Params, []byte("progressToken")):
		return nil, m.Params
	}
	return h.owner(m.Params, "progressToken")
}

func (mcp) describe() (name, slow string) {
	return "the MCP server", "it is still being installed, or loads, or speaks no MCP on its standard streams"
}

// severities are the levels of the log messages that notices become.
var severities = [...]string{info: "info", warning: "warning", severe: "error"}

// show sends a log message if the host has told its clients that there are some, and the
// client wants those of that level. In the generation without the handshake they belong to
// requests of clients.
func (mcp) show(h *Hub, c *client, n notice) bool {
	level := severities[n.gravity]
	if h.sessionless || !h.offered("logging") || !h.wishes.hears(c, level) {
		return false
	}
	c.notify("notifications/message", encode(map[string]any{"level": level, "logger": "hostsup", "data": n.text}))
	return true
}

func (mcp) left(h *Hub, c *client) []codec.Message {
	maps.DeleteFunc(h.tasks, func(_ string, o *client) bool { return o == c })
	h.withdrawWishes(c)
	h.stopListening(c)
	return nil
}
