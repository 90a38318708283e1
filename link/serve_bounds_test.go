package link

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/hostsup/hostsup/codec"
)

// A host that asks and does not read what it is answered takes no more than a
// bounded number of answers, each with its goroutine; when it reads again, it is
// served again.
func TestAnswersThatNobodyReadsAreBounded(t *testing.T) {
	var handled atomic.Int64
	large := codec.Raw(append([]byte{0xc6, 0, 1, 0, 0}, make([]byte, 1<<16)...)) // 64 KiB as binary data
	o := &owner{handlers: map[string]func(context.Context) (codec.Raw, *codec.Error){"large": func(context.Context) (codec.Raw, *codec.Error) {
		handled.Add(1)
		return large, nil
	}}}
	c, w := testConn(t, o)
	w.Lock()
	w.Room, w.Gate = 0, make(chan struct{})
	w.Unlock()
	asks := uint32(40 * PeerBounds.Open)
	for id := uint32(1); id <= asks; id++ {
		if err := c.Receive(&codec.Message{Kind: codec.Request, ID: id, Method: "large"}); err != nil {
			t.Fatal(err)
		}
		soon(t, func() bool {
			c.mu.Lock()
			defer c.mu.Unlock()
			return c.incoming.Working() == 0
		}, "a handler's end")
	}
	// Those that fit into what waits to be written are over.
	if most := int64(2*Limit>>16 + 2*PeerBounds.Open); handled.Load() > most {
		t.Errorf("%d requests were worked on, want %d at most", handled.Load(), most)
	}
	close(w.Gate)
	o.serving.Wait()
	if n, bytes := c.incoming.Open(); n != 0 || bytes != 0 {
		t.Errorf("%d answers still wait, %d bytes", n, bytes)
	}
	before := handled.Load()
	if err := c.Receive(&codec.Message{Kind: codec.Request, ID: asks + 1, Method: "large"}); err != nil {
		t.Fatal(err)
	}
	o.serving.Wait()
	if handled.Load() != before+1 {
		t.Error("it is not served again")
	}
}

// What the open requests of a host carry is bounded together.
func TestParametersOfOpenRequestsAreBounded(t *testing.T) {
	o := &owner{handlers: map[string]func(context.Context) (codec.Raw, *codec.Error){"slow": func(ctx context.Context) (codec.Raw, *codec.Error) {
		<-ctx.Done()
		return nil, &codec.Error{Name: codec.NameCancelled}
	}}}
	c, w := testConn(t, o)
	params := make(codec.Raw, PeerBounds.Bytes/2) // never looked at
	for id := uint32(1); id <= 3; id++ {
		if err := c.Receive(&codec.Message{Kind: codec.Request, ID: id, Method: "slow", Params: params}); err != nil {
			t.Fatal(err)
		}
	}
	c.out.release()
	var refused []codec.Message
	soon(t, func() bool {
		refused = refused[:0]
		refused = append(refused, w.Answers(t)...)
		return len(refused) > 0
	}, "a refusal")
	if len(refused) != 1 || refused[0].ID != 3 || refused[0].Err == nil || refused[0].Err.Name != NameOverloaded {
		t.Errorf("%+v", refused)
	}
	for id := uint32(1); id <= 2; id++ {
		if err := c.Receive(&codec.Message{Kind: codec.Cancel, ID: id}); err != nil {
			t.Fatal(err)
		}
	}
	o.serving.Wait()
	// One alone may be larger.
	if err := c.Receive(&codec.Message{Kind: codec.Request, ID: 4, Method: "slow", Params: make(codec.Raw, PeerBounds.Bytes+1)}); err != nil {
		t.Fatal(err)
	}
	c.mu.Lock()
	n, _ := c.incoming.Open()
	c.mu.Unlock()
	if err := c.Receive(&codec.Message{Kind: codec.Cancel, ID: 4}); err != nil {
		t.Fatal(err)
	}
	o.serving.Wait()
	if n != 1 {
		t.Error("a large request alone is refused")
	}
}

// So is what the answers carry that the host does not read.
func TestLargeAnswersThatNobodyReadsAreBounded(t *testing.T) {
	large := codec.Raw(append([]byte{0xc6, 0x01, 0, 0, 0}, make([]byte, 1<<24)...)) // 16 MiB as binary data
	begin := make(chan struct{})
	o := &owner{handlers: map[string]func(context.Context) (codec.Raw, *codec.Error){"large": func(context.Context) (codec.Raw, *codec.Error) {
		<-begin
		return large, nil
	}}}
	c, w := testConn(t, o)
	w.Lock()
	w.Room, w.Gate = 0, make(chan struct{})
	w.Unlock()
	const asks = 40
	for id := uint32(1); id <= asks; id++ {
		if err := c.Receive(&codec.Message{Kind: codec.Request, ID: id, Method: "large"}); err != nil {
			t.Fatal(err)
		}
	}
	close(begin)
	// When there is room in the outbox once more, one of those that wait goes there,
	// and who was refused meanwhile does not come back.
	most := PeerBounds.Bytes >> 24
	soon(t, func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		n, bytes := c.incoming.Open() // all are answers
		return c.incoming.Working() == 0 && n > most/2 && n <= most && bytes <= PeerBounds.Bytes
	}, "about as much waits as there is room for")
	c.cancel(errors.New("the connection ends"))
	o.serving.Wait()
	if n, bytes := c.incoming.Open(); n != 0 || bytes != 0 {
		t.Errorf("%d answers still wait, %d bytes", n, bytes)
	}
}
