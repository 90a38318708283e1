package dscode

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/internal/sys"
)

// How the host's socket is looked for: attempts, with a wait behind each but
// the last that grows by step.
const (
	attempts = 10
	step     = 200 * time.Millisecond
)

// pathLimit is the longest path of a unix socket, in bytes.
func pathLimit() int {
	if runtime.GOOS == "linux" {
		return 107
	}
	return 103
}

// meeting is how one life of a host is met: two sockets in a folder, one that
// we listen at and one that the host does.
type meeting struct {
	out, in string // paths: the host's socket, ours
	ln      *net.UnixListener
	closed  chan struct{}
	once    sync.Once

	mu      sync.Mutex
	waiting sync.WaitGroup // Connect
	met     bool
}

func meet(dir string) (*meeting, error) {
	m := &meeting{
		out:    filepath.Join(dir, "host.sock"),
		in:     filepath.Join(dir, "main.sock"),
		closed: make(chan struct{}),
	}
	if n := max(len(m.out), len(m.in)); n > pathLimit() {
		return nil, fmt.Errorf("the path of a socket in %s takes %d bytes, limit %d: set TMPDIR to a shorter one", dir, n, pathLimit())
	}
	for _, path := range []string{m.out, m.in} {
		if err := removeStale(path); err != nil {
			return nil, err
		}
	}
	var err error
	if m.ln, err = net.ListenUnix("unix", &net.UnixAddr{Name: m.in, Net: "unix"}); err != nil {
		return nil, err
	}
	return m, nil
}

// removeStale removes what a process that is gone has left; what is no socket
// stays and is an error.
func removeStale(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().Type() != fs.ModeSocket:
		return fmt.Errorf("%s: there is a file that is no socket", path)
	}
	return os.Remove(path)
}

// Env returns the two URLs.
func (m *meeting) Env() []string {
	return []string{EnvURL + "=ipc://" + m.out, EnvIncoming + "=ipc://" + m.in}
}

// Files returns nothing: the host has the URLs.
func (m *meeting) Files() []*os.File { return nil }

// Connect lets the host's connections in and connects to the host's socket,
// with ten attempts and 200 ms, 400 ms, … between them.
func (m *meeting) Connect(ctx context.Context) (codec.Stream, error) {
	m.mu.Lock()
	select {
	case <-m.closed:
		m.mu.Unlock()
		return nil, net.ErrClosed
	default:
	}
	if m.met {
		m.mu.Unlock()
		return nil, errors.New("connected before")
	}
	m.met = true
	m.waiting.Add(1)
	m.mu.Unlock()
	defer m.waiting.Done()
	d, err := m.dial(ctx, m.closed, 0, 0)
	if err != nil {
		return nil, err
	}
	return newStream(m, d), nil
}

// Close ends a Connect and removes both sockets. The Stream is closed before.
func (m *meeting) Close() error {
	m.once.Do(func() {
		m.mu.Lock()
		close(m.closed)
		m.mu.Unlock()
		_ = m.ln.Close() // closed already when there was a stream
		m.waiting.Wait()
	})
	return errors.Join(removeStale(m.out), removeStale(m.in))
}

// errGone means that the process is gone that listened at the host's socket.
var errGone = errors.New("the host is gone")

// dial connects to the host's socket; tried is how many of the attempts were
// made already. pid, if not 0, is the process that listened there before: when it
// is gone, so is the host.
func (m *meeting) dial(ctx context.Context, stop <-chan struct{}, pid, tried int) (dialed, error) {
	err := errShort
	for n := tried + 1; ; n++ {
		if n > attempts || errors.Is(err, errStranger) {
			return dialed{}, fmt.Errorf("attempt %d of %d to connect: %w", n-1, attempts, err)
		}
		if n > 1 {
			if err := pause(ctx, stop, time.Duration(n-1)*step, pid); err != nil {
				return dialed{}, err
			}
		}
		d := dialed{attempt: n}
		if d.c, d.pid, err = dialOnce(m.out); err == nil {
			return d, nil
		}
	}
}

// dialed is a connection to the host's socket.
type dialed struct {
	c       *net.UnixConn
	pid     int // who listens there; 0 where the system does not tell
	attempt int // the number of the attempt that found it
}

// errShort means that an attempt found a connection that ended at once.
var errShort = errors.New("the connection ended at once")

// look is how often a process is looked for while it is waited for.
const look = 20 * time.Millisecond

func pause(ctx context.Context, stop <-chan struct{}, d time.Duration, pid int) error {
	slice := d
	if pid > 0 {
		slice = look
	}
	for d > 0 {
		if pid > 0 && errors.Is(sys.Kill(pid, 0), noProcess) {
			return errGone
		}
		select {
		case <-time.After(min(slice, d)):
			d -= slice
		case <-ctx.Done():
			return ctx.Err()
		case <-stop:
			return net.ErrClosed
		}
	}
	return nil
}

// errStranger means that the socket is not the user's.
var errStranger = errors.New("socket of another user")

func dialOnce(path string) (*net.UnixConn, int, error) {
	c, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, 0, err
	}
	pid, err := known(c)
	if err != nil {
		c.Close()
		return nil, 0, err
	}
	return c, pid, nil
}

// known lets only the user's own processes in. It returns which one it is, 0
// where the system does not tell.
func known(c *net.UnixConn) (pid int, err error) {
	cred, err := sys.PeerCred(c)
	if err != nil {
		return 0, err
	}
	if cred.Uid != os.Getuid() {
		return 0, fmt.Errorf("%w: %d, expected %d", errStranger, cred.Uid, os.Getuid())
	}
	return cred.Pid, nil
}
