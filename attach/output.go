package attach

import (
	"fmt"
	"time"

	"github.com/hostsup/hostsup/codec"
)

// send puts a message behind those that the client has not taken. It never
// waits. A client for which too much waits is cut off.
func (c *client) send(m *codec.Message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return
	}
	if len(m.Result) >= 4*codec.PartEdge && c.inParts(m) {
		return
	}
	last := []byte(nil)
	n := len(c.queue)
	atOnce := c.try != nil && n == 0 && !c.pours
	if atOnce {
		last = c.spare
	}
	if n > 0 && len(c.queue[n-1]) < together {
		last, n = c.queue[n-1], n-1
	}
	buf, err := c.session.Append(last, m)
	if err != nil {
		if m.Kind == codec.Cancel {
			return // the protocol has none
		}
		c.hub.log.Warn("a message cannot be passed on to a client", "host", c.hub.host.Name(), "kind", m.Kind.String(), "method", m.Method, "error", err)
		if m.Kind != codec.Response {
			return
		}
		buf, err = c.session.Append(last, &codec.Message{Kind: codec.Response, ID: m.ID, Err: &codec.Error{Code: codeInternal, Message: err.Error()}})
		if err != nil {
			return
		}
	}
	if atOnce {
		c.spare = nil
		if len(buf) <= short {
			taken, err := c.try.TryWrite(buf)
			if err != nil {
				taken = 0 // the write loop finds out
			}
			c.took.Add(int64(taken))
			if taken == len(buf) {
				c.spare = buf[:0]
				return
			}
			buf = buf[taken:]
		}
	}
	c.queue = append(c.queue[:n], buf)
	c.queued(int64(len(buf) - len(last)))
}

// inParts puts a long answer into the queue without copying it. It returns false if that
// cannot be done. Under client.mu.
func (c *client) inParts(m *codec.Message) bool {
	if c.can.AppendParts == nil {
		return false
	}
	n := len(c.queue)
	queue, err := c.can.AppendParts(c.queue, m)
	if err != nil {
		return false
	}
	c.queue = queue
	size := 0
	for _, part := range queue[n:] {
		size += len(part)
	}
	c.queued(int64(size))
	return true
}

// queued counts so many more bytes that wait for the client. Under client.mu.
func (c *client) queued(size int64) {
	switch backlog := c.backlog.Add(size); {
	case backlog > cutLimit && backlog > size: // one message alone may have more
		c.cut(fmt.Errorf("it does not read: %d MiB wait for it, limit %d", backlog>>20, cutLimit>>20))
	case backlog > backlogLimit && c.watch == nil:
		c.watchFrom(c.took.Load(), stuckLooks)
	}
	c.nudge()
}

// short is the length of messages that are written by their sender if nothing else waits.
const short = 4 << 10

// tryWriter is what can be written to without waiting.
type tryWriter interface {
	// TryWrite returns how many bytes it has taken.
	TryWrite(p []byte) (int, error)
}

// nudge wakes the write loop.
func (c *client) nudge() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// watchFrom looks at the client stuckLooks times in stuckAfter: while its backlog is over
// the limit it has to take leastTaken in that time. took is what it had taken before, looks
// how often it is still looked at. Where the machine stands still, or is busy, so do the
// looks. Under client.mu.
func (c *client) watchFrom(took int64, looks int) {
	c.watch = time.AfterFunc(stuckAfter/stuckLooks, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.watch = nil
		now := c.took.Load()
		switch {
		case c.ended || c.backlog.Load() <= backlogLimit:
		case now-took >= leastTaken:
			c.watchFrom(now, stuckLooks)
		case looks > 1:
			c.watchFrom(took, looks-1)
		default:
			c.cut(fmt.Errorf("it does not read: it took %d KiB in %s, and %d MiB wait for it", (now-took)>>10, stuckAfter, c.backlog.Load()>>20))
		}
	})
}

// cut makes the client leave without what it has not taken. Under client.mu.
func (c *client) cut(reason error) {
	c.queue, c.ended = nil, true
	c.hub.log.Warn("a client is cut off", "host", c.hub.host.Name(), "client", c.number, "reason", reason)
	c.end(reason)
	c.nudge()
}

// write is the write loop. It ends when the client is gone.
func (c *client) write() {
	defer close(c.gone)
	for range c.wake {
		for {
			c.mu.Lock()
			var mine []byte
			if len(c.queue) > 0 {
				mine, c.queue[0] = c.queue[0], nil
				c.queue = c.queue[1:]
			}
			c.pours = mine != nil
			ended := c.ended
			c.mu.Unlock()
			if mine == nil {
				if ended {
					return
				}
				break
			}
			if err := c.pour(mine); err != nil {
				c.end(fmt.Errorf("write to the client: %w", err))
				return
			}
		}
	}
}

// pour writes a part of the queue, in pieces, so that it shows that the client
// takes something.
func (c *client) pour(mine []byte) error {
	for len(mine) > 0 {
		n := min(len(mine), together)
		_, err := c.rw.Write(mine[:n])
		if err != nil {
			return err
		}
		mine = mine[n:]
		c.took.Add(int64(n))
		c.backlog.Add(-int64(n))
		c.hub.taken(c)
	}
	return nil
}
