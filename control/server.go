package control

import (
	"context"
	"errors"
	"log"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/hostsup/hostsup/control/evidence"
	"github.com/hostsup/hostsup/control/samples"
	"github.com/hostsup/hostsup/internal/sys"
	"github.com/hostsup/hostsup/supervisor"
)

// Options configures a Server. The zero value is usable.
type Options struct {
	Version string       // of the supervisor, sent with every response
	Logger  hclog.Logger // nil: none
	// Configuration is what loads the supervisor's file again. nil: nothing does.
	Configuration Configuration
	Upgrader      Upgrader                 // nil: the supervisor cannot be replaced while it runs
	Console       Console                  // where ServeConsole listens
	Serves        []supervisor.ServeStatus // shown in the status
	Samples       *samples.Store           // figures of the last hour; nil: none are kept
	Evidence      *evidence.Keeper         // of the crash reports; nil: their index is made of the reports
	Metrics       http.Handler             // of GET /metrics; nil: GET /metrics is refused
	MaxBody       int64                    // bytes of a request's body; default 64 MiB

	// Patience bounds how long a caller may take to send a body, and to take an answer, for
	// which it has one second more for each 64 KiB; default 30 s.
	Patience time.Duration
	// StreamPatience is how long the reader of a stream (events, logs, messages, results that
	// are streamed, profiles) at the control socket may take nothing; default 10 min, because a
	// person may have stopped the terminal. On a network it is Patience.
	StreamPatience time.Duration
	MaxConns       int // connections served at once; default 256, at most a quarter of the descriptors; more get the error class overloaded. Half as many on a network.
}

// defaultMaxBody is above the default frame limit, so that the protocol's own limit
// is reached first.
const defaultMaxBody = 64 << 20

// Server serves one supervisor on any number of listeners.
type Server struct {
	sup      Supervisor
	opt      Options
	mux      http.Handler
	ctx      context.Context // of every request; ends with Close
	cancel   context.CancelFunc
	handlers sync.WaitGroup
	gate     gate

	mu     sync.Mutex
	doors  []*door
	closed chan struct{} // closed, and replaced, when a connection has ended
}

// NewServer makes a server for sup. It starts nothing.
func NewServer(sup Supervisor, opt Options) *Server {
	if opt.Logger == nil {
		opt.Logger = hclog.NewNullLogger()
	}
	if opt.MaxBody <= 0 {
		opt.MaxBody = defaultMaxBody
	}
	if opt.Patience <= 0 {
		opt.Patience = 30 * time.Second
	}
	if opt.StreamPatience <= 0 {
		opt.StreamPatience = 10 * time.Minute
	}
	if opt.MaxConns <= 0 {
		opt.MaxConns = defaultMaxConns()
	}
	s := &Server{sup: sup, opt: opt, closed: make(chan struct{})}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.mux = s.routes()
	return s
}

func standardLog(l hclog.Logger) *log.Logger {
	return l.StandardLogger(&hclog.StandardLoggerOptions{ForceLevel: hclog.Debug})
}

// Serve responds to requests on l, the control socket, until [Server.Close], and then
// returns nil. l is closed when Serve returns.
func (s *Server) Serve(l net.Listener) error { return s.serve(l, nil) }

// ServeConsole is Serve for a listener on a network, or a TLS listener of one.
func (s *Server) ServeConsole(l net.Listener, a Access) error { return s.serve(l, &a) }

func (s *Server) serve(l net.Listener, a *Access) error {
	d := s.newDoor(a)
	s.mu.Lock()
	closed := s.ctx.Err() != nil
	if !closed {
		s.doors = append(s.doors, d)
	}
	s.mu.Unlock()
	if closed {
		return l.Close()
	}
	err := d.http.Serve(bounded{l, d})
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return errors.Join(err, l.Close())
}

// Close stops listening, ends streams and waiting requests with an error, and
// returns when every handler has returned. Responses under way may finish until ctx
// ends; then their connections are cut.
func (s *Server) Close(ctx context.Context) error {
	s.mu.Lock()
	s.cancel()
	doors := s.doors
	s.mu.Unlock()
	var errs []error
	for _, d := range doors {
		err := d.http.Shutdown(ctx)
		if err != nil {
			err = d.http.Close()
		}
		errs = append(errs, err)
	}
	s.handlers.Wait()
	return errors.Join(errs...)
}

// defaultMaxConns returns how many connections are served at once: 256, and at most
// a quarter of the descriptors, because hosts need some too.
func defaultMaxConns() int { return min(256, sys.DescriptorLimit()/4) }
