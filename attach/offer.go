package attach

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/hostsup/hostsup/codec"
)

// defaultEncoding is what positions are counted in unless something else was agreed.
const defaultEncoding = "utf-16"

// Kinds of textDocumentSync.
const (
	syncNone  = 0
	syncWhole = 1
)

// offer is what a language server offers in its answer to initialize, as far as it
// decides how it is spoken to.
type offer struct {
	capabilities object
	encoding     string // of positions
	openClose    bool   // it is told of documents that are opened and closed
	sync         int    // how it is told of changes
	saved        bool   // it has to be told the text of documents that are saved
}

// offerOf reads an answer to initialize. What cannot be understood is not offered.
func offerOf(result codec.Raw) offer {
	out := offer{encoding: defaultEncoding}
	r, _ := readObject(result)
	out.capabilities, _ = readObject(r["capabilities"])
	if e := stringOf(out.capabilities["positionEncoding"]); e != "" {
		out.encoding = e
	}
	raw := out.capabilities["textDocumentSync"]
	if json.Unmarshal(raw, &out.sync) == nil {
		out.openClose = out.sync != syncNone
		return out
	}
	var options struct {
		OpenClose bool `json:"openClose"`
		Change    int  `json:"change"`
		Save      any  `json:"save"`
	}
	_ = json.Unmarshal(raw, &options)
	out.openClose, out.sync = options.OpenClose, options.Change
	if save, is := options.Save.(map[string]any); is {
		out.saved = save["includeText"] == true
	}
	return out
}

func stringOf(raw json.RawMessage) string {
	var s string
	_ = json.Unmarshal(raw, &s)
	return s
}

// differs returns why a client that was told before cannot speak to a life that offers
// now, "" if it can. What such a life offers in addition is not used.
func (before offer) differs(now offer) string {
	switch {
	case now.encoding != before.encoding:
		return fmt.Sprintf("it counts characters in %s and not in %s", now.encoding, before.encoding)
	case now.openClose != before.openClose, (now.sync == syncNone) != (before.sync == syncNone):
		return "it follows documents in another way"
	case now.saved && !before.saved:
		return "it needs the text of documents that are saved"
	}
	for _, name := range slices.Sorted(maps.Keys(before.capabilities)) {
		switch name {
		case "experimental", "positionEncoding", "textDocumentSync":
			continue
		}
		if offered(before.capabilities[name]) && !offered(now.capabilities[name]) {
			return "it does not offer " + name
		}
	}
	// The numbers in semantic tokens count the names in the legend.
	legend := func(o offer) json.RawMessage {
		p, _ := readObject(o.capabilities["semanticTokensProvider"])
		return p["legend"]
	}
	if was := legend(before); was != nil && !sameJSON(was, legend(now)) {
		return "it has another legend of semantic tokens"
	}
	return ""
}

// offered reports whether the value of a capability is neither missing nor null nor false.
func offered(value json.RawMessage) bool {
	return len(value) > 0 && string(value) != "null" && string(value) != "false"
}

// sameJSON reports whether two texts have the same value.
func sameJSON(a, b []byte) bool { return bytes.Equal(canonical(a), canonical(b)) }

// canonical returns a text with the same value, in which the members of objects are in
// order.
func canonical(raw []byte) []byte {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return raw
	}
	return encode(v)
}

// named returns the encodings of positions that a client names in its params of initialize.
func named(params codec.Raw) []string {
	var p struct {
		Capabilities struct {
			General struct {
				PositionEncodings []string `json:"positionEncodings"`
			} `json:"general"`
		} `json:"capabilities"`
	}
	_ = json.Unmarshal(params, &p) // what is no object names none
	return p.Capabilities.General.PositionEncodings
}

// unspoken returns why a client cannot speak to a host that was opened for others, nil if it can.
func unspoken(host string, params, result codec.Raw) error {
	if can, is := append(named(params), defaultEncoding), offerOf(result).encoding; !slices.Contains(can, is) {
		return &codec.Error{Code: codeInvalidRequest, Message: fmt.Sprintf("host %q counts characters in %s, which this client does not: its position encodings are %q", host, is, can)}
	}
	return nil
}

// pinned returns what the next life is opened with while clients are attached that were
// told an encoding: it is offered no other.
func pinned(opening codec.Raw, encoding string) codec.Raw {
	return substitute(opening, func(json.RawMessage) json.RawMessage {
		return json.RawMessage(encode([]string{encoding}))
	}, "capabilities", "general", "positionEncodings")
}

// dismiss ends the clients that cannot speak to the life that begins, so that they open
// it anew. Under the lock.
func (h *Hub) dismiss() {
	for _, c := range h.clients {
		if c.told == nil || c.leaving {
			continue
		}
		if reason := offerOf(c.told).differs(h.offer); reason != "" {
			err := fmt.Errorf("host %q has come back different: %s; attach again", h.host.Name(), reason)
			h.log.Warn("a client is ended", "host", h.host.Name(), "client", c.number, "reason", err)
			c.end(err)
		}
	}
}
