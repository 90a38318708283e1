package link

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/mpack"
	"github.com/hostsup/hostsup/codec/native"
	"github.com/hostsup/hostsup/link/linktest"
)

// counting answers "count" with as many items as the parameter says, and reports with
// what it ended.
func counting(m *codec.Message, ended chan<- error) Handler {
	var n int
	if m.Method != "count" || (mpack.Encoding{}).Unmarshal(m.Params, &n) != nil {
		return nil
	}
	return HandlerFunc(func(r *Incoming) (codec.Raw, *codec.Error) {
		return r.Items(func(items []codec.Raw) codec.Raw {
			out := mpack.AppendArray(nil, len(items))
			return append(out, slices.Concat(items...)...)
		}, func() *codec.Error {
			var err error
			for i := 0; i < n && err == nil; i++ {
				err = r.Send(mpack.AppendUint(nil, uint64(i)))
			}
			if ended != nil {
				ended <- err
			}
			if err != nil {
				return &codec.Error{Name: "Stopped", Message: err.Error()}
			}
			return nil
		})
	})
}

// stream makes a request whose result may come as items.
func (s *side) stream(t *testing.T, method string, n int) *call {
	t.Helper()
	q := newCall()
	q.Method, q.Params = method, mpack.AppendUint(nil, uint64(n))
	q.AllowItems()
	if err := s.Send(t.Context(), &q.Pending, Limit); err != nil {
		t.Fatal(err)
	}
	return q
}

// Each side streams to the other, with more items than the credit allows at once.
func TestItemsBothWays(t *testing.T) {
	a, b := pair(t)
	for _, x := range []struct{ from, to *side }{{a, b}, {b, a}} {
		got := 0
		for item, err := range x.from.stream(t, "count", 1000).Items(t.Context()) {
			if err != nil || string(item) != string(mpack.AppendUint(nil, uint64(got))) {
				t.Fatalf("item %d: %x, %v", got, item, err)
			}
			got++
		}
		if got != 1000 {
			t.Errorf("%s got %d items", x.from.name, got)
		}
		// A caller that wants one value gets all of them as such.
		q := newCall()
		q.Method, q.Params = "count", mpack.AppendUint(nil, 3)
		if err := x.from.Send(t.Context(), &q.Pending, Limit); err != nil {
			t.Fatal(err)
		}
		if raw, err := q.Wait(t.Context()); err != nil || string(raw) != "\x93\x00\x01\x02" {
			t.Errorf("%x, %v", raw, err)
		}
	}
}

// A caller that has enough takes the request back, which ends the sender.
func TestCancelEndsItems(t *testing.T) {
	a, b := pair(t)
	for _, x := range []struct{ from, to *side }{{a, b}, {b, a}} {
		q := x.from.stream(t, "count", 1<<30)
		for _, err := range q.Items(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			break
		}
		q.Cancel(errCancelled)
		if err := <-x.to.counted; err != ErrTakenBack || !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", x.to.name, err)
		}
	}
}

// fed is a wire whose peer says what a test hands it.
type fed struct {
	*linktest.Wire
	in chan []byte
}

func (f fed) Read(p []byte) (int, error) {
	b, ok := <-f.in
	if !ok {
		return 0, io.EOF
	}
	return copy(p, b), nil
}

// fedConn is an open connection, and the session of its peer.
func fedConn(t *testing.T, s *side, caps codec.Caps) (*Conn, fed, func(...codec.Message)) {
	t.Helper()
	w := fed{linktest.NewWire(), make(chan []byte)}
	session, peer := native.Open(codec.Limits{}), native.Open(codec.Limits{})
	linktest.Shake(t, session)
	linktest.Shake(t, peer)
	s.replies = map[string]codec.Raw{"now": nil}
	c := New(Options{
		Session: session, Wire: w, Owner: s, Env: System{}, FirstID: 2, Bounds: PeerBounds, Serving: &s.owner.serving,
		Collect: 10,
	})
	c.Open(linktest.Shaken(caps))
	t.Cleanup(func() {
		close(w.in)
		c.CloseRequests(errCrashed)
		c.Close()
		s.owner.serving.Wait()
	})
	return c, w, func(ms ...codec.Message) {
		var b []byte
		for i := range ms {
			var err error
			if b, err = peer.Append(b, &ms[i]); err != nil {
				t.Fatal(err)
			}
		}
		w.in <- b
	}
}

// heard waits for n messages.
func heard(t *testing.T, w fed, n int) []codec.Message {
	t.Helper()
	var got []codec.Message
	soon(t, func() bool {
		got = w.Said(t)
		return len(got) >= n
	}, fmt.Sprint(n, " messages"))
	return got
}

func TestItemsKeepToTheCredit(t *testing.T) {
	s := &side{name: "s", told: make(chan string, 10), counted: make(chan error, 10)}
	_, w, say := fedConn(t, s, codec.CapAll)
	five := mpack.AppendUint(nil, 5)
	say(codec.Message{Kind: codec.Request, ID: 7, Method: "count", Params: five}, codec.Message{Kind: codec.Credit, ID: 7, Credit: 2})
	items := func(ms []codec.Message) (n int) {
		for _, m := range ms {
			if m.Kind != codec.Item {
				continue
			}
			if m.ID != 7 || m.Seq != uint32(n) || string(m.Result) != string(mpack.AppendUint(nil, uint64(n))) {
				t.Errorf("item %d is %+v", n, m)
			}
			n++
		}
		return n
	}
	soon(t, func() bool { return items(w.Said(t)) == 2 }, "two items")
	// What the loop answers behind that shows that no more has come.
	say(codec.Message{Kind: codec.Request, ID: 8, Method: "now"})
	soon(t, func() bool { return len(w.Answers(t)) == 1 }, "an answer")
	if n := items(w.Said(t)); n != 2 {
		t.Errorf("%d items for a credit of 2", n)
	}
	say(codec.Message{Kind: codec.Credit, ID: 7, Credit: 1}, codec.Message{Kind: codec.Credit, ID: 7, Credit: 100})
	soon(t, func() bool { return len(w.Answers(t)) == 2 }, "the end")
	if n := items(w.Said(t)); n != 5 {
		t.Errorf("%d items", n)
	}
	// Without credit no more is kept than the bound allows.
	<-s.counted
	say(codec.Message{Kind: codec.Request, ID: 9, Method: "count", Params: mpack.AppendUint(nil, 11)})
	if err := <-s.counted; !errors.Is(err, ErrUncollected) {
		t.Error(err)
	}
}

// A cancel or a credit for a request that was never made ends the connection, where the
// protocol is ours.
func TestPeerThatSpeaksOfNoRequest(t *testing.T) {
	for _, kind := range []codec.Kind{codec.Cancel, codec.Credit} {
		s := &side{name: "s", told: make(chan string, 10)}
		c, _, say := fedConn(t, s, codec.CapAll)
		s.expect(t, " opened")
		say(codec.Message{Kind: codec.Request, ID: 4, Method: "now"}, codec.Message{Kind: kind, ID: 4, Credit: 1})
		say(codec.Message{Kind: kind, ID: 5, Credit: 1})
		s.expect(t, fmt.Sprintf(" ended: id never given: %v for id 5", kind))
		c.caps |= codec.CapAbandon
		if err := c.Receive(&codec.Message{Kind: kind, ID: 5}); err != nil {
			t.Error(err)
		}
	}
}

// What a turn answers leaves in one write, with the acknowledgement of what it does not
// answer. An answer behind its turn is written by its handler.
func TestTurnLeavesInOneWrite(t *testing.T) {
	s := &side{name: "s", told: make(chan string, 10)}
	block := make(chan struct{})
	s.handlers = map[string]func(context.Context) (codec.Raw, *codec.Error){
		"quick": func(context.Context) (codec.Raw, *codec.Error) { return nil, nil },
		"slow":  func(context.Context) (codec.Raw, *codec.Error) { <-block; return nil, nil },
	}
	_, w, say := fedConn(t, s, codec.CapAll)
	say(codec.Message{Kind: codec.Request, ID: 2, Method: "slow"}, codec.Message{Kind: codec.Request, ID: 3, Method: "now"},
		codec.Message{Kind: codec.Request, ID: 4, Method: "slow"})
	got := heard(t, w, 3)
	if got[0].Kind != codec.Response || got[0].ID != 3 || got[1].Kind != codec.Ack || got[1].ID != 2 || got[2].Kind != codec.Ack || got[2].ID != 4 {
		t.Errorf("%+v", got)
	}
	if w.Lock(); w.Tries != 1 || w.Writes != 0 {
		t.Errorf("%d writes", w.Tries+w.Writes)
	}
	w.Unlock()
	close(block)
	heard(t, w, 5)
	if w.Lock(); w.Writes != 0 {
		t.Errorf("%d writes by the loop", w.Writes)
	}
	w.Unlock()
	say(codec.Message{Kind: codec.Request, ID: 5, Method: "quick"})
	soon(t, func() bool { return len(w.Answers(t)) == 4 }, "an answer")
}

// Without the capability nothing is acknowledged.
func TestNoAckWithoutTheCapability(t *testing.T) {
	s := &side{name: "s", told: make(chan string, 10)}
	block := make(chan struct{})
	s.handlers = map[string]func(context.Context) (codec.Raw, *codec.Error){
		"slow": func(context.Context) (codec.Raw, *codec.Error) { <-block; return nil, nil },
	}
	_, w, say := fedConn(t, s, codec.CapCancel)
	say(codec.Message{Kind: codec.Request, ID: 2, Method: "slow"})
	say(codec.Message{Kind: codec.Request, ID: 3, Method: "now"})
	if got := heard(t, w, 1); len(got) != 1 || got[0].ID != 3 {
		t.Errorf("%+v", got)
	}
	close(block)
	heard(t, w, 2)
}
