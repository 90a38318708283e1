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

// chunk and linger bound what is moved between two looks at the clock. A splice
// holds a pipe as long as it waits for more, which is only a moment then. A
// receiver that does not take what one splice moves, 1 MiB at most, in
// Proxy.IdleTimeout counts as stuck.
const (
	chunk  = 1 << 20
	linger = 100 * time.Millisecond
)

// wait returns when there is something to be read, or something wrong.
func wait(c net.Conn) error {
	if s, ok := c.(syscall.Conn); ok {
		return sys.WaitReadable(s)
	}
	return nil
}

type closeWriter interface{ CloseWrite() error }

// tunnel moves bytes both ways until both directions have ended, one has
// failed, or nothing has come for the idle time. The end of one direction is
// passed on as such; the other goes on. On Linux the bytes of sockets are
// spliced and never seen here. first is what the client has sent already.
// With untilServer everything ends with what the server sends.
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
	last  atomic.Int64 // since start, when a byte last moved either way
}

// move copies until src ends (true) or something fails (false).
func (t *tunnel) move(dst, src net.Conn) bool {
	for {
		// Every half of the idle time each direction says whether it has moved,
		// so that neither calls the tunnel idle while the other is busy.
		_ = src.SetReadDeadline(time.Now().Add(t.idle / 2))
		n, err := int64(0), wait(src)
		now := time.Now()
		if err == nil {
			// The reader's deadline is met only between two moves, the writer's
			// in the middle of one: what is on the way then is lost.
			_ = src.SetReadDeadline(now.Add(min(linger, t.idle/2)))
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
