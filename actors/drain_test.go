package actors

import (
	"errors"
	"testing"
	"time"
)

func TestDrainWaitsForCallers(t *testing.T) {
	ref := fakeRef()
	c, _ := fakeConn(t, ref)
	first, second, third := sent(t, c), sent(t, c), sent(t, c)
	ping := newRequest(ref, "$/ping", nil)
	ping.entry.Internal = true
	if err := c.sendNow(ping); err != nil {
		t.Fatal(err)
	}
	done := 0
	c.drain(func() { done++ })
	if err := c.send(t.Context(), fakeCall(ref)); !errors.Is(err, errConnClosed) {
		t.Errorf("a new call: %v", err)
	}
	if err := c.answer(reply(second.entry.ID())); err != nil || done != 0 {
		t.Error(err, done)
	}
	first.cancel(ErrCancelled) // its caller has left; the host still owes the answer
	if done != 0 {
		t.Error("somebody still waits")
	}
	if err := c.answer(reply(third.entry.ID())); err != nil || done != 1 {
		t.Error(err, done)
	}
	if err := c.answer(reply(first.entry.ID())); err != nil || done != 1 {
		t.Error(err, done)
	}
	bye := newRequest(ref, "shutdown", nil)
	bye.entry.Internal = true
	if err := c.sendNow(bye); err != nil {
		t.Error("the goodbye is refused", err)
	}
	c.drain(func() { done++ })
	if done != 2 {
		t.Error("there is nothing to wait for")
	}
	for _, q := range c.close(ErrStopped) {
		q.settle(nil, ErrStopped)
	}
}

func TestDrainEnds(t *testing.T) {
	ref := fakeRef()
	c, _ := fakeConn(t, ref)
	answered, cut := sent(t, c), sent(t, c)
	c.drain(func() { t.Error("somebody still waits") })
	if err := c.answer(reply(answered.entry.ID())); err != nil {
		t.Fatal(err)
	}
	c.cutOff(2 * time.Second)
	<-cut.done
	const want = `host "h": call was cut off: host is stopped: not answered within 2s of the stop`
	if err := cut.err; !errors.Is(err, ErrCutOff) || !errors.Is(err, ErrStopped) || err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
	if answered.err != nil {
		t.Error(answered.err)
	}
	if err := c.answer(reply(cut.entry.ID())); err != nil { // too late
		t.Error(err)
	}
}
