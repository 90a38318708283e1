package actors

import (
	"errors"
	"net"
	"os"
	"syscall"

	"github.com/hostsup/hostsup/internal/linger"
	"github.com/hostsup/hostsup/internal/sys"
)

// fileWire is a wire over descriptors in the netpoller: one socket, or a pipe
// each way.
type fileWire struct {
	r, w *os.File
	in   *linger.Reader
	raw  syscall.RawConn // of w
	sock bool
}

func newSocketWire(f *os.File) wire { return newFileWire(f, f, true) }

func newPipeWire(r, w *os.File) wire { return newFileWire(r, w, false) }

func newFileWire(r, w *os.File, sock bool) wire {
	raw, err := w.SyscallConn()
	if err != nil {
		raw = nil // TryWrite then leaves everything to the write loop
	}
	return &fileWire{r, w, linger.NewReader(r), raw, sock}
}

func (f *fileWire) Read(p []byte) (int, error)  { return f.in.Read(p) }
func (f *fileWire) Write(p []byte) (int, error) { return f.w.Write(p) }

func (f *fileWire) TryWrite(p []byte) (int, error) { return tryWrite(f.raw, p) }

func (f *fileWire) CloseWrite() error {
	if f.sock {
		return sys.ShutdownWrite(f.raw)
	}
	return f.w.Close()
}

func (f *fileWire) Close() error {
	if f.sock {
		return f.w.Close()
	}
	return errors.Join(f.r.Close(), ignoreClosed(f.w.Close()))
}

func ignoreClosed(err error) error {
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}

// netWire is a wire over an accepted unix socket.
type netWire struct {
	*net.UnixConn
	in  *linger.Reader
	raw syscall.RawConn
}

func newNetWire(c *net.UnixConn) wire {
	raw, err := c.SyscallConn()
	if err != nil {
		raw = nil
	}
	return &netWire{c, linger.NewReader(c), raw}
}

func (n *netWire) Read(p []byte) (int, error) { return n.in.Read(p) }

func (n *netWire) TryWrite(p []byte) (int, error) { return tryWrite(n.raw, p) }

func tryWrite(raw syscall.RawConn, p []byte) (int, error) {
	if raw == nil {
		return 0, nil
	}
	return sys.TryWrite(raw, p)
}
