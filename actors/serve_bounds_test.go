package actors

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/native"
)

// A host that asks and does not read what it is answered takes no more than a
// bounded number of answers, each with its goroutine; when it reads again, it is
// served again.
func TestAnswersThatNobodyReadsAreBounded(t *testing.T) {
	ref := fakeRef()
	var handled atomic.Int64
	ref.spec.Answers.Handlers = map[string]Handler{"large": func(context.Context, *Incoming) (any, error) {
		handled.Add(1)
		return strings.Repeat("x", 1<<16), nil
	}}
	ref.answers = newAnswers(ref.world, &ref.spec)
	c, w := fakeConn(t, ref)
	w.mu.Lock()
	w.room, w.gate = 0, make(chan struct{})
	w.mu.Unlock()
	const asks = 40 * maxServing
	for id := uint32(1); id <= asks; id++ {
		if err := c.serve(&codec.Message{Kind: codec.Request, ID: id, Method: "large"}); err != nil {
			t.Fatal(err)
		}
		soon(t, func() bool {
			c.mu.Lock()
			defer c.mu.Unlock()
			return len(c.serving) == 0
		}, "a handler's end")
	}
	// Those that fit into what waits to be written are over.
	if most := int64(2*outboxLimit>>16 + 2*maxServing); handled.Load() > most {
		t.Errorf("%d requests were worked on, want %d at most", handled.Load(), most)
	}
	close(w.gate)
	ref.world.Served()
	if c.unread != 0 || c.servingBytes != 0 {
		t.Errorf("%d answers still wait, %d bytes", c.unread, c.servingBytes)
	}
	before := handled.Load()
	if err := c.serve(&codec.Message{Kind: codec.Request, ID: asks + 1, Method: "large"}); err != nil {
		t.Fatal(err)
	}
	ref.world.Served()
	if handled.Load() != before+1 {
		t.Error("it is not served again")
	}
}

// What the open requests of a host carry is bounded together.
func TestParametersOfOpenRequestsAreBounded(t *testing.T) {
	ref := fakeRef()
	ref.spec.Answers.Handlers = map[string]Handler{"slow": func(ctx context.Context, _ *Incoming) (any, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	ref.answers = newAnswers(ref.world, &ref.spec)
	c, w := fakeConn(t, ref)
	params := make(codec.Raw, maxServingBytes/2) // never looked at
	for id := uint32(1); id <= 3; id++ {
		if err := c.serve(&codec.Message{Kind: codec.Request, ID: id, Method: "slow", Params: params}); err != nil {
			t.Fatal(err)
		}
	}
	c.out.release()
	var refused []codec.Message
	soon(t, func() bool {
		refused = refused[:0]
		refused = append(refused, w.answers(t)...)
		return len(refused) > 0
	}, "a refusal")
	if len(refused) != 1 || refused[0].ID != 3 || refused[0].Err == nil || refused[0].Err.Name != NameOverloaded {
		t.Errorf("%+v", refused)
	}
	for id := uint32(1); id <= 2; id++ {
		c.unserve(id)
	}
	ref.world.Served()
	// One alone may be larger.
	if err := c.serve(&codec.Message{Kind: codec.Request, ID: 4, Method: "slow", Params: make(codec.Raw, maxServingBytes+1)}); err != nil {
		t.Fatal(err)
	}
	c.mu.Lock()
	n := len(c.serving)
	c.mu.Unlock()
	c.unserve(4)
	ref.world.Served()
	if n != 1 {
		t.Error("a large request alone is refused")
	}
}

// So is what the answers carry that the host does not read.
func TestLargeAnswersThatNobodyReadsAreBounded(t *testing.T) {
	ref := fakeRef()
	large := codec.Raw(append([]byte{0xc6, 0x01, 0, 0, 0}, make([]byte, 1<<24)...)) // 16 MiB as binary data
	begin := make(chan struct{})
	ref.spec.Answers.Handlers = map[string]Handler{"large": func(context.Context, *Incoming) (any, error) {
		<-begin
		return large, nil
	}}
	ref.answers = newAnswers(ref.world, &ref.spec)
	c, w := fakeConn(t, ref)
	w.mu.Lock()
	w.room, w.gate = 0, make(chan struct{})
	w.mu.Unlock()
	const asks = 40
	for id := uint32(1); id <= asks; id++ {
		if err := c.serve(&codec.Message{Kind: codec.Request, ID: id, Method: "large"}); err != nil {
			t.Fatal(err)
		}
	}
	close(begin)
	// When there is room in the outbox once more, one of those that wait goes there,
	// and who was refused meanwhile does not come back.
	const most = maxServingBytes >> 24
	soon(t, func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return len(c.serving) == 0 && c.unread > most/2 && c.unread <= most && c.servingBytes <= maxServingBytes
	}, "about as much waits as there is room for")
	c.cancel(errors.New("the connection ends"))
	ref.world.Served()
	if c.unread != 0 || c.servingBytes != 0 {
		t.Errorf("%d answers still wait, %d bytes", c.unread, c.servingBytes)
	}
}

// answers are the answers to requests of the host that have arrived there.
func (w *fakeWire) answers(t *testing.T) []codec.Message {
	t.Helper()
	w.mu.Lock()
	b := bytes.Clone(w.got.Bytes())
	w.mu.Unlock()
	s := native.Open(codec.Limits{})
	shake(t, s)
	r := s.NewReader(bytes.NewReader(b))
	var out []codec.Message
	for {
		var m codec.Message
		err := r.Next(&m)
		if errors.Is(err, io.EOF) || errors.Is(err, codec.ErrTruncated) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, m)
	}
}

// What is kept of what a host says has a bound: why its life ended, what is told of
// it, and the names of its methods.
func TestWhatIsKeptOfAHostIsBounded(t *testing.T) {
	long := strings.Repeat("é", 4<<20)
	f := &Failure{Detail: long}
	redactFailure(nil, f)
	if want := strings.Repeat("é", maxDetail/2) + fmt.Sprintf("… (%d bytes)", len(long)); f.Detail != want {
		t.Errorf("%d bytes of why it ended, want %d", len(f.Detail), len(want))
	}
	if e := NewJournal().Write(Event{Reason: long}); len(e.Reason) > maxDetail+100 {
		t.Errorf("%d bytes are told", len(e.Reason))
	}
	c, _ := fakeConn(t, fakeRef())
	c.received(&codec.Message{Kind: codec.Request, ID: 1, Method: long})
	c.received(&codec.Message{Kind: codec.Request, ID: 2, Method: "short"})
	all := c.pendingHeaders()
	if len(all) != 2 || all[0].Method != fmt.Sprintf("(a name of %d bytes)", len(long)) || all[1].Method != "short" {
		t.Errorf("%.100v", all)
	}
}
