package netproxy

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hostsup/hostsup/internal/sys"
)

// chunk and spliceTime bound how much and how long is copied between two checks of the
// clock. A splice keeps a pipe while it waits for data, which spliceTime makes short. A
// receiver that does not read what one splice moves, at most 1 MiB, within
// Proxy.IdleTimeout counts as stuck.
const (
	chunk      = 1 << 20
	spliceTime = 100 * time.Millisecond
)

// wait returns when c is readable or has failed.
func wait(c net.Conn) error {
	if s, ok := c.(syscall.Conn); ok {
		return sys.WaitReadable(s)
	}
	return nil
}

type closeWriter interface{ CloseWrite() error }

// tunnel copies bytes both ways until both directions have ended, one has failed, or
// the idle time has passed. The end of one direction is forwarded; the other
// continues. On Linux the bytes of sockets are spliced and never enter this process.
// first is what the client has already sent. With untilServer the tunnel ends with
// the server's direction.
func (p *Proxy) tunnel(client, server net.Conn, first []byte, untilServer bool) {
	t := &tunnel{idle: p.IdleTimeout, start: time.Now()}
	var wg sync.WaitGroup
	wg.Go(func() {
		if !t.move(client, server) || untilServer {
			_, _ = client.Close(), server.Close()
		}
	})
	ok := true
	if len(first) > 0 {
		_ = server.SetWriteDeadline(time.Now().Add(t.idle))
		_, err := server.Write(first)
		ok = err == nil
	}
	if !ok || !t.move(server, client) {
		_, _ = client.Close(), server.Close()
	}
	wg.Wait()
}

type tunnel struct {
	idle  time.Duration
	start time.Time
	last  atomic.Int64 // time of the last byte in either direction, since start
}

// move copies until src ends (true) or an error occurs (false).
func (t *tunnel) move(dst, src net.Conn) bool {
	for {
		// Each direction records its progress every half of the idle time, so that
		// neither considers the tunnel idle while the other is busy.
		_ = src.SetReadDeadline(time.Now().Add(t.idle / 2))
		n, err := int64(0), wait(src)
		now := time.Now()
		if err == nil {
			// A read deadline expires only between two copies; a write deadline expires
			// within one, and the data in the pipe is lost.
			_ = src.SetReadDeadline(now.Add(min(spliceTime, t.idle/2)))
			_ = dst.SetWriteDeadline(now.Add(t.idle))
			n, err = io.CopyN(dst, src, chunk)
		}
		if n > 0 {
			t.last.Store(int64(time.Since(t.start)))
		}
		switch {
		case err == nil:
		case errors.Is(err, io.EOF):
			if c, ok := dst.(closeWriter); ok {
				return c.CloseWrite() == nil
			}
			return false
		case errors.Is(err, os.ErrDeadlineExceeded) && time.Since(now) < t.idle:
			if n == 0 && time.Since(t.start)-time.Duration(t.last.Load()) >= t.idle {
				return false
			}
		default:
			return false
		}
	}
}
