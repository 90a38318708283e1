package attach

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/supervisor"
)

// ErrProtocol means that hosts of this protocol cannot be attached to.
var ErrProtocol = errors.New("hosts of this protocol cannot be attached to")

// ErrClient means that an attached program sent something that the hub cannot take: bytes
// that are not a message of the host's protocol, or a message that is too large.
var ErrClient = errors.New("the attached program broke the protocol")

// Bounds of what a client may leave unread. No client holds up the host, and with
// it the other clients, for longer than holdUp at a time.
const (
	// backlogLimit is how much may wait for a client for as long as it likes. Over
	// it the host is held up for a moment, and the client has to go on reading.
	backlogLimit = 8 << 20
	// cutLimit is how much may wait for it at all; one message alone may have more.
	cutLimit = 64 << 20
	// A client that takes less than leastTaken in stuckAfter while it is over
	// backlogLimit is cut off.
	stuckAfter = 10 * time.Second
	stuckLooks = 10
	leastTaken = 1 << 20
	// holdUp is how long the host is held up for a client that is over
	// backlogLimit. Where the client takes nothing in that time, it is waited for
	// again when another backlogLimit has come, or when it has taken leastTaken. A
	// client that is slow, on a machine that has no time for it, must not be mistaken
	// for one that does not read: it would be cut off by the next 64 MiB.
	holdUp = 500 * time.Millisecond
	// together is how many bytes of messages are written at once.
	together = 256 << 10
)

// maxEarly and maxEarlyBytes bound the notifications that wait for a client's
// initialize to be answered; a host that says more in that time says it to nobody.
const (
	maxEarly      = 1024
	maxEarlyBytes = backlogLimit
)

// hubName is that of the interceptor of a [Hub].
const hubName = "attach"

// Hub stands between one host and the clients that attach to it. Make it with
// [New]; there is one for a host.
type Hub struct {
	host    *actors.Ref
	opened  bool // by clients; else by what its spec says
	of      *supervisor.Host
	log     hclog.Logger
	dialect dialect
	started chan struct{} // has room for one token, which the client has that starts the host

	own *actors.Interceptor

	mu       sync.Mutex
	closed   error     // nothing more is done for clients
	clients  []*client // in the order of their arrival
	serial   uint64    // of clients and tokens
	line     *actors.Line
	lives    int       // that were up
	ended    uint64    // number of the last life that has ended
	opening  codec.Raw // what the host is opened with; nil for its spec's
	openings uint64    // counts those of clients
	applied  uint64    // the one that the last life was started with
	result   codec.Raw // what it answered
	tokens   map[string]token
	docs     documents
	settings codec.Raw      // LSP: the last that a client has told the host; nil when none has
	grants   []registration // LSP: capabilities that the host has registered
	hold     *hold          // the host is held up; nil: it is not

	offer     offer              // LSP: of the last life
	books     notebooks          // LSP
	published diagnostics        // LSP
	questions map[*question]bool // LSP: that are open
	works     map[string]work    // LSP: by the token that the host uses
	turn      chan struct{}      // LSP: has room for one token, see inTurn

	wishes      wishes             // MCP: what clients want to hear
	listens     []*listening       // MCP: likewise, in the generation without the handshake
	heard       heard              // MCP: of that generation
	tasks       map[string]*client // MCP: whose calls they are, by their ids
	sessionless bool               // MCP: the life is of the generation without the handshake
	lacks       string             // MCP: the generation that the host has shown not to speak in this life
	apart       error              // MCP: why there is no process for programs of the other generation

	introduced int // clients that this life has met, those that have left included

	alone   bool                // the tree is there for the clients alone, see Part
	relayed func() *codec.Error // see Part; nil: the host is a program
	notices notices             // what the people behind the clients are told of the host
	ticking *time.Timer         // runs until the next notice is due; nil if no notice is due

	restarting []*client // LSP: that show that the host is being started again; nil: it is not
	restarts   int       // counts the times that this was shown
}

// hold holds up the host for a client that is slow.
type hold struct {
	client *client
	took   int64 // what the client had taken when it began
	done   chan struct{}
	timer  *time.Timer
}

// token is whose progress a token of the hub stands for.
type token struct {
	client   *client
	original []byte // as that client wrote it
}

// New returns the hub of a host and adds it to the host's interceptors. The error is
// [ErrProtocol].
func New(of *supervisor.Host, log hclog.Logger) (*Hub, error) { return newHub(of, log, &hubs{}) }

func newHub(of *supervisor.Host, log hclog.Logger, in *hubs) (*Hub, error) {
	host := of.Ref()
	p := host.Spec().Protocol
	if p == nil {
		return nil, fmt.Errorf("host %q: %w: it speaks none", host.Name(), ErrProtocol)
	}
	d, ok := dialects[p.Name()]
	if !ok {
		return nil, fmt.Errorf("host %q: %w: %s", host.Name(), ErrProtocol, p.Name())
	}
	h := &Hub{host: host, of: of, opened: of.Spec().Attach, log: log.Named("attach"), dialect: d, started: make(chan struct{}, 1), tokens: map[string]token{}, tasks: map[string]*client{}, turn: make(chan struct{}, 1)}
	h.alone, h.relayed = in.alone, in.relayed
	h.published.last, h.books.open = map[string]published{}, map[string]*notebook{}
	h.questions, h.works = map[*question]bool{}, map[string]work{}
	h.docs.open = map[string]*document{}
	h.own = &actors.Interceptor{
		Name: hubName, Stage: actors.StageServe, Value: h,
		Starting: h.starting, Up: h.up, Down: h.down, Inbound: h.inbound, Reading: h.reading,
	}
	if d == dialect(mcp{}) {
		h.own.Sent = h.sent
	}
	if name, _ := d.describe(); name != "" {
		h.own.Changed, h.own.Closed = h.changed, h.mute
	}
	host.Intercept(h.own)
	return h, nil
}

// close ends what programs have attached to, with the error that their Serve returns.
func (h *Hub) close(err error) {
	h.host.Withdraw(h.own)
	h.mute()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = err
	for _, c := range h.clients {
		c.cancel(err)
	}
}

// Can says whether hosts of a protocol can be attached to.
func Can(p codec.Protocol) bool { return p != nil && dialects[p.Name()] != nil }

// Protocols returns the sorted names of the protocols whose hosts can be attached
// to.
func Protocols() []string { return slices.Sorted(maps.Keys(dialects)) }

// Clients is how many are attached.
func (h *Hub) Clients() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.clients)
}

// Clients returns how many programs are attached to a host.
func Clients(host *actors.Ref) int {
	if hub, is := host.Interceptor(hubName).(*Hub); is {
		return hub.Clients()
	}
	return 0
}

// starting opens the next life with what the clients have opened the host with.
func (h *Hub) starting(_ context.Context, s *actors.Start) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.applied = h.openings
	if h.opening != nil {
		s.Hello.Init = h.dialect.reopening(h)
	}
	return nil
}

func (h *Hub) up(line *actors.Line, publish func()) {
	h.mu.Lock()
	h.line, h.ended = line, line.Life()-1
	_, h.result, _ = line.Opened()
	h.lives++
	h.introduced = 0
	for _, c := range h.clients {
		if c.introduced {
			h.introduced++
		}
	}
	h.dialect.up(h)
	publish()
	again := h.lives > 1
	h.mu.Unlock()
	if again {
		h.log.Info("clients go on with the next life", "host", h.host.Name(), "life", line.Life(), "clients", h.Clients())
	}
}

func (h *Hub) down(life uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.line, h.ended = nil, life
	h.dialect.down(h)
	clear(h.tokens)
}

// inbound hands what the host says to clients.
func (h *Hub) inbound(_ uint64, m *codec.Message) actors.Verdict {
	h.mu.Lock()
	defer h.mu.Unlock()
	if m.Kind == codec.Request {
		return h.asked(m)
	}
	if to, params := h.dialect.notified(h, m); to != nil {
		to.notify(m.Method, params)
	} else {
		h.broadcast(m.Method, params)
	}
	return actors.Verdict{}
}

// broadcast tells all clients that have introduced themselves. Under the lock.
func (h *Hub) broadcast(method string, params codec.Raw) {
	for _, c := range h.clients {
		c.hear(method, params)
	}
}

// hear tells a client something, unless it has not introduced itself. Under hub.mu.
func (c *client) hear(method string, params codec.Raw) {
	switch {
	case c.greeted:
		c.notify(method, params)
	case (c.coming || c.introduced) && len(c.early) < maxEarly && (c.earlyBytes == 0 || c.earlyBytes+len(params) <= maxEarlyBytes):
		c.early = append(c.early, codec.Message{Method: method, Params: params})
		c.earlyBytes += len(params)
	}
}

// present says that the client can be asked something. Under hub.mu.
func (c *client) present() bool { return c.introduced && !c.leaving && c.ctx.Err() == nil }

// first is the client that has been attached longest. Under the lock.
func (h *Hub) first() *client {
	for _, c := range h.clients {
		if c.present() {
			return c
		}
	}
	return nil
}

// next is the client that the host is being started for, nil without one:
// a host asks as soon as it is opened, which its client has yet to hear of.
// Under the lock.
func (h *Hub) next(method string) *client {
	if method == "window/showMessageRequest" { // comes before the host is opened, which may wait for it
		return nil
	}
	for _, c := range h.clients {
		if c.coming {
			return c
		}
	}
	return nil
}

// reading returns what the host is held up for, or nil if no client is slow. A host
// that is faster than a client is read as fast as that one reads; for a client that
// does not read it is not held up.
func (h *Hub) reading() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.hold == nil {
		i := slices.IndexFunc(h.clients, func(c *client) bool { return c.backlog.Load() > c.holdAt })
		if i < 0 {
			return nil
		}
		w := &hold{client: h.clients[i], took: h.clients[i].took.Load(), done: make(chan struct{})}
		w.timer = time.AfterFunc(holdUp, func() { h.outOfPatience(w) })
		h.hold = w
	}
	return h.hold.done
}

// outOfPatience goes on without a client that the host was held up for.
func (h *Hub) outOfPatience(w *hold) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.hold != w {
		return
	}
	if c := w.client; c.took.Load() == w.took {
		c.holdAt, c.heldAt = c.holdAt+backlogLimit, w.took
	}
	h.release()
}

// release ends the hold. Under the lock.
func (h *Hub) release() {
	h.hold.timer.Stop()
	close(h.hold.done)
	h.hold = nil
}

// taken tells that a client has read something, or is gone.
func (h *Hub) taken(c *client) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if c.backlog.Load() == 0 || c.took.Load()-c.heldAt >= leastTaken {
		c.holdAt = backlogLimit
	}
	if h.hold != nil && h.hold.client == c && (c.backlog.Load() <= backlogLimit || !slices.Contains(h.clients, c)) {
		h.release()
	}
}

// tell hands a notification of a client to the host. It waits while the host
// does not read. act, unless nil, is done under the lock before, once.
func (h *Hub) tell(ctx context.Context, method string, params codec.Raw, act func() bool) {
	h.mu.Lock()
	if act != nil && !act() {
		h.mu.Unlock()
		return
	}
	h.put(ctx, h.line, method, params)
	h.mu.Unlock()
}

// start opens the host for a client: what it is to be opened with is params, if
// its spec leaves that to clients. It returns the host's answer. The client nil is one that
// has yet to come.
func (h *Hub) start(ctx context.Context, c *client, params codec.Raw) (codec.Raw, error) {
	select {
	case h.started <- struct{}{}:
		defer func() { <-h.started }()
	case <-ctx.Done(): // while another client starts it, for as long as that takes
		return nil, ctx.Err()
	}
	if c != nil {
		c.isComing(true)
		defer c.isComing(false)
	}
	if h.opened {
		if err := h.open(c, params); err != nil {
			return nil, err
		}
	}
	if err := h.raise(ctx, false); err != nil {
		return nil, h.refused(err)
	}
	h.mu.Lock()
	anew := h.applied != h.openings
	h.mu.Unlock()
	if anew {
		if err := h.raise(ctx, true); err != nil {
			return nil, h.refused(err)
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.line == nil {
		return nil, h.absent()
	}
	if err := h.dialect.suits(h, params); err != nil {
		return nil, err
	}
	if c != nil {
		h.arrive(c)
	}
	return h.result, nil
}

func (c *client) isComing(is bool) {
	c.hub.mu.Lock()
	defer c.hub.mu.Unlock()
	c.coming = is
}

// open makes what a client says of itself what the host is opened with, unless other
// clients are attached, or it is open so already.
func (h *Hub) open(c *client, params codec.Raw) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	others := h.others(c) > 0
	switch have := h.opening; {
	case have != nil && others && !h.dialect.sameRoots(have, params):
		return &codec.Error{Code: codeInvalidRequest, Message: fmt.Sprintf("host %q serves %s for other clients; this one has %s",
			h.host.Name(), h.dialect.roots(have), h.dialect.roots(params))}
	case have == nil, !others && !h.dialect.sameOpening(have, params):
		h.opening, h.settings = h.dialect.opening(params), nil
		h.openings++
	}
	return nil
}

// others is how many clients but c have introduced themselves. Under the lock.
func (h *Hub) others(c *client) (n int) {
	for _, o := range h.clients {
		if o != c && o.introduced && !o.leaving {
			n++
		}
	}
	return n
}

// enter adds a client.
func (h *Hub) enter(c *client) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.serial++
	c.number = h.serial
	h.clients = append(h.clients, c)
	if h.closed != nil {
		c.cancel(h.closed)
	}
}

// leave takes a client out, with what it had open.
func (h *Hub) leave(c *client) {
	h.mu.Lock()
	h.clients = slices.DeleteFunc(h.clients, func(o *client) bool { return o == c })
	for name, t := range h.tokens {
		if t.client == c {
			delete(h.tokens, name)
		}
	}
	h.resign(c)
	for _, m := range h.dialect.left(h, c) {
		if h.line != nil {
			_ = h.line.Tell(m.Method, m.Params) // else the next life is told what matters
		}
	}
	h.mu.Unlock()
	h.taken(c)
	if u := usageOf(h.host); u != nil {
		u.left()
	}
}
