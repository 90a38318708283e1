package link

import (
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/native"
	"github.com/hostsup/hostsup/link/linktest"
	"github.com/hostsup/hostsup/link/pending"
)

var recordReplay = flag.Bool("record-replay", false, "write what random walks over a connection see into "+replayFile)

const replayFile = "testdata/replay.txt"

var (
	errUnsendable = errors.New("the host's protocol cannot carry the message")
	errCutOff     = errors.New(`host "h": call was cut off: host is stopped: not answered within 1s of the stop`)
)

// walker goes at random over everything that can be done to the requests of one
// connection, and writes down what comes of it.
type walker struct {
	t    *testing.T
	rnd  *rand.Rand
	c    *Conn
	open atomic.Int32 // requests without an outcome
	log  strings.Builder
	all  []*call // in the order in which they were made
	wait []*call // registered, not yet written
	over bool
}

func newWalker(t *testing.T, seed uint64, caps codec.Caps) *walker {
	session := native.Open(codec.Limits{})
	linktest.Shake(t, session)
	w := &walker{t: t, rnd: rand.New(rand.NewPCG(seed, 14))}
	w.c = newTest(new(owner), watched{session, w}, linktest.NewWire(), caps)
	return w
}

func (w *walker) say(format string, args ...any) { fmt.Fprintf(&w.log, format, args...) }

// make makes a request of some kind.
func (w *walker) make() *call {
	q := newCall()
	q.open = &w.open
	switch w.rnd.IntN(6) {
	case 0:
		q.Internal = true
	case 1:
		q.AllowItems()
	}
	if !q.Internal {
		w.open.Add(1)
	}
	w.all = append(w.all, q)
	return q
}

// id is one that was given, most often to a request that may be open.
func (w *walker) id() uint32 {
	switch n := len(w.all); {
	case n == 0 || w.rnd.IntN(60) == 0:
		return uint32(w.rnd.IntN(n + 4))
	case w.rnd.IntN(3) > 0:
		return w.all[max(0, n-1-w.rnd.IntN(6))].entry.ID()
	default:
		return w.all[w.rnd.IntN(n)].entry.ID()
	}
}

func (w *walker) some() *call {
	if len(w.all) == 0 {
		return nil
	}
	return w.all[max(0, len(w.all)-1-w.rnd.IntN(8))]
}

func (w *walker) step() {
	c := w.c
	switch op := w.rnd.IntN(40); {
	case op < 8:
		q := w.make()
		err := c.Send(context.Background(), &q.Pending, NoLimit)
		w.say("send %d internal=%v stream=%v: %v", q.ID(), q.Internal, q.stream != nil, err)
		if err != nil {
			w.all = w.all[:len(w.all)-1]
			q.Settle(nil, err)
		}
	case op < 11:
		q := w.make()
		out, _, err := c.register(pending.Register, &q.Pending, c.env.Now())
		w.say("register %d alone=%v: %v", q.ID(), out.Do.Has(pending.Alone), err)
		if err != nil {
			w.all = w.all[:len(w.all)-1]
			q.Settle(nil, err)
			break
		}
		w.wait = append(w.wait, q)
	case op < 14 && len(w.wait) > 0:
		q := w.wait[0]
		w.wait = w.wait[1:]
		w.say("write %d", q.ID())
		w.say(": gone=%v", w.write(q))
	case op < 19:
		if q := w.some(); q != nil {
			w.say("cancel %d", q.ID())
			q.Cancel(errCancelled)
		}
	case op < 27:
		m := &codec.Message{Kind: codec.Response, ID: w.id()}
		w.say("answer %d", m.ID)
		w.say(": %v", c.Receive(m))
	case op < 31:
		id := w.id()
		w.say("ack %d: %v", id, c.Receive(ack(id)))
	case op < 36:
		m := &codec.Message{Kind: codec.Item, ID: w.id(), Result: codec.Raw{0xc0}}
		for _, q := range w.all {
			if q.ID() == m.ID && q.stream != nil && w.rnd.IntN(20) > 0 {
				m.Seq = w.nextSeq(q)
			}
		}
		w.say("item %d: %v", m.ID, c.Receive(m))
	case op == 36:
		if q := w.some(); q != nil && slices.Contains(w.wait, q) {
			w.wait = slices.DeleteFunc(w.wait, func(o *call) bool { return o == q })
			c.step(pending.Event{Op: pending.Drop, Entry: &q.entry}, 0)
			w.say("drop %d", q.ID())
			q.Settle(nil, errUnsendable)
		}
	case op == 37 && w.rnd.IntN(4) == 0:
		n := len(w.all)
		c.Drain(func() { w.say(" drained(%d)", n) })
		w.say("drain")
	case op == 38 && w.rnd.IntN(6) == 0:
		w.say("cut off")
		for _, p := range c.CutOff() {
			p.Cancel(errCutOff)
		}
	case op == 39 && w.rnd.IntN(8) == 0:
		w.say("close:")
		for _, q := range c.CloseRequests(errCrashed) {
			w.say(" %d", q.ID())
			q.Settle(nil, errCrashed)
		}
		w.over = true
	default:
		return
	}
	owed, open := c.OwedSince()
	late, left := w.counts()
	w.say(" | owed=%v open=%v late=%d left=%d pending=%d\n", owed != 0, open, late, left, w.open.Load())
}

// walk goes some steps, and a few after the end.
func (w *walker) walk(steps int) string {
	for range steps {
		w.step()
		if w.over && w.rnd.IntN(6) == 0 {
			break
		}
	}
	for _, q := range w.all {
		w.say("%d %v %v\n", q.ID(), q.IsSettled(), q.err)
	}
	return w.log.String()
}

// watched writes down what goes into the outbox.
type watched struct {
	codec.Session
	w *walker
}

func (s watched) Append(dst []byte, m *codec.Message) ([]byte, error) {
	out, err := s.Session.Append(dst, m)
	if err == nil {
		s.w.say(" [%s %d %d]", m.Kind, m.ID, m.Credit)
	}
	return out, err
}

// write does what Send does with a registered request.
func (w *walker) write(q *call) (gone bool) {
	told, _, err := w.c.write(&q.Pending, q.ID(), NoLimit)
	if err != nil {
		w.t.Fatal(err)
	}
	return told.Has(pending.Gone)
}

// nextSeq returns the number of the item that is next: all that came in order are
// still in the stream.
func (w *walker) nextSeq(q *call) uint32 { return uint32(len(q.stream.items)) }

func (w *walker) counts() (late, open int) {
	w.c.mu.Lock()
	defer w.c.mu.Unlock()
	return w.c.table.Late(), w.c.table.Len()
}

// TestReplay holds a connection to what random walks over it have seen before its
// requests were kept by a machine of their own.
func TestReplay(t *testing.T) {
	var got strings.Builder
	for _, row := range []struct {
		name string
		caps codec.Caps
	}{
		{"all", codec.CapAll &^ codec.CapAbandon},
		{"no acks", codec.CapAll &^ (codec.CapAbandon | codec.CapAck)},
		{"abandon", codec.CapAll | codec.CapAbandon},
		{"none", 0},
		{"abandon without cancel", codec.CapAbandon},
	} {
		for seed := range uint64(3) {
			fmt.Fprintf(&got, "== %s %d\n%s", row.name, seed, newWalker(t, seed, row.caps).walk(80))
		}
		sum := sha256.New()
		for seed := range uint64(100) {
			fmt.Fprint(sum, newWalker(t, 1000+seed, row.caps).walk(300))
		}
		fmt.Fprintf(&got, "== %s, 100 more\n%x\n", row.name, sum.Sum(nil))
	}
	if *recordReplay {
		if err := os.WriteFile(replayFile, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	b, err := os.ReadFile(replayFile)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(string(b), "\n")
	for i, line := range strings.Split(got.String(), "\n") {
		if i >= len(want) || line != want[i] {
			t.Fatalf("line %d is\n%s\nwant\n%s", i+1, line, append(want, "the end")[min(i, len(want))])
		}
	}
}
