package actors

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/hostsup/hostsup/codec"
)

func TestMeter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ref := fakeRef()
		c, _ := fakeConn(t, ref)
		if s := ref.Status(); s.Calls != 0 || s.AverageResponseSeconds != nil || s.StartupSeconds != nil || s.ActivationSeconds != nil {
			t.Errorf("at first: %+v", s)
		}
		answer := func(q interface{ ID() uint32 }) {
			t.Helper()
			if err := c.Receive(reply(q.ID())); err != nil {
				t.Fatal(err)
			}
		}
		wait := func(d time.Duration) { time.Sleep(d) } //nolint:forbidigo // in a synctest bubble
		first, second := sent(t, c), sent(t, c)
		wait(time.Second)
		answer(first)
		wait(2 * time.Second)
		second.Cancel(ErrCancelled) // the host has still taken its time
		answer(second)
		ping := c.internal("$/ping")
		wait(time.Hour)
		answer(ping)
		sent(t, c) // never answered
		if err := c.Receive(&codec.Message{Kind: codec.Notification, Method: "n"}); err != nil {
			t.Fatal(err)
		}
		ref.meter.ready(250 * time.Millisecond)
		ref.Activated(20 * time.Millisecond)
		ref.Activated(30 * time.Millisecond)
		s := ref.Status()
		if s.Calls != 3 || *s.AverageResponseSeconds != 2 || *s.StartupSeconds != 0.25 || *s.ActivationSeconds != 0.05 {
			t.Errorf("%d calls, %v, %v, %v", s.Calls, *s.AverageResponseSeconds, *s.StartupSeconds, *s.ActivationSeconds)
		}
		if ref.meter.begin(); ref.Status().ActivationSeconds != nil {
			t.Error("in the next life nothing was activated yet")
		}
		for _, q := range c.close(ErrStopped) {
			q.Settle(nil, ErrStopped)
		}
	})
}
