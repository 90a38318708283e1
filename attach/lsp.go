package attach

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec"
)

// lsp is the Language Server Protocol, version 3.17.
type lsp struct{}

func (lsp) came(*client) {}

func (lsp) failed() int64 { return codeRequestFailed }

// opening leaves the process to be watched to the handshake: the client's may
// be of another namespace, and the host is not its child. Of the encodings of positions
// it offers UTF-16 alone, which all servers know and almost all clients, so that those
// which come later, and later versions of the server, count alike.
func (lsp) opening(params codec.Raw) codec.Raw {
	o, ok := readObject(params)
	if !ok {
		return codec.Raw("{}")
	}
	delete(o, "processId")
	out := encode(o)
	if slices.Contains(named(out), defaultEncoding) {
		return pinned(out, defaultEncoding)
	}
	return out
}

// sameOpening compares all but what differs between two runs of one editor.
func (l lsp) sameOpening(have, params codec.Raw) bool {
	of := func(raw codec.Raw) codec.Raw {
		o, _ := readObject(raw)
		for _, name := range [...]string{"processId", "workDoneToken", "trace", "rootPath", "rootUri", "workspaceFolders"} {
			delete(o, name)
		}
		return encode(o)
	}
	return l.sameRoots(have, params) && sameJSON(of(have), of(l.opening(params)))
}

// reopening offers the next life no other encoding of positions than the one that
// clients use.
func (lsp) reopening(h *Hub) codec.Raw {
	for _, c := range h.clients {
		if c.told != nil && !c.leaving {
			return pinned(h.opening, offerOf(c.told).encoding)
		}
	}
	return h.opening
}

func (lsp) sameRoots(a, b codec.Raw) bool { return slices.Equal(folders(a), folders(b)) }

func (lsp) suits(*Hub, codec.Raw) error { return nil }

func (lsp) roots(params codec.Raw) string {
	if f := folders(params); len(f) > 0 {
		return strings.Join(f, ", ")
	}
	return "no folder"
}

// folders are the workspace folders of a client, or its one root.
func folders(params codec.Raw) []string {
	var p struct {
		RootPath         *string `json:"rootPath"`
		RootURI          *string `json:"rootUri"`
		WorkspaceFolders []struct {
			URI string `json:"uri"`
		} `json:"workspaceFolders"`
	}
	_ = json.Unmarshal(params, &p) // what is no object has no folder
	var out []string
	for _, f := range p.WorkspaceFolders {
		out = append(out, f.URI)
	}
	switch {
	case len(out) > 0:
	case p.RootURI != nil:
		out = []string{*p.RootURI}
	case p.RootPath != nil:
		out = []string{"file://" + *p.RootPath}
	}
	for i := range out {
		out[i] = strings.TrimSuffix(out[i], "/")
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (lsp) request(c *client, m *codec.Message) error {
	h := c.hub
	switch m.Method {
	case "initialize":
		params, id := m.Params, m.ID
		h.mu.Lock()
		c.capabilities = capabilitiesOf(params)
		h.mu.Unlock()
		c.work.Go(func() {
			result, err := h.start(c.starting, c, params)
			if err == nil {
				err = h.meets(c, params, result)
			}
			c.welcome(id, result, err)
		})
		return nil
	case "shutdown":
		h.mu.Lock()
		c.leaving = true
		h.resign(c)
		h.mu.Unlock()
		c.respond(m.ID, nil, nil)
		return nil
	}
	h.mu.Lock()
	introduced, leaving := c.introduced, c.leaving
	h.mu.Unlock()
	switch {
	case leaving:
		c.respond(m.ID, nil, &codec.Error{Code: codeInvalidRequest, Message: "a request after shutdown"})
	case !introduced:
		c.respond(m.ID, nil, &codec.Error{Code: codeNotInitialized, Message: m.Method + " before initialize was answered"})
	default:
		c.inquire(m)
	}
	return nil
}

func (lsp) notification(c *client, m *codec.Message) error {
	h := c.hub
	h.mu.Lock()
	speaks := c.introduced && !c.leaving
	h.mu.Unlock()
	switch {
	case m.Method == "exit":
		return errExit
	case !speaks:
		return nil // the protocol drops it
	case m.Method == "initialized":
		h.mu.Lock()
		c.settled = true // the host was told when its life began
		h.handOver()
		h.mu.Unlock()
		return nil
	}
	switch m.Method {
	case "workspace/didChangeConfiguration":
		h.tell(c.ctx, m.Method, m.Params, func() bool { h.settings = m.Params; return true })
	case "workspace/didChangeWorkspaceFolders":
		h.tell(c.ctx, m.Method, m.Params, func() bool { h.moveFolders(m.Params); return true })
	case methodDidOpen:
		h.inTurn(c.ctx, func() { h.carry(c.ctx, func() outcome { return h.didOpen(c, m.Params) }) })
	case methodDidChange:
		h.inTurn(c.ctx, func() { h.carry(c.ctx, func() outcome { return h.didChange(c, m.Params) }) })
	case methodDidClose:
		h.inTurn(c.ctx, func() { h.carry(c.ctx, func() outcome { return h.docs.didClose(c, m.Params) }) })
	case methodNotebookOpen:
		h.inTurn(c.ctx, func() { h.carry(c.ctx, func() outcome { return h.books.didOpen(c, m.Params) }) })
	case methodNotebookChange:
		h.inTurn(c.ctx, func() { h.carry(c.ctx, func() outcome { return h.changeNotebook(c, m.Params) }) })
	case methodNotebookClose:
		h.inTurn(c.ctx, func() { h.carry(c.ctx, func() outcome { return h.books.didClose(c, m.Params) }) })
	case "window/workDoneProgress/cancel":
		h.tell(c.ctx, m.Method, h.ownToken(c, m.Params), nil)
	default:
		h.inTurn(c.ctx, func() {
			h.carry(c.ctx, func() outcome {
				out := h.brings(c, m.Params)
				out.host = append(out.host, codec.Message{Method: m.Method, Params: m.Params})
				return out
			})
		})
	}
	return nil
}

// moveFolders lets the next life be opened with the folders that there are now.
func (h *Hub) moveFolders(params codec.Raw) {
	type folder struct {
		URI  string `json:"uri"`
		Name string `json:"name"`
	}
	var p struct {
		Event struct {
			Added   []folder `json:"added"`
			Removed []folder `json:"removed"`
		} `json:"event"`
	}
	o, ok := readObject(h.opening)
	if !ok || json.Unmarshal(params, &p) != nil {
		return
	}
	var have []folder
	_ = json.Unmarshal(o["workspaceFolders"], &have) // null, or missing: none
	have = slices.DeleteFunc(have, func(f folder) bool {
		return slices.ContainsFunc(p.Event.Removed, func(r folder) bool { return r.URI == f.URI })
	})
	o["workspaceFolders"] = json.RawMessage(encode(append(have, p.Event.Added...)))
	h.opening = encode(o)
}

// didOpen opens a document for a client, which is told what the host has published
// about it while others had it open.
func (h *Hub) didOpen(c *client, params codec.Raw) outcome {
	out, known := h.docs.didOpen(c, params)
	if known && len(out.host) == 0 {
		h.replay(c, subject(params))
	}
	return out
}

// didChange changes the text of a document. What cannot be changed is shown to the
// person behind the client.
func (h *Hub) didChange(c *client, params codec.Raw) outcome {
	out, err := h.docs.didChange(c, params, h.terms())
	if err != nil {
		c.show(asError, err.Error())
	}
	return out
}

// changeNotebook changes a notebook as didChange does a document.
func (h *Hub) changeNotebook(c *client, params codec.Raw) outcome {
	out, err := h.books.didChange(c, params, h.terms())
	if err != nil {
		c.show(asError, err.Error())
	}
	return out
}

// Types of window/showMessage.
const (
	asError   = 1
	asWarning = 2
	asInfo    = 3
)

func (lsp) describe() (name, slow string) {
	return "the language server", "it is still loading, or it speaks no LSP on its standard streams: many need an argument such as --stdio for that"
}

// show: the protocol allows the message also before initialize is answered.
func (lsp) show(_ *Hub, c *client, n notice) bool {
	c.show([...]int{info: asInfo, warning: asWarning, severe: asError}[n.gravity], n.text)
	return true
}

// show shows a message to the person behind a client.
func (c *client) show(as int, text string) {
	c.notify("window/showMessage", encode(map[string]any{"type": as, "message": "hostsup: " + text}))
}

// meets notes what a client is told, unless it cannot speak to the host so.
func (h *Hub) meets(c *client, params, result codec.Raw) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := unspoken(h.host.Name(), params, result); err != nil {
		c.introduced = false
		return err
	}
	if reason := offerOf(result).differs(h.offer); reason != "" { // it is another life's already
		c.introduced = false
		return fmt.Errorf("host %q has come back different: %s", h.host.Name(), reason)
	}
	c.told = result
	return nil
}

// terms are how changes are told to the present life.
func (h *Hub) terms() terms { return terms{h.offer.encoding, h.offer.sync == syncWhole} }

func (lsp) up(h *Hub) {
	h.revoke(h.ended) // of a life that never got so far
	h.offer = offerOf(h.result)
	h.dismiss()
	h.markMissed()
	if h.settings != nil && h.line.Tell("workspace/didChangeConfiguration", h.settings) != nil {
		return
	}
	for _, d := range h.docs.all() {
		if err := h.line.Tell("textDocument/didOpen", d.opened()); err != nil {
			return // that life is over; the next one is told
		}
	}
	for _, n := range h.books.all() {
		if err := h.line.Tell(methodNotebookOpen, n.views[len(n.views)-1].opened()); err != nil {
			return
		}
	}
	if h.lives > 1 {
		h.refresh()
	}
}

func (lsp) down(h *Hub) {
	h.withdraw()
	h.endWorks()
	h.revoke(h.ended)
}

func (lsp) notified(h *Hub, m *codec.Message) (*client, codec.Raw) {
	switch m.Method {
	case methodDiagnostics:
		h.publish(m.Params)
		return nobody, nil
	case "$/progress":
		return h.progressed(m.Params)
	}
	return nil, m.Params
}

func (lsp) related(*Hub, *codec.Message) *client { return nil }

// reply has all clients asked to refresh what they show, which needs no answer.
func (lsp) reply(h *Hub, m *codec.Message) *codec.Message {
	kind, is := strings.CutSuffix(strings.TrimPrefix(m.Method, "workspace/"), "/refresh")
	if !is || h.first() == nil {
		return nil
	}
	if kind == "diagnostic" {
		kind = "diagnostics" // so named among the capabilities
	}
	for _, c := range h.clients {
		if c.greeted && !c.leaving && able(c.capabilities, []string{"workspace", kind, "refreshSupport"}) {
			c.demand(m.Method, m.Params)
		}
	}
	return &codec.Message{}
}

func (lsp) purpose(method string) purpose {
	switch method {
	case methodRegister, methodUnregister, methodFolders: // clients have the same folders
		return purpose{server: true}
	case methodCreateProgress:
		return purpose{server: true, needs: []string{"window", "workDoneProgress"}}
	case "workspace/applyEdit":
		return purpose{likely: "workspace/executeCommand", needs: []string{"workspace", "applyEdit"}}
	case methodConfiguration:
		return purpose{common: true, needs: []string{"workspace", "configuration"}}
	case "window/showDocument":
		return purpose{likely: "workspace/executeCommand", needs: []string{"window", "showDocument", "support"}}
	}
	return purpose{likely: "workspace/executeCommand"}
}

// causes: a server keeps these calls open until it has something to tell.
func (lsp) causes(method string) bool { return method != "workspace/diagnostic" }

func (lsp) asked(h *Hub, c *client, method string) actors.Handler {
	switch {
	case c != nil && method == methodApplyEdit:
		return func(ctx context.Context, in *actors.Incoming) (any, error) {
			return c.ask(ctx, in.Method, h.numbered(c, in.Params))
		}
	case method == methodCreateProgress, c != nil && method == methodFolders: // no progress is shown then, and no folder is open
		return h.anyone(c, func(codec.Raw) codec.Raw { return codec.Raw("null") })
	case c != nil && method == methodConfiguration:
		return h.anyone(c, noSettings)
	case !asksForGrants(method):
		return c.passOn()
	}
	return func(ctx context.Context, in *actors.Incoming) (any, error) { return h.grant(ctx, c, in) }
}

// What a server may ask any of its clients.
const (
	methodConfiguration = "workspace/configuration"
	methodFolders       = "workspace/workspaceFolders"
)

// noSettings is the answer to workspace/configuration of a client that has no such settings: null for
// each item (LSP 3.18, workspace/configuration).
func noSettings(params codec.Raw) codec.Raw {
	var p struct {
		Items []json.RawMessage `json:"items"`
	}
	_ = json.Unmarshal(params, &p) // what is no object has no items
	return encode(make([]any, len(p.Items)))
}

func (lsp) left(h *Hub, c *client) []codec.Message {
	var last []codec.Message
	maps.DeleteFunc(h.works, func(_ string, w work) bool { return w.client == c })
	for _, out := range slices.Concat(h.docs.left(c), h.books.left(c)) {
		h.warn(out)
		last = append(last, out.host...)
	}
	return last
}
