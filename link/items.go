package link

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/link/pending"
)

// ErrUncollected is returned by [Incoming.Send] when the peer gave no credit, and the
// items together are too large for one answer.
var ErrUncollected = errors.New("too many items for a caller that gave no credit")

// creditGrace is how long after a request its first credit may come. Callers send it
// right behind the request, so that it nearly always is there already; the grace covers
// a sender that was interrupted between the two. Items that end sooner, and those beyond
// as many as a peer allows at first, wait for it.
const creditGrace = 50 * time.Millisecond

// Items runs f, which sends the items of the result with [Incoming.Send], and returns the
// answer that ends them. A peer that gives no credit gets what list makes of all items
// as the result instead.
func (r *Incoming) Items(list func(items []codec.Raw) codec.Raw, f func() *codec.Error) (codec.Raw, *codec.Error) {
	c := r.c
	s := &items{grace: c.env.Now() + int64(creditGrace)}
	c.mu.Lock()
	r.items = s
	c.mu.Unlock()
	failure := f()
	c.mu.Lock()
	defer c.mu.Unlock()
	for failure == nil && r.undecided() && r.wait() {
	}
	if s.timer != nil {
		s.timer.Stop()
	}
	takes, _ := r.job.Takes()
	for takes && len(s.held) > 0 && r.wait() {
	}
	r.job.Finish()
	if failure != nil || takes {
		return nil, failure
	}
	return list(s.held), nil
}

// undecided reports whether the first credit of the peer may still come. The caller must
// hold the lock of the connection.
func (r *Incoming) undecided() bool {
	c, s := r.c, r.items
	if takes, _ := r.job.Takes(); takes || s.late || !r.Streams() {
		return false
	}
	if s.timer == nil {
		s.timer = c.env.AfterFunc(time.Duration(s.grace-c.env.Now()), func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			s.late = true
			s.wake()
		})
	}
	return true
}

// Streams reports whether the peer can take the result as items.
func (r *Incoming) Streams() bool { return r.c.caps.Has(codec.CapStream) }

// Send sends one item of the result. It blocks until the peer allows the item and has
// read enough, and returns the cause when the context of the request ends first. While
// the peer has given no credit at all, Send keeps the item. It must be called by the
// function that [Incoming.Items] runs, or by goroutines that it waits for.
func (r *Incoming) Send(item codec.Raw) error {
	for {
		space, err := r.send(item)
		switch {
		case err == nil && space == nil:
			return nil
		case err != nil && !errors.Is(err, ErrFull):
			return err
		}
		select {
		case <-space:
		case <-r.Done():
		}
	}
}

// send sends an item or keeps it. If space is not nil, it is worth to try again when
// that is closed.
func (r *Incoming) send(item codec.Raw) (space <-chan struct{}, err error) {
	c, o := r.c, &r.c.out
	o.mu.Lock()
	defer o.mu.Unlock()
	c.mu.Lock()
	takes, now := r.job.Takes()
	s := r.items
	switch {
	case r.Err() != nil:
		err = context.Cause(r)
	case r.job.Over():
		err = errors.New("send after the end of the stream")
	case !takes && len(s.held) >= pending.Window && r.undecided():
		space = s.change()
	case !takes && s.bytes+len(item) > c.collect:
		err = ErrUncollected
	case !takes:
		s.held = append(s.held, item)
		s.bytes += max(len(item), 1)
	case !now || len(s.held) > 0:
		space = s.change()
	default:
		c.mu.Unlock()
		return r.putItem(item)
	}
	c.mu.Unlock()
	return space, err
}

// putItem puts an item for which there is credit. The caller must hold the lock of the
// outbox.
func (r *Incoming) putItem(item codec.Raw) (space <-chan struct{}, err error) {
	c, o := r.c, &r.c.out
	if space, err = o.room(c.limit); err != nil {
		return space, err
	}
	o.request = codec.Message{Kind: codec.Item, ID: r.job.ID, Seq: r.job.Seq(), Result: item}
	err = o.encode(&o.request, o.now())
	o.request.Result = nil
	if err != nil {
		return nil, fmt.Errorf("item of %d bytes: %w", len(item), err)
	}
	c.mu.Lock()
	r.job.Sent()
	c.mu.Unlock()
	if o.claim() {
		o.wakeLoop()
	}
	return nil, nil
}

// allowed takes in credit of the peer.
func (c *Conn) allowed(m *codec.Message) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	j, v := c.incoming.Allow(m.ID, m.Credit)
	switch v {
	case pending.Unknown:
		return c.neverGiven(m)
	case pending.Wakes:
		r := j.Owner.(*Incoming)
		s := r.items
		if s == nil { // its handler has not begun, or sends none
			return nil
		}
		if len(s.held) > 0 && !s.pouring {
			s.pouring = true
			c.env.Go(r.pour)
		}
		s.wake()
	}
	return nil
}

// pour sends the items that were kept, as far as the credit goes.
func (r *Incoming) pour() {
	c, o, s := r.c, &r.c.out, r.items
	for {
		o.mu.Lock()
		c.mu.Lock()
		_, now := r.job.Takes()
		if len(s.held) == 0 || !now || r.Err() != nil {
			s.pouring = false
			c.mu.Unlock()
			o.mu.Unlock()
			return
		}
		item := s.held[0]
		c.mu.Unlock()
		space, err := r.putItem(item)
		o.mu.Unlock()
		if errors.Is(err, ErrFull) {
			select {
			case <-space:
			case <-r.Done():
			}
			continue
		}
		c.mu.Lock()
		if s.held = s.held[1:]; err != nil {
			s.held = nil // the stream is broken
		}
		s.wake()
		c.mu.Unlock()
	}
}

// items are those of one result. The lock of the connection guards them.
type items struct {
	held    []codec.Raw   // that wait for the first credit, or for more
	bytes   int           // of held
	pouring bool          // a goroutine sends held
	grace   int64         // when it is too late for a first credit
	late    bool          // it is
	timer   Timer         // sets late; nil until somebody waits for that
	changed chan struct{} // closed by wake; nil while nobody waits
}

// change returns a channel that is closed when the peer gives credit or an item that
// was held has left.
func (s *items) change() <-chan struct{} {
	if s.changed == nil {
		s.changed = make(chan struct{})
	}
	return s.changed
}

func (s *items) wake() {
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
}

// wait waits for a change. It returns false if the context of the request ends first.
// The caller must hold the lock of the connection, which wait releases meanwhile.
func (r *Incoming) wait() bool {
	changed := r.items.change()
	r.c.mu.Unlock()
	defer r.c.mu.Lock()
	select {
	case <-changed:
		return true
	case <-r.Done():
		return false
	}
}
