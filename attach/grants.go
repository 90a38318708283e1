package attach

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec"
)

// The requests by which a language server has a client do more for it. They are
// kept while the life lasts: who was asked may leave, and then another client is
// asked the same, in the server's name.
const (
	methodRegister   = "client/registerCapability"
	methodUnregister = "client/unregisterCapability"
)

// registration is a capability that a life of the host has registered.
type registration struct {
	client *client // that has agreed to it, or is being asked; nil: none is there
	life   uint64
	id     string
	method string
	whole  json.RawMessage // as the host wrote it
}

// capability is what is said of one capability.
type capability struct {
	ID     string `json:"id"`
	Method string `json:"method"`
}

// asksForGrants says whether a request is about capabilities.
func asksForGrants(method string) bool { return method == methodRegister || method == methodUnregister }

// grant lets a client decide on a request about capabilities, or nobody, who
// agrees: what is registered then is put to the next client that comes.
func (h *Hub) grant(ctx context.Context, c *client, in *actors.Incoming) (codec.Raw, error) {
	if in.Method == methodUnregister {
		h.mu.Lock()
		h.drop(in.Params) // whatever becomes of the client, the host is through with it
		h.mu.Unlock()
	}
	var out codec.Raw
	if c != nil {
		var err error
		if out, err = c.ask(ctx, in.Method, in.Params); errors.Is(err, errLeft) {
			c = nil
		} else if err != nil {
			return nil, err
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if in.Method == methodRegister {
		h.record(c, in)
	}
	return out, nil
}

// record keeps what the host has registered. Under the lock.
func (h *Hub) record(c *client, in *actors.Incoming) {
	var p struct {
		Registrations []json.RawMessage `json:"registrations"`
	}
	if json.Unmarshal(in.Params, &p) != nil {
		return
	}
	var void []capability
	for _, whole := range p.Registrations {
		var what capability
		if json.Unmarshal(whole, &what) != nil {
			continue
		}
		if in.Life <= h.ended {
			void = append(void, what) // the life that wanted it is over
			continue
		}
		h.grants = append(h.grants, registration{c, in.Life, what.ID, what.Method, slices.Clone(whole)})
	}
	switch {
	case c == nil:
	case len(void) > 0:
		c.takeBack(void)
	case c.leaving || !slices.Contains(h.clients, c): // it agreed with its last words
		h.resign(c)
		return
	}
	h.handOver()
}

// drop forgets what the host takes back. Under the lock.
func (h *Hub) drop(params codec.Raw) {
	var p struct {
		Unregisterations []capability `json:"unregisterations"` // so spelt in the protocol
	}
	if json.Unmarshal(params, &p) != nil {
		return
	}
	for _, gone := range p.Unregisterations {
		h.grants = slices.DeleteFunc(h.grants, func(g registration) bool { return g.id == gone.ID })
	}
}

// revoke forgets what lives up to this one have registered; the clients are told,
// as a new life registers what it needs itself. Under the lock.
func (h *Hub) revoke(life uint64) {
	told := map[*client][]capability{}
	h.grants = slices.DeleteFunc(h.grants, func(g registration) bool {
		if g.life > life {
			return false
		}
		if g.client != nil {
			told[g.client] = append(told[g.client], capability{g.id, g.method})
		}
		return true
	})
	for c, list := range told {
		c.takeBack(list)
	}
}

// takeBack tells a client that capabilities are not wanted any more. It had
// agreed to them, so that it may be asked.
func (c *client) takeBack(list []capability) {
	id, answer := c.begin(methodUnregister, encode(map[string]any{"unregisterations": list}))
	go func() { _, _ = c.await(c.ctx, id, answer) }() // ends with the answer, or with the client
}

// resign takes what was registered with a client from it, and puts it to the
// next. Under the lock.
func (h *Hub) resign(c *client) {
	for i := range h.grants {
		if h.grants[i].client == c {
			h.grants[i].client = nil
		}
	}
	h.handOver()
}

// handOver asks the first client for what no client has agreed to. It is asked
// right here, so that nothing the host says later comes before it. Under the
// lock.
func (h *Hub) handOver() {
	c := h.first()
	if c == nil || !c.settled {
		return
	}
	var list []json.RawMessage
	for i := range h.grants {
		if g := &h.grants[i]; g.client == nil {
			g.client = c
			list = append(list, g.whole)
		}
	}
	if len(list) == 0 {
		return
	}
	id, answer := c.begin(methodRegister, encode(map[string]any{"registrations": list}))
	go func() { // ends with the answer, or with the client
		if _, err := c.await(c.ctx, id, answer); err != nil {
			h.log.Warn("a client does not take over what the host has registered with another", "host", h.host.Name(), "client", c.number, "error", err)
		}
	}()
}
