package attach

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"github.com/hostsup/hostsup/codec"
)

const methodProgress = "$/progress"

// maxProgress bounds the work in progress that is known. What is beyond it is passed
// on, and not ended for a life that has ended.
const maxProgress = 1024

// work is work in progress that clients show.
type work struct {
	client *client         // that is told of it; nil: all are
	token  json.RawMessage // as they know it
}

// progressed returns which client is told of progress, nil being all of them, and
// what. It notes what has begun. Under the lock.
func (h *Hub) progressed(params codec.Raw) (*client, codec.Raw) {
	var p struct {
		Token json.RawMessage `json:"token"`
		Value json.RawMessage `json:"value"` // of a partial result it may be anything
	}
	if json.Unmarshal(params, &p) != nil {
		return nil, params
	}
	var value struct {
		Kind string `json:"kind"`
	}
	_ = json.Unmarshal(p.Value, &value) // else it is a partial result
	to, mine := h.owner(params, "token")
	if to == nil && bytes.HasPrefix(p.Token, []byte(`"hostsup-`)) {
		return nobody, nil // its request was answered
	}
	token := string(p.Token)
	switch value.Kind {
	case "begin":
		if len(h.works) < maxProgress {
			w := work{to, bytes.Clone(p.Token)}
			if to != nil {
				o, _ := readObject(mine)
				w.token = o["token"]
			}
			h.works[token] = w
		}
	case "end":
		delete(h.works, token)
	}
	return to, mine
}

// end tells who shows work that it has ended. Under the lock.
func (h *Hub) endWork(name string) {
	w, ok := h.works[name]
	if !ok {
		return
	}
	delete(h.works, name)
	params := encode(map[string]any{"token": w.token, "value": map[string]any{"kind": "end"}})
	if w.client != nil {
		w.client.notify(methodProgress, params)
	} else {
		h.broadcast(methodProgress, params)
	}
}

// endWorks ends what a life has begun. Under the lock.
func (h *Hub) endWorks() {
	for _, name := range slices.Sorted(maps.Keys(h.works)) {
		h.endWork(name)
	}
}

// ownToken gives the token that a client names the name under which the host knows it.
func (h *Hub) ownToken(c *client, params codec.Raw) codec.Raw {
	return substitute(params, func(original json.RawMessage) json.RawMessage {
		h.mu.Lock()
		defer h.mu.Unlock()
		for name, t := range h.tokens {
			if t.client == c && bytes.Equal(t.original, original) {
				return json.RawMessage(strconv.Quote(name))
			}
		}
		return original // the host has chosen it
	}, "token")
}
