package attach

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"github.com/hostsup/hostsup/codec"
)

const methodDiagnostics = "textDocument/publishDiagnostics"

// Bounds of the diagnostics that are kept for clients which open a document later.
// What is beyond them is passed on and not kept.
const (
	maxPublished      = 16 << 10 // documents
	maxPublishedBytes = 16 << 20
)

// diagnostics are what a life of the host has published last, by document. A
// document without any has no entry.
type diagnostics struct {
	last  map[string]published
	bytes int
}

// published are the diagnostics of one document.
type published struct {
	params  codec.Raw // nil if they were not kept
	version *int64    // the document's, as the host counts; nil if the host does not tell
}

// keep replaces what is known of a document.
func (ds *diagnostics) keep(uri string, some bool, p published) {
	ds.bytes -= len(ds.last[uri].params)
	delete(ds.last, uri)
	if !some || len(ds.last) >= maxPublished {
		return
	}
	if ds.bytes+len(p.params) > maxPublishedBytes {
		p.params = nil
	}
	p.params = bytes.Clone(p.params)
	ds.bytes += len(p.params)
	ds.last[uri] = p
}

// publish hands diagnostics to each client that has the text they are about, or that
// has not opened the document. Under the lock.
func (h *Hub) publish(params codec.Raw) {
	var p struct {
		URI         string            `json:"uri"`
		Version     *int64            `json:"version"`
		Diagnostics []json.RawMessage `json:"diagnostics"`
	}
	if json.Unmarshal(params, &p) != nil {
		h.broadcast(methodDiagnostics, params) // the clients report what is wrong with it
		return
	}
	now := published{params, p.Version}
	h.published.keep(p.URI, len(p.Diagnostics) > 0, now)
	for _, c := range h.clients {
		if mine, ok := h.docs.diagnosed(c, p.URI, now); ok {
			c.hear(methodDiagnostics, mine)
		}
	}
}

// diagnosed returns diagnostics as a client is told of them; false if they are about
// a text that it does not have.
func (ds *documents) diagnosed(c *client, uri string, p published) (codec.Raw, bool) {
	d, v := ds.view(c, uri)
	if v == nil {
		return p.params, true
	}
	if v.text != d.text {
		return nil, false
	}
	switch {
	case p.version == nil, !d.shared:
		return p.params, true
	case *p.version != d.version:
		return nil, false // of a text before, perhaps another client's; those of the present one are to come
	case v.version == d.version:
		return p.params, true
	}
	mine := encode(v.version)
	return substitute(p.params, func(json.RawMessage) json.RawMessage { return json.RawMessage(mine) }, "version"), true
}

// replay tells a client that has opened a document what the host has published about
// it before. Under the lock.
func (h *Hub) replay(c *client, uri string) {
	p, ok := h.published.last[uri]
	if !ok || p.params == nil {
		return
	}
	if mine, ok := h.docs.diagnosed(c, uri, p); ok {
		c.hear(methodDiagnostics, mine)
	}
}

// withdraw takes back what a life has published. Under the lock.
func (h *Hub) withdraw() {
	for _, uri := range slices.Sorted(maps.Keys(h.published.last)) {
		h.broadcast(methodDiagnostics, encode(map[string]any{"uri": uri, "diagnostics": []any{}}))
	}
	h.published = diagnostics{last: map[string]published{}}
}
