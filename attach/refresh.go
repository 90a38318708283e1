package attach

import "github.com/hostsup/hostsup/codec"

// refreshes are the requests by which a client is made to ask anew for what it shows,
// by the capability with which it announces that it can.
var refreshes = map[string]string{
	"semanticTokens": "workspace/semanticTokens/refresh",
	"inlayHint":      "workspace/inlayHint/refresh",
	"inlineValue":    "workspace/inlineValue/refresh",
	"codeLens":       "workspace/codeLens/refresh",
	"foldingRange":   "workspace/foldingRange/refresh",
	"diagnostics":    "workspace/diagnostic/refresh",
}

// refresh has the clients ask anew for what they show, which the life that ended has
// said. Under the lock.
func (h *Hub) refresh() {
	for _, c := range h.clients {
		if !c.settled || c.leaving {
			continue
		}
		for kind, method := range refreshes {
			if able(c.capabilities, []string{"workspace", kind, "refreshSupport"}) {
				c.demand(method, nil)
			}
		}
	}
}

// demand asks something of a client whose answer does not matter. The client has to
// be met.
func (c *client) demand(method string, params codec.Raw) {
	id, answer := c.begin(method, params)
	go func() { _, _ = c.await(c.ctx, id, answer) }() // ends with the answer, or with the client
}

// able reports whether capabilities have a member at path that is neither false nor
// null.
func able(capabilities codec.Raw, path []string) bool {
	value := []byte(capabilities)
	for _, name := range path {
		o, ok := readObject(value)
		if !ok {
			return false
		}
		value = o[name]
	}
	return len(path) == 0 || len(value) > 0 && string(value) != "false" && string(value) != "null"
}

// capabilitiesOf returns what a client can do, by its params of initialize.
func capabilitiesOf(params codec.Raw) codec.Raw {
	o, _ := readObject(params)
	return codec.Raw(o["capabilities"])
}
