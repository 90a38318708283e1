package netproxy

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// chunk is how many bytes are moved between two looks at the clock. A
// receiver that takes less than this in Proxy.IdleTimeout while more is
// waiting counts as stuck.
const chunk = 1 << 20

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
		now := time.Now()
		// Every half of the idle time each direction says whether it has moved,
		// so that neither calls the tunnel idle while the other is busy. The
		// writer's deadline must not be met before the reader's: a splice that
		// ends with bytes on the way has lost them.
		_ = src.SetReadDeadline(now.Add(t.idle / 2))
		_ = dst.SetWriteDeadline(now.Add(2 * t.idle))
		n, err := io.CopyN(dst, src, chunk)
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
		case errors.Is(err, os.ErrDeadlineExceeded) && time.Since(now) < 2*t.idle:
			if n == 0 && time.Since(t.start)-time.Duration(t.last.Load()) >= t.idle {
				return false
			}
		default:
			return false
		}
	}
}
