package link

import (
	"context"
	"errors"
	"testing"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/native"
	"github.com/hostsup/hostsup/link/linktest"
)

// unlocked is a session and a wire that look at the locks of their connection.
type unlocked struct {
	codec.Session
	*linktest.Wire
	t        *testing.T
	c        *Conn
	appended int
	written  int
}

func (u *unlocked) table() {
	if !u.c.mu.TryLock() {
		u.t.Error("the lock of the table is held")
		return
	}
	u.c.mu.Unlock()
}

func (u *unlocked) Append(dst []byte, m *codec.Message) ([]byte, error) {
	u.appended++
	u.table()
	return u.Session.Append(dst, m)
}

func (u *unlocked) TryWrite(p []byte) (int, error) {
	u.written++
	u.table()
	if !u.c.out.mu.TryLock() {
		u.t.Error("the lock of the outbox is held at a write")
	} else {
		u.c.out.mu.Unlock()
	}
	return u.Wire.TryWrite(p)
}

func TestNothingIsEncodedOrWrittenUnderTheLockOfTheTable(t *testing.T) {
	session := native.Open(codec.Limits{})
	linktest.Shake(t, session)
	u := &unlocked{Session: session, Wire: linktest.NewWire(), t: t}
	u.c = newTest(new(owner), u, u, codec.CapAll)
	q := sent(t, u.c)
	if err := u.c.Receive(reply(q.ID())); err != nil || !q.IsSettled() {
		t.Fatal(err)
	}
	sent(t, u.c).Cancel(errCancelled)
	s := newCall()
	s.AllowItems()
	if err := u.c.Send(t.Context(), &s.Pending, Limit); err != nil {
		t.Fatal(err)
	}
	if u.appended != 5 || u.written == 0 { // three requests, a cancel and the first credit
		t.Errorf("%d messages, %d writes", u.appended, u.written)
	}
}

// large fills an outbox by itself.
func large() *codec.Message {
	return &codec.Message{Kind: codec.Notification, Method: "big", Params: append([]byte{0xc6, 0, 0x40, 0, 0}, make([]byte, Limit)...)}
}

// A request that waits for room when its connection ends is handed back to its
// sender, if whoever closed the connection lets it go; else it has its outcome.
func TestRequestThatWaitsForRoomMovesOn(t *testing.T) {
	for name, leaves := range map[string]bool{"let go": true, "settled": false} {
		t.Run(name, func(t *testing.T) {
			session := native.Open(codec.Limits{})
			linktest.Shake(t, session)
			c := newTest(new(owner), session, linktest.NewWire(), codec.CapAll)
			if _, err := c.Put(large(), Limit); err != nil { // no loop writes it
				t.Fatal(err)
			}
			q := newCall()
			sending := make(chan error, 1)
			go func() { sending <- c.Send(context.Background(), &q.Pending, Limit) }()
			soon(t, func() bool {
				since, _ := c.OwedSince()
				return since != 0
			}, "a request whose write is blocked is owed an ack")
			list := c.CloseRequests(errCrashed)
			if len(list) != 1 || list[0] != &q.Pending {
				t.Fatalf("%d requests", len(list))
			}
			if !leaves {
				list[0].Settle(nil, errCrashed)
			} else if c.Release(list[0]) {
				t.Error("it is taken from its sender")
			}
			c.out.close(errCrashed)
			switch err := <-sending; {
			case leaves && !errors.Is(err, ErrMoved), !leaves && err != nil:
				t.Errorf("Send: %v", err)
			}
			if q.IsSettled() == leaves || q.conn.Load() != nil && leaves {
				t.Errorf("settled: %v, %v", q.IsSettled(), q.err)
			}
		})
	}
}

// A sender that waits for room goes when its context ends; the request is taken out.
func TestWaitingForRoomEnds(t *testing.T) {
	session := native.Open(codec.Limits{})
	linktest.Shake(t, session)
	c := newTest(new(owner), session, linktest.NewWire(), codec.CapAll)
	if _, err := c.Put(large(), Limit); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	q := newCall()
	if err := c.Send(ctx, &q.Pending, Limit); err != nil || !errors.Is(q.err, context.Canceled) {
		t.Errorf("%v, outcome %v", err, q.err)
	}
	if c.table.Len() != 0 || c.table.Owed() != 0 {
		t.Errorf("%d open, owed since %d", c.table.Len(), c.table.Owed())
	}
}

// A request that the wire cannot carry ends alone.
func TestUnsendableRequest(t *testing.T) {
	c := newTest(new(owner), native.Open(codec.Limits{Frame: 100}), linktest.NewWire(), 0)
	q := newCall()
	q.Params = append([]byte{0xc4, 200}, make([]byte, 200)...)
	if err := c.Send(t.Context(), &q.Pending, Limit); err != nil || !errors.Is(q.err, codec.ErrTooLarge) {
		t.Errorf("%v, outcome %v", err, q.err)
	}
	if c.table.Len() != 0 {
		t.Errorf("%d open", c.table.Len())
	}
}
