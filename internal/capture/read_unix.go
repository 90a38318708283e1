//go:build unix

package capture

import (
	"errors"
	"io"
	"syscall"
	"time"
)

// read reads to the end. While there is nothing to read the goroutine is
// parked in the runtime's poller, inside RawConn.Read, and holds no buffer.
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
		if cerr := conn.Control(func(fd uintptr) { err = c.drain(int(fd)) }); cerr != nil {
			return cerr
		}
		return err
	}
	if err != nil {
		return err
	}
	return end
}

// pump reads until nothing is left for now, which is EAGAIN, or the end.
func (c *Capture) pump(fd int) error {
	for !c.stopping.Load() {
		// Not even a read that leaves room in the buffer says that the pipe is
		// empty: the runtime's poller may have told of its data and its end in
		// one, and would not tell of the end again. For a watch it costs less to
		// look again than to be told.
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

// drain takes what is in the pipe, and no more: a writer that goes on must not
// keep it going.
func (c *Capture) drain(fd int) error {
	for left := capacity(fd); left > 0; {
		n, err := c.fill(func(b []byte) (int, error) { return readFD(fd, b[:min(len(b), left)]) })
		switch {
		case errors.Is(err, syscall.EAGAIN):
			return nil
		case err != nil || n == 0:
			return err
		}
		left -= n
	}
	return nil
}

func readFD(fd int, b []byte) (int, error) {
	for {
		n, err := syscall.Read(fd, b)
		if err != syscall.EINTR {
			return n, err
		}
	}
}
