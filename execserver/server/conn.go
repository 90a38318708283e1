package server

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hostsup/hostsup/execserver/server/fetch"
	"github.com/hostsup/hostsup/execserver/wire"
)

// conn is one connection. The goroutine that serves it reads requests; another
// one writes. The fields below mu are shared with the goroutines that answer.
type conn struct {
	srv     *Server
	peer    string // for messages: the other end's address, "" on lines
	framing framing
	wire    io.WriteCloser
	ctx     context.Context // ends with the connection
	cancel  context.CancelFunc

	// Of the reading goroutine alone:
	session *session
	ready   bool // initialized has come
	ext     bool // extensions are in force
	files   *fileLane
	fetch   *fetch.Client
	watched map[string]*observer

	// Of the writing goroutine alone:
	batch    batch
	unmarked int    // bytes of output since the last ping that asked for its arrival
	nextPing uint64 // number of the next such ping

	answeredPing atomic.Uint64 // number of the last one that was answered
	deaf         atomic.Bool   // the client answers no pings

	work    chan struct{} // one token: there is something to write
	gone    chan struct{} // closed with the connection
	written chan struct{} // closed when the writer has ended

	mu       sync.Mutex
	admit    sync.Cond
	answers  [][]byte
	controls []byte // a ping, of which one at a time is under way
	pong     []byte // the answer to the last ping that came; it stands for those before
	sources  []source
	writing  bool      // the writer has work in hand
	direct   bool      // another goroutine writes one answer
	torn     bool      // of which a part is left
	waiting  int       // bytes of answers not written yet
	running  int       // requests not answered yet, without those that are parked
	parked   int       // requests that wait for a process or for another server
	asked    time.Time // the last process/read, or initialized; zero before that
	bye      []byte
	over     bool
	why      error

	handlers sync.WaitGroup

	pingMu sync.Mutex
	pinged time.Time // when the ping was queued that is not answered; zero without one
	pings  bool      // the transport has them
	pinger *time.Timer
}

func (s *Server) newConn(w io.WriteCloser, f framing, peer string) *conn {
	c := &conn{srv: s, peer: peer, framing: f, wire: w, nextPing: 1,
		work: make(chan struct{}, 1), gone: make(chan struct{}), written: make(chan struct{})}
	// Not the server's: at its end the connection lives until the Close frame is
	// written, which shut asks for.
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.admit.L = &c.mu
	return c
}

// errEnd is the ordinary end of a connection.
var errEnd = errors.New("the connection has ended")

// fatal is an error of the client's that ends the connection.
type fatal string

func (e fatal) Error() string { return string(e) }

// drop ends the connection for a reason. The goroutines of it end soon.
func (c *conn) drop(why error) {
	c.mu.Lock()
	if c.over {
		c.mu.Unlock()
		return
	}
	c.over, c.why = true, why
	c.srv.memory.released(c.waiting)
	c.answers, c.sources, c.controls, c.pong = nil, nil, nil, nil
	c.admit.Broadcast()
	close(c.gone)
	c.mu.Unlock()
	c.cancel()
	c.pingMu.Lock()
	if c.pinger != nil {
		c.pinger.Stop()
	}
	c.pingMu.Unlock()
	c.wire.Close()
}

// message takes one incoming message. An error ends the connection.
func (c *conn) message(b []byte) error {
	c.srv.count.messagesIn.Add(1)
	c.srv.count.bytesIn.Add(uint64(len(b)))
	m, err := wire.Decode(b)
	if err != nil {
		c.malformed(err)
		return nil
	}
	switch m.Kind {
	case wire.KindRequest:
		c.request(m)
		return nil
	case wire.KindNotification:
		return c.notification(m)
	}
	return fatal("an answer to a request that was not made: id " + m.ID.String())
}

func (c *conn) malformed(err error) {
	text := wire.MalformedStdio(err)
	if c.peer != "" {
		text = wire.MalformedWebSocket(c.peer, err)
	}
	c.begin() // as for a request: a client that does not read the answers is read no further
	reply{c: c, id: wire.UnknownID}.fail(wire.InvalidRequest("%s", text))
}

// maxBeginning is how much of a message that is too large is looked at for its
// id.
const maxBeginning = 64 << 10

// maxEnd is how much of its end is looked at, where the id stands when it comes
// last.
const maxEnd = 4 << 10

// ending is a writer that keeps the last bytes of its input, maxEnd or some more.
type ending []byte

// Write never fails.
func (e *ending) Write(b []byte) (int, error) {
	*e = append((*e)[max(0, len(*e)-maxEnd):], b[max(0, len(b)-maxEnd):]...)
	return len(b), nil
}

// tooLarge answers a message that was passed over, of which the beginning and
// the end are known.
func (c *conn) tooLarge(beginning, end []byte) {
	id, ok := wire.RequestID(beginning, end)
	if !ok {
		id = wire.UnknownID
	}
	c.begin()
	reply{c: c, id: id}.fail(wire.TooLarge(c.srv.opt.MaxMessage))
}

func (c *conn) notification(m *wire.Message) error {
	switch {
	case m.Method != wire.NotifyInitialized:
		return fatal("unexpected notification " + m.Method)
	case c.session == nil:
		return fatal("initialized came before initialize")
	}
	c.ready = true
	c.mu.Lock()
	c.asked = time.Now()
	c.mu.Unlock()
	return nil
}

// begin counts a request, and waits while there are too many, or too many
// answers that are not read.
func (c *conn) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for !c.over && (c.running >= c.srv.opt.Concurrent || c.waiting >= queueBytes) {
		c.admit.Wait()
	}
	c.running++
}

// finish is called once for each begin.
func (c *conn) finish() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running--
	c.admit.Broadcast()
}

// reply answers one request. One of its methods result, fail, raw, either and
// finish must be called, once.
type reply struct {
	c      *conn
	id     wire.ID
	parked bool
}

// maxParked is how many requests of one connection may be parked.
const maxParked = 1024

// park is called for a request that waits for a process or a web server. A parked
// request does not count among those that stop the reading of the connection, since
// the request that ends the wait may come behind it. The returned reply replaces r;
// it is r, and ok is false, when too many requests are parked already.
func (r reply) park() (waits reply, ok bool) {
	r.c.mu.Lock()
	defer r.c.mu.Unlock()
	if r.c.parked >= maxParked {
		return r, false
	}
	r.c.parked++
	r.c.running--
	r.c.admit.Broadcast()
	return reply{r.c, r.id, true}, true
}

// finish ends a request whose answer is queued, or not needed.
func (r reply) finish() {
	if !r.parked {
		r.c.finish()
		return
	}
	r.c.mu.Lock()
	defer r.c.mu.Unlock()
	r.c.parked--
}

func (r reply) result(v any) {
	b, err := wire.AppendResult(nil, r.id, v)
	if err != nil {
		b = wire.AppendError(nil, r.id, wire.Internal("%s", err))
	}
	r.raw(b)
}

func (r reply) fail(e *wire.Error) { r.raw(wire.AppendError(nil, r.id, e)) }

// raw answers with encoded text.
func (r reply) raw(b []byte) {
	r.c.respond(b)
	r.finish()
}

// either answers with a result or an error.
func (r reply) either(v any, e *wire.Error) {
	if e != nil {
		r.fail(e)
		return
	}
	r.result(v)
}

// close ends the connection after its last message, and waits for everything that
// belongs to it, except for requests that are stuck: their files are closed when
// they return.
func (c *conn) close(why error) {
	c.drop(why)
	<-c.written
	settled := make(chan struct{})
	go func() {
		defer close(settled)
		c.handlers.Wait()
		if c.fetch != nil {
			c.fetch.Close()
		}
		if c.files != nil {
			c.files.close()
		}
	}()
	patience := time.NewTimer(stuckAfter)
	defer patience.Stop()
	select {
	case <-settled:
	case <-patience.C:
		c.srv.opt.Log.Warn("requests about files do not end: a file system does not answer", "peer", c.peer)
	}
	for _, o := range c.watched {
		o.end()
	}
	if c.session != nil {
		c.session.detach(c)
	}
}
