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
	c := newConn(s, rw)
	defer close(s.ended)
	return c.serve(ctx)
}

func newConn(s *Server, rw io.ReadWriteCloser) *conn {
	c := &conn{
		srv: s, opt: &s.opt, rw: rw,
		notes:   make(chan note, notesWaiting),
		drained: make(chan struct{}), closed: make(chan struct{}),
		open: make(map[uint32]*request), calls: make(map[uint32]*call),
	}
	c.controls = s.controls()
	c.sess = native.Open(s.opt.limits)
	c.rd = c.sess.NewReader(rw)
	c.w = newWriter(rw, c.sess, s.opt.outgoing)
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	return c
}

func (c *conn) serve(ctx context.Context) (err error) {
	read := make(chan error, 1)
	c.helpers.Go(func() {
		err := errors.New("an inline handler ended the receive loop")
		defer func() {
			if verdict := c.verdict(err); verdict != nil {
				c.lose(verdict)
			} else {
				c.lose(ErrClosed)
			}
			read <- err
		}()
		err = c.loop()
	})
	c.helpers.Go(c.deliver)
	c.helpers.Go(func() { c.w.run(c.closed) })

	select {
	case end := <-read:
		err = c.verdict(end)
		c.startDrain()
		<-c.drained
	case <-ctx.Done():
		c.startDrain()
		<-c.drained
		c.settle()
	}
	c.lose(ErrShuttingDown)
	// Nothing can be done about a connection that does not close well.
	_ = c.rw.Close()
	c.w.fail(ErrClosed)
	close(c.closed)
	return errors.Join(err, c.wait())
}

// lose ends everything that depends on the connection.
func (c *conn) lose(err error) {
	c.cancel(err)
	c.failCalls(err)
}

// settle lets the last bytes leave.
func (c *conn) settle() {
	ctx, stop := context.WithTimeout(context.Background(), settleWait)
	defer stop()
	_ = c.w.settle(ctx) // the peer takes them or it does not
}

// wait returns when all goroutines have ended, or why they have not.
func (c *conn) wait() error {
	if !c.idle(settleWait, nil) {
		c.retire()
		c.mu.Lock()
		defer c.mu.Unlock()
		return fmt.Errorf("%w: %d of them", ErrStuck, c.busy)
	}
	c.retire()
	ended := make(chan struct{})
	go func() {
		c.helpers.Wait()
		close(ended)
	}()
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
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.parting:
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
