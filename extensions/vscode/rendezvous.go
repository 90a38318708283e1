package vscode

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"sync"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/internal/sys"
)

// Environment variables that a host is started with.
const (
	envHook   = "VSCODE_EXTHOST_IPC_HOOK"        // the socket that it connects to
	envEntry  = "VSCODE_ESM_ENTRYPOINT"          // the program of the build to run
	envErrors = "VSCODE_HANDLES_UNCAUGHT_ERRORS" // set: it does
	envNLS    = "VSCODE_NLS_CONFIG"              // its language, required
)

const entry = "vs/workbench/api/node/extensionHostProcess"

// rendezvous has the socket in a folder to which one life of a host connects, once.
type rendezvous struct {
	build *Build
	path  string
	ln    *net.UnixListener

	mu        sync.Mutex
	connected bool
	closed    bool
	wait      sync.WaitGroup // calls of Connect
}

func newRendezvous(dir string, b *Build) (*rendezvous, error) {
	m := &rendezvous{build: b, path: filepath.Join(dir, "host.sock")}
	if err := sys.CheckSocketPath(m.path); err != nil {
		return nil, err
	}
	var err error
	m.ln, err = net.ListenUnix("unix", &net.UnixAddr{Name: m.path, Net: "unix"})
	return m, err
}

// Env returns the variables with the path of the socket and those of [environment].
func (m *rendezvous) Env() []string {
	return append(environment(m.build), envHook+"="+m.path)
}

// environment returns the variables that every host of a build needs.
func environment(b *Build) []string {
	nls, err := json.Marshal(map[string]any{
		"userLocale": "en", "osLocale": "en", "resolvedLanguage": "en", "locale": "en", "availableLanguages": struct{}{},
		"defaultMessagesFile": filepath.Join(b.Root, filepath.FromSlash(fileNLS)),
	})
	if err != nil { // strings can always be encoded
		nls = []byte("{}")
	}
	return []string{envEntry + "=" + entry, envErrors + "=true", envNLS + "=" + string(nls)}
}

// Files returns nil, because the host has the path of the socket.
func (m *rendezvous) Files() []*os.File { return nil }

// Connect accepts the connection of the host. Connections of other users are closed. It
// must be called once.
func (m *rendezvous) Connect(ctx context.Context) (codec.Stream, error) {
	m.mu.Lock()
	switch {
	case m.closed:
		m.mu.Unlock()
		return nil, net.ErrClosed
	case m.connected:
		m.mu.Unlock()
		return nil, errors.New("connected before")
	}
	m.connected = true
	m.wait.Add(1)
	m.mu.Unlock()
	defer m.wait.Done()
	stop := context.AfterFunc(ctx, func() { m.ln.Close() })
	defer stop()
	for {
		c, err := m.ln.AcceptUnix()
		if err != nil {
			if cause := ctx.Err(); cause != nil {
				err = cause
			}
			return nil, err
		}
		if cred, err := sys.PeerCred(c); err != nil || cred.Uid != os.Getuid() {
			c.Close()
			continue
		}
		m.ln.Close() // the socket is for one host
		return newStream(c, nil, 0), nil
	}
}

// Close ends a running Connect and removes the socket. The Stream must be closed before.
func (m *rendezvous) Close() error {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	_ = m.ln.Close() // closed already if the host has connected
	m.wait.Wait()
	return nil
}
