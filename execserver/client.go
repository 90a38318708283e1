package execserver

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/hostsup/hostsup/execserver/wire"
)

// Options configure a client. The zero value has the defaults.
type Options struct {
	Name string // told to the server; default "hostsup"

	// Resume is the id of a session to go on with at the first connection, ""
	// for a new one; see Client.Adopt.
	Resume string

	ConnectTimeout    time.Duration // for one attempt; default 10 s
	InitializeTimeout time.Duration // for the answer to initialize; default 10 s

	Retry   Retry
	Recover Recover

	// Spill bounds the temporary file that keeps what a slow reader, a
	// Subscription with Keep or the body of an HTTP answer, has not read yet. In
	// bytes for each reader; default 256 MiB, at least 1 MiB.
	Spill int64

	// Latched makes the loss of a session final: from then on every call
	// returns its reason. Otherwise each call makes one attempt at a new
	// session.
	Latched bool

	// OnState is called with every change, in order and on one goroutine at a
	// time; err is the reason for Recovering and Lost. OnState must not call the
	// client.
	OnState func(s State, err error)
}

// Retry says how the first connection is attempted again. A server that the client
// starts itself gets one attempt.
type Retry struct {
	First time.Duration // before the second attempt; it doubles from there on. Default 1 s.
	Max   time.Duration // default 30 s
	For   time.Duration // no attempt is begun later than this; default 5 min, negative for one attempt only
}

// Recover says how a session is resumed after its connection has ended.
type Recover struct {
	Every time.Duration // between attempts; default 100 ms
	For   time.Duration // default 45 s; negative never resumes
}

func (o Options) withDefaults() Options {
	o.Name = cmp.Or(o.Name, "hostsup")
	o.ConnectTimeout = cmp.Or(o.ConnectTimeout, 10*time.Second)
	o.InitializeTimeout = cmp.Or(o.InitializeTimeout, 10*time.Second)
	o.Retry.First = cmp.Or(o.Retry.First, time.Second)
	o.Retry.Max = cmp.Or(o.Retry.Max, 30*time.Second)
	o.Retry.For = cmp.Or(o.Retry.For, 5*time.Minute)
	o.Recover.Every = cmp.Or(o.Recover.Every, 100*time.Millisecond)
	o.Recover.For = cmp.Or(o.Recover.For, 45*time.Second)
	o.Spill = max(cmp.Or(o.Spill, 256<<20), 1<<20)
	return o
}

// State is the state of a client.
type State uint8

// The states.
const (
	Idle       State = iota // no call was made yet
	Connecting              // calls wait
	Attached                // there is a session and a connection
	Recovering              // the connection has ended; calls wait until the session is resumed
	Lost                    // the session is lost; the next call tries a new one
	Ended                   // Close was called
)

// String returns the name of the state in lower case.
func (s State) String() string {
	names := [...]string{"idle", "connecting", "attached", "recovering", "lost", "ended"}
	if int(s) < len(names) {
		return names[s]
	}
	return fmt.Sprintf("state %d", uint8(s))
}

// Client speaks to one server. It connects at the first call. It is safe for
// concurrent use. The caller must close it.
type Client struct {
	endpoint Endpoint
	opt      Options
	ctx      context.Context // ends with Close
	cancel   context.CancelCauseFunc
	wg       sync.WaitGroup // everything that runs for it; Add under mu, not when Ended

	telling sync.Mutex // serialises OnState; taken while mu is held

	mu      sync.Mutex
	state   State
	link    *link    // when Attached
	attempt *attempt // when Connecting or Recovering
	lost    error    // when Lost: why
	session session  // when Attached or Recovering
	hello   wire.InitializeResult
	begun   string // id of the session to begin with, "" for a new one

	routes sync.RWMutex
	procs  map[string]*Process // of the session
}

// session is what survives a connection.
type session struct {
	id string
	// doubtful are processes whose start was not answered before the
	// connection ended: they are ended when it is resumed.
	doubtful []string
}

// attempt is a connection that is being made.
type attempt struct {
	done    chan struct{}
	err     error // valid once done is closed
	waiters int
	cancel  context.CancelCauseFunc // nil for one that goes on without waiters
}

// New returns a client that is not connected yet.
func New(e Endpoint, opt Options) *Client {
	c := &Client{endpoint: e, opt: opt.withDefaults(), begun: opt.Resume, procs: map[string]*Process{}}
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	return c
}

// Connect returns a client that is connected.
func Connect(ctx context.Context, e Endpoint, opt Options) (*Client, error) {
	c := New(e, opt)
	if err := c.Connect(ctx); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// Connect connects the client unless it is connected. It waits for a session that
// is being resumed.
func (c *Client) Connect(ctx context.Context) error {
	_, err := c.ready(ctx)
	return err
}

// State returns the current state.
func (c *Client) State() State {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state
}

// SessionID returns the id of the session, or "" without a session.
func (c *Client) SessionID() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session.id
}

// Info returns what the server reported about itself and its machine when the
// client last connected, and the zero value before that. The oldest servers report
// nothing.
func (c *Client) Info() wire.EnvironmentInfo {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.hello.EnvironmentInfo
}

// Has reports whether the server has an extension, such as wire.ExtProcessResize.
func (c *Client) Has(extension string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Contains(c.hello.Extensions, extension)
}

// current returns the connection, or nil when there is none at the moment.
func (c *Client) current() *link {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.link
}

// need connects and checks for an extension.
func (c *Client) need(ctx context.Context, extension string) (*link, error) {
	l, err := c.ready(ctx)
	if err == nil && !c.Has(extension) {
		err = fmt.Errorf("%w: %s", ErrNoExtension, extension)
	}
	return l, err
}

// Call makes any request. params may be nil; result is what the answer is
// decoded into, or nil. Requests that were under way when the connection ended
// fail with ErrDisconnected and are not made again.
func (c *Client) Call(ctx context.Context, method string, params, result any) error {
	l, err := c.ready(ctx)
	if err != nil {
		return err
	}
	return l.call(ctx, method, params, result, nil)
}

// callExtension is Call for a method of an extension.
func (c *Client) callExtension(ctx context.Context, extension, method string, params, result any) error {
	l, err := c.need(ctx, extension)
	if err != nil {
		return err
	}
	return l.call(ctx, method, params, result, nil)
}

// request makes a request in the background and ignores the answer.
func (c *Client) request(l *link, method string, params any) {
	c.work(func() {
		ctx, cancel := context.WithTimeout(c.ctx, c.opt.InitializeTimeout)
		defer cancel()
		_ = l.call(ctx, method, params, nil, nil)
	})
}

// Status asks whether the server is ready, and is the cheapest request.
func (c *Client) Status(ctx context.Context) (wire.EnvironmentStatus, error) {
	var r wire.EnvironmentStatus
	err := c.Call(ctx, wire.MethodEnvironmentStatus, nil, &r)
	return r, err
}

// Environment asks the server about itself and where it runs.
func (c *Client) Environment(ctx context.Context) (wire.EnvironmentInfo, error) {
	var r wire.EnvironmentInfo
	err := c.Call(ctx, wire.MethodEnvironmentInfo, nil, &r)
	return r, err
}

// Close ends the client and waits until nothing of it is left. Everything that
// waits returns ErrClosed. A server that the client has started is ended with
// its whole tree; one that it has connected to keeps the session for a while,
// with its processes, and then kills them. Terminate those that must not go on.
func (c *Client) Close() error {
	c.mu.Lock()
	if c.state == Ended {
		c.mu.Unlock()
		c.wg.Wait()
		return nil
	}
	l := c.link
	c.link = nil
	c.to(Ended, nil) // unlocks
	c.cancel(ErrClosed)
	if l != nil {
		l.fail(ErrClosed)
	}
	for _, p := range c.takeAll() {
		p.fail(ErrClosed)
	}
	c.wg.Wait()
	return nil
}

// to changes the state and calls OnState. The caller must hold mu, which is unlocked afterwards.
func (c *Client) to(s State, err error) {
	changed := c.state != s
	c.state = s
	if !changed || c.opt.OnState == nil {
		c.mu.Unlock()
		return
	}
	c.telling.Lock()
	c.mu.Unlock()
	defer c.telling.Unlock()
	c.opt.OnState(s, err)
}

// work runs f in a goroutine that Close waits for, unless the client has ended.
func (c *Client) work(f func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state == Ended {
		return false
	}
	c.wg.Go(f)
	return true
}

// route returns the process with an id, or nil.
func (c *Client) route(id []byte) *Process {
	c.routes.RLock()
	defer c.routes.RUnlock()
	return c.procs[string(id)]
}

// register has the events of a process delivered to it.
func (c *Client) register(p *Process) error {
	c.routes.Lock()
	defer c.routes.Unlock()
	if c.procs[p.id] != nil {
		return fmt.Errorf("process %q is running already", p.id)
	}
	c.procs[p.id] = p
	return nil
}

// forget undoes register.
func (c *Client) forget(p *Process) {
	c.routes.Lock()
	defer c.routes.Unlock()
	if c.procs[p.id] == p {
		delete(c.procs, p.id)
	}
}

// all returns the processes of the session.
func (c *Client) all() []*Process {
	c.routes.RLock()
	defer c.routes.RUnlock()
	return slices.Collect(maps.Values(c.procs))
}

// takeAll returns the processes of the session and forgets them.
func (c *Client) takeAll() []*Process {
	c.routes.Lock()
	defer c.routes.Unlock()
	all := slices.Collect(maps.Values(c.procs))
	clear(c.procs)
	return all
}
