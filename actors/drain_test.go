package actors

import (
	"errors"
	"testing"
	"time"
)

func TestDrainEnds(t *testing.T) {
	ref := fakeRef()
	c, _ := fakeConn(t, ref)
	answered, cut := sent(t, c), sent(t, c)
	c.Drain(func() { t.Error("somebody still waits") })
	if err := c.Receive(reply(answered.ID())); err != nil {
		t.Fatal(err)
	}
	c.cutOff(2 * time.Second)
	<-cut.Done()
	const want = `host "h": call was cut off: host is stopped: not answered within 2s of the stop`
	if err := result(t, cut); !errors.Is(err, ErrCutOff) || !errors.Is(err, ErrStopped) || err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
	if err := result(t, answered); err != nil {
		t.Error(err)
	}
	if err := c.Receive(reply(cut.ID())); err != nil { // too late
		t.Error(err)
	}
}
