package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// execClient is a client of an exec server that costs as little as it can and
// is the same for everybody's server: it sends text and looks for words in what
// it gets.
type execClient struct {
	web bool      // frames of a WebSocket; else lines
	src *blocking // nil: something else
	r   *bufio.Reader
	w   io.Writer
	out []byte
	in  []byte
	n   int // requests so far
}

// dialExec connects to ws://HOST:PORT.
func dialExec(url string) (*execClient, io.Closer, error) {
	host := strings.TrimPrefix(url, "ws://")
	conn, err := net.Dial("tcp", host)
	if err != nil {
		return nil, nil, err
	}
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return nil, nil, errors.Join(fmt.Errorf("%T is no TCP connection", conn), conn.Close())
	}
	file, err := tcp.File()
	if err := errors.Join(err, conn.Close()); err != nil {
		return nil, nil, err
	}
	b := &blocking{file: file, fd: int(file.Fd())}
	if err := unix.SetNonblock(b.fd, false); err != nil {
		return nil, nil, errors.Join(err, b.Close())
	}
	c := &execClient{web: true, src: b, r: bufio.NewReaderSize(b, clientBuffer), w: b}
	if err := c.upgrade(host); err != nil {
		return nil, nil, errors.Join(err, b.Close())
	}
	return c, b, nil
}

// clientBuffer holds every frame of output.
const clientBuffer = 256 << 10

// blocking is a descriptor that is waited for in the kernel, without a word to
// the runtime: its poller, and taking a thread back that waits, take as long as
// a server that answers quickly.
type blocking struct {
	file *os.File
	fd   int

	// awake: it looks for up to a millisecond before it sleeps, so that what a
	// call takes is the server's time and not that of waking this process.
	awake bool
}

func (b *blocking) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if b.awake {
		ready := []unix.PollFd{{Fd: int32(b.fd), Events: unix.POLLIN}}
		for began := time.Now(); ready[0].Revents == 0 && time.Since(began) < time.Millisecond; {
			_, _ = unix.Poll(ready, 0) // what is wrong with it, reading tells
		}
	}
	for {
		n, _, err := unix.RawSyscall(unix.SYS_READ, uintptr(b.fd), uintptr(unsafe.Pointer(&p[0])), uintptr(len(p)))
		switch {
		case err == unix.EINTR:
		case err != 0:
			return 0, err
		case n == 0:
			return 0, io.EOF
		default:
			return int(n), nil
		}
	}
}

func (b *blocking) Write(p []byte) (int, error) {
	for done := 0; ; {
		n, err := unix.Write(b.fd, p[done:])
		if err != nil && !errors.Is(err, unix.EINTR) {
			return done, err
		}
		if done += max(n, 0); done == len(p) {
			return done, nil
		}
	}
}

func (b *blocking) Close() error { return b.file.Close() }

// blockingPipe is a pipe of which one end is for a child. Down says that it is
// the reading one.
func blockingPipe(down bool) (ours *blocking, childs *os.File, err error) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return nil, nil, err
	}
	r, w := os.NewFile(uintptr(fds[0]), "|0"), os.NewFile(uintptr(fds[1]), "|1")
	if down {
		return &blocking{file: w, fd: fds[1]}, r, nil
	}
	return &blocking{file: r, fd: fds[0]}, w, nil
}

func (c *execClient) upgrade(host string) error {
	if _, err := fmt.Fprintf(c.w, "GET / HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n", host); err != nil {
		return err
	}
	resp, err := http.ReadResponse(c.r, nil) //nolint:bodyclose // a switch of protocols has no body
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusSwitchingProtocols {
		return fmt.Errorf("the server says %s", resp.Status)
	}
	return nil
}

// newLineClient speaks over the standard streams of a server.
func newLineClient(r io.Reader, w io.Writer) *execClient {
	src, _ := r.(*blocking)
	return &execClient{src: src, r: bufio.NewReaderSize(r, clientBuffer), w: w}
}

// Kinds of frames, with the bit that says that they are whole.
const (
	frameText = 0x81
	framePing = 0x89
	framePong = 0x8a
)

// stayAwake has the client wait for answers without sleeping, or with it again.
func (c *execClient) stayAwake(yes bool) {
	if c.src != nil {
		c.src.awake = yes
	}
}

// send writes one message.
func (c *execClient) send(text string) error {
	if !c.web {
		c.out = append(append(c.out[:0], text...), '\n')
	} else {
		c.out = appendFrame(c.out[:0], frameText, text)
	}
	_, err := c.w.Write(c.out)
	return err
}

// appendFrame appends a client's frame, under a mask that changes nothing.
func appendFrame(b []byte, kind byte, text string) []byte {
	b = append(b, kind)
	if n := len(text); n < 126 {
		b = append(b, 0x80|byte(n))
	} else {
		b = append(b, 0x80|126, byte(n>>8), byte(n))
	}
	return append(append(b, 0, 0, 0, 0), text...)
}

// next returns a message, until the next call.
func (c *execClient) next() ([]byte, error) {
	if !c.web {
		line, err := c.r.ReadSlice('\n')
		if err == nil {
			return line, nil
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return nil, err
		}
		c.in = append(c.in[:0], line...)
		rest, err := c.r.ReadBytes('\n')
		c.in = append(c.in, rest...)
		return c.in, err
	}
	for {
		kind, text, err := c.frame()
		if err != nil {
			return nil, err
		}
		switch kind {
		case frameText:
			return text, nil
		case framePing:
			if _, err := c.w.Write(appendFrame(nil, framePong, string(text))); err != nil {
				return nil, err
			}
		default:
			return nil, fmt.Errorf("a frame of kind %#x: %q", kind, text[:min(len(text), 100)])
		}
	}
}

// frame reads one.
func (c *execClient) frame() (kind byte, text []byte, err error) {
	var head [8]byte
	if _, err := io.ReadFull(c.r, head[:2]); err != nil {
		return 0, nil, err
	}
	kind = head[0]
	size := uint64(head[1])
	switch size {
	case 126:
		_, err = io.ReadFull(c.r, head[:2])
		size = uint64(binary.BigEndian.Uint16(head[:2]))
	case 127:
		_, err = io.ReadFull(c.r, head[:8])
		size = binary.BigEndian.Uint64(head[:8])
	}
	if err != nil {
		return 0, nil, err
	}
	if size <= clientBuffer { // no copy
		if text, err = c.r.Peek(int(size)); err == nil {
			_, err = c.r.Discard(int(size))
		}
		return kind, text, err
	}
	if size > 64<<20 {
		return 0, nil, fmt.Errorf("a frame of %d bytes", size)
	}
	if uint64(cap(c.in)) < size {
		c.in = make([]byte, size)
	}
	c.in = c.in[:size]
	_, err = io.ReadFull(c.r, c.in)
	return kind, c.in, err
}

// ask sends a request and returns when it is answered. What else comes
// meanwhile is thrown away.
func (c *execClient) ask(method, params string) error {
	c.n++
	if err := c.send(fmt.Sprintf(`{"id":%d,"method":%q,"params":%s}`, c.n, method, params)); err != nil {
		return err
	}
	id := fmt.Appendf(nil, `"id":%d`, c.n)
	for {
		m, err := c.next()
		if err != nil {
			return err
		}
		if len(m) < 4096 && bytes.Contains(m, wordError) {
			return fmt.Errorf("%s is answered with %s", method, m)
		}
		if bytes.Contains(m, id) {
			return nil
		}
	}
}

// initialize opens a session.
func (c *execClient) initialize() error {
	if err := c.ask("initialize", `{"clientName":"bench","resumeSessionId":null}`); err != nil {
		return err
	}
	return c.send(`{"method":"initialized","params":{}}`)
}

// start sends the start of a process, whose id is the number it returns.
func (c *execClient) start(argv string) (int, error) {
	c.n++
	return c.n, c.send(fmt.Sprintf(`{"id":%d,"method":"process/start","params":{"processId":"%[1]d","argv":%s,"cwd":"file:///","env":{},"tty":false,"pipeStdin":false}}`, c.n, argv))
}

// What the client looks for.
var (
	wordError  = []byte(`"error":{`)
	wordExited = []byte(`"process/exited"`)
	wordClosed = []byte(`"process/closed"`)
	wordOutput = []byte(`"process/output"`)
	wordChunk  = []byte(`"chunk":"`)
	wordResult = []byte(`"result":`)
)

// chunkBytes is how many bytes of output are in a message, without decoding
// them. 0 if it is another kind.
func chunkBytes(m []byte) int {
	const head = 300 // of a message, in which the members' names are
	if !bytes.Contains(m[:min(len(m), head)], wordOutput) && !bytes.Contains(m[max(0, len(m)-head):], wordOutput) {
		return 0
	}
	i := bytes.Index(m, wordChunk)
	if i < 0 {
		return 0
	}
	text := m[i+len(wordChunk):]
	end := bytes.IndexByte(text, '"')
	if end < 0 {
		return 0
	}
	text = text[:end]
	return len(text)/4*3 - bytes.Count(text[max(0, len(text)-2):], []byte("="))
}
