package server

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/hostsup/hostsup/execserver/server/fetch"
	"github.com/hostsup/hostsup/execserver/wire"
)

// conn is one connection. The goroutine that serves it reads requests; another
// one writes. What is below mu is shared with those who answer.
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
	batch batch

	work    chan struct{} // one token: there is something to write
	gone    chan struct{} // closed with the connection
	written chan struct{} // closed when the writer has ended

	mu       sync.Mutex
	admit    sync.Cond
	answers  [][]byte
	controls []byte
	sources  []source
	writing  bool // the writer has work in hand
	direct   bool // somebody else writes one answer
	torn     bool // of which a part is left
	waiting  int  // bytes of answers not written yet
	running  int  // requests not answered yet
	bye      []byte
	over     bool
	why      error

	handlers sync.WaitGroup

	pingMu sync.Mutex
	pinged time.Time // when the ping was queued that is not answered; zero: none
	pings  bool      // the transport has them
}

func (s *Server) newConn(w io.WriteCloser, f framing, peer string) *conn {
	c := &conn{srv: s, peer: peer, framing: f, wire: w,
		work: make(chan struct{}, 1), gone: make(chan struct{}), written: make(chan struct{})}
	c.ctx, c.cancel = context.WithCancel(s.ctx)
	c.admit.L = &c.mu
	return c
}

// errEnd is a way for a connection to end that is nobody's fault.
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
	c.answers, c.sources, c.controls = nil, nil, nil
	c.admit.Broadcast()
	close(c.gone)
	c.mu.Unlock()
	c.cancel()
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
		c.request(m, len(b))
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
	c.respond(wire.AppendError(nil, wire.UnknownID, wire.InvalidRequest("%s", text)))
}

// tooLarge answers a message that was passed over.
func (c *conn) tooLarge() {
	c.respond(wire.AppendError(nil, wire.UnknownID, wire.InvalidRequest("message is too large: limit is %d bytes", c.srv.opt.MaxMessage)))
}

func (c *conn) notification(m *wire.Message) error {
	switch {
	case m.Method != wire.NotifyInitialized:
		return fatal("unexpected notification " + m.Method)
	case c.session == nil:
		return fatal("initialized came before initialize")
	}
	c.ready = true
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

// reply answers one request, once.
type reply struct {
	c  *conn
	id wire.ID
}

func (r reply) result(v any) {
	b, err := wire.AppendResult(nil, r.id, v)
	if err != nil {
		b = wire.AppendError(nil, r.id, wire.Internal("%s", err))
	}
	r.c.respond(b)
	r.c.finish()
}

func (r reply) fail(e *wire.Error) {
	r.c.respond(wire.AppendError(nil, r.id, e))
	r.c.finish()
}

// raw answers with encoded text.
func (r reply) raw(b []byte) {
	r.c.respond(b)
	r.c.finish()
}

// either answers with a result or an error.
func (r reply) either(v any, e *wire.Error) {
	if e != nil {
		r.fail(e)
		return
	}
	r.result(v)
}

// spawn runs a part of a request beside the others.
func (c *conn) spawn(f func()) {
	c.handlers.Add(1)
	go func() {
		defer c.handlers.Done()
		f()
	}()
}

// close ends the connection after its last message, and waits for everything
// that belongs to it.
func (c *conn) close(why error) {
	c.drop(why)
	<-c.written
	c.handlers.Wait()
	if c.fetch != nil {
		c.fetch.Close()
	}
	if c.files != nil {
		c.files.close()
	}
	for _, o := range c.watched {
		o.end()
	}
	if c.session != nil {
		c.session.detach(c)
	}
}
