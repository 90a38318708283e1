//go:build unix

package capture

import (
	"errors"
	"io"
	"syscall"
	"time"
)

// read reads to the end. While there is nothing to read, the goroutine is parked in
// the runtime's poller, inside RawConn.Read, and holds no buffer.
func (c *Capture) read() error {
	if c.r.SetReadDeadline(time.Time{}) != nil {
		return c.readBlocking()
	}
	if c.stopping.Load() { // the line above may have undone what Stop did
		_ = c.r.SetReadDeadline(time.Unix(1, 0))
	}
	conn, err := c.r.SyscallConn()
	if err != nil {
		return err
	}
	var end error
	err = conn.Read(func(fd uintptr) bool {
		end = c.pump(int(fd))
		return !errors.Is(end, syscall.EAGAIN)
	})
	if c.stopping.Load() {
		return c.drain(conn)
	}
	if err != nil {
		return err
	}
	return end
}

// pump reads until EAGAIN or the end.
func (c *Capture) pump(fd int) error {
	for !c.stopping.Load() {
		// Even a read that leaves room in the buffer does not mean that the pipe is
		// empty: the poller may have reported data and end together, and would not
		// report the end again.
		n, err := c.fill(func(b []byte) (int, error) { return readFD(fd, b) })
		if err != nil {
			return err
		}
		if n == 0 {
			return io.EOF
		}
		if c.class == largest && !c.raised {
			c.raised = true
			enlarge(fd)
		}
	}
	return nil
}

// drain takes what is in the pipe now, and no more: a writer that continues must not
// keep it running.
func (c *Capture) drain(conn syscall.RawConn) error {
	var end error
	err := conn.Control(func(fd uintptr) {
		for left := capacity(int(fd)); left > 0; {
			n, err := c.fill(func(b []byte) (int, error) { return readFD(int(fd), b[:min(len(b), left)]) })
			if err != nil || n == 0 {
				end = err
				return
			}
			left -= n
		}
	})
	if err != nil {
		return err
	}
	if errors.Is(end, syscall.EAGAIN) {
		return nil
	}
	return end
}

func readFD(fd int, b []byte) (int, error) {
	for {
		n, err := syscall.Read(fd, b)
		if err != syscall.EINTR {
			return n, err
		}
	}
}
