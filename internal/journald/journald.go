// Package journald sends entries to the journal of systemd, in its native protocol
// (systemd.io/JOURNAL_NATIVE_PROTOCOL): one datagram each, with names and values.
//
// Sending never blocks. Entries wait in memory, within bounds, for one goroutine that
// exists only while some do. What a journal does not take is reported to the
// [Sender] that it came from. github.com/coreos/go-systemd/v22/journal waits for a journal
// that does not read, and knows one socket only.
package journald

import (
	"encoding/binary"
	"errors"
	"net"
	"strings"
	"sync"
	"time"
)

// Socket is where the journal listens.
const Socket = "/run/systemd/journal/socket"

// Bounds of what waits, in bytes: of all senders of a [Client], and of one of them, so
// that one that sends too fast does not take the room of the others.
const (
	maxWaiting       = 4 << 20
	maxSenderWaiting = 1 << 20
)

// MaxMessage is the largest number of bytes of a message; more is cut off. With it, an
// entry fits into a datagram of the size that Linux allows by default.
const MaxMessage = 64 << 10

const (
	flushWait = time.Second // how long Close waits for the journal
	redial    = time.Second // after a failure, entries are lost for so long without another attempt
)

// Errors of entries that are lost.
var (
	ErrFull   = errors.New("the journal does not read as fast as entries come")
	ErrClosed = errors.New("the connection to the journal is closed")
)

// Priorities of entries, as of syslog.
const (
	Err     = 3
	Warning = 4
	Notice  = 5
	Info    = 6
	Debug   = 7
)

// Field is a part of an entry. Name has upper-case letters, digits and underscores, and
// does not begin with an underscore.
type Field struct{ Name, Value string }

// Client is a connection to the journal, which is opened when there is something to
// send. It is safe for concurrent use. Make it with [New].
type Client struct {
	path string

	mu      sync.Mutex
	changed sync.Cond // running
	queue   []entry
	waiting int // bytes of queue, and of the entry that is being sent
	running bool
	closed  bool
	conn    net.Conn
	cause   error // of the last failure; nil after a success
	retryAt time.Time
}

type entry struct {
	from *Sender
	b    []byte
}

// New returns a client for the socket at path; "" stands for [Socket].
func New(path string) *Client {
	if path == "" {
		path = Socket
	}
	c := &Client{path: path}
	c.changed.L = &c.mu
	return c
}

// Sender sends the entries of one source.
type Sender struct {
	c       *Client
	waiting int // bytes; under c.mu
	report  func(bytes int, err error)
}

// Sender returns a new sender. report is called for each entry that Send has taken, with
// the size of its datagram, and why it was lost, or nil. It is called from a goroutine of
// the client and must not block.
func (c *Client) Sender(report func(bytes int, err error)) *Sender {
	return &Sender{c: c, report: report}
}

// Send queues an entry. It never blocks. Without an error the outcome is reported later;
// with one the entry is lost.
func (s *Sender) Send(priority int, message string, fields ...Field) error {
	c := s.c
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return ErrClosed
	case c.cause != nil && time.Now().Before(c.retryAt):
		return c.cause
	}
	b := encode(priority, message[:min(len(message), MaxMessage)], fields)
	if s.waiting+len(b) > maxSenderWaiting || c.waiting+len(b) > maxWaiting {
		return ErrFull
	}
	s.waiting += len(b)
	c.waiting += len(b)
	c.queue = append(c.queue, entry{s, b})
	if !c.running {
		c.running = true
		go c.run()
	}
	return nil
}

func (c *Client) run() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.queue) > 0 {
		e := c.queue[0]
		c.queue[0] = entry{}
		c.queue = c.queue[1:]
		now := time.Now()
		err := c.cause
		if err == nil || !now.Before(c.retryAt) {
			c.mu.Unlock()
			err = c.send(e.b)
			c.mu.Lock()
			if c.cause = err; err != nil {
				c.retryAt = now.Add(redial)
			}
		}
		e.from.waiting -= len(e.b)
		c.waiting -= len(e.b)
		c.mu.Unlock()
		e.from.report(len(e.b), err)
		c.mu.Lock()
	}
	c.queue, c.running = nil, false
	c.changed.Broadcast()
}

// send sends one datagram. It blocks while the journal does not read.
func (c *Client) send(b []byte) error {
	c.mu.Lock()
	conn := c.conn
	c.mu.Unlock()
	if conn != nil {
		if _, err := conn.Write(b); err == nil {
			return nil
		}
		_ = conn.Close() // perhaps another journal has the socket now
	}
	conn, err := net.Dial("unixgram", c.path)
	c.mu.Lock()
	c.conn = conn
	closed := c.closed
	c.mu.Unlock()
	if err != nil {
		return err
	}
	if closed { // it missed the deadline of Close
		_ = conn.SetWriteDeadline(time.Unix(1, 0))
	}
	_, err = conn.Write(b)
	return err
}

// Close waits up to a second until what waits is sent, reports the rest as lost, and closes
// the connection. Nothing is sent afterwards.
func (c *Client) Close() error {
	timer := time.AfterFunc(flushWait, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.conn != nil {
			_ = c.conn.SetWriteDeadline(time.Unix(1, 0))
		}
	})
	defer timer.Stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for c.running {
		c.changed.Wait()
	}
	if c.conn == nil {
		return nil
	}
	conn := c.conn
	c.conn = nil
	return conn.Close()
}

func encode(priority int, message string, fields []Field) []byte {
	size := len("PRIORITY=0\nMESSAGE\n\n") + 8 + len(message)
	for _, f := range fields {
		size += len(f.Name) + len(f.Value) + 10
	}
	b := make([]byte, 0, size)
	b = append(b, "PRIORITY="...)
	b = append(b, '0'+byte(priority), '\n')
	b = appendField(b, Field{"MESSAGE", message})
	for _, f := range fields {
		b = appendField(b, f)
	}
	return b
}

// appendField appends one field: a value with a line end has its length before it.
func appendField(b []byte, f Field) []byte {
	b = append(b, f.Name...)
	if strings.Contains(f.Value, "\n") {
		b = append(b, '\n')
		b = binary.LittleEndian.AppendUint64(b, uint64(len(f.Value)))
	} else {
		b = append(b, '=')
	}
	b = append(b, f.Value...)
	return append(b, '\n')
}
