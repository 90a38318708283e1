package link

import (
	"errors"
	"sync/atomic"
	"testing"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/link/pending"
)

func TestAnswersThatNobodyAskedFor(t *testing.T) {
	c, _ := testConn(t, new(owner))
	q := sent(t, c)
	if err := c.Receive(reply(q.ID())); err != nil || q.err != nil {
		t.Fatal(err, q.err)
	}
	wrong(t, c.Receive(reply(q.ID())), codec.ErrID, "answered before")
	wrong(t, c.Receive(reply(99)), codec.ErrID, "never made")
	wrong(t, c.Receive(ack(99)), codec.ErrID, "never made")
	wrong(t, c.Receive(ack(0)), codec.ErrID, "never made")
	wrong(t, c.Receive(&codec.Message{Kind: codec.Item, ID: 99}), codec.ErrID, "never made")
	wrong(t, c.Receive(&codec.Message{Kind: codec.Item, ID: sent(t, c).ID()}), codec.ErrNoCredit, "allowed none")
	// These come late, which is nobody's fault.
	if err := c.Receive(ack(q.ID())); err != nil {
		t.Errorf("ack behind the answer: %v", err)
	}
	if err := c.Receive(&codec.Message{Kind: codec.Item, ID: q.ID()}); err != nil {
		t.Errorf("item behind the answer: %v", err)
	}
}

func TestLateAnswers(t *testing.T) {
	c, w := testConn(t, new(owner))
	var open atomic.Int32
	open.Add(1)
	q := newCall()
	q.open = &open
	if err := c.Send(t.Context(), &q.Pending, Limit); err != nil {
		t.Fatal(err)
	}
	q.Cancel(errCancelled)
	q.Cancel(errCrashed)
	if !errors.Is(q.err, errCancelled) || open.Load() != 0 {
		t.Fatalf("%v, %d pending", q.err, open.Load())
	}
	if c.table.Late() != 1 || c.table.Len() != 1 {
		t.Fatalf("%d late, %d open", c.table.Late(), c.table.Len())
	}
	soon(t, func() bool { return len(w.Written(t)) == 2 }, "a request and its cancel")
	if got := w.Written(t); got[0].Kind != codec.Request || got[1].Kind != codec.Cancel || got[1].ID != q.ID() {
		t.Errorf("sent %+v", got)
	}
	if err := c.Receive(reply(q.ID())); err != nil || c.table.Late() != 0 || c.table.Len() != 0 || !errors.Is(q.err, errCancelled) {
		t.Errorf("%v; %d late, %d open, outcome %v", err, c.table.Late(), c.table.Len(), q.err)
	}
	// A host that never answers those who have left is not asked for ever.
	for range pending.LateLimit {
		sent(t, c).Cancel(errCancelled)
	}
	var owed *OverloadError
	if err := c.Send(t.Context(), &newCall().Pending, Limit); !errors.As(err, &owed) || owed.Owed != pending.LateLimit {
		t.Errorf("request %d: %v", pending.LateLimit+1, err)
	}
	for _, q := range c.CloseRequests(errCrashed) {
		if !q.IsSettled() {
			t.Errorf("request %d has no outcome", q.ID())
		}
	}
	if c.table.Late() != 0 {
		t.Errorf("%d late after the end", c.table.Late())
	}
}

func TestCancelGoesBehindTheRequest(t *testing.T) {
	c, w := testConn(t, new(owner))
	q := newCall()
	out, _, err := c.register(pending.Register, &q.Pending, 1)
	if err != nil {
		t.Fatal(err)
	}
	q.Cancel(errCancelled) // its caller leaves before the frame is written
	told, _, err := c.write(&q.Pending, out.ID, Limit)
	if err != nil {
		t.Fatal(err)
	}
	soon(t, func() bool { return len(w.Written(t)) > 0 }, "the request")
	if got := w.Written(t); len(got) != 1 || got[0].Kind != codec.Request {
		t.Fatalf("sent %+v", got)
	}
	if !told.Has(pending.Gone) {
		t.Error("the writer was not told to cancel")
	}
}

func TestOwing(t *testing.T) {
	c, _ := testConn(t, new(owner))
	owed := func() int64 {
		since, open := c.OwedSince()
		if !open {
			t.Error("an open connection is said to be closed")
		}
		return since
	}
	if owed() != 0 {
		t.Error("something is owed before the first request")
	}
	a, b := sent(t, c), sent(t, c)
	since := owed()
	if since == 0 {
		t.Fatal("nothing is owed for two requests")
	}
	for range 2 { // the second ack changes nothing
		if err := c.Receive(ack(a.ID())); err != nil {
			t.Fatal(err)
		}
		if owed() != since {
			t.Error("an ack of one of two")
		}
	}
	if err := c.Receive(reply(b.ID())); err != nil { // an answer counts as an ack
		t.Fatal(err)
	}
	if owed() != 0 {
		t.Error("all is acknowledged, and still something is owed")
	}
	third := sent(t, c)
	third.Cancel(errCancelled)
	if owed() == 0 {
		t.Error("a host that has not picked up a cancelled request owes that still")
	}
	c.step(pending.Event{Op: pending.Drop, Entry: &third.entry}, 0)
	if owed() != 0 || c.table.Late() != 0 {
		t.Errorf("dropped, and owed since %d, %d late", owed(), c.table.Late())
	}
	c.agree(c.caps &^ codec.CapAck) // a host that does not acknowledge owes an answer to pings alone
	sent(t, c)
	if owed() != 0 {
		t.Error("an ack is owed by a host that has none")
	}
	if err := c.Send(t.Context(), &internalCall().Pending, NoLimit); err != nil || owed() == 0 {
		t.Errorf("no answer is owed to a ping: %v", err)
	}
	c.CloseRequests(errCrashed)
	if _, open := c.OwedSince(); open {
		t.Error("a connection that has ended would have its host answer again")
	}
}

func TestCloseTakesTheOldestFirst(t *testing.T) {
	c, _ := testConn(t, new(owner))
	var want []*call
	for range 100 {
		want = append(want, sent(t, c))
	}
	got := c.CloseRequests(errCrashed)
	if len(got) != len(want) {
		t.Fatalf("%d requests", len(got))
	}
	for i := range got {
		if got[i] != &want[i].Pending {
			t.Fatalf("request %d is out of order", i)
		}
	}
	if c.CloseRequests(errCrashed) != nil {
		t.Error("closed twice")
	}
	if err := c.Send(t.Context(), &newCall().Pending, Limit); !errors.Is(err, ErrClosed) {
		t.Errorf("after the end: %v", err)
	}
}

func TestHeadersKeepTheLast(t *testing.T) {
	var sent, received ring
	list := func() []Header {
		return newest(received.append(sent.append(nil, System{}, "sent"), System{}, "received"))
	}
	if got := list(); len(got) != 0 {
		t.Errorf("%d headers of nothing", len(got))
	}
	for i := range 120 {
		r, dir := &sent, "sent"
		if i%3 == 0 {
			r, dir = &received, "received"
		}
		r.add(int64(i+1), &codec.Message{Kind: codec.Request, ID: uint32(i), Method: "m", Size: i})
		got := list()
		if want := min(i+1, headersKept); len(got) != want {
			t.Fatalf("%d headers, want %d", len(got), want)
		}
		if last := got[len(got)-1]; last.ID != uint32(i) || last.Size != i || last.Kind != "request" || last.Dir != dir {
			t.Fatalf("last %+v", last)
		}
		if got[0].ID != uint32(max(0, i+1-headersKept)) {
			t.Fatalf("first %+v", got[0])
		}
	}
	// A writer notes what it has sent when it gets to it, which may be late.
	sent, received = ring{}, ring{}
	for _, at := range []int64{3, 1, 2} {
		sent.add(at, &codec.Message{ID: uint32(at)})
	}
	if got := list(); got[0].ID != 1 || got[1].ID != 2 || got[2].ID != 3 {
		t.Errorf("not in order of time: %+v", got)
	}
}

func TestDrainWaitsForCallers(t *testing.T) {
	c, _ := testConn(t, new(owner))
	first, second, third := sent(t, c), sent(t, c), sent(t, c)
	if err := c.Send(t.Context(), &internalCall().Pending, NoLimit); err != nil {
		t.Fatal(err)
	}
	done := 0
	c.Drain(func() { done++ })
	if err := c.Send(t.Context(), &newCall().Pending, Limit); !errors.Is(err, ErrClosed) {
		t.Errorf("a new call: %v", err)
	}
	if err := c.Receive(reply(second.ID())); err != nil || done != 0 {
		t.Error(err, done)
	}
	first.Cancel(errCancelled) // its caller has left; the host still owes the answer
	if done != 0 {
		t.Error("somebody still waits")
	}
	if err := c.Receive(reply(third.ID())); err != nil || done != 1 {
		t.Error(err, done)
	}
	if err := c.Receive(reply(first.ID())); err != nil || done != 1 {
		t.Error(err, done)
	}
	if err := c.Send(t.Context(), &internalCall().Pending, NoLimit); err != nil {
		t.Error("the goodbye is refused", err)
	}
	c.Drain(func() { done++ })
	if done != 2 {
		t.Error("there is nothing to wait for")
	}
	for _, q := range c.CloseRequests(errCrashed) {
		q.Settle(nil, errCrashed)
	}
}
