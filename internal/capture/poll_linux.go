//go:build !hostsup_posix

package capture

import (
	"errors"
	"syscall"
	"time"

	"github.com/hostsup/hostsup/internal/sys"
)

// polled is a pipe that has a goroutine only while there is something to read.
// Guarded by mu.
type polled struct {
	fd     int
	watch  sys.Watch
	parked bool // nobody reads; the next one who finds it so does
}

// arrival is a Capture as its watch sees it.
type arrival Capture

// Ready implements sys.Waiter.
func (a *arrival) Ready() {
	c := (*Capture)(a)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wake()
}

// start reads from now on.
func (c *Capture) start() {
	if !c.poll() {
		go c.run()
	}
}

// poll waits for something to read, without a goroutine, unless the pipe or
// the system does not allow that.
func (c *Capture) poll() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.r.SetReadDeadline(time.Time{}) != nil { // reading it would block
		return false
	}
	fd, err := sys.Dup(c.r) // two pollers would both be woken each time
	if err != nil {
		return false
	}
	if c.watch, err = sys.NewWatch(fd, (*arrival)(c)); err != nil {
		_ = sys.Close(fd)
		return false
	}
	_ = c.r.Close()
	c.r, c.fd, c.parked = nil, fd, true
	if c.stopping.Load() {
		c.wake()
	}
	return true
}

// wake has somebody read, if nobody does. The caller holds mu.
func (c *Capture) wake() {
	if c.parked {
		c.parked = false
		go c.resume()
	}
}

// interrupt has a stop noticed.
func (c *Capture) interrupt() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.r != nil {
		c.breakOff()
	} else {
		c.wake()
	}
}

// resume reads until there is nothing for now, or to the end. The watch tells
// of what comes between the last read and its being armed.
func (c *Capture) resume() {
	err := c.pump(c.fd)
	if err == nil || errors.Is(err, syscall.EAGAIN) {
		if err = c.park(); err == nil {
			return
		}
	}
	if c.stopping.Load() {
		err = c.drain(c.fd)
	}
	c.watch.Close()
	_ = sys.Close(c.fd)
	c.end(err)
}

var errStopping = errors.New("stopping")

// park leaves the pipe to its watch; this goroutine may not touch it again.
func (c *Capture) park() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopping.Load() {
		return errStopping
	}
	if err := c.watch.Arm(); err != nil {
		return err
	}
	c.parked = true
	return nil
}
