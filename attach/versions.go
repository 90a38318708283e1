package attach

import (
	"bytes"
	"encoding/json"

	"github.com/hostsup/hostsup/codec"
)

const methodApplyEdit = "workspace/applyEdit"

// outdatedVersion is a version that no client has: an edit of it is refused by the client.
const outdatedVersion = -1

// numbered puts the versions of documents in an edit, which the host counts by itself,
// into those of a client. An edit of a text that the client does not have gets a version
// that it refuses.
func (h *Hub) numbered(c *client, raw codec.Raw) codec.Raw {
	if !bytes.Contains(raw, []byte(`"documentChanges"`)) {
		return raw
	}
	h.mu.Lock()
	versions := h.docs.versions(c)
	h.mu.Unlock()
	if len(versions) == 0 {
		return raw
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil || !renumber(v, versions) {
		return raw
	}
	return encode(v)
}

// numbering is how a client counts the versions of a document.
type numbering struct {
	host, client int64
	apart        bool // it has another text
}

// versions returns the documents whose version a client knows under another number, or
// of which it has another text.
func (ds *documents) versions(c *client) map[string]numbering {
	out := map[string]numbering{}
	for uri, d := range ds.open {
		if v := d.view(c); v != nil && (v.version != d.version || v.text != d.text) {
			out[uri] = numbering{d.version, v.version, v.text != d.text}
		}
	}
	return out
}

// renumber replaces the versions within a value and reports whether there were any.
func renumber(v any, versions map[string]numbering) (done bool) {
	switch v := v.(type) {
	case []any:
		for _, one := range v {
			done = renumber(one, versions) || done
		}
	case map[string]any:
		if t, is := v["textDocument"].(map[string]any); is {
			uri, _ := t["uri"].(string)
			n, known := versions[uri]
			if version, is := t["version"].(json.Number); is && known {
				t["version"], done = outdatedVersion, true
				if at, err := version.Int64(); err == nil && at == n.host && !n.apart {
					t["version"] = n.client
				}
			}
		}
		for _, one := range v {
			done = renumber(one, versions) || done
		}
	}
	return done
}
