package simulation

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec"
)

// What simulated programs ask of the supervisor. A method "to-X.M" is that of host X, under
// the same name; "to-" and the name of no host leads nowhere.
const (
	hereEcho  = "here.echo"  // is answered with the params
	hereFail  = "here.fail"  // is answered with an error that has the params
	herePanic = "here.panic" // has a handler that panics
	hereHang  = "here.hang"  // has a handler that goes on until its context ends
	hereItems = "here.items" // is answered with items
	fixed     = "fixed"      // is answered with 42 by a rule
	nothing   = "nothing"    // is no method
)

// ask is a request that a process has made, with what the process knows of it.
type ask struct {
	*call
	wire   uint32 // its id
	chunk  int    // items that are allowed at a time; 0: the process takes no items
	taken  int    // items that have come
	credit int    // items that may come
	acked  bool
}

// ask has the process make a request, which it takes back after cancel, unless that is 0.
func (h *speaker) ask(method string, n, chunk int, cancel time.Duration) {
	p := h.p
	a := &ask{call: &call{by: p.host, life: p.life, method: method, n: n, canceled: cancel > 0}, chunk: chunk, credit: chunk}
	a.host, _, _ = strings.Cut(strings.TrimPrefix(method, "to-"), ".")
	h.inTurn(func() {
		p.m.check.called(a.call)
		h.mu.Lock()
		h.last++
		a.wire = h.last
		h.asked[a.wire] = a
		h.mu.Unlock()
		b := h.encode(nil, &codec.Message{Kind: codec.Request, ID: a.wire, Method: method, Params: number(a.id)})
		if chunk > 0 {
			b = h.encode(b, &codec.Message{Kind: codec.Credit, ID: a.wire, Credit: uint32(chunk)})
		}
		_, _ = p.conn.Write(b)
	})
	p.m.check.owes(a)
	if cancel > 0 {
		p.m.AfterFunc(cancel, func() {
			h.mu.Lock()
			open := h.asked[a.wire] == a
			h.mu.Unlock()
			if open && p.runs() {
				p.m.check.takesBack(a)
				h.say(&codec.Message{Kind: codec.Cancel, ID: a.wire})
			}
		})
	}
}

// hearOther takes in a message of the supervisor that is no request.
func (h *speaker) hearOther(m *codec.Message) {
	check := h.p.m.check
	switch m.Kind {
	case codec.Notification:
		if m.Method != "note" {
			check.greetings(h.p.host, h.p.life, m.Method)
			return
		}
		check.noted(h.p.host, h.p.life, m)
		return
	case codec.Cancel, codec.Credit:
		h.hearOfStream(m)
		return
	}
	h.mu.Lock()
	a, last := h.asked[m.ID], h.last
	if m.Kind == codec.Response {
		delete(h.asked, m.ID)
	}
	h.mu.Unlock()
	switch {
	case a == nil:
		check.wrong("%s, life %d: %s for request %d of %d, which is not open", h.p.host, h.p.life, m.Kind, m.ID, last)
	case m.Kind == codec.Response:
		check.askAnswered(a, m)
	case m.Kind == codec.Ack:
		check.askAcked(a)
	case m.Kind == codec.Item:
		if check.askItem(a, m) { // items that come before are too many
			h.p.m.AfterFunc(h.p.dice.within(3*time.Millisecond), func() {
				if h.p.runs() {
					check.allows(a)
					h.say(&codec.Message{Kind: codec.Credit, ID: a.wire, Credit: uint32(a.chunk)})
				}
			})
		}
	}
}

// handle answers the requests here.*.
func (t *teller) handle(ctx context.Context, in *actors.Incoming) (any, error) {
	a := t.check.handling(in)
	if a == nil {
		return nil, errors.New("not a request of the story")
	}
	defer t.check.handled(a)
	dice := t.m.dice("handler %d", a.id)
	switch a.method {
	case hereFail:
		return nil, &codec.Error{Name: "Refused", Message: strconv.Itoa(a.id)}
	case herePanic:
		panic("as the story has it")
	case hereHang:
		<-ctx.Done()
		t.release(a)
		return nil, ctx.Err()
	case hereItems:
		return iter.Seq2[any, error](func(yield func(any, error) bool) {
			for i := range a.n {
				if dice.chance(0.1) && !t.m.wait(ctx, dice.within(5*time.Millisecond)) {
					yield(nil, ctx.Err())
					return
				}
				if !yield(i, nil) {
					return
				}
			}
		}), nil
	}
	if !t.m.wait(ctx, dice.within(10*time.Millisecond)) {
		t.release(a)
		return nil, ctx.Err()
	}
	return in.Params, nil
}

// release tells that the context of a handler has ended. Contexts that end together do so in an order
// that no seed decides.
func (t *teller) release(a *call) {
	t.m.turn(fmt.Sprintf("handler %d", a.id))
	t.check.released(a)
}
