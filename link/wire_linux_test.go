//go:build !hostsup_posix

package link

import (
	"errors"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/native"
	"github.com/hostsup/hostsup/internal/poll"
	"github.com/hostsup/hostsup/internal/sys"
	"github.com/hostsup/hostsup/link/linktest"
)

// deafened is an owner that learns that its peer reads no more.
type deafened struct {
	owner
	broke chan error
}

func (d *deafened) Broke(err error) { d.broke <- err }

// A peer that closes the end that it reads from is found out also when all messages
// were written before, and nothing is written afterwards.
func TestPeerThatReadsNoMore(t *testing.T) {
	in, theirOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer theirOut.Close()
	out, theirIn, err := sys.ChildPipe(false)
	if err != nil {
		t.Fatal(err)
	}
	defer theirIn.Close()
	o := &deafened{broke: make(chan error, 2)}
	session := native.Open(codec.Limits{})
	linktest.Shake(t, session)
	c := New(Options{Session: session, Wire: NewWatchedPipeWire(in, out), Owner: o, Env: System{}, FirstID: 2, Bounds: PeerBounds, Serving: &o.serving, Collect: 1 << 10})
	c.Open(linktest.Shaken(codec.CapAll))
	defer c.Close()
	c.Post(&codec.Message{Kind: codec.Notification, Method: "unread"})
	poll.Until(t, time.Minute, "the message is written", func() bool {
		n, err := sys.Queued(theirIn.Fd())
		return err == nil && n > 0
	})
	theirIn.Close()
	select {
	case err := <-o.broke:
		if !errors.Is(err, syscall.EPIPE) {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("it is not found out")
	}
	if !c.IsBroken() {
		t.Error("it still writes")
	}
}
