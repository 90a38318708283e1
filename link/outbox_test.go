package link

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"testing"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/native"
	"github.com/hostsup/hostsup/internal/leaktest"
	"github.com/hostsup/hostsup/link/linktest"
)

// note is a small message to tell others from.
func note(format string, args ...any) *codec.Message {
	return &codec.Message{Kind: codec.Notification, Method: fmt.Sprintf(format, args...)}
}

func newOutbox(w Wire, s codec.Session) *outbox {
	return &outbox{w: w, env: System{}, session: s, wake: make(chan struct{}, 1)}
}

// newTestOutbox returns an outbox; its write loop runs with start only.
func newTestOutbox(t testing.TB) (o *outbox, w *linktest.Wire, start func()) {
	t.Helper()
	w = linktest.NewWire()
	o = newOutbox(w, native.Open(codec.Limits{}))
	var loop sync.WaitGroup
	t.Cleanup(func() {
		o.close(io.ErrClosedPipe)
		w.Close()
		loop.Wait()
	})
	return o, w, func() { loop.Go(o.loop) }
}

// names waits for n messages and returns their methods.
func names(t testing.TB, w *linktest.Wire, n int) []string {
	t.Helper()
	var got []codec.Message
	soon(t, func() bool {
		got = w.Written(t)
		return len(got) >= n
	}, "messages")
	var out []string
	for _, m := range got {
		out = append(out, m.Method)
	}
	return out
}

func TestOutboxWritesALoneMessageItself(t *testing.T) {
	o, w, _ := newTestOutbox(t) // there is no loop to do it
	for i := range 3 {
		m := note("%d", i)
		if _, err := o.put(m, here, Limit); err != nil || m.Size == 0 {
			t.Fatalf("size %d, %v", m.Size, err)
		}
	}
	if got := fmt.Sprint(names(t, w, 3)); got != "[0 1 2]" {
		t.Error(got)
	}
}

func TestOutboxKeepsTheOrderOfATornMessage(t *testing.T) {
	o, w, start := newTestOutbox(t)
	w.Room = 5 // the kernel takes a part of the first message
	w.Gate = make(chan struct{})
	start()
	for i := range 5 {
		if _, err := o.put(note("%d", i), at(i == 0), Limit); err != nil {
			t.Fatal(err)
		}
	}
	<-w.Begun
	close(w.Gate)
	if got := fmt.Sprint(names(t, w, 5)); got != "[0 1 2 3 4]" {
		t.Error(got)
	}
}

func TestOutboxPutsManyMessagesIntoOneWrite(t *testing.T) {
	o, w, start := newTestOutbox(t)
	w.Gate = make(chan struct{})
	start()
	if _, err := o.put(note("first"), byLoop, Limit); err != nil {
		t.Fatal(err)
	}
	<-w.Begun // the loop is held at its first write
	for i := range 1000 {
		if _, err := o.put(note("%d", i), at(i%2 == 0), Limit); err != nil {
			t.Fatal(err)
		}
	}
	close(w.Gate)
	got := names(t, w, 1001)
	if got[0] != "first" || got[1] != "0" || got[1000] != "999" {
		t.Errorf("%d messages out of order", len(got))
	}
	if w.Writes != 2 {
		t.Errorf("%d writes for %d messages", w.Writes, len(got))
	}
}

func TestOutboxFull(t *testing.T) {
	o, w, start := newTestOutbox(t)
	w.Gate = make(chan struct{})
	start()
	big := &codec.Message{Kind: codec.Notification, Method: "big", Params: append([]byte{0xc6, 0, 0x40, 0, 0}, make([]byte, 4<<20)...)}
	if _, err := o.put(big, byLoop, Limit); err != nil {
		t.Fatal(err)
	}
	<-w.Begun // that one is with the wire
	if _, err := o.put(big, byLoop, Limit); err != nil {
		t.Fatal(err)
	}
	space, err := o.put(note("late"), byLoop, Limit)
	if !errors.Is(err, ErrFull) || !o.full() {
		t.Fatalf("a third one: %v", err)
	}
	again, _ := o.put(note("later"), here, Limit)
	select {
	case <-space:
		t.Fatal("there is no space")
	case <-again:
		t.Fatal("there is no space")
	default:
	}
	// What an actor has to say goes in all the same, and what the supervisor
	// has to say for itself up to twice the limit.
	if _, err := o.put(note("now"), byLoop, NoLimit); err != nil {
		t.Error(err)
	}
	if _, err := o.put(note("cancel"), byLoop, 2*Limit); err != nil {
		t.Error(err)
	}
	close(w.Gate)
	<-space
	<-again
	if got := fmt.Sprint(names(t, w, 4)); got != "[big big now cancel]" {
		t.Error(got)
	}
}

func TestOutboxFullThenBroken(t *testing.T) {
	o, w, start := newTestOutbox(t)
	w.Gate = make(chan struct{})
	start()
	big := &codec.Message{Kind: codec.Notification, Method: "big", Params: append([]byte{0xc6, 0, 0x40, 0, 0}, make([]byte, 4<<20)...)}
	if _, err := o.put(big, byLoop, Limit); err != nil {
		t.Fatal(err)
	}
	<-w.Begun // the write loop has taken it, and waits at the gate
	if _, err := o.put(big, byLoop, Limit); err != nil {
		t.Fatal(err)
	}
	if !o.full() {
		t.Fatal("4 MiB do not fill it")
	}
	space, err := o.put(note("late"), byLoop, Limit)
	if !errors.Is(err, ErrFull) {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	w.Lock()
	w.Err = broken
	w.Unlock()
	close(w.Gate)
	<-space // whoever waits is woken, and learns why
	if _, err := o.put(note("later"), here, Limit); !errors.Is(err, broken) || !o.broken() {
		t.Errorf("%v", err)
	}
}

func TestOutboxEndsBehindWhatWasPut(t *testing.T) {
	for _, busy := range []bool{false, true} {
		t.Run(fmt.Sprintf("busy=%v", busy), func(t *testing.T) {
			o, w, start := newTestOutbox(t)
			if busy {
				w.Gate = make(chan struct{})
			}
			start()
			if _, err := o.put(note("last"), at(!busy), Limit); err != nil {
				t.Fatal(err)
			}
			if busy {
				<-w.Begun
			}
			o.end()
			o.end()
			if busy {
				select {
				case <-w.Half:
					t.Fatal("closed before it was written")
				default:
				}
				close(w.Gate)
			}
			<-w.Half
			if got := fmt.Sprint(names(t, w, 1)); got != "[last]" {
				t.Error(got)
			}
			if _, err := o.put(note("too late"), here, Limit); !errors.Is(err, io.ErrClosedPipe) {
				t.Errorf("after the end: %v", err)
			}
		})
	}
}

func TestOutboxWithALoneMessageThatCannotBeWritten(t *testing.T) {
	o, w, _ := newTestOutbox(t)
	w.Err = errors.New("broken")
	if _, err := o.put(note("lost"), here, Limit); err != nil {
		t.Errorf("the read loop is the one to tell: %v", err)
	}
	if _, err := o.put(note("lost"), here, Limit); !errors.Is(err, w.Err) {
		t.Errorf("%v", err)
	}
}

func TestOutboxRefusesWhatIsTooLarge(t *testing.T) {
	w := linktest.NewWire()
	o := newOutbox(w, native.Open(codec.Limits{Frame: 100}))
	if _, err := o.put(&codec.Message{Kind: codec.Notification, Method: "m", Params: append([]byte{0xc4, 200}, make([]byte, 200)...)}, here, Limit); !errors.Is(err, codec.ErrTooLarge) {
		t.Errorf("%v", err)
	}
	if _, err := o.put(note("small"), here, Limit); err != nil {
		t.Error(err)
	}
	if got := fmt.Sprint(names(t, w, 1)); got != "[small]" {
		t.Error(got)
	}
}

// TestOutboxFromManySides holds that frames stay whole and each sender's stay
// in order, however little the kernel takes at once.
func TestOutboxFromManySides(t *testing.T) {
	o, w, start := newTestOutbox(t)
	w.Room = 1000
	start()
	const senders, each = 8, 200
	var all sync.WaitGroup
	for i := range senders {
		all.Go(func() {
			for j := range each {
				if _, err := o.put(note("%d %d", i, j), here, Limit); err != nil {
					t.Error(err)
				}
				w.Lock()
				w.Room += 7 // a torn write now and then
				w.Unlock()
			}
		})
	}
	all.Wait()
	next := make([]int, senders)
	for _, name := range names(t, w, senders*each) {
		var i, j int
		if _, err := fmt.Sscan(name, &i, &j); err != nil {
			t.Fatal(err)
		}
		if j != next[i] {
			t.Fatalf("sender %d: %d where %d is next", i, j, next[i])
		}
		next[i]++
	}
}

func at(alone bool) when {
	if alone {
		return here
	}
	return byLoop
}

// What is held leaves with the next message, or at the release: in one write, in
// order, and not by the write loop, which does not run here.
func TestOutboxHolds(t *testing.T) {
	for want, next := range map[string]bool{"[0 1 2]": false, "[0 1 2 next]": true} {
		o, w, _ := newTestOutbox(t)
		for i := range 3 {
			if _, err := o.put(note("%d", i), held, Limit); err != nil {
				t.Fatal(err)
			}
		}
		if got := w.Written(t); len(got) != 0 {
			t.Errorf("written while it is held: %v", got)
		}
		if next {
			if _, err := o.put(note("next"), here, Limit); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			o.release()
			if got := fmt.Sprint(names(t, w, 3)); got != want || w.Tries != 1 {
				t.Errorf("%s in %d writes, want %s in one", got, w.Tries, want)
			}
		}
	}
}

// The loop takes what was held with what it is woken for.
func TestOutboxHoldsForTheLoop(t *testing.T) {
	o, w, start := newTestOutbox(t)
	for i := range 3 {
		if _, err := o.put(note("%d", i), held, Limit); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := o.put(note("3"), byLoop, Limit); err != nil {
		t.Fatal(err)
	}
	o.release() // is the loop's now
	start()
	if got := fmt.Sprint(names(t, w, 4)); got != "[0 1 2 3]" || w.Writes != 1 || w.Tries != 0 {
		t.Errorf("%s in %d writes", got, w.Writes+w.Tries)
	}
}

// Whoever waits until all is written is woken by the writer, or by the end.
func TestOutboxFlushed(t *testing.T) {
	o, w, start := newTestOutbox(t)
	if o.flushed() != nil {
		t.Error("there is nothing to wait for")
	}
	if _, err := o.put(note("held"), held, Limit); err != nil {
		t.Fatal(err)
	}
	start()
	<-o.flushed()
	if got := fmt.Sprint(names(t, w, 1)); got != "[held]" {
		t.Error(got)
	}
	w.Lock()
	w.Gate = make(chan struct{})
	w.Unlock()
	if _, err := o.put(note("one"), byLoop, Limit); err != nil {
		t.Fatal(err)
	}
	<-w.Begun
	if _, err := o.put(note("two"), here, Limit); err != nil {
		t.Fatal(err)
	}
	flushed := o.flushed()
	select {
	case <-flushed:
		t.Error("written while the wire takes nothing")
	default:
	}
	o.close(io.ErrClosedPipe)
	<-flushed
	if o.flushed() != nil {
		t.Error("nothing will be written any more")
	}
}

// In a turn of the read loop what others answer waits for its end, unless the loop lets
// go.
func TestOutboxTurn(t *testing.T) {
	o, w, start := newTestOutbox(t)
	put := func(name string) {
		t.Helper()
		if _, err := o.put(note("%s", name), ofTurn, Limit); err != nil {
			t.Fatal(err)
		}
	}
	put("before")
	o.begin()
	put("1")
	put("2")
	if got := fmt.Sprint(names(t, w, 1)); got != "[before]" {
		t.Error(got)
	}
	o.mu.Lock()
	o.releaseLocked()
	put("3")
	if got := fmt.Sprint(names(t, w, 4)); got != "[before 1 2 3]" || w.Tries != 3 {
		t.Errorf("%s in %d writes", got, w.Tries)
	}
	o.begin()
	put("4")
	o.letGo()
	start()
	if got := fmt.Sprint(names(t, w, 5)); got != "[before 1 2 3 4]" {
		t.Error(got)
	}
}

// A handler of the SDK's or a host's writes with the wires of this package, which take
// no memory for that.
func TestWiresAllocateNothing(t *testing.T) {
	if testing.CoverMode() != "" || leaktest.Race {
		t.Skip("coverage and the race detector set memory aside as well")
	}
	r, f, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	w := NewPipeWire(r, f)
	defer w.Close()
	b := make([]byte, 100)
	if n := testing.AllocsPerRun(100, func() {
		if n, err := w.TryWrite(b); n != len(b) || err != nil {
			t.Error(n, err)
		}
		if _, err := r.Read(b); err != nil {
			t.Error(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
