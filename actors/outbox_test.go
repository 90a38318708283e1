package actors

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/native"
)

// note is a small message to tell others from.
func note(format string, args ...any) *codec.Message {
	return &codec.Message{Kind: codec.Notification, Method: fmt.Sprintf(format, args...)}
}

// newTestOutbox returns an outbox; its write loop runs with start only.
func newTestOutbox(t testing.TB) (o *outbox, w *fakeWire, s codec.Session, start func()) {
	t.Helper()
	w = newFakeWire()
	o = newOutbox(w)
	var loop sync.WaitGroup
	t.Cleanup(func() {
		o.close(io.ErrClosedPipe)
		w.Close()
		loop.Wait()
	})
	return o, w, native.Open(codec.Limits{}), func() { loop.Go(o.loop) }
}

// names waits for n messages and returns their methods.
func names(t testing.TB, w *fakeWire, n int) []string {
	t.Helper()
	var got []codec.Message
	soon(t, func() bool {
		got = w.written(t)
		return len(got) >= n
	})
	var out []string
	for _, m := range got {
		out = append(out, m.Method)
	}
	return out
}

// soon polls a condition; what says which, where there are several.
func soon(t testing.TB, ok func() bool, what ...any) {
	t.Helper()
	deadline := time.After(time.Minute)
	for !ok() {
		select {
		case <-deadline:
			t.Fatal("did not come true within a minute ", fmt.Sprint(what...))
		case <-time.After(time.Millisecond):
		}
	}
}

func TestOutboxWritesALoneMessageItself(t *testing.T) {
	o, w, s, _ := newTestOutbox(t) // there is no loop to do it
	for i := range 3 {
		m := note("%d", i)
		if _, err := o.put(s, m, here); err != nil || m.Size == 0 {
			t.Fatalf("size %d, %v", m.Size, err)
		}
	}
	if got := fmt.Sprint(names(t, w, 3)); got != "[0 1 2]" {
		t.Error(got)
	}
}

func TestOutboxKeepsTheOrderOfATornMessage(t *testing.T) {
	o, w, s, start := newTestOutbox(t)
	w.room = 5 // the kernel takes a part of the first message
	w.gate = make(chan struct{})
	start()
	for i := range 5 {
		if _, err := o.put(s, note("%d", i), at(i == 0)); err != nil {
			t.Fatal(err)
		}
	}
	<-w.begun
	close(w.gate)
	if got := fmt.Sprint(names(t, w, 5)); got != "[0 1 2 3 4]" {
		t.Error(got)
	}
}

func TestOutboxPutsManyMessagesIntoOneWrite(t *testing.T) {
	o, w, s, start := newTestOutbox(t)
	w.gate = make(chan struct{})
	start()
	if _, err := o.put(s, note("first"), byLoop); err != nil {
		t.Fatal(err)
	}
	<-w.begun // the loop is held at its first write
	for i := range 1000 {
		if _, err := o.put(s, note("%d", i), at(i%2 == 0)); err != nil {
			t.Fatal(err)
		}
	}
	close(w.gate)
	got := names(t, w, 1001)
	if got[0] != "first" || got[1] != "0" || got[1000] != "999" {
		t.Errorf("%d messages out of order", len(got))
	}
	if w.writes != 2 {
		t.Errorf("%d writes for %d messages", w.writes, len(got))
	}
}

func TestOutboxFull(t *testing.T) {
	o, w, s, start := newTestOutbox(t)
	w.gate = make(chan struct{})
	start()
	big := &codec.Message{Kind: codec.Notification, Method: "big", Params: append([]byte{0xc6, 0, 0x40, 0, 0}, make([]byte, 4<<20)...)}
	if _, err := o.put(s, big, byLoop); err != nil {
		t.Fatal(err)
	}
	<-w.begun // that one is with the wire
	if _, err := o.put(s, big, byLoop); err != nil {
		t.Fatal(err)
	}
	space, err := o.put(s, note("late"), byLoop)
	if !errors.Is(err, errFull) || !o.full() {
		t.Fatalf("a third one: %v", err)
	}
	again, _ := o.put(s, note("later"), here)
	select {
	case <-space:
		t.Fatal("there is no space")
	case <-again:
		t.Fatal("there is no space")
	default:
	}
	// What an actor has to say goes in all the same, and what the supervisor
	// has to say for itself up to twice the limit.
	if _, err := o.add(s, note("now"), byLoop, noLimit); err != nil {
		t.Error(err)
	}
	if _, err := o.add(s, note("cancel"), byLoop, 2*outboxLimit); err != nil {
		t.Error(err)
	}
	close(w.gate)
	<-space
	<-again
	if got := fmt.Sprint(names(t, w, 4)); got != "[big big now cancel]" {
		t.Error(got)
	}
}

func TestOutboxFullThenBroken(t *testing.T) {
	o, w, s, start := newTestOutbox(t)
	w.gate = make(chan struct{})
	start()
	big := &codec.Message{Kind: codec.Notification, Method: "big", Params: append([]byte{0xc6, 0, 0x40, 0, 0}, make([]byte, 4<<20)...)}
	if _, err := o.put(s, big, byLoop); err != nil {
		t.Fatal(err)
	}
	<-w.begun // the write loop has taken it, and waits at the gate
	if _, err := o.put(s, big, byLoop); err != nil {
		t.Fatal(err)
	}
	if !o.full() {
		t.Fatal("4 MiB do not fill it")
	}
	space, err := o.put(s, note("late"), byLoop)
	if !errors.Is(err, errFull) {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	w.mu.Lock()
	w.err = broken
	w.mu.Unlock()
	close(w.gate)
	<-space // whoever waits is woken, and learns why
	if _, err := o.put(s, note("later"), here); !errors.Is(err, broken) || !o.broken() {
		t.Errorf("%v", err)
	}
}

func TestOutboxEndsBehindWhatWasPut(t *testing.T) {
	for _, busy := range []bool{false, true} {
		t.Run(fmt.Sprintf("busy=%v", busy), func(t *testing.T) {
			o, w, s, start := newTestOutbox(t)
			if busy {
				w.gate = make(chan struct{})
			}
			start()
			if _, err := o.put(s, note("last"), at(!busy)); err != nil {
				t.Fatal(err)
			}
			if busy {
				<-w.begun
			}
			o.end()
			o.end()
			if busy {
				select {
				case <-w.half:
					t.Fatal("closed before it was written")
				default:
				}
				close(w.gate)
			}
			<-w.half
			if got := fmt.Sprint(names(t, w, 1)); got != "[last]" {
				t.Error(got)
			}
			if _, err := o.put(s, note("too late"), here); !errors.Is(err, io.ErrClosedPipe) {
				t.Errorf("after the end: %v", err)
			}
		})
	}
}

func TestOutboxWithALoneMessageThatCannotBeWritten(t *testing.T) {
	o, w, s, _ := newTestOutbox(t)
	w.err = errors.New("broken")
	if _, err := o.put(s, note("lost"), here); err != nil {
		t.Errorf("the read loop is the one to tell: %v", err)
	}
	if _, err := o.put(s, note("lost"), here); !errors.Is(err, w.err) {
		t.Errorf("%v", err)
	}
}

func TestOutboxRefusesWhatIsTooLarge(t *testing.T) {
	w := newFakeWire()
	o := newOutbox(w)
	s := native.Open(codec.Limits{Frame: 100})
	if _, err := o.put(s, &codec.Message{Kind: codec.Notification, Method: "m", Params: append([]byte{0xc4, 200}, make([]byte, 200)...)}, here); !errors.Is(err, codec.ErrTooLarge) {
		t.Errorf("%v", err)
	}
	if _, err := o.put(s, note("small"), here); err != nil {
		t.Error(err)
	}
	if got := fmt.Sprint(names(t, w, 1)); got != "[small]" {
		t.Error(got)
	}
}

// TestOutboxFromManySides holds that frames stay whole and each sender's stay
// in order, however little the kernel takes at once.
func TestOutboxFromManySides(t *testing.T) {
	o, w, s, start := newTestOutbox(t)
	w.room = 1000
	start()
	const senders, each = 8, 200
	var all sync.WaitGroup
	for i := range senders {
		all.Go(func() {
			for j := range each {
				if _, err := o.put(s, note("%d %d", i, j), here); err != nil {
					t.Error(err)
				}
				w.mu.Lock()
				w.room += 7 // a torn write now and then
				w.mu.Unlock()
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
		o, w, s, _ := newTestOutbox(t)
		for i := range 3 {
			if _, err := o.put(s, note("%d", i), held); err != nil {
				t.Fatal(err)
			}
		}
		if got := w.written(t); len(got) != 0 {
			t.Errorf("written while it is held: %v", got)
		}
		if next {
			if _, err := o.put(s, note("next"), here); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			o.release()
			if got := fmt.Sprint(names(t, w, 3)); got != want || w.tries != 1 {
				t.Errorf("%s in %d writes, want %s in one", got, w.tries, want)
			}
		}
	}
}

// The loop takes what was held with what it is woken for.
func TestOutboxHoldsForTheLoop(t *testing.T) {
	o, w, s, start := newTestOutbox(t)
	for i := range 3 {
		if _, err := o.put(s, note("%d", i), held); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := o.put(s, note("3"), byLoop); err != nil {
		t.Fatal(err)
	}
	o.release() // is the loop's now
	start()
	if got := fmt.Sprint(names(t, w, 4)); got != "[0 1 2 3]" || w.writes != 1 || w.tries != 0 {
		t.Errorf("%s in %d writes", got, w.writes+w.tries)
	}
}
