package sdk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/native"
	"github.com/hostsup/hostsup/link"
	"github.com/hostsup/hostsup/link/pending"
)

// Serve opens the connection that the environment names (see [Open]) and
// serves it until its end. It ends gracefully on SIGTERM too, or what
// [WithSignals] names. All else is as with [Server.ServeConn].
func (s *Server) Serve(ctx context.Context) error {
	if s.served.Load() {
		return ErrServed
	}
	rw, err := Open()
	if err != nil {
		return err
	}
	if len(s.opt.signals) > 0 {
		var stop context.CancelFunc
		ctx, stop = signal.NotifyContext(ctx, s.opt.signals...)
		defer stop()
		// The second one is for a person who does not want to wait.
		defer context.AfterFunc(ctx, stop)()
	}
	return s.ServeConn(ctx, rw)
}

// ServeConn serves one connection until its end and closes it. Closing rw must
// end a Read and a Write under way.
//
// It ends gracefully when the supervisor says goodbye and then closes, or when
// ctx ends: new requests are refused, running ones get the time set by
// [WithDrain], then the functions of OnShutdown run and what is to be sent is
// sent. The error is nil then. It is [ErrPeerGone] when the supervisor closes
// without a goodbye; a *[codec.FrameError] when it breaks the protocol; else
// the error of the handshake or the stream. Handlers still running then have
// their contexts ended.
//
// No goroutine of the connection is left when ServeConn returns, but for
// handlers that ignore the end of their context: they are given up after a
// bounded time, and the error is then also [ErrStuck].
func (s *Server) ServeConn(ctx context.Context, rw io.ReadWriteCloser) error {
	if !s.served.CompareAndSwap(false, true) {
		return errors.Join(ErrServed, rw.Close())
	}
	s.mu.Lock()
	bad := errors.Join(s.bad...)
	s.mu.Unlock()
	if bad != nil {
		close(s.ended)
		return errors.Join(bad, rw.Close())
	}
	c, hs := newConn(s, rw)
	defer close(s.ended)
	return c.serve(ctx, hs)
}

func newConn(s *Server, rw io.ReadWriteCloser) (c *conn, hs codec.Handshake) {
	c = &conn{
		srv: s, opt: &s.opt, controls: s.controls(), list: link.NewDeadlines(link.System{}, 0),
		notes: make(chan note, notesWaiting), read: make(chan error, 1),
		drained: make(chan struct{}), over: make(chan struct{}),
	}
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	sess := native.Open(s.opt.limits)
	hs = c.handshake(sess)
	c.Conn = link.New(link.Options{
		Session: sess, Wire: wireOf(rw), Owner: c, Env: &c.workers, FirstID: 1,
		Bounds: pending.Bounds{Running: s.opt.concurrent}, Serving: &c.busy, Context: c.ctx, TakenBack: ErrCancelled,
		Limit: s.opt.outgoing, Collect: s.opt.limits.Frame - itemRoom, Waits: true, NoHeaders: true,
	})
	return c, hs
}

func (c *conn) serve(ctx context.Context, hs codec.Handshake) (err error) {
	c.helpers.Go(c.deliver)
	c.Open(hs)
	select {
	case end := <-c.read:
		err = c.verdict(end)
		c.startDrain()
		<-c.drained
	case <-ctx.Done():
		c.startDrain()
		<-c.drained
		c.settle()
	}
	c.lose(ErrShuttingDown)
	return errors.Join(err, c.end())
}

// settle lets the last bytes leave.
func (c *conn) settle() {
	ctx, stop := context.WithTimeout(context.Background(), settleWait)
	defer stop()
	c.Flush(ctx) // the peer takes them or it does not
}

// end closes the connection. It returns when all goroutines have ended, or why they have
// not.
func (c *conn) end() error {
	ended := make(chan struct{})
	go func() {
		c.Close()
		c.helpers.Wait()
		c.workers.all.Wait()
		close(ended)
	}()
	n := c.busy.idle(settleWait, nil)
	c.workers.retire()
	if n > 0 {
		return fmt.Errorf("%w: %d of them", ErrStuck, n)
	}
	timer := time.NewTimer(settleWait)
	defer timer.Stop()
	select {
	case <-ended:
		return nil
	case <-timer.C:
		return fmt.Errorf("%w: one of them is inline and holds the receive loop", ErrStuck)
	}
}

// verdict says what the end of the receive loop means for Serve.
func (c *conn) verdict(err error) error {
	if err == nil || !isGone(err) {
		return err
	}
	switch {
	case c.parting.Load():
		return nil
	case errors.Is(err, io.EOF):
		return ErrPeerGone
	}
	return fmt.Errorf("%w: %w", ErrPeerGone, err)
}

// isGone says whether err is how a stream ends whose other side has left.
func isGone(err error) bool {
	var bad *codec.FrameError
	if errors.As(err, &bad) {
		return false
	}
	for _, end := range []error{io.EOF, io.ErrClosedPipe, net.ErrClosed, os.ErrClosed, syscall.EPIPE, syscall.ECONNRESET} {
		if errors.Is(err, end) {
			return true
		}
	}
	return false
}
