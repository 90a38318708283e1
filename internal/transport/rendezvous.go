package transport

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/hostsup/hostsup/internal/sys"
	"github.com/hostsup/hostsup/link"
)

const (
	tokenWait   = 5 * time.Second // how long a connection may take to show its token
	tokenSize   = 32
	maxKnocking = 16 // connections on their way to being let in
)

// listener is a socket that a host connects to.
type listener struct {
	*net.UnixListener
	token    []byte
	knocking map[*net.UnixConn]bool // connected, and not let in yet; under Transport.mu
}

// listen makes a socket only we can reach, in a folder of its own.
func (t *Transport) listen(dirs *Folders) (err error) {
	if t.dir, err = dirs.Make(); err != nil {
		return err
	}
	token := make([]byte, tokenSize)
	if _, err := rand.Read(token); err != nil {
		return err
	}
	path := filepath.Join(t.dir, "host.sock")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return err
	}
	t.listener = &listener{l, token, make(map[*net.UnixConn]bool)}
	t.cancel = t.stopListening
	t.Env = append(t.Env, EnvAddr+"="+path, EnvToken+"="+hex.EncodeToString(token))
	return nil
}

func (t *Transport) stopListening() {
	t.mu.Lock()
	for c := range t.listener.knocking {
		c.Close()
	}
	t.mu.Unlock()
	t.listener.Close()
}

// accept is Await for a listener. A connection with a wrong token or of another user is
// closed and the wait goes on; one that says nothing is in nobody's way.
func (t *Transport) accept(came func(error)) {
	l := t.listener
	t.waiting.Go(func() {
		for {
			c, err := l.AcceptUnix()
			if err != nil {
				return // closed: the host is there, or the life is over
			}
			t.mu.Lock()
			if t.shut || len(l.knocking) >= maxKnocking {
				t.mu.Unlock()
				c.Close()
				continue
			}
			l.knocking[c] = true
			t.mu.Unlock()
			t.waiting.Go(func() {
				if t.letIn(c) {
					l.Close() // the socket is for one host
					came(nil)
				}
			})
		}
	})
}

// letIn keeps a connection if it is the host's.
func (t *Transport) letIn(c *net.UnixConn) bool {
	err := t.listener.verify(c)
	t.mu.Lock()
	delete(t.listener.knocking, c)
	t.mu.Unlock()
	if err != nil {
		c.Close()
		return false
	}
	return t.arrive(link.NewNetWire(c))
}

// verify checks who is at the other end and that it knows the token.
func (l *listener) verify(c *net.UnixConn) error {
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
	token := make([]byte, tokenSize)
	if _, err := io.ReadFull(c, token); err != nil {
		return err
	}
	if subtle.ConstantTimeCompare(token, l.token) != 1 {
		return fmt.Errorf("wrong token")
	}
	return c.SetReadDeadline(time.Time{})
}

// prepare prepares the rendezvous with a host that is about to start, as its protocol has it.
func (t *Transport) prepare(o Options) (err error) {
	t.rendezvous, err = o.Rendezvous(func() (string, error) {
		t.dir, err = o.Folders.Make()
		return t.dir, err
	})
	if err != nil {
		return err
	}
	t.Env = append(t.Env, t.rendezvous.Env()...)
	for _, f := range t.rendezvous.Files() {
		t.inherit(len(t.Files), f)
	}
	return nil
}

// connect is Await for a rendezvous.
func (t *Transport) connect(came func(error)) {
	ctx, cancel := context.WithCancel(context.Background())
	t.cancel = cancel
	t.waiting.Go(func() {
		s, err := t.rendezvous.Connect(ctx)
		if err != nil || t.arrive(s) {
			came(err)
		}
	})
}
