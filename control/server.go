package control

import (
	"context"
	"errors"
	"log"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
)

// Options configures a Server. The zero value is usable.
type Options struct {
	Version string       // of the supervisor, sent with every response
	Logger  hclog.Logger // nil: none
	MaxBody int64        // bytes of a request's body; default 64 MiB

	MaxConns int // connections served at once; default 256, at most a quarter of the descriptors; more get the error class overloaded
}

// defaultMaxBody is above the default frame limit, so that the protocol's own limit
// is reached first.
const defaultMaxBody = 64 << 20

// Server serves one supervisor on any number of listeners.
type Server struct {
	sup      Supervisor
	opt      Options
	http     *http.Server
	ctx      context.Context // of every request; ends with Close
	cancel   context.CancelFunc
	handlers sync.WaitGroup
	conns    atomic.Int64 // open now
}

// NewServer makes a server for sup. It starts nothing.
func NewServer(sup Supervisor, opt Options) *Server {
	if opt.Logger == nil {
		opt.Logger = hclog.NewNullLogger()
	}
	if opt.MaxBody <= 0 {
		opt.MaxBody = defaultMaxBody
	}
	if opt.MaxConns <= 0 {
		opt.MaxConns = defaultMaxConns()
	}
	s := &Server{sup: sup, opt: opt}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.http = &http.Server{
		Handler:           s.guard(s.routes()),
		BaseContext:       func(net.Listener) context.Context { return s.ctx },
		ConnContext:       s.opened,
		ConnState:         s.changed,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          standardLog(opt.Logger),
	}
	return s
}

func standardLog(l hclog.Logger) *log.Logger {
	return l.StandardLogger(&hclog.StandardLoggerOptions{ForceLevel: hclog.Debug})
}

// Serve responds to requests on l until [Server.Close], and then returns nil. l is
// closed when Serve returns.
func (s *Server) Serve(l net.Listener) error {
	err := s.http.Serve(bounded{l, s})
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return errors.Join(err, l.Close())
}

// Close stops listening, ends streams and waiting requests with an error, and
// returns when every handler has returned. Responses under way may finish until ctx
// ends; then their connections are cut.
func (s *Server) Close(ctx context.Context) error {
	s.cancel()
	err := s.http.Shutdown(ctx)
	if err != nil {
		err = s.http.Close()
	}
	s.handlers.Wait()
	return err
}

// callerKey holds the result of checkCaller in a connection's context.
type callerKey struct{}

func withCaller(ctx context.Context, c net.Conn) context.Context {
	if err := checkCaller(c); err != nil {
		return context.WithValue(ctx, callerKey{}, err)
	}
	return ctx
}

// guard wraps every handler: it counts the request, and refuses callers that may not
// control the supervisor.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if endless(r) && http.NewResponseController(w).EnableFullDuplex() != nil {
			return // another version of HTTP, which Client does not use
		}
		s.handlers.Add(1)
		defer s.handlers.Done()
		w.Header().Set(versionHeader, s.opt.Version)
		if err, ok := r.Context().Value(callerKey{}).(error); ok {
			s.opt.Logger.Warn("refused a caller", "error", err)
			w.Header().Set("Connection", "close")
			s.fail(w, r, err)
			return
		}
		if endless(r) {
			defer stopReading(w)
		} else {
			r.Body = http.MaxBytesReader(w, r.Body, s.opt.MaxBody)
		}
		next.ServeHTTP(w, r)
	})
}
