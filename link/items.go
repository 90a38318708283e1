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
// a sender that was interrupted between the two. Only items that end sooner wait for it.
const creditGrace = 50 * time.Millisecond

// Items runs f, which sends the items of the result with [Incoming.Send], and returns the
// answer that ends them. A peer that gives no credit gets what list makes of all items
// as the result instead.
func (r *Incoming) Items(list func(items []codec.Raw) codec.Raw, f func() *codec.Error) (codec.Raw, *codec.Error) {
	c := r.c
	grace := c.env.Now() + int64(creditGrace)
	failure := f()
	c.mu.Lock()
	defer c.mu.Unlock()
	takes, _ := r.job.Takes()
	if failure == nil && !takes && c.caps.Has(codec.CapStream) {
		late := false
		timer := c.env.AfterFunc(time.Duration(grace-c.env.Now()), func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			late = true
			r.wake()
		})
		for !takes && !late && r.wait() {
			takes, _ = r.job.Takes()
		}
		timer.Stop()
	}
	for takes && len(r.items) > 0 && r.wait() {
	}
	r.job.Finish()
	if failure != nil || takes {
		return nil, failure
	}
	return list(r.items), nil
}

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
	switch {
	case r.Err() != nil:
		err = context.Cause(r)
	case r.job.Over():
		err = errors.New("send after the end of the stream")
	case !takes && r.bytes+len(item) > c.collect:
		err = ErrUncollected
	case !takes:
		r.items = append(r.items, item)
		r.bytes += max(len(item), 1)
	case !now || len(r.items) > 0:
		space = r.change()
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
		if len(r.items) > 0 && !r.pouring {
			r.pouring = true
			c.env.Go(r.pour)
		}
		r.wake()
	}
	return nil
}

// pour sends the items that were kept, as far as the credit goes.
func (r *Incoming) pour() {
	c, o := r.c, &r.c.out
	for {
		o.mu.Lock()
		c.mu.Lock()
		_, now := r.job.Takes()
		if len(r.items) == 0 || !now || r.Err() != nil {
			r.pouring = false
			c.mu.Unlock()
			o.mu.Unlock()
			return
		}
		item := r.items[0]
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
		if r.items = r.items[1:]; err != nil {
			r.items = nil // the stream is broken
		}
		r.wake()
		c.mu.Unlock()
	}
}

// change returns a channel that is closed when the peer gives credit or an item that
// was kept has left. The caller must hold the lock of the connection.
func (r *Incoming) change() <-chan struct{} {
	if r.changed == nil {
		r.changed = make(chan struct{})
	}
	return r.changed
}

func (r *Incoming) wake() {
	if r.changed != nil {
		close(r.changed)
		r.changed = nil
	}
}

// wait waits for a change. It returns false if the context of the request ends first.
// The caller must hold the lock of the connection, which wait releases meanwhile.
func (r *Incoming) wait() bool {
	changed := r.change()
	r.c.mu.Unlock()
	defer r.c.mu.Lock()
	select {
	case <-changed:
		return true
	case <-r.Done():
		return false
	}
}
