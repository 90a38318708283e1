package dscode

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/internal/sys"
)

// Attempts to connect to the host's socket; the wait after each grows by step.
const (
	attempts = 10
	step     = 200 * time.Millisecond
)

// rendezvous has the two sockets of one life of a host, in one folder: hostsup listens
// at one, the host at the other.
type rendezvous struct {
	out, in string // paths of the host's socket and of ours
	ln      *net.UnixListener
	closed  chan struct{}
	once    sync.Once

	mu        sync.Mutex
	waiting   sync.WaitGroup // calls of Connect
	connected bool
}

func newRendezvous(dir string) (*rendezvous, error) {
	m := &rendezvous{
		out:    filepath.Join(dir, "host.sock"),
		in:     filepath.Join(dir, "main.sock"),
		closed: make(chan struct{}),
	}
	for _, path := range []string{m.out, m.in} {
		if err := sys.CheckSocketPath(path); err != nil {
			return nil, err
		}
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

// removeStale removes the socket of a process that has ended. Any other file is an error
// and is kept.
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

// Env returns the variables with the two URLs.
func (m *rendezvous) Env() []string {
	return []string{EnvURL + "=ipc://" + m.out, EnvIncoming + "=ipc://" + m.in}
}

// Files returns nil, because the host connects by URLs.
func (m *rendezvous) Files() []*os.File { return nil }

// Connect connects to the host's socket, with ten attempts and 200 ms, 400 ms, … between
// them, and then accepts the host's connections. It must be called once.
func (m *rendezvous) Connect(ctx context.Context) (codec.Stream, error) {
	m.mu.Lock()
	select {
	case <-m.closed:
		m.mu.Unlock()
		return nil, net.ErrClosed
	default:
	}
	if m.connected {
		m.mu.Unlock()
		return nil, errors.New("connected before")
	}
	m.connected = true
	m.waiting.Add(1)
	m.mu.Unlock()
	defer m.waiting.Done()
	d, err := m.dial(ctx, m.closed, 0, 0)
	if err != nil {
		return nil, err
	}
	return newStream(m, d), nil
}

// Close ends a running Connect and removes both sockets. The Stream must be closed before.
func (m *rendezvous) Close() error {
	m.once.Do(func() {
		m.mu.Lock()
		close(m.closed)
		m.mu.Unlock()
		_ = m.ln.Close() // closed already when there was a stream
		m.waiting.Wait()
	})
	return errors.Join(removeStale(m.out), removeStale(m.in))
}

// errHostGone means that the process that listened at the host's socket has ended.
var errHostGone = errors.New("the host is gone")

// dial connects to the host's socket. tried is the number of attempts that were made
// already. pid, if not 0, is the process that listened there before; when it has ended,
// dial returns errHostGone.
func (m *rendezvous) dial(ctx context.Context, stop <-chan struct{}, pid, tried int) (dialed, error) {
	err := errEndedAtOnce
	for n := tried + 1; ; n++ {
		if n > attempts || errors.Is(err, errOtherUser) {
			return dialed{}, fmt.Errorf("attempt %d of %d to connect: %w", n-1, attempts, err)
		}
		if n > 1 {
			if err := sleep(ctx, stop, time.Duration(n-1)*step, pid); err != nil {
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
	pid     int // the listening process; 0 where the system does not report it
	attempt int // the number of the successful attempt
}

// errEndedAtOnce means that an attempt succeeded and its connection ended at once.
var errEndedAtOnce = errors.New("the connection ended at once")

// pollInterval is the time between checks whether a process has ended.
const pollInterval = 20 * time.Millisecond

// sleep waits for d, or until ctx or stop ends, or the process pid (unless 0) has ended.
func sleep(ctx context.Context, stop <-chan struct{}, d time.Duration, pid int) error {
	slice := d
	if pid > 0 {
		slice = pollInterval
	}
	for d > 0 {
		if pid > 0 && errors.Is(sys.Kill(pid, 0), noProcess) {
			return errHostGone
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

// errOtherUser means that the peer belongs to another user.
var errOtherUser = errors.New("socket of another user")

func dialOnce(path string) (*net.UnixConn, int, error) {
	c, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, 0, err
	}
	pid, err := checkPeer(c)
	if err != nil {
		c.Close()
		return nil, 0, err
	}
	return c, pid, nil
}

// checkPeer returns the peer's process, 0 where the system does not report it, or an
// error if the peer belongs to another user.
func checkPeer(c *net.UnixConn) (pid int, err error) {
	cred, err := sys.PeerCred(c)
	if err != nil {
		return 0, err
	}
	if cred.Uid != os.Getuid() {
		return 0, fmt.Errorf("%w: %d, expected %d", errOtherUser, cred.Uid, os.Getuid())
	}
	return cred.Pid, nil
}
