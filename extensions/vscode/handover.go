package vscode

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/internal/sys"
)

// Environment variables of a host that receives its sockets over node's IPC channel
// between a parent and its child: JSON lines, with descriptors.
const (
	envChannel = "NODE_CHANNEL_FD"
	envFormat  = "NODE_CHANNEL_SERIALIZATION_MODE"
	envSent    = "VSCODE_EXTHOST_WILL_SEND_SOCKET"
	envGrace   = "VSCODE_RECONNECTION_GRACE_TIME" // in milliseconds; older builds ignore it
)

// inherited is the number of the first descriptor that a host inherits after the standard
// ones; see [codec.Rendezvous].
const inherited = 3

// Lines on the channel.
const (
	lineReady  = "VSCODE_EXTHOST_IPC_READY"
	lineSocket = `{"cmd":"NODE_HANDLE","type":"net.Socket","msg":{"type":"VSCODE_EXTHOST_IPC_SOCKET",` +
		`"initialDataChunk":"","skipWebSocketFrames":true,"permessageDeflate":false,"inflateBytes":""}}` + "\n"
)

// settleTime is how long the end of the channel is awaited after the end of a socket: the
// descriptors of a process that ends are closed one after the other.
const settleTime = 250 * time.Millisecond

// handover sends a host its sockets over the channel, one after another.
type handover struct {
	build *Build
	ours  *net.UnixConn // the channel
	child *os.File      // the host's end of the channel
	grace time.Duration // see [Options.Grace]

	ready chan struct{} // closed when the host is ready for a socket
	gone  chan struct{} // closed when the channel has ended
	stop  chan struct{} // closed by Close
	once  sync.Once
	wait  sync.WaitGroup

	mu        sync.Mutex
	connected bool
}

var _ codec.Rendezvous = (*handover)(nil)

func newHandover(b *Build, grace time.Duration) (*handover, error) {
	ours, child, err := connection()
	if err != nil {
		return nil, err
	}
	h := &handover{
		build: b, grace: grace, ours: ours, child: child,
		ready: make(chan struct{}), gone: make(chan struct{}), stop: make(chan struct{}),
	}
	h.wait.Go(h.listen)
	return h, nil
}

// connection makes a socket pair, with one end for a host.
func connection() (*net.UnixConn, *os.File, error) {
	f, child, err := sys.SocketPair()
	if err != nil {
		return nil, nil, err
	}
	defer f.Close() // FileConn duplicates it
	c, err := net.FileConn(f)
	if err != nil {
		child.Close()
		return nil, nil, err
	}
	ours, ok := c.(*net.UnixConn)
	if !ok { // it was made as one
		child.Close()
		c.Close()
		return nil, nil, fmt.Errorf("a socket of kind %T", c)
	}
	return ours, child, nil
}

// Env returns the variables that describe the channel.
func (h *handover) Env() []string {
	return append(environment(h.build), fmt.Sprintf("%s=%d", envChannel, inherited), envFormat+"=json", envSent+"=1",
		fmt.Sprintf("%s=%d", envGrace, h.grace.Milliseconds()))
}

// Files returns the host's end of the channel.
func (h *handover) Files() []*os.File { return []*os.File{h.child} }

// listen waits until the host reports that it is ready, and then for the end of the
// channel. It ignores other lines: acknowledgements, and messages of extensions, which
// are not meant to use the channel.
func (h *handover) listen() {
	defer close(h.gone)
	r := bufio.NewReader(h.ours)
	ready := false
	for {
		line, err := r.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			continue // part of a line that is ignored
		}
		if err != nil {
			return
		}
		if ready || !bytes.Contains(line, []byte(lineReady)) {
			continue
		}
		var message struct{ Type string }
		if json.Unmarshal(line, &message) == nil && message.Type == lineReady {
			ready = true
			close(h.ready)
		}
	}
}

// Connect waits until the host is ready and sends it the first socket. It must be called
// once.
func (h *handover) Connect(ctx context.Context) (codec.Stream, error) {
	h.mu.Lock()
	again := h.connected
	h.connected = true
	h.mu.Unlock()
	if again {
		return nil, errors.New("connected before")
	}
	select {
	case <-h.stop:
		return nil, net.ErrClosed
	default:
	}
	select {
	case <-h.ready:
	case <-h.gone:
		return nil, errors.New("the host closed its channel before it was ready")
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-h.stop:
		return nil, net.ErrClosed
	}
	c, err := h.sendSocket()
	if err != nil {
		return nil, err
	}
	return newStream(c, h.next, h.grace), nil
}

// next sends the host another socket, unless the channel has ended.
func (h *handover) next(stop <-chan struct{}) (socket, error) {
	timer := time.NewTimer(settleTime)
	defer timer.Stop()
	select {
	case <-h.gone:
		return nil, io.EOF
	case <-stop:
		return nil, net.ErrClosed
	case <-timer.C:
	}
	return h.sendSocket()
}

// sendSocket sends the host one end of a new socket.
func (h *handover) sendSocket() (socket, error) {
	ours, child, err := connection()
	if err != nil {
		return nil, err
	}
	defer child.Close()
	if err := sendFile(h.ours, []byte(lineSocket), child); err != nil {
		ours.Close()
		return nil, fmt.Errorf("hand a socket over: %w", err)
	}
	return ours, nil
}

// Close ends a running Connect and the channel.
func (h *handover) Close() error {
	h.once.Do(func() {
		close(h.stop)
		_ = h.ours.Close() // its data no longer matters
	})
	h.wait.Wait()
	return nil
}
