package actors

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/link/pending"
)

// sent makes a request and sends it.
func sent(t testing.TB, c *conn) *Request {
	t.Helper()
	q := fakeCall(c.ref)
	if err := c.send(context.Background(), q); err != nil {
		t.Fatal(err)
	}
	return q
}

func reply(id uint32) *codec.Message { return &codec.Message{Kind: codec.Response, ID: id} }

// wrong checks that an error ends the connection, and what it says.
func wrong(t testing.TB, err error, kind error, text string) {
	t.Helper()
	var frame *codec.FrameError
	if !errors.As(err, &frame) || !errors.Is(err, kind) || !strings.Contains(err.Error(), text) {
		t.Errorf("%v, want %v: … %s …", err, kind, text)
	}
}

func TestAnswersThatNobodyAskedFor(t *testing.T) {
	c, _ := fakeConn(t, fakeRef())
	q := sent(t, c)
	if err := c.answer(reply(q.entry.ID())); err != nil || q.err != nil {
		t.Fatal(err, q.err)
	}
	wrong(t, c.answer(reply(q.entry.ID())), codec.ErrID, "answered before")
	wrong(t, c.answer(reply(99)), codec.ErrID, "never made")
	wrong(t, c.ack(99), codec.ErrID, "never made")
	wrong(t, c.ack(0), codec.ErrID, "never made")
	wrong(t, c.item(&codec.Message{ID: 99}), codec.ErrID, "never made")
	wrong(t, c.item(&codec.Message{ID: sent(t, c).entry.ID()}), codec.ErrNoCredit, "allowed none")
	// These come late, which is nobody's fault.
	if err := c.ack(q.entry.ID()); err != nil {
		t.Errorf("ack behind the answer: %v", err)
	}
	if err := c.item(&codec.Message{ID: q.entry.ID()}); err != nil {
		t.Errorf("item behind the answer: %v", err)
	}
}

func TestErrorsOfTheHost(t *testing.T) {
	c, _ := fakeConn(t, fakeRef())
	q := sent(t, c)
	own := &codec.Error{Name: "Mine", Message: "what"}
	if err := c.answer(&codec.Message{ID: q.entry.ID(), Err: own}); err != nil || !errors.Is(q.err, own) {
		t.Errorf("%v, %v", err, q.err)
	}
	q = sent(t, c)
	none := &codec.Error{Name: codec.NameMethodNotFound, Message: "no echo here"}
	if err := c.answer(&codec.Message{ID: q.entry.ID(), Err: none}); err != nil || !errors.Is(q.err, ErrNoSuchMethod) || !errors.Is(q.err, none) {
		t.Errorf("%v, %v", err, q.err)
	}
}

func TestLateAnswers(t *testing.T) {
	ref := fakeRef()
	c, w := fakeConn(t, ref)
	q := sent(t, c)
	q.cancel(ErrCancelled)
	q.cancel(ErrStopped)
	if !errors.Is(q.err, ErrCancelled) || ref.pending.Load() != 0 {
		t.Fatalf("%v, %d pending", q.err, ref.pending.Load())
	}
	if c.table.Late() != 1 || c.table.Len() != 1 {
		t.Fatalf("%d late, %d open", c.table.Late(), c.table.Len())
	}
	soon(t, func() bool { return len(w.written(t)) == 2 })
	if got := w.written(t); got[0].Kind != codec.Request || got[1].Kind != codec.Cancel || got[1].ID != q.entry.ID() {
		t.Errorf("sent %+v", got)
	}
	if err := c.answer(reply(q.entry.ID())); err != nil || c.table.Late() != 0 || c.table.Len() != 0 || !errors.Is(q.err, ErrCancelled) {
		t.Errorf("%v; %d late, %d open, outcome %v", err, c.table.Late(), c.table.Len(), q.err)
	}
	// A host that never answers those who have left is not asked for ever.
	for range pending.LateLimit {
		sent(t, c).cancel(ErrCancelled)
	}
	last := fakeCall(ref)
	if err := c.send(context.Background(), last); !errors.Is(err, ErrOverloaded) {
		t.Errorf("request %d: %v", pending.LateLimit+1, err)
	}
	for _, q := range c.close(ErrCrashed) {
		if !q.settled.Load() {
			t.Errorf("request %d has no outcome", q.entry.ID())
		}
	}
	if c.table.Late() != 0 {
		t.Errorf("%d late after the end", c.table.Late())
	}
}

func TestCancelGoesBehindTheRequest(t *testing.T) {
	c, w := fakeConn(t, fakeRef())
	q := fakeCall(c.ref)
	if _, err := c.register(q); err != nil {
		t.Fatal(err)
	}
	q.cancel(ErrCancelled) // its caller leaves before the frame is written
	m := &q.message
	*m = codec.Message{Kind: codec.Request, ID: q.entry.ID(), Method: "echo"}
	told, _, err := c.out.append(c.session, m, here, outboxLimit)
	if err != nil {
		t.Fatal(err)
	}
	if got := w.written(t); len(got) != 1 {
		t.Fatalf("sent %+v", got)
	}
	if !told.Has(pending.Gone) {
		t.Error("the writer was not told to cancel")
	}
}

func TestOwing(t *testing.T) {
	c, _ := fakeConn(t, fakeRef())
	owed := func() int64 {
		since, open := c.owing()
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
		if err := c.ack(a.entry.ID()); err != nil {
			t.Fatal(err)
		}
		if owed() != since {
			t.Error("an ack of one of two")
		}
	}
	if err := c.answer(reply(b.entry.ID())); err != nil { // an answer counts as an ack
		t.Fatal(err)
	}
	if owed() != 0 {
		t.Error("all is acknowledged, and still something is owed")
	}
	third := sent(t, c)
	third.cancel(ErrCancelled)
	if owed() == 0 {
		t.Error("a host that has not picked up a cancelled request owes that still")
	}
	c.drop(third)
	if owed() != 0 || c.table.Late() != 0 {
		t.Errorf("dropped, and owed since %d, %d late", owed(), c.table.Late())
	}
	c.agree(c.caps, false) // a host that does not acknowledge owes an answer to pings alone
	sent(t, c)
	if owed() != 0 {
		t.Error("an ack is owed by a host that has none")
	}
	ping := newRequest(c.ref, "$/ping", nil)
	ping.entry.Internal = true
	if err := c.sendNow(ping); err != nil || owed() == 0 {
		t.Errorf("no answer is owed to a ping: %v", err)
	}
	c.close(ErrCrashed)
	if _, open := c.owing(); open {
		t.Error("a connection that has ended would have its host answer again")
	}
}

func TestCloseTakesTheOldestFirst(t *testing.T) {
	c, _ := fakeConn(t, fakeRef())
	var want []*Request
	for range 100 {
		want = append(want, sent(t, c))
	}
	got := c.close(ErrCrashed)
	if len(got) != len(want) {
		t.Fatalf("%d requests", len(got))
	}
	for i := range got {
		if got[i] != want[i] {
			t.Fatalf("request %d is out of order", i)
		}
	}
	if c.close(ErrCrashed) != nil {
		t.Error("closed twice")
	}
	if err := c.send(context.Background(), fakeCall(c.ref)); !errors.Is(err, errConnClosed) {
		t.Errorf("after the end: %v", err)
	}
}

func TestHeadersKeepTheLast(t *testing.T) {
	var r headerRing
	if got := r.list(); len(got) != 0 {
		t.Errorf("%d headers of nothing", len(got))
	}
	for i := range 120 {
		r.add(header{at: int64(i + 1), dir: "sent", kind: codec.Request, id: uint32(i), method: "m", size: i})
		got := r.list()
		if want := min(i+1, headersKept); len(got) != want {
			t.Fatalf("%d headers, want %d", len(got), want)
		}
		if last := got[len(got)-1]; last.ID != uint32(i) || last.Size != i || last.Kind != "request" {
			t.Fatalf("last %+v", last)
		}
		if got[0].ID != uint32(max(0, i+1-headersKept)) {
			t.Fatalf("first %+v", got[0])
		}
	}
	// A writer notes what it has sent when it gets to it, which may be late.
	r = headerRing{}
	r.add(header{at: 3, id: 3})
	r.add(header{at: 1, id: 1})
	r.add(header{at: 2, id: 2})
	if got := r.list(); got[0].ID != 1 || got[1].ID != 2 || got[2].ID != 3 {
		t.Errorf("not in order of time: %+v", got)
	}
}
