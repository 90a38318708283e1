package lsp

import (
	"context"
	"encoding/json"
	"io"
	"slices"
	"sync"

	"github.com/hashicorp/go-hclog"

	"github.com/hostsup/hostsup/extensions/sessions"
	"github.com/hostsup/hostsup/workbench"
	"github.com/hostsup/hostsup/workbench/diagnostics"
	"github.com/hostsup/hostsup/workbench/documents"
	"github.com/hostsup/hostsup/workbench/language"
	"github.com/hostsup/hostsup/workbench/status"
)

// Options configures a [Server]. All but Log and MaxMessage must be set.
type Options struct {
	Host string       // name of the host, for messages
	Log  hclog.Logger // nil: none
	// MaxMessage bounds a message in either direction, in bytes. 0: 50 MiB.
	MaxMessage int
	// Start starts the host if it does not run, and waits until it is up.
	Start       func(ctx context.Context) error
	Documents   *documents.Service
	Language    *language.Service
	Diagnostics *diagnostics.Service
	// Known reports whether an extension contributes a language with this id.
	Known func(id string) bool
	// Allowed reports whether clients can execute a command that no extension has offered to them.
	Allowed func(command string) bool
	// Execute executes a command of an extension, and returns its result as JSON. It calls report with the
	// progress of the command until it returns.
	Execute func(ctx context.Context, command string, args []json.RawMessage, report func(status.Update)) (json.RawMessage, error)
	// Progress has what clients are shown of the work of extensions.
	Progress *status.Service
	// Running reports whether the host is up.
	Running func() bool
}

// Server serves LSP clients. It must be made with [New]. It is safe for concurrent use.
type Server struct {
	opt         Options
	group       *sessions.Group
	unsubscribe func()

	mu       sync.Mutex
	sessions map[*session]bool
	views    map[string][]*view // by URI; in the order of their last use

	noteMu  sync.Mutex // guards changed: it is used in callbacks, which must not block
	changed map[string]bool
	wake    chan struct{} // has room for one
}

// New returns a server without clients. Close releases it.
func New(opt Options) *Server {
	if opt.Log == nil {
		opt.Log = hclog.NewNullLogger()
	}
	s := &Server{opt: opt, group: sessions.New(), sessions: map[*session]bool{}, views: map[string][]*view{}, changed: map[string]bool{}, wake: make(chan struct{}, 1)}
	s.unsubscribe = opt.Documents.Subscribe(func(uri workbench.URI) {
		s.noteMu.Lock()
		s.changed[uri.String()] = true
		s.noteMu.Unlock()
		wake(s.wake)
	})
	s.group.Go(s.follow)
	return s
}

// wake notes something on a channel that has room for one.
func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Close ends all sessions and waits until they have ended. reason is why, for [Server.Serve].
func (s *Server) Close(reason error) {
	s.unsubscribe()
	s.group.Close(reason)
}

// Serve serves one client, and closes rw. It returns nil when the client has left by itself, and
// otherwise why the session has ended: the cause of ctx, the reason of Close, or what could not be read.
func (s *Server) Serve(ctx context.Context, rw io.ReadWriteCloser) error {
	own, err := s.group.Begin(ctx, rw)
	if err != nil {
		return err
	}
	defer own.End()
	c := newSession(own.Context, s, rw)
	s.mu.Lock()
	s.sessions[c] = true
	s.mu.Unlock()

	defer s.opt.Diagnostics.Subscribe(c.noteProblems)()
	c.work.Go(c.publish)
	c.work.Go(c.register)
	c.work.Go(c.showProgress)
	err = c.read()
	if cause := context.Cause(own.Context); cause != nil {
		err = cause
	}
	own.Stop(errLeft)
	s.mu.Lock()
	delete(s.sessions, c) // nothing is delivered to it any more
	s.mu.Unlock()
	c.work.Wait()
	s.mu.Lock()
	var mine []string
	for key, list := range s.views {
		if slices.ContainsFunc(list, func(v *view) bool { return v.of == c }) {
			mine = append(mine, key)
		}
	}
	s.mu.Unlock()
	for _, key := range mine {
		s.close(c, key)
	}
	return err
}

// follow sends what extensions have changed in documents to the clients that have them open.
func (s *Server) follow() {
	for {
		select {
		case <-s.wake:
		case <-s.group.Context().Done():
			return
		}
		s.noteMu.Lock()
		keys := s.changed
		s.changed = map[string]bool{}
		s.noteMu.Unlock()
		for key := range keys {
			s.deliver(key)
		}
	}
}
