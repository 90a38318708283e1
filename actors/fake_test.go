package actors

import (
	"context"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/native"
	"github.com/hostsup/hostsup/internal/safeactor"
	"github.com/hostsup/hostsup/lifecycle/hostspec"
	"github.com/hostsup/hostsup/lifecycle/record"
	"github.com/hostsup/hostsup/link"
	"github.com/hostsup/hostsup/link/linktest"
)

// fakeRef is the handle of a host that has no actor: what would be told to it
// goes to nobody.
func fakeRef() *Ref {
	log := hclog.NewNullLogger()
	w := &World{System: safeactor.NewSystem(log), Log: log, Journal: record.NewJournal(nil)}
	spec := HostSpec{Spec: hostspec.Spec{Name: "h", Command: []string{"x"}, Protocol: native.New()}}.WithDefaults()
	ref := newRef(w, "g", spec)
	ref.inbox.ended = true
	return ref
}

// fakeConn is a connection with all capabilities over a wire of the test's, whose
// loops run until the end of the test.
func fakeConn(t testing.TB, ref *Ref) (*conn, *linktest.Wire) {
	t.Helper()
	w := linktest.NewWire()
	session := native.Open(codec.Limits{})
	linktest.Shake(t, session)
	c := opened(t, ref, session, w, codec.CapAll)
	<-w.Idle // the messages of a test do not meet those of the read loop
	return c, w
}

// opened is a connection that has shaken hands.
func opened(t testing.TB, ref *Ref, session codec.Session, w link.Wire, caps codec.Caps) *conn {
	c := newConn(ref, 1, session, w)
	c.Open(linktest.Shaken(caps))
	t.Cleanup(c.Close)
	return c
}

// fakeCall makes a request that takes its place in pending.
func fakeCall(ref *Ref) *Request {
	ref.pending.Add(1)
	return newRequest(ref, ref.spec(), "echo", nil)
}

// sent makes a request and sends it. The first one of a connection has id 2.
func sent(t testing.TB, c *conn) *Request {
	t.Helper()
	q := fakeCall(c.ref)
	if err := c.send(context.Background(), q, link.Limit); err != nil {
		t.Fatal(err)
	}
	return q
}

func reply(id uint32) *codec.Message { return &codec.Message{Kind: codec.Response, ID: id} }

// result is the outcome that a request has by now.
func result(t testing.TB, q *Request) error {
	t.Helper()
	if !q.IsSettled() {
		return nil
	}
	_, err := q.Outcome()
	return err
}
