package link

import (
	"errors"
	"io"
	"net"
	"os"

	"github.com/hostsup/hostsup/internal/busypoll"
	"github.com/hostsup/hostsup/internal/sys"
)

// Wire is one connected byte stream to a peer. Close ends a Read or Write that
// waits.
type Wire interface {
	io.ReadWriteCloser
	// TryWrite writes what the kernel takes at once and never waits. 0 without an
	// error means that Write has to be used.
	TryWrite(p []byte) (int, error)
	// CloseWrite ends our half: the peer reads EOF.
	CloseWrite() error
}

// fileWire is a Wire over descriptors in the netpoller: one socket, or a pipe
// each way.
type fileWire struct {
	r, w *os.File
	in   *busypoll.Reader
	out  *sys.TryWriter
	sock bool

	watched bool
	watch   sys.Watch // of what the peer reads; its descriptor must be open until it is closed
}

// NewSocketWire returns a Wire over a connected socket.
func NewSocketWire(f *os.File) Wire { return newFileWire(f, f, true) }

// NewPipeWire returns a Wire that reads from one pipe and writes to another.
func NewPipeWire(r, w *os.File) Wire { return newFileWire(r, w, false) }

func newFileWire(r, w *os.File, sock bool) *fileWire {
	return &fileWire{r: r, w: w, in: busypoll.NewReader(r), out: sys.NewTryWriter(w, false), sock: sock}
}

// NewWatchedPipeWire is NewPipeWire for a peer that may close the end that it reads from
// while it lives: the Conn fails then as with a failed write, also while nothing is
// written, and although what was written before is never read. Where the system does not
// tell, the next write does.
func NewWatchedPipeWire(r, w *os.File) Wire {
	f := newFileWire(r, w, false)
	f.watched = true
	return f
}

func (f *fileWire) Read(p []byte) (int, error)  { return f.in.Read(p) }
func (f *fileWire) Write(p []byte) (int, error) { return f.w.Write(p) }

func (f *fileWire) TryWrite(p []byte) (int, error) { return f.out.TryWrite(p) }

func (f *fileWire) CloseWrite() error {
	if !f.sock {
		return f.closeWriter()
	}
	raw, err := f.w.SyscallConn()
	if err != nil {
		return err
	}
	return sys.ShutdownWrite(raw)
}

func (f *fileWire) Close() error {
	if f.sock {
		return f.w.Close()
	}
	return errors.Join(f.r.Close(), ignoreClosed(f.closeWriter()))
}

// closeWriter closes the pipe that is written to.
func (f *fileWire) closeWriter() error {
	f.watch.Close()
	return f.w.Close()
}

func ignoreClosed(err error) error {
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}

// netWire is a Wire over an accepted unix socket.
type netWire struct {
	c   *net.UnixConn
	in  *busypoll.Reader
	out *sys.TryWriter
}

// NewNetWire returns a Wire over an accepted unix socket.
func NewNetWire(c *net.UnixConn) Wire {
	return &netWire{c, busypoll.NewReader(c), sys.NewTryWriter(c, false)}
}

func (n *netWire) Read(p []byte) (int, error)     { return n.in.Read(p) }
func (n *netWire) Write(p []byte) (int, error)    { return n.c.Write(p) }
func (n *netWire) TryWrite(p []byte) (int, error) { return n.out.TryWrite(p) }
func (n *netWire) CloseWrite() error              { return n.c.CloseWrite() }
func (n *netWire) Close() error                   { return n.c.Close() }
