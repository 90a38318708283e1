package peers

import (
	"context"
	"errors"
	"net"
	"sync/atomic"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/native"
)

// pending is where a connection keeps its open requests. The three ways to do
// so are compared with one another; all else about the connection is the same.
type pending interface {
	// open registers a request that settle will be told about.
	open() (ticket, error)
	// settle hands an answer to the request of that id. It is called by the
	// read loop alone.
	settle(id uint32, a answer)
	// fail settles whatever is open.
	fail(err error)
}

// ticket is an open request.
type ticket struct {
	id     uint32
	answer <-chan answer
}

type answer struct {
	raw codec.Raw
	err error
}

// framed speaks hostsup's own protocol with hostsup's own codec, but without a
// supervisor, deadlines or liveness around it. With the plain table it shows
// what the rest of the library costs.
func framed(name string, keep func() pending) Peer {
	return Peer{
		Name: name,
		Dial: func() (Conn, error) {
			s, err := startServer(name)
			if err != nil {
				return nil, err
			}
			nc, err := s.dial()
			if err != nil {
				return nil, errors.Join(err, s.Close())
			}
			c := &framedConn{nc: nc, server: s, proto: native.New(), keep: keep(), w: newWriter(nc), done: make(chan struct{})}
			c.sess = c.proto.Open(codec.Limits{})
			c.rd = c.sess.NewReader(nc)
			go c.w.loop(c.done)
			if err := c.greet(); err != nil {
				close(c.done)
				return nil, errors.Join(err, nc.Close(), s.Close())
			}
			go c.read()
			return c, nil
		},
		Serve: serveFramed,
	}
}

type framedConn struct {
	nc     net.Conn
	server *server
	proto  codec.Protocol
	sess   codec.Session
	rd     codec.Reader
	keep   pending
	w      *writer
	open   atomic.Int64  // requests in flight
	done   chan struct{} // closed by the read loop
}

// greet performs the handshake.
func (c *framedConn) greet() error {
	hs := c.sess.Handshake(codec.Hello{Supervisor: "bench", Version: "0", Host: "echo", Life: 1})
	out, done := hs.Start()
	for {
		for i := range out {
			if err := c.send(&out[i], true); err != nil {
				return err
			}
		}
		if done {
			return nil
		}
		var m codec.Message
		if err := c.rd.Next(&m); err != nil {
			return err
		}
		var err error
		if out, done, err = hs.Handle(&m); err != nil {
			return err
		}
	}
}

func (c *framedConn) send(m *codec.Message, alone bool) error {
	return c.w.send(func(dst []byte) ([]byte, error) { return c.sess.Append(dst, m) }, alone)
}

func (c *framedConn) read() {
	defer close(c.done)
	for {
		var m codec.Message
		if err := c.rd.Next(&m); err != nil {
			c.keep.fail(err)
			return
		}
		if m.Kind != codec.Response {
			continue
		}
		a := answer{raw: m.Result}
		if m.Err != nil {
			a.err = m.Err
		}
		c.keep.settle(m.ID, a)
	}
}

func (c *framedConn) Echo(_ context.Context, payload []byte) ([]byte, error) {
	params, err := c.proto.Marshal(payload)
	if err != nil {
		return nil, err
	}
	t, err := c.keep.open()
	if err != nil {
		return nil, err
	}
	alone := c.open.Add(1) == 1
	defer c.open.Add(-1)
	if err := c.send(&codec.Message{Kind: codec.Request, ID: t.id, Method: methodEcho, Params: params}, alone); err != nil {
		return nil, err
	}
	a := <-t.answer
	if a.err != nil {
		return nil, a.err
	}
	var out []byte
	return out, c.proto.Unmarshal(a.raw, &out)
}

// Park asks for what the server never answers.
func (c *framedConn) Park(ctx context.Context) error {
	t, err := c.keep.open()
	if err != nil {
		return err
	}
	if err := c.send(&codec.Message{Kind: codec.Request, ID: t.id, Method: methodPark}, false); err != nil {
		return err
	}
	select {
	case a := <-t.answer:
		return a.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *framedConn) Close() error {
	err := c.nc.Close()
	<-c.done
	return errors.Join(err, c.server.Close())
}

// serveFramed echoes in its read loop and writes when nothing more waits to be
// read.
func serveFramed(l net.Listener, _ <-chan struct{}) error {
	nc, err := l.Accept()
	if err != nil {
		return err
	}
	defer nc.Close()
	sess := native.Open(codec.Limits{})
	accept := sess.Accept(native.Self{Name: "echo", Version: "0", Caps: codec.CapAck | codec.CapPing | codec.CapCancel})
	rd := sess.NewReader(nc)
	var out []byte
	for opened := false; ; {
		var m codec.Message
		if err := rd.Next(&m); err != nil {
			// The client went; there is nobody to tell.
			return nil
		}
		replies := []codec.Message(nil)
		switch {
		case !opened:
			if replies, opened, err = accept.Handle(&m); err != nil {
				return err
			}
		case m.Kind == codec.Request && m.Method == methodEcho:
			if out, err = sess.Append(out, &codec.Message{Kind: codec.Response, ID: m.ID, Result: m.Params}); err != nil {
				return err
			}
		}
		for i := range replies {
			if out, err = sess.Append(out, &replies[i]); err != nil {
				return err
			}
		}
		if len(out) > 0 && !rd.Buffered() {
			if _, err := nc.Write(out); err != nil {
				return err
			}
			out = out[:0]
		}
	}
}
