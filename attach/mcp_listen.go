package attach

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec"
)

// From revision 2026-07-28 on a client of MCP gets news only for a request
// subscriptions/listen, which stays open. The news carry the id of that request.
const (
	methodListen       = "subscriptions/listen"
	methodAcknowledged = "notifications/subscriptions/acknowledged"
	methodCancelled    = "notifications/cancelled"
	metaSubscription   = metaPrefix + "subscriptionId"
	metaListening      = "hostsup/listening" // under which the hub finds its own request again
)

// listening is a request subscriptions/listen of a client. It outlives the lives of the
// host: each one is asked anew.
type listening struct {
	client *client
	id     uint32    // of the client's request
	name   codec.Raw // the same as the client has written it
	tag    string
	params codec.Raw // with the tag
	ctx    context.Context
	cancel context.CancelFunc

	acknowledged bool // under hub.mu: the client has been told that it is open
}

// heard are the ids under which a life has been asked to be listened to. It has a lock
// of its own, as it is filled under the lock of the connection.
type heard struct {
	mu   sync.Mutex
	tags map[uint32]string
}

func (h *heard) clear() {
	h.mu.Lock()
	defer h.mu.Unlock()
	clear(h.tags)
}

func (h *heard) tag(id uint32) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.tags[id]
}

// sent notes under which id the host is asked to be listened to.
func (h *Hub) sent(_ uint64, m *codec.Message, _ bool) {
	if m.Method != methodListen {
		return
	}
	var p struct {
		Meta map[string]json.RawMessage `json:"_meta"`
	}
	var tag string
	if json.Unmarshal(m.Params, &p) != nil || json.Unmarshal(p.Meta[metaListening], &tag) != nil {
		return // of somebody else
	}
	h.heard.mu.Lock()
	defer h.heard.mu.Unlock()
	if h.heard.tags == nil {
		h.heard.tags = map[uint32]string{}
	}
	h.heard.tags[m.ID] = tag
}

// listen lets a client listen to this life and to those that follow.
func (c *client) listen(m *codec.Message) {
	h := c.hub
	l := &listening{client: c, id: m.ID, name: c.can.Written(m.ID)}
	l.ctx, l.cancel = context.WithTimeout(c.ctx, forever)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.serial++
	l.tag = fmt.Sprintf("%d-%d", c.number, h.serial)
	o, _ := readObject(m.Params)
	meta, _ := readObject(o["_meta"])
	if o == nil {
		o = object{}
	}
	if meta == nil {
		meta = object{}
	}
	meta[metaListening] = json.RawMessage(encode(l.tag))
	o["_meta"] = json.RawMessage(encode(meta))
	l.params = encode(o)
	c.mu.Lock()
	c.open[l.id] = &errand{method: m.Method, stop: l.cancel}
	c.mu.Unlock()
	h.listens = append(h.listens, l)
	if h.line != nil { // else the next life is asked
		h.listenTo(h.line, l)
	}
}

// listenTo asks a life to be listened to. Under the lock.
func (h *Hub) listenTo(line *actors.Line, l *listening) {
	l.client.work.Go(func() { // ends with the life, or with the client
		var out codec.Raw
		err := line.Call(l.ctx, methodListen, l.params, &out)
		var over *actors.HostError
		if l.ctx.Err() == nil && errors.As(err, &over) {
			return // the next life is asked
		}
		h.mu.Lock()
		h.unlisten(l)
		h.mu.Unlock()
		c := l.client
		c.mu.Lock()
		delete(c.open, l.id)
		forgotten := l.ctx.Err() != nil && c.forget(l.id)
		c.mu.Unlock()
		l.cancel()
		if !forgotten {
			c.respond(l.id, l.rename(out, "_meta", metaSubscription), err)
		}
	})
}

// unlisten drops a listening. Under the lock.
func (h *Hub) unlisten(l *listening) {
	h.listens = slices.DeleteFunc(h.listens, func(o *listening) bool { return o == l })
}

// stopListening ends what a client listens to. Under the lock.
func (h *Hub) stopListening(c *client) {
	h.listens = slices.DeleteFunc(h.listens, func(l *listening) bool {
		if l.client == c {
			l.cancel()
		}
		return l.client == c
	})
}

// renewListening asks a new life to be listened to. Under the lock.
func (h *Hub) renewListening() {
	for _, l := range h.listens {
		h.listenTo(h.line, l)
	}
}

// rename puts the client's own id in the place of the host's.
func (l *listening) rename(params codec.Raw, path ...string) codec.Raw {
	return substitute(params, func(json.RawMessage) json.RawMessage { return json.RawMessage(l.name) }, path...)
}

// listened tells a client what it listens to. It returns false for a notification that
// is of no subscription. Under the lock.
func (h *Hub) listened(m *codec.Message) bool {
	path := []string{"_meta", metaSubscription}
	if m.Method == methodCancelled {
		path = []string{"requestId"}
	}
	if !bytes.Contains(m.Params, []byte(path[len(path)-1])) {
		return false
	}
	var id uint32
	found := false
	substitute(m.Params, func(raw json.RawMessage) json.RawMessage {
		found = json.Unmarshal(raw, &id) == nil
		return raw
	}, path...)
	tag := h.heard.tag(id)
	if !found || tag == "" {
		return false
	}
	i := slices.IndexFunc(h.listens, func(l *listening) bool { return l.tag == tag })
	if i < 0 {
		return true // it has been ended, which the host has yet to hear of
	}
	l := h.listens[i]
	switch m.Method {
	case methodAcknowledged:
		if l.acknowledged {
			return true // by a life before
		}
		l.acknowledged = true
	case methodCancelled:
		h.unlisten(l)
		defer l.cancel()
	}
	l.client.notify(m.Method, l.rename(m.Params, path...))
	return true
}

// wants reports whether the client has asked for news of a list.
func (l *listening) wants(list string) bool {
	o, _ := readObject(l.params)
	filter, _ := readObject(o["notifications"])
	return string(filter[list+"ListChanged"]) == "true"
}

// listChanged tells the clients that a list may be another one in this life. Under the
// lock.
func (h *Hub) listChanged(list string) {
	method := "notifications/" + list + "/list_changed"
	if !h.sessionless {
		h.broadcast(method, nil)
		return
	}
	for _, l := range h.listens {
		if l.acknowledged && l.wants(list) {
			l.client.notify(method, encode(map[string]any{"_meta": map[string]any{metaSubscription: json.RawMessage(l.name)}}))
		}
	}
}
