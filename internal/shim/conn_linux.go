//go:build !hostsup_posix

package shim

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/hostsup/hostsup/internal/helper"
	"github.com/hostsup/hostsup/internal/sys"
)

// answerWait bounds how long a shim may take to answer. One that starts runs the Go
// runtime, which takes some milliseconds; only an overloaded machine comes near this.
const answerWait = 20 * time.Second

// wire is a connected socket.
type wire interface {
	io.ReadWriteCloser
	SetReadDeadline(time.Time) error
}

// Conn is the connection of a client to a shim. It must be closed, by Close or Release.
type Conn struct {
	sock   wire
	in     *bufio.Reader
	folder string
	record *Record
	state  sys.RelayState
	reaped <-chan struct{} // closed when the shim is reaped; nil if it is not a child of this process
	done   chan struct{}   // closed when the read loop has ended
	exited chan struct{}   // closed with exit
	gone   chan struct{}

	sending sync.Mutex // messages to the command, in order
	writing sync.Mutex // one message to the shim at a time

	mu          sync.Mutex
	changed     sync.Cond
	sent, taken uint64 // bytes of the input
	asked       bool   // the shim will tell when it has written all input
	hungUp      bool   // Hangup was called
	out         [2]*Stream
	exit        sys.Exit
	err         error // why the connection has ended
}

// newConn reads the first message of a shim. It closes sock if it fails.
func newConn(sock wire, folder string, r *Record) (*Conn, error) {
	c := &Conn{sock: sock, in: bufio.NewReaderSize(sock, 64<<10), folder: folder, record: r,
		done: make(chan struct{}), exited: make(chan struct{}), gone: make(chan struct{})}
	c.changed.L = &c.mu
	_ = sock.SetReadDeadline(time.Now().Add(answerWait))
	if err := c.greeting(); err != nil {
		return nil, errors.Join(err, sock.Close())
	}
	_ = sock.SetReadDeadline(time.Time{})
	for i := range c.out {
		at := c.state.From[i]
		c.out[i] = &Stream{conn: c, number: byte(i), from: at, read: at, acked: at, end: at, window: uint64(c.state.Window[1+i])}
		c.out[i].room = c.out[i].window
	}
	go c.loop() // ends with the connection
	return c, nil
}

func (c *Conn) greeting() error {
	head := make([]byte, sys.RelayReportSize)
	if _, err := io.ReadFull(c.in, head); err != nil {
		return fmt.Errorf("%w before its first message: %w", ErrLost, err)
	}
	if head[0] == helper.ReportFailed || head[0] == helper.ReportBroken { // not yet a relay
		rest := make([]byte, helper.ReportSize-len(head))
		if _, err := io.ReadFull(c.in, rest); err != nil {
			return fmt.Errorf("%w in its first message: %w", ErrLost, err)
		}
		r := helper.DecodeReport(append(head, rest...))
		return failure(&r)
	}
	if head[0] == sys.RelayBusy {
		return ErrBusy
	}
	body := make([]byte, sys.RelayStateSize)
	if _, err := io.ReadFull(c.in, body); err != nil {
		return fmt.Errorf("%w in its first message: %w", ErrLost, err)
	}
	c.state = sys.DecodeRelayState(body)
	if head[0] != sys.RelayHello || c.state.Version != sys.RelayVersion {
		return fmt.Errorf("the shim speaks version %d, expected %d: %w", c.state.Version, sys.RelayVersion, ErrVersion)
	}
	c.taken, c.sent = binary.LittleEndian.Uint64(head[16:]), c.state.Input
	return nil
}

// Record returns which processes the connection is about.
func (c *Conn) Record() Record { return *c.record }

// Stdout returns what the command has written to its standard output and no client has
// acknowledged, and all that follows.
func (c *Conn) Stdout() *Stream { return c.out[0] }

// Stderr returns the same of the command's error output.
func (c *Conn) Stderr() *Stream { return c.out[1] }

// Input returns how many bytes clients before this one gave to Send that the shim took
// as whole messages. What the command has not read of them, it will.
func (c *Conn) Input() uint64 { return c.state.Input }

// Exited returns a channel that is closed once the command has ended; Exit says how then.
func (c *Conn) Exited() <-chan struct{} { return c.exited }

// Exit returns how the command has ended. It is valid after Exited is closed.
func (c *Conn) Exit() sys.Exit {
	select {
	case <-c.exited:
		return c.exit
	default:
		return sys.Exit{}
	}
}

// Gone returns a channel that is closed once neither the command nor a process that it
// has left behind runs.
func (c *Conn) Gone() <-chan struct{} { return c.gone }

// Lost returns a channel that is closed when the connection has ended, for whatever
// reason.
func (c *Conn) Lost() <-chan struct{} { return c.done }

// Send gives bytes to the command's standard input, one whole message or several. If this
// process ends meanwhile, the command gets all of them, or nothing of p. Send waits while the shim
// holds as much as fits into its window, because the command does not read. The error
// wraps ErrTooLong if p is longer than Options.Most, and ErrLost. Bytes for a command that
// has closed its input are dropped.
func (c *Conn) Send(p []byte) error {
	if len(p) == 0 {
		return nil
	}
	if uint64(len(p)) > c.state.Most {
		return fmt.Errorf("%d bytes, limit %d: %w", len(p), c.state.Most, ErrTooLong)
	}
	c.sending.Lock()
	defer c.sending.Unlock()
	if err := c.awaitRoom(uint64(len(p))); err != nil {
		return err
	}
	return c.order(sys.RelayInput, 0, 0, p)
}

// TrySend is Send if that need not wait, and reports whether it was.
func (c *Conn) TrySend(p []byte) (bool, error) {
	if uint64(len(p)) > c.state.Most || !c.sending.TryLock() {
		return false, nil
	}
	defer c.sending.Unlock()
	c.mu.Lock()
	err, room := c.ended(), c.room(uint64(len(p)))
	if err == nil && room {
		c.sent += uint64(len(p))
	}
	c.mu.Unlock()
	if err != nil || !room {
		return false, err
	}
	return true, c.order(sys.RelayInput, 0, 0, p)
}

// room reports whether the shim can hold n bytes more, or is empty. The caller must hold mu.
func (c *Conn) room(n uint64) bool {
	return c.sent == c.taken || c.sent+n-c.taken <= uint64(c.state.Window[0])
}

// ended returns why Send and Read return, nil if they need not. The caller must hold mu.
func (c *Conn) ended() error {
	if c.hungUp {
		return os.ErrClosed
	}
	return c.err
}

// Hangup makes Send, and Read of Stdout, return os.ErrClosed, also those that wait. The rest of
// the connection goes on.
func (c *Conn) Hangup() {
	c.mu.Lock()
	c.hungUp = true
	c.changed.Broadcast()
	c.mu.Unlock()
}

// awaitRoom waits until the shim can hold n bytes more, or is empty, and counts them.
func (c *Conn) awaitRoom(n uint64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.ended() == nil && !c.room(n) {
		if c.asked {
			c.changed.Wait()
			continue
		}
		c.asked = true
		c.mu.Unlock()
		err := c.order(sys.RelayAsk, 0, 0, nil)
		c.mu.Lock()
		if err != nil {
			return err
		}
	}
	if err := c.ended(); err != nil {
		return err
	}
	c.sent += n
	return nil
}

// CloseInput closes the command's standard input after what was sent before.
func (c *Conn) CloseInput() error {
	c.sending.Lock()
	defer c.sending.Unlock()
	return c.order(sys.RelayEnd, 0, 0, nil)
}

// Signal sends a signal to the command, not to its children. It has no effect once the
// command has ended.
func (c *Conn) Signal(sig syscall.Signal) error {
	return c.order(sys.RelaySignal, 0, uint64(sig), nil)
}

// Survive sets whether the command goes on when this connection ends.
func (c *Conn) Survive(on bool) error {
	value := uint64(0)
	if on {
		value = 1
	}
	return c.order(sys.RelaySurvive, 0, value, nil)
}

// Kill kills the command and all its descendants. It does not wait; Gone tells when that
// is done. What the command has said can be read still, unless it had so many descendants
// that the shim took another way after a second, which ends the connection.
func (c *Conn) Kill() error { return c.order(sys.RelayKill, 0, 0, nil) }

// Release kills what is left of the command, ends the shim, waits for its end, and removes
// its folder. It is for a command whose end and output are not needed any more. Where the
// kernel does not end a process, it waits until ctx is done, and returns its cause.
func (c *Conn) Release(ctx context.Context) error {
	err := c.order(sys.RelayRelease, 0, 0, nil)
	ended := func(what <-chan struct{}) error {
		select {
		case <-what:
			return nil
		case <-ctx.Done():
			return fmt.Errorf("end the shim of %s: %w", c.record.Name, context.Cause(ctx))
		}
	}
	if errors.Is(err, ErrLost) { // and so the shim, or it was killed
		err = nil
	}
	err = errors.Join(err, ended(c.done))
	c.Close()
	if c.reaped != nil {
		err = errors.Join(err, ended(c.reaped))
	}
	if err != nil {
		return err
	}
	return c.remove(ctx)
}

// remove removes the folder as soon as no process holds it: a shim that is not a child of
// this process, or its successor, may still be ending.
func (c *Conn) remove(ctx context.Context) error {
	pause := time.NewTicker(2 * time.Millisecond)
	defer pause.Stop()
	for {
		err := Remove(c.folder)
		if !errors.Is(err, ErrBusy) {
			return err
		}
		select {
		case <-pause.C:
		case <-ctx.Done():
			return errors.Join(err, context.Cause(ctx))
		}
	}
}

// Close ends the connection, and leaves the shim as it is: it kills its command and ends,
// unless that is to survive. It waits for the end of the read loop only.
func (c *Conn) Close() error {
	err := c.sock.Close()
	<-c.done
	if errors.Is(err, net.ErrClosed) || errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}

// order sends a message to the shim, which always reads.
func (c *Conn) order(kind, stream byte, value uint64, p []byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	return c.write(kind, stream, value, p)
}

// write is order for a caller that holds writing.
func (c *Conn) write(kind, stream byte, value uint64, p []byte) error {
	b := make([]byte, sys.RelayOrderSize, sys.RelayOrderSize+len(p))
	b[0], b[1] = kind, stream
	binary.LittleEndian.PutUint32(b[4:], uint32(len(p)))
	binary.LittleEndian.PutUint64(b[8:], value)
	if _, err := c.sock.Write(append(b, p...)); err != nil {
		return fmt.Errorf("%w: %w", ErrLost, err)
	}
	return nil
}

// failure returns the error in a report of a shim that has not started its command.
func failure(r *helper.Report) error {
	err := syscall.Errno(r.Errno)
	if r.Kind == helper.ReportFailed {
		return err
	}
	return fmt.Errorf("the shim could not begin: %w", err)
}
