package server

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/hashicorp/go-hclog"

	"github.com/hostsup/hostsup/execserver/wire"
	"github.com/hostsup/hostsup/internal/safeactor"
	"github.com/hostsup/hostsup/sandbox"
	"github.com/hostsup/hostsup/sandbox/netproxy"
)

// Server is an exec server: its listener, and the actor above its sessions.
// Safe for concurrent use.
type Server struct {
	opt      Options
	addr     address
	launched chan struct{} // closed when what follows is known
	launcher *sandbox.Launcher
	noLaunch error
	own      bool // the launcher is the server's
	listener net.Listener
	http     *http.Server
	url      string
	proxy    *netproxy.Proxy                                         // with a sandbox that allows some hosts; nil: without
	dial     func(context.Context, string, uint16) (net.Conn, error) // of HTTP requests; nil: nothing confines them
	info     wire.EnvironmentInfo
	infoText []byte
	started  time.Time

	ctx    context.Context // ends when the server stops
	cancel context.CancelFunc
	system *actor.ActorSystem
	pid    *actor.PID
	done   chan struct{}
	serves sync.WaitGroup

	mu       sync.Mutex
	sessions map[string]*session
	conns    map[*conn]struct{}
	stopping bool
	err      error

	count  counters
	memory memory
	budget budget
}

type counters struct {
	connections, sessions, takeovers, requests, messagesIn, starts, failed atomic.Uint64
	bytesIn, bytesOut, output, lost                                        atomic.Uint64
	processes                                                              atomic.Int64 // not closed
}

// stdioWait is how long the end of a server on stdin and stdout waits for them.
const stdioWait = 500 * time.Millisecond

// ErrStopped means that a request was refused because the server is stopping.
var ErrStopped = errors.New("the server is stopping")

// New makes a Server and listens. The server serves once the actor of its Props
// runs. The caller must call Discard for a server that is not spawned.
func New(opt Options) (*Server, error) {
	opt, addr, err := opt.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Server{opt: opt, addr: addr, launcher: opt.Launcher, launched: make(chan struct{}), done: make(chan struct{}), started: time.Now(),
		sessions: map[string]*session{}, conns: map[*conn]struct{}{}, budget: budget{limit: opt.Budget}}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	if err := s.reach(); err != nil {
		return nil, err
	}
	s.info = environmentInfo(opt.Version)
	s.info.Capabilities.FSWatchMissing = opt.Sandbox == nil
	if s.infoText, err = wire.AppendResult(nil, wire.IntID(0), &s.info); err != nil {
		return nil, err
	}
	if opt.Idle != nil {
		s.memory.rest = func() {
			if s.ctx.Err() == nil && len(s.all()) == 0 {
				opt.Idle()
			}
		}
	}
	if err := s.listen(); err != nil {
		return nil, err
	}
	if s.launcher != nil {
		close(s.launched)
		return s, nil
	}
	// It takes longer than everything else, and is not needed yet.
	s.own = true
	go func() {
		defer close(s.launched)
		if s.launcher, err = sandbox.NewLauncher(sandbox.Options{}); err != nil {
			s.noLaunch = fmt.Errorf("processes cannot be started here: %w", err)
			opt.Log.Error("no process can be started", "error", err)
		}
	}()
	return s, nil
}

// launch waits for the launcher and returns it.
func (s *Server) launch() (*sandbox.Launcher, error) {
	<-s.launched
	return s.launcher, s.noLaunch
}

// closeLauncher ends the launcher, if it is the server's, and what HTTP requests
// are connected to.
func (s *Server) closeLauncher() error {
	if s.proxy != nil {
		_ = s.proxy.Close() // never an error
	}
	l, err := s.launch()
	if !s.own || err != nil {
		return nil //nolint:nilerr // there is no launcher to close, which every start has reported
	}
	return l.Close()
}

// Discard closes a server that was never spawned.
func (s *Server) Discard() error {
	s.closeListener()
	s.cancel()
	return s.closeLauncher()
}

// Start runs a Server in an actor system of its own. Clients can connect when Start
// returns; the system, which takes longer to make, may not be ready by then.
func Start(opt Options) (*Server, error) {
	s, err := New(opt)
	if err != nil {
		return nil, err
	}
	go func() {
		system := safeactor.NewSystem(s.opt.Log.Named("actor"))
		if _, err := system.Root.SpawnNamed(s.Props(system), system.ProcessRegistry.NextId()+"-exec-server"); err != nil {
			s.mu.Lock()
			s.err = errors.Join(err, s.Discard())
			s.mu.Unlock()
			close(s.done)
		}
	}()
	return s, nil
}

// Props returns the props of the server's actor, which must be spawned once, anywhere
// in system. The server ends with the actor, and the actor with the server.
func (s *Server) Props(system *actor.ActorSystem) *actor.Props {
	s.system = system
	return safeactor.Root(s.opt.Log, (*safeactor.Ended).DeadLetter, func() actor.Actor { return &rootActor{s} }, actor.WithSupervisor(contain{s.opt.Log}))
}

// URL is where clients find the server: ws://127.0.0.1:40001, unix:///run/x.sock
// or stdio.
func (s *Server) URL() string { return s.url }

// Done is closed when the server has ended, with everything it ran.
func (s *Server) Done() <-chan struct{} { return s.done }

// Err returns why the server ended, once Done is closed; nil when it was stopped.
func (s *Server) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Stop ends the server with all that it runs, and waits for that.
func (s *Server) Stop(ctx context.Context) error {
	s.end(nil)
	select {
	case <-s.done:
		return s.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// end has the actor stop.
func (s *Server) end(err error) {
	s.mu.Lock()
	if err != nil && s.err == nil {
		s.err = err
	}
	pid := s.pid
	s.mu.Unlock()
	s.cancel()
	if pid != nil {
		s.system.Root.Stop(pid)
	}
}

func (s *Server) root() *actor.RootContext { return s.system.Root }

// contain is the strategy of the server's actors: what fails is a defect; it is
// logged and stopped, with its processes.
type contain struct{ log hclog.Logger }

// HandleFailure implements actor.SupervisorStrategy.
func (c contain) HandleFailure(_ *actor.ActorSystem, parent actor.Supervisor, child *actor.PID, _ *actor.RestartStatistics, reason, message any) {
	c.log.Error("defect: an actor of the exec server failed and is stopped", "actor", child.Id, "reason", reason,
		"message", fmt.Sprintf("%T", message), "stack", string(debug.Stack()))
	parent.StopChildren(child)
}

// rootActor is the actor above the sessions.
type rootActor struct{ *Server }

// openSession asks for a session.
type openSession struct {
	s    *session
	done chan error
}

// Receive implements actor.Actor.
func (a *rootActor) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *actor.Started:
		a.mu.Lock()
		a.pid = ctx.Self()
		a.mu.Unlock()
		if a.ctx.Err() != nil {
			ctx.Stop(ctx.Self())
			return
		}
		a.serves.Go(a.serve)
	case *openSession:
		m.done <- a.open(ctx, m.s)
	case *actor.Stopping:
		a.shut()
	case *actor.Stopped:
		a.finish()
	}
}

func (a *rootActor) open(ctx actor.Context, s *session) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.stopping:
		return ErrStopped
	case a.opt.MaxSessions > 0 && len(a.sessions) >= a.opt.MaxSessions:
		return fmt.Errorf("at most %d sessions may be open", a.opt.MaxSessions)
	}
	props := safeactor.Props(a.opt.Log, func() actor.Actor {
		return &sessionActor{session: s, starting: map[*process]*launch{}}
	}, actor.WithSupervisor(contain{a.opt.Log}))
	pid, err := ctx.SpawnNamed(props, "session-"+s.id)
	if err != nil {
		return err
	}
	s.pid = pid
	a.sessions[s.id] = s
	a.count.sessions.Add(1)
	return nil
}

func (s *Server) newSession(client string) (*session, error) {
	se := &session{srv: s, id: newID(), client: client, since: time.Now(), detached: time.Now(), keep: s.opt.KeepDetached, procs: map[string]*process{}, done: make(chan struct{})}
	m := &openSession{se, make(chan error, 1)}
	s.mu.Lock()
	pid := s.pid
	s.mu.Unlock()
	safeactor.Tell(s.root(), pid, m)
	select {
	case err := <-m.done:
		if err != nil {
			return nil, err
		}
		return se, nil
	case <-s.ctx.Done():
		return nil, ErrStopped
	}
}

func (s *Server) session(id string) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sessions[id]
}

func (s *Server) all() []*session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.sessions))
}

func (s *Server) forget(se *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sessions, se.id)
	if len(s.sessions) == 0 {
		s.memory.idle()
	}
}

// admit counts a connection before it is made, so that the end of the server waits for it. It returns
// false when the server is stopping; after true, s.serves.Done must be called.
func (s *Server) admit() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping {
		return false
	}
	s.serves.Add(1)
	return true
}

// enter adds a connection that was admitted. One that a client has seen opened while the server began
// to stop is told why it ends, like all others.
func (s *Server) enter(c *conn) {
	s.mu.Lock()
	s.count.connections.Add(1)
	s.conns[c] = struct{}{}
	stopping := s.stopping
	s.mu.Unlock()
	if stopping {
		c.kick(closeGoingAway, ErrStopped.Error())
	}
}

func (s *Server) exit(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
}

// shut refuses new connections and ends all others. The sessions are stopped after
// it.
func (s *Server) shut() {
	s.mu.Lock()
	s.stopping = true
	conns := slices.Collect(maps.Keys(s.conns))
	s.mu.Unlock()
	s.cancel()
	s.closeListener()
	for _, c := range conns {
		c.kick(closeGoingAway, ErrStopped.Error())
	}
}

// finish is called when all sessions have ended.
func (s *Server) finish() {
	go func() { // the actor is not to wait for connections that say goodbye
		served := make(chan struct{})
		go func() {
			s.serves.Wait()
			close(served)
		}()
		var late <-chan time.Time
		if s.addr.transport == Stdio { // a read of stdin, or a write to stdout, cannot be interrupted
			late = time.After(stdioWait)
		}
		select {
		case <-served:
		case <-late:
		}
		if s.http != nil {
			// Not before: it also cuts off those who are in the middle of becoming a WebSocket.
			_ = s.http.Close()
		}
		if err := s.closeLauncher(); err != nil {
			s.opt.Log.Error("process trees", "error", err)
		}
		close(s.done)
	}()
}

// serve accepts connections until the listener is closed.
func (s *Server) serve() {
	var err error
	switch s.addr.transport {
	case WebSocket:
		err = s.http.Serve(s.listener)
	case Unix:
		err = s.serveUnix()
	default:
		s.serveStdio()
	}
	if err != nil && !errors.Is(err, net.ErrClosed) && !errors.Is(err, http.ErrServerClosed) && s.ctx.Err() == nil {
		s.opt.Log.Error("the listener failed", "url", s.url, "error", err)
		s.end(fmt.Errorf("listen %s: %w", s.url, err))
	}
}

func (s *Server) listen() (err error) {
	switch s.addr.transport {
	case WebSocket:
		if s.listener, err = net.Listen("tcp", s.addr.tcp.String()); err != nil {
			return err
		}
		s.url = "ws://" + s.listener.Addr().String()
		s.http = &http.Server{Handler: http.HandlerFunc(s.upgrade), ReadHeaderTimeout: 10 * time.Second,
			ErrorLog: s.opt.Log.StandardLogger(&hclog.StandardLoggerOptions{ForceLevel: hclog.Debug})}
	case Unix:
		s.url = "unix://" + s.addr.path
		s.listener, err = listenUnix(s.addr.path)
	default:
		s.url = string(Stdio)
	}
	return err
}

func (s *Server) closeListener() {
	switch {
	case s.listener != nil:
		_ = s.listener.Close()
		if s.addr.transport == Unix {
			_ = os.Remove(s.addr.path)
		}
	default:
		_ = s.opt.Stdin.SetReadDeadline(time.Unix(1, 0)) // of a file that can: others end with the program
	}
}
