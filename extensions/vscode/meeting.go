package vscode

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/internal/sys"
)

// Environment variables that a host is started with.
const (
	envHook   = "VSCODE_EXTHOST_IPC_HOOK"        // the socket that it comes to
	envEntry  = "VSCODE_ESM_ENTRYPOINT"          // which of the build's programs it is
	envErrors = "VSCODE_HANDLES_UNCAUGHT_ERRORS" // it does
	envNLS    = "VSCODE_NLS_CONFIG"              // its language; it ends at once without
)

const entry = "vs/workbench/api/node/extensionHostProcess"

// pathLimit is the longest path of a unix socket, in bytes.
func pathLimit() int {
	if runtime.GOOS == "linux" {
		return 107
	}
	return 103
}

// meeting is how one life of a host is met: it comes to a socket in a folder,
// once.
type meeting struct {
	build *Build
	path  string
	ln    *net.UnixListener

	mu     sync.Mutex
	met    bool
	closed bool
	wait   sync.WaitGroup // Connect
}

func meet(dir string, b *Build) (*meeting, error) {
	m := &meeting{build: b, path: filepath.Join(dir, "host.sock")}
	if n := len(m.path); n > pathLimit() {
		return nil, fmt.Errorf("the path of a socket in %s takes %d bytes, limit %d: set TMPDIR to a shorter one", dir, n, pathLimit())
	}
	var err error
	m.ln, err = net.ListenUnix("unix", &net.UnixAddr{Name: m.path, Net: "unix"})
	return m, err
}

// Env returns where the socket is and what else the host's program needs.
func (m *meeting) Env() []string {
	return append(environment(m.build), envHook+"="+m.path)
}

// environment is what every host of a build needs.
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

// Files returns nothing: the host has the path of the socket.
func (m *meeting) Files() []*os.File { return nil }

// Connect waits for the host. A connection of another user's is closed, and the
// wait goes on.
func (m *meeting) Connect(ctx context.Context) (codec.Stream, error) {
	m.mu.Lock()
	switch {
	case m.closed:
		m.mu.Unlock()
		return nil, net.ErrClosed
	case m.met:
		m.mu.Unlock()
		return nil, errors.New("connected before")
	}
	m.met = true
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

// Close ends a Connect and removes the socket. The Stream is closed before.
func (m *meeting) Close() error {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	_ = m.ln.Close() // closed already when the host has come
	m.wait.Wait()
	return nil
}
