//go:build linux

package conformance

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// conn is a connection with a server.
type conn interface {
	// send sends one message; what the server has not taken is no error.
	send(ctx context.Context, text []byte, binary bool) error
	// hangUp ends the connection from our side.
	hangUp()
	// close leaves nothing behind.
	close()
	box() *inbox
}

// socket is a connection over a WebSocket.
type socket struct {
	ws   *websocket.Conn
	in   *inbox
	done chan struct{}
}

func dial(ctx context.Context, url string, header http.Header) (*socket, error) {
	in := newInbox()
	ws, _, err := websocket.Dial(ctx, url, &websocket.DialOptions{ //nolint:bodyclose // the library closes it
		HTTPHeader:     header,
		OnPingReceived: func(context.Context, []byte) bool { in.changed(func() { in.pings++ }); return true },
	})
	if err != nil {
		return nil, err
	}
	ws.SetReadLimit(-1)
	s := &socket{ws: ws, in: in, done: make(chan struct{})}
	go func() {
		defer close(s.done)
		for {
			_, b, err := ws.Read(context.WithoutCancel(ctx))
			if err != nil {
				how := "cut"
				var bye websocket.CloseError
				if errors.As(err, &bye) {
					how = fmt.Sprintf("close %d %s", bye.Code, bye.Reason)
				}
				s.in.end(how)
				return
			}
			s.in.add(b)
		}
	}()
	return s, nil
}

func (s *socket) send(ctx context.Context, text []byte, binary bool) error {
	kind := websocket.MessageText
	if binary {
		kind = websocket.MessageBinary
	}
	// A server may hang up in the middle of a message; what comes of it is seen
	// by whoever waits for an answer.
	if err := s.ws.Write(ctx, kind, text); err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return nil
}

func (s *socket) hangUp() {
	_ = s.ws.CloseNow() // it may be over
	<-s.done
}

func (s *socket) close()      { s.hangUp() }
func (s *socket) box() *inbox { return s.in }

// pipes is a connection with a server of its own, over its stdin and stdout.
type pipes struct {
	cmd  *exec.Cmd
	w    io.WriteCloser
	in   *inbox
	done chan struct{}
	once sync.Once

	grace time.Duration // for its end, once its stdin has ended
}

func spawn(cmd *exec.Cmd, grace time.Duration) (*pipes, error) {
	w, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	r, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &pipes{cmd: cmd, w: w, in: newInbox(), done: make(chan struct{}), grace: grace}
	go func() {
		defer close(p.done)
		for lines := bufio.NewReader(r); ; {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				break
			}
			p.in.add(line[:len(line)-1])
		}
		err := cmd.Wait()
		var exit *exec.ExitError
		switch {
		case err == nil, errors.As(err, &exit):
			p.in.end("exit " + cmd.ProcessState.String())
		default:
			p.in.end(err.Error())
		}
	}()
	return p, nil
}

func (p *pipes) send(_ context.Context, text []byte, _ bool) error {
	_, _ = p.w.Write(append(text, '\n')) // as with a socket
	return nil
}

func (p *pipes) hangUp() { p.once.Do(func() { p.w.Close() }) }

func (p *pipes) close() {
	p.hangUp()
	finish(p.cmd, p.done, p.grace)
}

func (p *pipes) box() *inbox { return p.in }
