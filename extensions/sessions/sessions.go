package sessions

import (
	"context"
	"io"
	"sync"
)

// Group is the sessions of a server, and the goroutines beside them. It must be made with [New]. It is
// safe for concurrent use.
type Group struct {
	ctx  context.Context
	end  context.CancelCauseFunc
	work sync.WaitGroup

	mu     sync.Mutex
	closed bool
}

// New returns a group without sessions. Close releases it.
func New() *Group {
	g := &Group{}
	g.ctx, g.end = context.WithCancelCause(context.Background())
	return g
}

// Context ends with Close, whose reason is its cause.
func (g *Group) Context() context.Context { return g.ctx }

// Go runs f on a goroutine for which Close waits. f must return when the context of the group has
// ended. Go must be called before Close or in a session.
func (g *Group) Go(f func()) { g.work.Go(f) }

// Session is a session of a [Group].
type Session struct {
	// Context ends with that of Begin, with Close of the group, and with End. Its cause says why.
	Context context.Context
	end     context.CancelCauseFunc
	leave   func()
}

// Begin begins a session with the client behind rw, which is closed when the session has ended. End
// must be called. The error is the reason of Close after it, and rw is closed then.
func (g *Group) Begin(ctx context.Context, rw io.Closer) (*Session, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		_ = rw.Close()
		return nil, context.Cause(g.ctx)
	}
	g.work.Add(1)
	s := &Session{}
	s.Context, s.end = context.WithCancelCause(ctx)
	unfollow := context.AfterFunc(g.ctx, func() { s.end(context.Cause(g.ctx)) })
	context.AfterFunc(s.Context, func() { _ = rw.Close() })
	s.leave = sync.OnceFunc(func() {
		unfollow()
		_ = rw.Close() // also if that is not done by the end of the context yet
		g.work.Done()
	})
	return s, nil
}

// Stop ends the context of the session with a cause, unless it has ended before.
func (s *Session) Stop(cause error) { s.end(cause) }

// End ends the session and closes the stream of its client. It is idempotent.
func (s *Session) End() {
	s.end(nil)
	s.leave()
}

// Close ends the context of all sessions, and waits until End was called for each, and the goroutines
// of Go have returned. reason is why. It is idempotent; the first reason counts.
func (g *Group) Close(reason error) {
	g.mu.Lock()
	if !g.closed {
		g.closed = true
		g.end(reason)
	}
	g.mu.Unlock()
	g.work.Wait()
}
