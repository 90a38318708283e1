package attach

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/hostsup/hostsup/codec"
)

// The revisions of MCP that divide its generations, and what requests of the second
// carry in their _meta.
const (
	withSession    = "2025-11-25" // the last with the handshake
	withoutSession = "2026-07-28" // the first without
	metaPrefix     = "io.modelcontextprotocol/"
	metaVersion    = metaPrefix + "protocolVersion"

	codeUnsupportedVersion = -32022
)

// isSessionless reports whether a revision has no handshake. Revisions are dates, which
// are in order as text.
func isSessionless(version string) bool { return version >= withoutSession }

// versionOf returns the revision that params of initialize ask for.
func versionOf(params codec.Raw) string {
	var p struct {
		ProtocolVersion string `json:"protocolVersion"`
	}
	_ = json.Unmarshal(params, &p) // the host says what is wrong with it
	return p.ProtocolVersion
}

// openingOf returns what a request of the generation without the handshake says of its
// client, in the form of params of initialize; false for other requests.
func openingOf(params codec.Raw) (codec.Raw, bool) {
	if !bytes.Contains(params, []byte(metaVersion)) {
		return nil, false
	}
	o, _ := readObject(params)
	meta, _ := readObject(o["_meta"])
	var version string
	if json.Unmarshal(meta[metaVersion], &version) != nil || !isSessionless(version) {
		return nil, false
	}
	out := object{"protocolVersion": json.RawMessage(encode(withoutSession))}
	for _, name := range []string{"capabilities", "clientInfo"} {
		key := metaPrefix + name
		if name == "capabilities" {
			key = metaPrefix + "clientCapabilities"
		}
		if v, ok := meta[key]; ok {
			out[name] = v
		}
	}
	return encode(out), true
}

// recognize finds out which generation a new life speaks. Under the lock.
func (h *Hub) recognize() {
	o, _ := readObject(h.result)
	_, h.sessionless = o["supportedVersions"]
	switch asked := isSessionless(versionOf(h.opening)); {
	case h.opening == nil || asked == h.sessionless:
		return
	case h.sessionless:
		h.lacks = withSession
		return
	}
	// It was asked for the generation without the handshake, and has none: that is
	// not tried again for the next client.
	h.lacks = withoutSession
	h.opening = substitute(h.opening, func(json.RawMessage) json.RawMessage { return json.RawMessage(encode(withSession)) }, "protocolVersion")
}

// suits returns why the life cannot serve a client that opens with params: it speaks
// the other generation. Under the lock.
func (mcp) suits(h *Hub, params codec.Raw) error {
	wants := versionOf(params)
	if isSessionless(wants) == h.sessionless {
		return nil
	}
	has, why := generation(h.sessionless), "its server knows no other"
	switch {
	case h.lacks == generation(isSessionless(wants)):
	case !h.opened:
		why = "it is opened as its configuration says; with attach = true it is opened as its clients are"
	case h.others(nil) > 0 && h.apart != nil:
		why = fmt.Sprintf("other clients use it in that generation, and a second process for this one could not be started: %v", h.apart)
	case h.others(nil) > 0:
		why = "other clients use it in that generation; a client whose first request shows the other one gets a second process"
	}
	return &codec.Error{
		Code:    codeUnsupportedVersion,
		Message: fmt.Sprintf("host %q speaks MCP %s and this client %s: %s", h.host.Name(), has, wants, why),
		Data:    encode(map[string]any{"supported": []string{has}, "requested": wants}),
	}
}

// admit introduces a client that makes a request without initialize. For one of the
// generation without the handshake the host is started, for which admit waits.
func (c *client) admit(params codec.Raw) error {
	h := c.hub
	opening, is := openingOf(params)
	h.mu.Lock()
	if c.introduced || !is {
		defer h.mu.Unlock()
		h.arrive(c)
		c.greet()
		return nil
	}
	c.capabilities = capabilitiesOf(opening)
	if h.lacks == withoutSession && h.line != nil {
		defer h.mu.Unlock()
		return mcp{}.suits(h, opening)
	}
	h.mu.Unlock()
	if _, err := h.start(c.starting, c, opening); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	c.greet()
	return nil
}

// greet lets a client hear what the host says from now on, and what it said since the
// client came. Under hub.mu.
func (c *client) greet() {
	if c.greeted {
		return
	}
	for _, m := range c.early {
		c.notify(m.Method, m.Params)
	}
	c.early, c.earlyBytes, c.greeted = nil, 0, true
	c.meet()
}
