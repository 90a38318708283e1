package link

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/native"
	"github.com/hostsup/hostsup/internal/leaktest"
	"github.com/hostsup/hostsup/internal/poll"
	"github.com/hostsup/hostsup/link/linktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// What a test makes of the ends of its requests.
var (
	errCancelled = errors.New("cancelled")
	errCrashed   = errors.New("host crashed")
)

// owner is an Owner that answers what a test has handlers for.
type owner struct {
	handlers map[string]func(context.Context) (codec.Raw, *codec.Error)
	replies  map[string]codec.Raw
	serving  sync.WaitGroup
}

func (*owner) Opened(codec.Peer)                       {}
func (*owner) Pace(context.Context)                    {}
func (*owner) Noise([]byte)                            {}
func (*owner) Notified(*codec.Message)                 {}
func (*owner) Sent(*Pending, *codec.Message, bool)     {}
func (*owner) Answered(uint32, *Pending, int64, int64) {}
func (*owner) Replied(*Pending)                        {}
func (*owner) Sign()                                   {}
func (*owner) Broke(error)                             {}
func (*owner) Ended(error)                             {}

func (o *owner) Asked(m *codec.Message) (*codec.Message, Handler) {
	if reply, ok := o.replies[m.Method]; ok {
		return &codec.Message{Result: reply}, nil
	}
	if f := o.handlers[m.Method]; f != nil {
		return nil, HandlerFunc(func(r *Incoming) (codec.Raw, *codec.Error) { return f(r) })
	}
	return nil, nil
}

// newTest makes a Conn that is not opened.
func newTest(o *owner, session codec.Session, w Wire, caps codec.Caps) *Conn {
	c := New(Options{Session: session, Wire: w, Owner: o, Env: System{}, FirstID: 2, Bounds: PeerBounds, Serving: &o.serving, Collect: 1 << 10})
	c.agree(caps)
	return c
}

// testConn is a connection with all capabilities, whose loops run until the end of
// the test.
func testConn(t testing.TB, o *owner) (*Conn, *linktest.Wire) {
	t.Helper()
	w := linktest.NewWire()
	session := native.Open(codec.Limits{})
	linktest.Shake(t, session)
	c := newTest(o, session, w, 0)
	c.Open(linktest.Shaken(codec.CapAll))
	<-w.Idle // the messages of a test do not meet those of the read loop
	t.Cleanup(c.Close)
	return c, w
}

// call is a request of a test.
type call struct {
	Pending
	open *atomic.Int32 // requests without an outcome; may be nil
}

func newCall() *call {
	q := new(call)
	q.Init(q, NewDeadlines(System{}, 0), "echo", nil)
	return q
}

// internalCall is a request of the owner's own.
func internalCall() *call {
	q := newCall()
	q.Internal = true
	return q
}

func (q *call) Reason(cause error) error { return cause }

func (q *call) Settled(codec.Raw, error) {
	if q.open != nil && !q.Internal {
		q.open.Add(-1)
	}
}

func (q *call) Withdrawn() {}

// sent makes a request and sends it.
func sent(t testing.TB, c *Conn) *call {
	t.Helper()
	q := newCall()
	if err := c.Send(context.Background(), &q.Pending, Limit); err != nil {
		t.Fatal(err)
	}
	return q
}

func ack(id uint32) *codec.Message { return &codec.Message{Kind: codec.Ack, ID: id} }

func reply(id uint32) *codec.Message { return &codec.Message{Kind: codec.Response, ID: id} }

// wrong checks that an error ends the connection, and what it says.
func wrong(t testing.TB, err error, kind error, text string) {
	t.Helper()
	var frame *codec.FrameError
	if !errors.As(err, &frame) || !errors.Is(err, kind) || !strings.Contains(err.Error(), text) {
		t.Errorf("%v, want %v: … %s …", err, kind, text)
	}
}

// soon polls a condition.
func soon(t testing.TB, ok func() bool, what string) {
	t.Helper()
	poll.Until(t, time.Minute, what, ok)
}
