package inspector

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Ports opens the inspectors of processes and closes them when nobody uses them
// any more. Make it with [NewPorts].
type Ports struct {
	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup

	mu   sync.Mutex
	open map[string]*port // by the keys of targets
}

// port is one inspector that is open, being opened or being closed.
type port struct {
	how   how
	ready chan struct{}   // closed when it is open, or cannot be
	over  chan struct{}   // closed when it is closed, or the process is gone
	ctx   context.Context // ends with the process, or as soon as that is being ended
	stop  context.CancelFunc
	turn  chan struct{} // holds one while somebody has a session

	// Guarded by the mu of Ports.
	users   int
	keep    bool // it stays open without users
	closing bool

	// Set before ready is closed.
	addr   Address
	opened bool // by us
	err    error
}

// ending reports whether the process has ended or is being ended.
func (e *port) ending() bool { return e.ctx.Err() != nil }

// ErrClosed means that [Ports] has been closed.
var ErrClosed = errors.New("inspectors are closed")

// closeWithin bounds how long a process may take to close its port.
const closeWithin = 5 * time.Second

// NewPorts returns Ports that knows of none.
func NewPorts() *Ports {
	p := &Ports{open: map[string]*port{}}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	return p
}

// Close ends all that is under way and waits for it. Ports that are open stay
// so, but those that were to be closed.
func (p *Ports) Close() {
	p.mu.Lock()
	p.cancel()
	p.mu.Unlock()
	p.work.Wait()
}

// Lease is the use of a port. It ends with Release.
type Lease struct {
	ports *Ports
	key   string
	port  *port
	once  sync.Once
}

// Open has the inspector of a process opened, unless it is open, and waits for
// that as long as ctx allows. Errors: a *[RefusedError] for a process that must
// not be asked or has failed to, [ErrGone], [ErrClosed], ctx's.
func (p *Ports) Open(ctx context.Context, t Target) (*Lease, error) {
	for {
		e, err := p.enter(t)
		if err != nil {
			return nil, err
		}
		if e.closing {
			select {
			case <-e.over:
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
			_ = l.Release() // likewise
			return nil, e.port.err
		}
		if _, ok := at(t.PID, e.addr.Port.Port(), e.addr.ID); !ok { // somebody else has closed it
			p.forget(t.Key, e.port)
			_ = l.Release() // there is nothing to close
			continue
		}
		return l, nil
	}
}

// entered is a port as it was when somebody came to use it.
type entered struct {
	*port
	closing bool
}

// enter counts a user in, and begins to open the port for the first.
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
	h, err := t.examine()
	if err != nil {
		return entered{}, err
	}
	ctx, stop := context.WithCancel(p.ctx)
	e = &port{how: h, users: 1, ready: make(chan struct{}), over: make(chan struct{}), turn: make(chan struct{}, 1), ctx: ctx, stop: stop}
	p.open[t.Key] = e
	p.work.Go(func() { p.look(t, e) })
	return entered{e, false}, nil
}

// look opens a port and looks after it as long as the process lives.
func (p *Ports) look(t Target, e *port) {
	defer p.forget(t.Key, e)
	p.work.Go(func() {
		t.Await(e.ctx)
		e.stop()
	})
	a, opened, err := t.open(e.ctx, e.how)
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
		_ = p.shut(t.Key, e) // nobody is left who could be told
	default:
		<-e.ctx.Done()
	}
}

// ended says why a port has ended that was not closed.
func (p *Ports) ended() error {
	if p.ctx.Err() != nil {
		return ErrClosed
	}
	return ErrGone
}

// forget takes a port out that is open no more.
func (p *Ports) forget(key string, e *port) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open[key] == e {
		delete(p.open, key)
	}
	select {
	case <-e.over:
	default:
		close(e.over)
	}
	e.stop()
}

// shut has a process close its port. Of one that cannot do so now nobody
// looks after the port any more.
func (p *Ports) shut(key string, e *port) error {
	defer p.forget(key, e)
	ctx, cancel := context.WithTimeout(p.ctx, closeWithin)
	defer cancel()
	s, err := e.addr.Dial(ctx)
	if err == nil {
		if err = s.prepare(ctx, true); err == nil {
			err = s.Shut(ctx, e.how.anyPort)
		}
		s.Close()
	}
	if err != nil && !errors.Is(err, ErrGone) {
		return err
	}
	// The sessions end first, then the port: who comes next is not to find it.
	tick := time.NewTicker(closedAgain)
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

// closedAgain is how often it is looked whether a port is closed.
const closedAgain = 5 * time.Millisecond

// Address is where the inspector is.
func (l *Lease) Address() Address { return l.port.addr }

// Opened says whether the port was opened here, and not by somebody else.
func (l *Lease) Opened() bool { return l.port.opened }

// Session does something in a session with the inspector, when it is its turn:
// profiles that are taken at the same time spoil each other. The context of do
// ends as soon as the process is being ended, and the session is to end at once
// then. Errors: those of [Address.Dial] and of do, [ErrGone], [ErrClosed], ctx's.
func (l *Lease) Session(ctx context.Context, do func(context.Context, *Session) error) error {
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(l.port.ctx, cancel)()
	select {
	case l.port.turn <- struct{}{}:
		defer func() { <-l.port.turn }()
	case <-inner.Done():
		return l.why(ctx)
	}
	ours := !l.stays()
	s, err := l.port.addr.Dial(inner)
	if err == nil {
		if err = s.prepare(inner, ours); err != nil {
			s.Close()
		} else {
			if err = inner.Err(); err == nil {
				err = do(inner, s)
			}
			l.leave(s, ours)
		}
	}
	if err != nil && inner.Err() != nil {
		return l.why(ctx)
	}
	return err
}

// leave ends a session.
//
// NOTE: Node can crash when a connection ends while node closes the port (its
// handler is freed before the close frame has been written). So the process is
// what ends the session when the process is being ended, and any other session
// first has the process keep the port open at its end.
func (l *Lease) leave(s *Session, ours bool) {
	p := l.ports
	if ours && !l.port.ending() {
		ctx, cancel := context.WithTimeout(l.port.ctx, closeWithin)
		_ = s.keepsPort(ctx) // a process that does not answer does not end by itself either
		cancel()
	}
	if !l.port.ending() || !p.outlive(s) {
		s.Close()
	}
}

// outlive closes a session when its process has ended it, in a goroutine; false:
// the ports are being closed.
func (p *Ports) outlive(s *Session) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ctx.Err() != nil {
		return false
	}
	p.work.Go(func() {
		select {
		case <-s.done:
		case <-p.ctx.Done():
		}
		s.Close()
	})
	return true
}

// why says what has ended a session with the context ctx.
func (l *Lease) why(ctx context.Context) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return l.ports.ended()
}

// stays reports whether the port stays open without users.
func (l *Lease) stays() bool {
	l.ports.mu.Lock()
	defer l.ports.mu.Unlock()
	return l.port.keep
}

// Keep has the port stay open.
func (l *Lease) Keep() {
	l.ports.mu.Lock()
	l.port.keep = true
	l.ports.mu.Unlock()
}

// Release ends the use of the port, which is closed if that was the last one and
// nobody wants it to stay. The error says that it stays open nevertheless.
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
		default: // look sees to it
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
