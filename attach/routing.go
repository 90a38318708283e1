package attach

import (
	"context"
	"errors"
	"fmt"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec"
)

// purpose is what a request of the host is for, and so which client may be asked.
type purpose struct {
	// server tells that it is about the server and not about a call: the client
	// that has been attached longest is asked, also where clients are isolated.
	server bool
	// common tells that any client would give the same answer, so that the one that
	// has been attached longest is asked unless clients are isolated.
	common bool
	// likely is a method whose calls, or whose news, cause such requests more often than
	// others do.
	likely string
	// needs is the path of the capability that a client has to have announced; nil:
	// any client can answer.
	needs []string
}

// candidate is a client as choose sees it.
type candidate struct {
	calls  int  // open ones that can cause a request, and news that does
	likely int  // of these, calls or news of the likely method
	able   bool // has announced what the request needs
}

// choose returns which of the candidates, in the order of their arrival, is asked for
// what the host requests, or -1. sure tells that no other client can
// have caused the request: one alone has a call open.
func choose(list []candidate, p purpose) (who int, sure bool) {
	if p.server {
		return firstOf(list, func(c candidate) bool { return c.able }), true
	}
	callers, likely := 0, 0
	for _, c := range list {
		callers += min(c.calls, 1)
		likely += min(c.likely, 1)
	}
	calls := func(c candidate) bool { return c.calls > 0 }
	if likely > 0 {
		calls = func(c candidate) bool { return c.likely > 0 }
	}
	switch {
	case callers == 0:
		return firstOf(list, func(c candidate) bool { return c.able }), false
	case callers == 1, likely == 1:
		// It is asked even if it is not able, and says so itself: the question of
		// one client is not put to another.
		return firstOf(list, calls), callers == 1
	}
	return firstOf(list, func(c candidate) bool { return calls(c) && c.able }, calls), false
}

// firstOf returns the first candidate that fits the first of several conditions, or
// else the next one, or else any; -1 for an empty list.
func firstOf(list []candidate, conditions ...func(candidate) bool) int {
	for _, fits := range conditions {
		for i, c := range list {
			if fits(c) {
				return i
			}
		}
	}
	return min(len(list), 1) - 1
}

// asked says what answers a request of the host. The zero verdict leaves it to the
// rules of the host's spec. Under the lock.
func (h *Hub) asked(m *codec.Message) actors.Verdict {
	if reply := h.dialect.reply(h, m); reply != nil {
		return actors.Verdict{Reply: reply}
	}
	c, err := h.responsible(m)
	if err != nil {
		return actors.Verdict{Err: err}
	}
	return actors.Verdict{Handle: h.dialect.asked(h, c, m.Method)}
}

// responsible returns the client that a request of the host is put to, nil if there is
// none. It is an error if clients are isolated and the request cannot be attributed to
// one of them. Under the lock.
func (h *Hub) responsible(m *codec.Message) (*client, error) {
	if c := h.dialect.related(h, m); c != nil {
		return c, nil
	}
	var present []*client
	for _, c := range h.clients {
		if c.present() {
			present = append(present, c)
		}
	}
	if len(present) == 0 {
		return h.next(m.Method), nil
	}
	isolated := RuleOf(h.of.Spec()).Isolate
	about := h.dialect.purpose(m.Method)
	about.server = about.server || about.common && !isolated
	list := make([]candidate, len(present))
	for i, c := range present {
		list[i] = c.candidate(about)
	}
	who, sure := choose(list, about)
	for _, c := range present {
		if c.news == about.likely {
			c.news = ""
		}
	}
	if isolated && !sure && (h.introduced > 1 || len(present) > 1) {
		return nil, &codec.Error{Code: h.dialect.failed(), Message: fmt.Sprintf(
			"%s cannot be attributed to one client: the clients of host %q are isolated, and not exactly one of them has a call open", m.Method, h.host.Name())}
	}
	return present[who], nil
}

// anyone has a client answer what the host may ask any of them. If it leaves before it has answered,
// another one is asked; without one the host gets what absent returns for the params.
func (h *Hub) anyone(c *client, absent func(params codec.Raw) codec.Raw) actors.Handler {
	return func(ctx context.Context, in *actors.Incoming) (any, error) {
		for c != nil {
			out, err := c.ask(ctx, in.Method, in.Params)
			if !errors.Is(err, errLeft) {
				return out, err
			}
			left := c
			h.mu.Lock()
			c, err = h.responsible(&codec.Message{Method: in.Method, Params: in.Params})
			h.mu.Unlock()
			if err != nil {
				return nil, err
			}
			if c == left {
				c = nil
			}
		}
		return absent(in.Params), nil
	}
}

// candidate describes the client for choose. Under hub.mu.
func (c *client) candidate(about purpose) candidate {
	out := candidate{able: able(c.capabilities, about.needs)}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range c.open {
		if !e.answered() {
			out.count(c.hub.dialect, e.method, about)
		}
	}
	out.count(c.hub.dialect, c.news, about)
	return out
}

// count adds what a client has said and why the host may ask.
func (c *candidate) count(d dialect, method string, about purpose) {
	switch {
	case method == "":
		return
	case method == about.likely:
		c.likely++
	case !d.causes(method):
		return
	}
	c.calls++
}

// arrive makes a client one that the host may ask. Under the lock.
func (h *Hub) arrive(c *client) {
	if !c.introduced {
		c.introduced = true
		h.introduced++
	}
}
