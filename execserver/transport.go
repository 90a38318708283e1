package execserver

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
)

// maxMessage bounds one message of the server: the largest file that a server
// sends in one piece, 512 MiB, as base64, and something around it.
const maxMessage = 700 << 20

// keepBuffer is the largest buffer that is kept for the next message.
const keepBuffer = 1 << 20

// transport carries whole messages. One goroutine calls read, another one write.
type transport interface {
	// read returns the next message. It is valid until the next read.
	read() ([]byte, error)
	// write sends messages, in order. more says that others follow at once.
	write(msg []byte, more bool) error
	// hangUp ends read and write, at once. It may be called more than once and by any
	// goroutine.
	hangUp()
	// close ends what was started for the connection and waits until it is
	// gone. It is called once, after hangUp.
	close()
	// cause returns what is known about the end besides the error of read, or "".
	cause(err error) string
}

// Endpoint says where a server is and how it is reached. It is made by
// [WebSocket], [Unix], [Program] or [Stream].
type Endpoint interface {
	// String is for messages: an address or a command line, without secrets.
	String() string

	dial(ctx context.Context) (transport, error)
	// lasting reports whether a session outlives a connection here.
	lasting() bool
}

// ParseEndpoint takes ws://HOST:PORT, wss://HOST and unix:///PATH.
func ParseEndpoint(text string) (Endpoint, error) {
	switch {
	case strings.HasPrefix(text, "ws://"), strings.HasPrefix(text, "wss://"):
		return WebSocket{URL: text}, nil
	case strings.HasPrefix(text, "unix:///"):
		return Unix{Path: strings.TrimPrefix(text, "unix://")}, nil
	}
	return nil, fmt.Errorf("%q is not the address of an exec-server: ws://HOST:PORT, wss://HOST or unix:///PATH is expected", text)
}

// Unix is a server that listens at a socket of the file system.
type Unix struct{ Path string }

// String returns unix://PATH.
func (u Unix) String() string { return "unix://" + u.Path }

func (u Unix) lasting() bool { return true }

func (u Unix) dial(ctx context.Context) (transport, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, "unix", u.Path)
	if err != nil {
		return nil, err
	}
	return newLines(c), nil
}

// Stream is a server at the other end of any stream of bytes, with one message
// a line.
type Stream struct {
	Name string // for messages
	// Open makes a connection. It ends when it is closed.
	Open func(ctx context.Context) (io.ReadWriteCloser, error)
	// Lasting says that the server keeps sessions when a connection ends, so
	// that another one may resume them.
	Lasting bool
}

// String returns the name.
func (s Stream) String() string { return s.Name }

func (s Stream) lasting() bool { return s.Lasting }

func (s Stream) dial(ctx context.Context) (transport, error) {
	rwc, err := s.Open(ctx)
	if err != nil {
		return nil, err
	}
	return newLines(rwc), nil
}

// lines is one message a line over a stream of bytes.
type lines struct {
	r    *bufio.Reader
	w    *bufio.Writer
	long []byte // a message that was longer than r's buffer
	rwc  io.ReadWriteCloser
	once sync.Once
}

func newLines(rwc io.ReadWriteCloser) *lines {
	return &lines{r: bufio.NewReaderSize(rwc, 64<<10), w: bufio.NewWriterSize(rwc, 64<<10), rwc: rwc}
}

func (l *lines) read() ([]byte, error) {
	if l.long = l.long[:0]; cap(l.long) > keepBuffer {
		l.long = nil
	}
	for {
		line, err := l.r.ReadSlice('\n')
		full := errors.Is(err, bufio.ErrBufferFull)
		if full || len(l.long) > 0 {
			l.long = append(l.long, line...)
			line = l.long
		}
		switch {
		case full && len(line) > maxMessage:
			return nil, errTooLarge
		case full:
			continue
		case errors.Is(err, io.EOF) && len(line) > 0:
			return nil, io.ErrUnexpectedEOF
		case err != nil:
			return nil, err
		}
		if line = bytes.TrimRight(line, "\r\n"); len(line) > 0 {
			return line, nil
		}
		l.long = l.long[:0]
	}
}

func (l *lines) write(msg []byte, more bool) error {
	if _, err := l.w.Write(msg); err != nil {
		return err
	}
	if err := l.w.WriteByte('\n'); err != nil || more {
		return err
	}
	return l.w.Flush()
}

func (l *lines) hangUp() { l.once.Do(func() { l.rwc.Close() }) }

func (l *lines) close() {}

func (l *lines) cause(error) string { return "" }

var errTooLarge = fmt.Errorf("message of more than %d bytes", maxMessage)

// plain returns the reason for the end of a connection, or "" for an ordinary end.
func plain(err error) string {
	switch {
	case err == nil, errors.Is(err, io.EOF), errors.Is(err, net.ErrClosed), errors.Is(err, os.ErrClosed), errors.Is(err, io.ErrClosedPipe):
		return ""
	}
	return err.Error()
}
