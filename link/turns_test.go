package link

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/msgpackrpc"
	"github.com/hostsup/hostsup/link/linktest"
)

// A peer that asks from within its own requests gets the answers in the reverse
// order, each once it has taken the one before.
func TestAnswersInTurn(t *testing.T) {
	protocol := msgpackrpc.New(msgpackrpc.Options{})
	let := map[string]chan struct{}{}
	done := make(chan string, 10)
	o := &owner{handlers: map[string]func(context.Context) (codec.Raw, *codec.Error){}, replies: map[string]codec.Raw{"reply": codec.Raw("\xa6reply!")}}
	for _, name := range []string{"a", "b", "nvim_c"} {
		let[name] = make(chan struct{})
		o.handlers[name] = func(context.Context) (codec.Raw, *codec.Error) {
			<-let[name]
			done <- name
			raw, err := protocol.Marshal(name + "!")
			if err != nil {
				t.Error(err)
			}
			return raw, nil
		}
	}
	host, ours := io.Pipe()
	session := protocol.Open(codec.Limits{})
	c := newTest(o, session, pipedWire{linktest.NewWire(), ours}, 0)
	written := make(chan struct{})
	go func() {
		defer close(written)
		c.out.loop()
	}()
	defer func() {
		c.out.close(io.ErrClosedPipe)
		<-written
	}()

	r := session.NewReader(strings.NewReader("\x94\x00\x01\xa1a\x90\x94\x00\x02\xa1b\x90\x94\x00\x03\xa6nvim_c\x90\x94\x00\x04\xa5reply\x90"))
	for range 4 {
		var m codec.Message
		if err := r.Next(&m); err != nil {
			t.Fatal(err)
		}
		if err := c.Receive(&m); err != nil {
			t.Fatal(err)
		}
	}
	peer := msgpackrpc.New(msgpackrpc.Options{}).Open(codec.Limits{})
	said, taken := peer.NewReader(host), ""
	next := func(want string) {
		t.Helper()
		var m codec.Message
		if err := said.Next(&m); err != nil {
			t.Fatal(err)
		}
		got := m.Kind.String() + " " + m.Method
		if m.Kind == codec.Response {
			got = fmt.Sprintf("%d %s", m.ID, m.Result[1:])
		}
		if got != want {
			t.Fatalf("after%s it says %q, want %q", taken, got, want)
		}
		taken += " " + got
	}
	question := uint32(1)
	alive := func() { // answers the one question that is open
		t.Helper()
		c.mu.Lock()
		open := c.table.Len()
		c.mu.Unlock()
		if open != 1 {
			t.Fatalf("%d questions are open", open)
		}
		question++
		if err := c.Receive(reply(question)); err != nil {
			t.Fatal(err)
		}
	}
	next("4 reply!")
	next("request poll")
	close(let["nvim_c"]) // a client's own requests, which are independent of all
	next("3 nvim_c!")
	close(let["a"])
	for range 2 {
		<-done
	}
	close(let["b"]) // the last there is, but for the reply, which has not been heard
	<-done
	alive()
	next("2 b!")
	next("request poll")
	alive()
	next("1 a!")
	o.serving.Wait()
	if len(c.turns.open) != 0 {
		t.Errorf("open: %v", c.turns.open)
	}
}

// pipedWire is a wire whose other end is read as a stream.
type pipedWire struct {
	*linktest.Wire
	to *io.PipeWriter
}

func (w pipedWire) Write(p []byte) (int, error)    { return w.to.Write(p) }
func (w pipedWire) TryWrite(p []byte) (int, error) { return 0, nil }
