package actors

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/native"
	"github.com/hostsup/hostsup/link/pending"
)

var recordReplay = flag.Bool("record-replay", false, "write what random walks over a connection see into "+replayFile)

const replayFile = "testdata/replay.txt"

// walker goes at random over everything that can be done to the requests of one
// connection, and writes down what comes of it.
type walker struct {
	t    *testing.T
	rnd  *rand.Rand
	c    *conn
	log  strings.Builder
	all  []*Request // in the order in which they were made
	wait []*Request // registered, not yet written
	over bool
}

func newWalker(t *testing.T, seed uint64, caps codec.Caps, acks bool) *walker {
	ref := fakeRef()
	session := native.Open(codec.Limits{})
	shake(t, session)
	w := &walker{t: t, rnd: rand.New(rand.NewPCG(seed, 14))}
	w.c = newConn(ref, 1, session, newFakeWire(), 2)
	w.c.agree(caps, acks)
	w.watch()
	return w
}

func (w *walker) say(format string, args ...any) { fmt.Fprintf(&w.log, format, args...) }

// make makes a request of some kind.
func (w *walker) make() *Request {
	q := fakeCall(w.c.ref)
	switch w.rnd.IntN(6) {
	case 0:
		q.entry.Internal = true
		w.c.ref.pending.Add(-1)
	case 1:
		q.asStream()
	case 2:
		q.idempotent = true
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

func (w *walker) some() *Request {
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
		err := c.sendNow(q)
		w.say("send %d internal=%v stream=%v: %v", q.entry.ID(), q.entry.Internal, q.stream != nil, err)
		if err != nil {
			w.all = w.all[:len(w.all)-1]
			q.settle(nil, err)
		}
	case op < 11:
		q := w.make()
		alone, err := c.register(q)
		w.say("register %d alone=%v: %v", q.entry.ID(), alone, err)
		if err != nil {
			w.all = w.all[:len(w.all)-1]
			q.settle(nil, err)
			break
		}
		w.wait = append(w.wait, q)
	case op < 14 && len(w.wait) > 0:
		q := w.wait[0]
		w.wait = w.wait[1:]
		m := &q.message
		*m = codec.Message{Kind: codec.Request, ID: q.entry.ID(), Method: "echo"}
		w.say("write %d", q.entry.ID())
		w.say(": gone=%v", w.write(q))
	case op < 19:
		if q := w.some(); q != nil {
			w.say("cancel %d", q.entry.ID())
			q.cancel(ErrCancelled)
		}
	case op < 27:
		m := &codec.Message{Kind: codec.Response, ID: w.id()}
		w.say("answer %d", m.ID)
		w.say(": %v", c.answer(m))
	case op < 31:
		id := w.id()
		w.say("ack %d: %v", id, c.ack(id))
	case op < 36:
		m := &codec.Message{Kind: codec.Item, ID: w.id(), Result: codec.Raw{0xc0}}
		for _, q := range w.all {
			if q.entry.ID() == m.ID && q.stream != nil && w.rnd.IntN(20) > 0 {
				m.Seq = w.nextSeq(q)
			}
		}
		w.say("item %d: %v", m.ID, c.item(m))
	case op == 36:
		if q := w.some(); q != nil && slices.Contains(w.wait, q) {
			w.wait = slices.DeleteFunc(w.wait, func(o *Request) bool { return o == q })
			c.drop(q)
			w.say("drop %d", q.entry.ID())
			q.settle(nil, ErrUnsendable)
		}
	case op == 37 && w.rnd.IntN(4) == 0:
		n := len(w.all)
		c.drain(func() { w.say(" drained(%d)", n) })
		w.say("drain")
	case op == 38 && w.rnd.IntN(6) == 0:
		w.say("cut off")
		c.cutOff(time.Second)
	case op == 39 && w.rnd.IntN(8) == 0:
		w.say("close:")
		for _, q := range c.close(ErrCrashed) {
			w.say(" %d", q.entry.ID())
			q.settle(nil, ErrCrashed)
		}
		w.over = true
	default:
		return
	}
	owed, open := c.owing()
	late, left := w.counts()
	w.say(" | owed=%v open=%v late=%d left=%d pending=%d\n", owed != 0, open, late, left, c.ref.pending.Load())
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
		w.say("%d %v %v\n", q.entry.ID(), q.settled.Load(), q.err)
	}
	return w.log.String()
}

// watch writes down what goes into the outbox.
func (w *walker) watch() {
	taken := w.c.out.taken
	w.c.out.taken = func(m *codec.Message) pending.Effect {
		w.say(" [%s %d %d]", m.Kind, m.ID, m.Credit)
		return taken(m)
	}
}

// write does what send does with a registered request.
func (w *walker) write(q *Request) (gone bool) {
	told, _, err := w.c.out.append(w.c.session, &q.message, byLoop, noLimit)
	if err != nil {
		w.t.Fatal(err)
	}
	return told.Has(pending.Gone)
}

// nextSeq returns the number of the item that is next: all that came in order are
// still in the stream.
func (w *walker) nextSeq(q *Request) uint32 { return uint32(len(q.stream.items)) }

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
		acks bool
	}{
		{"all", codec.CapAll &^ codec.CapAbandon, true},
		{"no acks", codec.CapAll &^ codec.CapAbandon, false},
		{"abandon", codec.CapAll | codec.CapAbandon, true},
		{"none", 0, false},
		{"abandon without cancel", codec.CapAbandon, false},
	} {
		for seed := range uint64(3) {
			fmt.Fprintf(&got, "== %s %d\n%s", row.name, seed, newWalker(t, seed, row.caps, row.acks).walk(80))
		}
		sum := sha256.New()
		for seed := range uint64(100) {
			fmt.Fprint(sum, newWalker(t, 1000+seed, row.caps, row.acks).walk(300))
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
