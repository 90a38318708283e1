package actors

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/internal/capture"
	"github.com/hostsup/hostsup/internal/sys"
	"github.com/hostsup/hostsup/link"
	"github.com/hostsup/hostsup/sandbox"
)

// Environment variables by which a host finds its connection.
const (
	EnvFD    = "HOSTSUP_HOST_FD"    // number of the inherited socket
	EnvAddr  = "HOSTSUP_HOST_ADDR"  // path of the unix socket to connect to
	EnvToken = "HOSTSUP_HOST_TOKEN" // 64 hex digits: the 32 bytes to write first
)

// tokenWait bounds how long a connection may take to show its token.
const tokenWait = 5 * time.Second

// transport is how the bytes of one life travel: the descriptors the child
// gets, our ends of them, and for unix sockets the listener.
type transport struct {
	childs  []*os.File // the child's ends, to be closed after the start
	outputs []output   // our ends of captured pipes
	wire    link.Wire  // our end of the connection; nil: none, or still to come

	meeting  *meeting // of a protocol that has a way of its own
	listener *net.UnixListener
	dir      string
	token    []byte
	accepts  sync.WaitGroup

	mu       sync.Mutex
	knocking map[*net.UnixConn]bool // connected, and not let in yet
	shut     bool                   // no connection is accepted any more
	guest    link.Wire              // the one that was, until it is claimed
}

// openTransport makes the descriptors of a life and puts the child's ends into
// cmd.Files. What has to be found by a path lies in a folder of the world's.
func openTransport(world *World, spec *HostSpec, can codec.Features, cmd *sandbox.Command) (t *transport, err error) {
	t = &transport{}
	dirs := &world.folders
	defer func() {
		if err != nil {
			t.close()
		}
	}()
	files := make([]*os.File, 3, 4)
	kind := spec.transport()
	if spec.Protocol != nil && kind == TransportStdio {
		r, childOut, err := sys.ChildPipe(true)
		if err != nil {
			return t, err
		}
		t.childs = append(t.childs, childOut)
		w, childIn, err := sys.ChildPipe(false)
		if err != nil {
			r.Close()
			return t, err
		}
		t.childs = append(t.childs, childIn)
		files[0], files[1] = childIn, childOut
		t.wire = link.NewPipeWire(r, w)
	} else {
		r, childOut, err := sys.ChildPipe(true)
		if err != nil {
			return t, err
		}
		files[1] = childOut
		t.childs = append(t.childs, childOut)
		t.outputs = append(t.outputs, output{r, capture.Stdout})
	}
	r, childErr, err := sys.ChildPipe(true)
	if err != nil {
		return t, err
	}
	files[2] = childErr
	t.childs = append(t.childs, childErr)
	t.outputs = append(t.outputs, output{r, capture.Stderr})

	if can.Meet != nil {
		inherited, err := t.meet(dirs, can, cmd)
		if err != nil {
			return t, err
		}
		files = append(files, inherited...)
		t.childs = append(t.childs, inherited...)
	} else if spec.Protocol != nil {
		switch {
		case world.wires != nil:
			t.wire = world.wires(cmd)
		case kind == TransportFD:
			ours, theirs, err := sys.SocketPair()
			if err != nil {
				return t, err
			}
			t.wire = link.NewSocketWire(ours)
			t.childs = append(t.childs, theirs)
			files = append(files, theirs)
			cmd.Env = append(cmd.Env, EnvFD+"=3")
		case kind == TransportUnix:
			if err := t.listen(dirs); err != nil {
				return t, err
			}
			cmd.Env = append(cmd.Env, EnvAddr+"="+t.listener.Addr().String(), EnvToken+"="+hex.EncodeToString(t.token))
		}
	}
	cmd.Files = files
	return t, nil
}

// listen makes a socket only we can reach, in a folder of its own.
func (t *transport) listen(dirs *folders) (err error) {
	if t.dir, err = dirs.make(); err != nil {
		return err
	}
	t.token = make([]byte, 32)
	if _, err := rand.Read(t.token); err != nil {
		return err
	}
	t.listener, err = net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(t.dir, "host.sock"), Net: "unix"})
	return err
}

// maxKnocking is how many connections may be on their way to being let in.
const maxKnocking = 16

// accept waits for the host on goroutines that close ends, and calls came when
// it is there: claim then returns its connection. A connection with a wrong
// token or of another user is closed and the wait goes on; one that says
// nothing is in nobody's way.
func (t *transport) accept(came func()) {
	t.knocking = make(map[*net.UnixConn]bool)
	t.accepts.Go(func() {
		for {
			c, err := t.listener.AcceptUnix()
			if err != nil {
				return // closed: the host is there, or the life is over
			}
			t.mu.Lock()
			if t.shut || len(t.knocking) >= maxKnocking {
				t.mu.Unlock()
				c.Close()
				continue
			}
			t.knocking[c] = true
			t.mu.Unlock()
			t.accepts.Go(func() {
				if t.letIn(c, t.verify(c)) {
					t.listener.Close() // the socket is for one host
					came()
				}
			})
		}
	})
}

// letIn keeps the first connection that was found to be right.
func (t *transport) letIn(c *net.UnixConn, err error) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.knocking, c)
	if err != nil || t.shut {
		c.Close()
		return false
	}
	t.shut, t.guest = true, link.NewNetWire(c)
	return true
}

// claim makes the connection of the host that has come the transport's own;
// false: there is none.
func (t *transport) claim() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.guest == nil {
		return false
	}
	t.wire, t.guest = t.guest, nil
	return true
}

// verify checks who is at the other end and that it knows the token.
func (t *transport) verify(c *net.UnixConn) error {
	cred, err := sys.PeerCred(c)
	if err != nil {
		return err
	}
	if cred.Uid != os.Getuid() {
		return fmt.Errorf("connection of user %d, expected %d", cred.Uid, os.Getuid())
	}
	if err := c.SetReadDeadline(time.Now().Add(tokenWait)); err != nil {
		return err
	}
	token := make([]byte, len(t.token))
	if _, err := io.ReadFull(c, token); err != nil {
		return err
	}
	if subtle.ConstantTimeCompare(token, t.token) != 1 {
		return fmt.Errorf("wrong token")
	}
	return c.SetReadDeadline(time.Time{})
}

// close gives back what was not handed on. Nil-safe and idempotent.
func (t *transport) close() {
	if t == nil {
		return
	}
	for _, f := range t.childs {
		f.Close()
	}
	for _, o := range t.outputs {
		o.file.Close()
	}
	t.childs, t.outputs = nil, nil
	if t.listener != nil {
		t.mu.Lock()
		t.shut = true
		for c := range t.knocking {
			c.Close()
		}
		t.mu.Unlock()
		t.listener.Close()
		t.accepts.Wait()
		t.claim()
	}
	if t.wire != nil {
		t.wire.Close()
		t.wire = nil
	}
	if t.meeting != nil {
		t.meeting.end(t)
		t.meeting = nil
	}
	if t.dir != "" {
		_ = os.RemoveAll(t.dir) // a folder of the temporary ones; nothing depends on it
		t.dir = ""
	}
}

// transport returns the transport in force: "" for none, or for a protocol that
// has a way of its own.
func (s *HostSpec) transport() Transport {
	if s.Transport == "" && s.Protocol != nil {
		return Transport(s.Protocol.Defaults().Transport)
	}
	return s.Transport
}

// environ renders an environment in a stable order.
func environ(env map[string]string) []string {
	out := make([]string, 0, len(env)+2)
	for k, v := range env {
		out = append(out, k+"="+v)
	}
	slices.Sort(out)
	return out
}
