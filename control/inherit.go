package control

import (
	"errors"
	"fmt"
	"net"
	"os"
	"time"
)

// Inherited is what another process needs to go on with the socket of a [Listener], by [Inherit].
type Inherited struct {
	Socket, Identity *os.File // listen; Identity is nil where the system has no identities
	Lock             *os.File
}

// Close closes the files.
func (i *Inherited) Close() error {
	var errs []error
	for _, f := range []*os.File{i.Socket, i.Identity, i.Lock} {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	return errors.Join(errs...)
}

// Files returns copies of the open files of a Listener, for another process. The caller must close them.
func (l *Listener) Files() (*Inherited, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || l.cur == nil || l.lock == nil {
		return nil, net.ErrClosed
	}
	out := &Inherited{}
	var err error
	if out.Socket, err = l.cur.File(); err == nil {
		out.Lock, err = sameFile(l.lock)
	}
	if id, ok := l.identity.(keptIdentity); ok && err == nil {
		out.Identity, err = id.File()
	}
	if err != nil {
		return nil, errors.Join(err, out.Close())
	}
	return out, nil
}

// keptIdentity is an identity that another process can go on with.
type keptIdentity interface {
	File() (*os.File, error)
	listenAgain() error
	pause(on bool)
}

// Inherit returns the Listener of a control socket that another process has made, which it takes: its socket, its lock, and its
// identity or nil. Until [Listener.Own] it leaves the files of the socket and of its lock to that process.
func Inherit(path string, socket net.Listener, lock *os.File, identity net.Listener) (_ *Listener, err error) {
	l := &Listener{path: path, borrowed: true, lock: lock}
	defer func() {
		if err != nil {
			err = errors.Join(err, l.Close())
		}
	}()
	ul, ok := socket.(*net.UnixListener)
	if !ok || lock == nil {
		return nil, errors.New("inherit the control socket: the socket or its lock is missing")
	}
	ul.SetUnlinkOnClose(false)
	l.cur = ul
	if l.made, err = os.Lstat(path); err != nil {
		return nil, fmt.Errorf("inherit the control socket: %w", err)
	}
	if held, ok := identity.(*net.UnixListener); ok {
		l.identity, l.known = hold(held), identityOf(path)
	}
	return l, nil
}

// Pause stops accepting connections until Resume. Callers wait meanwhile.
func (l *Listener) Pause() { l.pause(true) }

// Resume ends Pause.
func (l *Listener) Resume() { l.pause(false) }

func (l *Listener) pause(on bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cur != nil {
		PauseListener(l.cur, on)
	}
	if id, ok := l.identity.(keptIdentity); ok {
		id.pause(on)
	}
}

// PauseListener stops or resumes accepting connections from a listener of a [Server] that has deadlines. Callers wait
// meanwhile.
func PauseListener(l net.Listener, on bool) {
	at := time.Time{}
	if on {
		at = time.Unix(1, 0)
	}
	if d, ok := l.(interface{ SetDeadline(time.Time) error }); ok {
		_ = d.SetDeadline(at) // of a listener that is closed it does not matter
	}
}

// Own makes this process the owner of a Listener that it has inherited: callers see its process id, and Close removes
// the files.
func (l *Listener) Own() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.borrowed = false
	raw, err := l.cur.SyscallConn()
	if err == nil {
		err = listenAgain(raw)
	}
	if id, ok := l.identity.(keptIdentity); ok && err == nil {
		err = id.listenAgain()
	}
	if err == nil {
		err = writeOwner(l.lock)
	}
	if err != nil {
		return fmt.Errorf("take over the control socket: %w", err)
	}
	return nil
}

// Leave stops listening, and leaves the socket and its lock to a process that has inherited them.
func (l *Listener) Leave() error {
	l.mu.Lock()
	l.borrowed = true
	l.mu.Unlock()
	return l.Close()
}
