package files

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"

	"github.com/hostsup/hostsup/execserver/wire"
)

// Remote carries out requests in a worker at the other end of a socket. It is
// safe for concurrent use.
type Remote struct {
	sock io.ReadWriteCloser

	writing sync.Mutex

	mu    sync.Mutex
	next  uint64
	calls map[uint64]chan frame
	ended chan struct{} // closed when no answer can come any more
}

// frame is an answer.
type frame struct {
	kind byte
	body []byte
}

// ErrWorkerEnded is the error of a request whose worker has ended, or was ended,
// before it answered.
var ErrWorkerEnded = errors.New("the confined process that serves files has ended")

// NewRemote returns a Remote that speaks over the server's end of a worker's
// socket and closes it. The caller must close the Remote.
func NewRemote(sock io.ReadWriteCloser) *Remote {
	r := &Remote{sock: sock, calls: map[uint64]chan frame{}, ended: make(chan struct{})}
	go r.read()
	return r
}

// Do carries out one request of a client; params are those that it came with. The
// result is JSON. When ctx ends before the answer, Do returns its error, and the
// request may still take effect.
func (r *Remote) Do(ctx context.Context, method string, ext bool, params []byte) (json.RawMessage, *wire.Error) {
	answer := make(chan frame, 1)
	r.mu.Lock()
	r.next++
	n := r.next
	r.calls[n] = answer
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		delete(r.calls, n)
		r.mu.Unlock()
	}()
	kind := byte(frameRequest)
	if ext {
		kind = frameExtended
	}
	r.writing.Lock()
	err := writeFrame(r.sock, n, kind, []byte(method), []byte{0}, params)
	r.writing.Unlock()
	if err != nil {
		return nil, wire.Internal("%s", ErrWorkerEnded)
	}
	select {
	case a := <-answer:
		return a.result()
	case <-ctx.Done():
		return nil, wire.Internal("%s", ctx.Err())
	case <-r.ended:
	}
	select {
	case a := <-answer: // it came before the end
		return a.result()
	default:
		return nil, wire.Internal("%s", ErrWorkerEnded)
	}
}

func (a frame) result() (json.RawMessage, *wire.Error) {
	if a.kind == frameResult {
		return a.body, nil
	}
	m, err := wire.Decode(a.body)
	if err != nil || m.Kind != wire.KindError || m.Err == nil {
		return nil, wire.Internal("%s", errFrame)
	}
	return nil, m.Err
}

// Ended is closed when the worker has ended.
func (r *Remote) Ended() <-chan struct{} { return r.ended }

// Close closes the socket and waits until nothing reads from it any more. The
// worker then ends.
func (r *Remote) Close() {
	_ = r.sock.Close()
	<-r.ended
}

func (r *Remote) read() {
	defer close(r.ended)
	for {
		n, kind, body, err := readFrame(r.sock)
		if err != nil {
			return
		}
		r.mu.Lock()
		answer := r.calls[n]
		delete(r.calls, n)
		r.mu.Unlock()
		if answer != nil {
			answer <- frame{kind, body}
		}
	}
}
