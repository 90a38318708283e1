package inspector

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Ports opens the inspectors of processes and closes them after their last use. Make
// it with [NewPorts].
type Ports struct {
	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup

	mu   sync.Mutex
	open map[string]*port // by the keys of targets
}

// port is one inspector that is open, opening or closing.
type port struct {
	mode   mode
	ready  chan struct{}   // closed when it is open, or cannot be
	closed chan struct{}   // closed when it is closed, or the process is gone
	ctx    context.Context // ends when the process ends or is being stopped
	stop   context.CancelFunc
	turn   chan struct{} // holds one value while there is a session

	// Guarded by the mu of Ports.
	users   int
	keep    bool // it stays open without users
	closing bool

	// Set before ready is closed.
	addr   Address
	opened bool // by us
	err    error
}

// ending reports whether the process has ended or is being stopped.
func (e *port) ending() bool { return e.ctx.Err() != nil }

// ErrClosed means that [Ports] has been closed.
var ErrClosed = errors.New("inspectors are closed")

// closeWithin bounds how long a process may take to close its port.
const closeWithin = 5 * time.Second

// NewPorts returns Ports without an open port.
func NewPorts() *Ports {
	p := &Ports{open: map[string]*port{}}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	return p
}

// Close ends all work under way and waits for it. Open ports stay open, except those
// that were about to be closed.
func (p *Ports) Close() {
	p.mu.Lock()
	p.cancel()
	p.mu.Unlock()
	p.work.Wait()
}

// Lease is the use of a port. Release ends it.
type Lease struct {
	ports *Ports
	key   string
	port  *port
	once  sync.Once
}

// Open opens the inspector of a process, unless it is open, and waits for that until
// ctx ends. Errors: a *[RefusedError] for a process that must not be asked or has
// failed to open it, [ErrGone], [ErrClosed], ctx's.
func (p *Ports) Open(ctx context.Context, t Target) (*Lease, error) {
	for {
		e, err := p.enter(t)
		if err != nil {
			return nil, err
		}
		if e.closing {
			select {
			case <-e.closed:
				continue
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		l := &Lease{ports: p, key: t.Key, port: e.port}
		select {
		case <-e.ready:
		case <-ctx.Done():
			_ = l.Release() // it is not open
			return nil, ctx.Err()
		}
		if e.port.err != nil {
			_ = l.Release() // it is not open
			return nil, e.port.err
		}
		if _, ok := at(t.PID, e.addr.Port.Port(), e.addr.ID); !ok { // another program has closed it
			p.forget(t.Key, e.port)
			_ = l.Release() // there is nothing to close
			continue
		}
		return l, nil
	}
}

// entered is a port as it was when a user entered.
type entered struct {
	*port
	closing bool
}

// enter adds a user, and begins to open the port for the first.
func (p *Ports) enter(t Target) (entered, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ctx.Err() != nil {
		return entered{}, ErrClosed
	}
	e := p.open[t.Key]
	if e != nil {
		if !e.closing {
			e.users++
		}
		return entered{e, e.closing}, nil
	}
	m, err := t.examine()
	if err != nil {
		return entered{}, err
	}
	ctx, stop := context.WithCancel(p.ctx)
	e = &port{mode: m, users: 1, ready: make(chan struct{}), closed: make(chan struct{}), turn: make(chan struct{}, 1), ctx: ctx, stop: stop}
	p.open[t.Key] = e
	p.work.Go(func() { p.watch(t, e) })
	return entered{e, false}, nil
}

// watch opens a port and attends to it as long as the process lives.
func (p *Ports) watch(t Target, e *port) {
	defer p.forget(t.Key, e)
	p.work.Go(func() {
		t.Await(e.ctx)
		e.stop()
	})
	a, opened, err := t.open(e.ctx, e.mode)
	if err != nil && e.ctx.Err() != nil {
		err = p.ended()
	}
	p.mu.Lock()
	e.addr, e.opened, e.err = a, opened, err
	e.keep = e.keep || !opened
	unwanted := err == nil && e.users == 0 && !e.keep
	e.closing = e.closing || unwanted
	close(e.ready)
	p.mu.Unlock()
	switch {
	case err != nil:
	case unwanted:
		_ = p.shut(t.Key, e) // no caller is left to report to
	default:
		<-e.ctx.Done()
	}
}

// ended returns why a port has ended that was not closed.
func (p *Ports) ended() error {
	if p.ctx.Err() != nil {
		return ErrClosed
	}
	return ErrGone
}

// forget removes a port that is no longer open.
func (p *Ports) forget(key string, e *port) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open[key] == e {
		delete(p.open, key)
	}
	select {
	case <-e.closed:
	default:
		close(e.closed)
	}
	e.stop()
}

// shut makes a process close its port, when the sessions have ended. A port that the
// process cannot close now is no longer tracked.
func (p *Ports) shut(key string, e *port) error {
	defer p.forget(key, e)
	ctx, cancel := context.WithTimeout(p.ctx, closeWithin)
	defer cancel()
	select {
	case e.turn <- struct{}{}:
		defer func() { <-e.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	s, err := e.begin(ctx, true)
	if err == nil {
		err = s.Shut(ctx, e.mode.anyPort)
		s.Close()
	}
	if err != nil && !errors.Is(err, ErrGone) {
		return err
	}
	// The sessions end first, then the port: the next user must not find it.
	tick := time.NewTicker(closePollInterval)
	defer tick.Stop()
	for {
		if _, open := at(e.addr.PID, e.addr.Port.Port(), e.addr.ID); !open {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// closePollInterval is how often shut checks whether a port is closed.
const closePollInterval = 5 * time.Millisecond

// Address returns the address of the inspector.
func (l *Lease) Address() Address { return l.port.addr }

// Opened reports whether Ports opened the port itself.
func (l *Lease) Opened() bool { return l.port.opened }

// Session runs do in a session with the inspector. Sessions with one process take turns,
// because concurrent profiles spoil each other. The context of do ends as soon as the
// process is being stopped; do must then return at once. Errors: those of
// [Address.Dial] and of do, [ErrGone], [ErrClosed], ctx's.
func (l *Lease) Session(ctx context.Context, do func(context.Context, *Session) error) error {
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(l.port.ctx, cancel)()
	select {
	case l.port.turn <- struct{}{}:
	case <-inner.Done():
		return l.cause(ctx)
	}
	var s *Session
	begun, left := make(chan error), make(chan struct{})
	// The process may take long to begin and to leave, and the session must stay with it
	// for that long, also when the caller has given up.
	if !l.ports.goes(func() {
		defer close(left)
		defer func() { <-l.port.turn }()
		ours := !l.staysOpen()
		var err error
		s, err = l.port.begin(l.ports.ctx, ours)
		select {
		case begun <- err:
			<-inner.Done()
		case <-inner.Done():
		}
		if err == nil {
			l.leave(s, ours)
		}
	}) {
		<-l.port.turn
		return ErrClosed
	}
	var err error
	select {
	case err = <-begun:
	case <-inner.Done():
		return l.cause(ctx)
	}
	if err == nil {
		if err = inner.Err(); err == nil {
			err = do(inner, s)
		}
	}
	if err != nil && inner.Err() != nil {
		err = l.cause(ctx)
	}
	cancel()
	select {
	case <-left:
	case <-l.port.ctx.Done():
	}
	return err
}

// begin connects with the inspector and prepares the process for its end.
func (e *port) begin(ctx context.Context, ours bool) (*Session, error) {
	s, err := e.addr.Dial(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.prepare(ctx, ours); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// leave ends a session.
//
// NOTE: Node can crash when a connection ends while node closes the port (its handler
// is freed before the close frame has been written). So if the process is being
// stopped, the process ends the session; any other session first makes the process
// keep the port open when it ends.
func (l *Lease) leave(s *Session, ours bool) {
	defer s.Close()
	if ours && !l.port.ending() {
		ctx, cancel := context.WithTimeout(l.port.ctx, closeWithin)
		_ = s.keepsPort(ctx) // a process that does not answer does not end by itself either
		cancel()
	}
	if l.port.ending() {
		select {
		case <-s.done:
		case <-l.ports.ctx.Done():
		}
	}
}

// goes runs f in a goroutine that Close waits for. It returns false if the ports are
// being closed.
func (p *Ports) goes(f func()) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ctx.Err() != nil {
		return false
	}
	p.work.Go(f)
	return true
}

// cause returns what has ended a session with the context ctx.
func (l *Lease) cause(ctx context.Context) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return l.ports.ended()
}

// staysOpen reports whether the port stays open without users.
func (l *Lease) staysOpen() bool {
	l.ports.mu.Lock()
	defer l.ports.mu.Unlock()
	return l.port.keep
}

// Keep makes the port stay open after its last use.
func (l *Lease) Keep() {
	l.ports.mu.Lock()
	l.port.keep = true
	l.ports.mu.Unlock()
}

// Release ends the use of the port. After the last use Release closes the port, unless
// Keep was called. An error means that the port stays open nevertheless.
func (l *Lease) Release() (err error) {
	l.once.Do(func() {
		p, e := l.ports, l.port
		p.mu.Lock()
		e.users--
		last := e.users == 0 && !e.keep && !e.closing
		select {
		case <-e.ready:
			last = last && e.err == nil
			e.closing = e.closing || last
		default: // watch closes it
			last = false
		}
		last = last && !e.ending() // else the port ends with its process
		p.mu.Unlock()
		if last {
			err = p.shut(l.key, e)
		}
	})
	return err
}
