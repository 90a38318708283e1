package peers

import (
	"context"
	"errors"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// grpcStreamPeer sends every request down one open stream. Its server answers
// in order, which is all that matches answers to requests: there are no ids,
// no deadlines, no errors of single requests.
func grpcStreamPeer() Peer {
	const name = "grpc-go-stream"
	return Peer{Name: name, Serve: serveGRPC, Dial: func() (Conn, error) {
		cc, s, err := dialGRPC(name)
		if err != nil {
			return nil, err
		}
		ctx, cancel := context.WithCancel(context.Background())
		stream, err := cc.NewStream(ctx, &echoService.Streams[0], "/"+service+"/Stream")
		if err != nil {
			cancel()
			return nil, errors.Join(err, cc.Close(), s.Close())
		}
		c := &streamConn{stream: stream, waiting: make(chan chan []byte, 4096), done: make(chan struct{})}
		c.close = func() error {
			cancel()
			<-c.done
			return errors.Join(cc.Close(), s.Close())
		}
		go c.receive()
		return c, nil
	}}
}

type streamConn struct {
	stream  grpc.ClientStream
	mu      sync.Mutex // held over sending and queueing: the order is the match
	waiting chan chan []byte
	done    chan struct{}
	close   func() error
}

func (c *streamConn) receive() {
	defer close(c.done)
	for {
		var m wrapperspb.BytesValue
		if err := c.stream.RecvMsg(&m); err != nil {
			return
		}
		(<-c.waiting) <- m.Value
	}
}

func (c *streamConn) Echo(_ context.Context, payload []byte) ([]byte, error) {
	answer := make(chan []byte, 1)
	c.mu.Lock()
	err := c.stream.SendMsg(&wrapperspb.BytesValue{Value: payload})
	if err == nil {
		c.waiting <- answer
	}
	c.mu.Unlock()
	if err != nil {
		return nil, err
	}
	select {
	case out := <-answer:
		return out, nil
	case <-c.done:
		return nil, errors.New("the stream has ended")
	}
}

func (c *streamConn) Close() error { return c.close() }
