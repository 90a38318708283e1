package control

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/hostsup/hostsup/internal/busypoll"
	"github.com/hostsup/hostsup/internal/sys"
)

// attachProtocol is what the connection of a program that attaches is upgraded to. After the
// answer 101 the program sends its messages as they are, and ends its half of the connection
// after the last one. The supervisor sends frames: the number of bytes that follow (32 bits, big
// endian), and these. A frame of 0 bytes is the last; behind it the supervisor sends, as
// JSON, why it has detached the program, or nothing.
const attachProtocol = "hostsup-attach"

// lengthSize is the size of the length of a frame.
const lengthSize = 4

// attachUpgraded makes the caller a client of the host by a connection that is upgraded. header
// is of the answer.
func (s *Server) attachUpgraded(ctx context.Context, w http.ResponseWriter, h Host, header http.Header) error {
	t, _ := w.(*timed) // of every request that comes through a door
	nc, buffered, err := t.Hijack()
	if err != nil {
		return fmt.Errorf("upgrade the connection: %w", err)
	}
	defer func() { _ = nc.Close() }()
	f := newFramed(nc, buffered.Reader, t.lull)
	f.renew()
	if err := writeSwitch(nc, header); err != nil {
		return nil // the caller has gone
	}
	f.end(s.detached(ctx, h, h.Attach(ctx, f)))
	return nil
}

func writeSwitch(w io.Writer, header http.Header) error {
	b := bufio.NewWriter(w)
	_, _ = b.WriteString("HTTP/1.1 101 Switching Protocols\r\n") // Flush returns the error
	_ = header.Write(b)
	_, _ = b.WriteString("\r\n")
	return b.Flush()
}

// framed is the connection of an attached program: what the program sends, and frames to it.
// One goroutine at a time may read, and one write.
type framed struct {
	conn net.Conn
	in   io.Reader
	try  *sys.TryWriter // nil: the bytes are encrypted
	lull time.Duration  // how long the program may take nothing; 0: any time

	buf  []byte // a frame that is written at once, and then what is left of its length
	owed int    // bytes of the frame that was begun, which come next; more than these if it is torn
}

func newFramed(nc net.Conn, buffered *bufio.Reader, lull time.Duration) *framed {
	f := &framed{conn: nc, in: nc, lull: lull}
	if src, ok := nc.(busypoll.Source); ok {
		f.in, f.try = busypoll.NewReader(src), sys.NewTryWriter(src, false)
	}
	if n := buffered.Buffered(); n > 0 { // what came right behind the request
		early, _ := buffered.Peek(n)
		f.in = io.MultiReader(bytes.NewReader(early), f.in)
	}
	return f
}

func (f *framed) Read(p []byte) (int, error) { return f.in.Read(p) }

// Write writes what is left of a frame that was begun, and the rest of p as frames.
func (f *framed) Write(p []byte) (n int, err error) {
	for n < len(p) {
		part := p[n:min(n+longest, len(p))]
		if f.owed > 0 {
			part = part[:min(f.owed, len(part))]
			f.owed -= len(part)
		} else {
			f.buf = binary.BigEndian.AppendUint32(f.buf[:0], uint32(len(part)))
		}
		f.renew()
		bufs := net.Buffers{f.buf, part}
		if _, err := bufs.WriteTo(f.conn); err != nil {
			f.owed++ // the frame is torn, see end
			return n, err
		}
		f.buf = f.buf[:0]
		n += len(part)
	}
	return n, nil
}

const (
	// longest is how many bytes are written with one deadline.
	longest = 256 << 10
	// longestTry is how many bytes TryWrite takes at most.
	longestTry = 4 << 10
)

// TryWrite writes what the kernel takes at once of a short p, as one frame.
func (f *framed) TryWrite(p []byte) (int, error) {
	if f.try == nil || f.owed > 0 || len(p) > longestTry {
		return 0, nil
	}
	f.buf = append(binary.BigEndian.AppendUint32(f.buf[:0], uint32(len(p))), p...)
	n, err := f.try.TryWrite(f.buf)
	if n == 0 || err != nil {
		f.buf = f.buf[:0]
		return 0, err
	}
	f.owed = len(p) - max(n-lengthSize, 0)
	f.buf = f.buf[min(n, lengthSize):lengthSize]
	return len(p) - f.owed, nil
}

// renew sets the deadline before bytes are written.
func (f *framed) renew() {
	if f.lull > 0 {
		_ = f.conn.SetWriteDeadline(time.Now().Add(f.lull)) // of a connection that has ended it does not matter
	}
}

// Close ends a Read at once, and a Write that waits soon.
func (f *framed) Close() error {
	_ = f.conn.SetReadDeadline(time.Unix(1, 0)) // of a connection that has ended, deadlines do not matter
	_ = f.conn.SetWriteDeadline(time.Now().Add(lastWrite))
	return nil
}

// end writes the last frame, and reads until the program has it: what is unread when a
// connection is closed can take away what was written.
func (f *framed) end(reason []byte) {
	_ = f.conn.SetDeadline(time.Now().Add(lastWrite))
	if f.owed > 0 {
		return // the program finds that a frame is torn
	}
	if _, err := f.conn.Write(append(make([]byte, lengthSize), reason...)); err != nil {
		return
	}
	if half, ok := f.conn.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil {
		_, _ = io.Copy(io.Discard, f.conn)
	}
}
