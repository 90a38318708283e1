package link

import (
	"io"

	"github.com/hostsup/hostsup/link/pending"
)

// Drain refuses new requests from now on. done is called once, when no caller waits
// for an answer, possibly before Drain returns; it must not block or use the Conn.
func (c *Conn) Drain(done func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drained = done
	c.stepLocked(pending.Event{Op: pending.Drain}, 0)
}

// CutOff ends a drain. It returns the requests that are not answered, oldest first;
// the caller must cancel them.
func (c *Conn) CutOff() []*Pending {
	c.mu.Lock()
	c.table.Step(pending.Event{Op: pending.CutOff}, 0)
	list := c.table.Listed()
	c.mu.Unlock()
	return promises(list)
}

// CloseRequests refuses new requests from now on, cancels the handlers of the peer's
// requests with err, and returns the requests that are open, oldest first. The caller
// must settle or release each of them. Later calls return nil.
func (c *Conn) CloseRequests(err error) []*Pending {
	c.mu.Lock()
	if c.table.IsClosed() {
		c.mu.Unlock()
		return nil
	}
	c.cancel(err)
	c.table.Step(pending.Event{Op: pending.Close}, 0)
	list := c.table.Listed()
	c.mu.Unlock()
	return promises(list)
}

// Release makes a request that CloseRequests has returned ready to be sent elsewhere.
// If it returns false, a Send of the request is still blocked: that returns ErrMoved,
// and its caller must send the request elsewhere.
func (c *Conn) Release(p *Pending) bool {
	if !c.step(pending.Event{Op: pending.Leave, Entry: &p.entry}, 0).Do.Has(pending.Free) {
		return false
	}
	p.conn.Store(nil)
	return true
}

// CloseWrite closes this side's half of the stream after writing what was put before.
func (c *Conn) CloseWrite() { c.out.end() }

// Close closes the wire and waits until the loops have ended. CloseRequests must have
// been called if requests may be open.
func (c *Conn) Close() {
	c.out.close(io.ErrClosedPipe)
	c.wire.Close()
	c.loops.Wait()
}
