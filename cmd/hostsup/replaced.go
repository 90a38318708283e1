package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime/debug"
	"slices"
	"time"

	"github.com/hostsup/hostsup/cmd/hostsup/internal/handover"
	"github.com/hostsup/hostsup/control"
	"github.com/hostsup/hostsup/internal/version"
	"github.com/hostsup/hostsup/survive"
)

// replacement is a process that is ready to take over.
type replacement struct {
	next  *handover.Next
	since time.Time // when requests began to wait
	out   control.Upgraded
	stay  []string
	done  chan error // gets the outcome once
}

// upgrader implements [control.Upgrader].
type upgrader struct {
	run  *running
	srv  *control.Server
	from socket
	ask  chan *replacement // to the loop of running.serve
}

var errStopping = errors.New("the supervisor is stopping")

// Upgrade implements control.Upgrader.
func (u *upgrader) Upgrade(ctx context.Context, path string, drain time.Duration) (*control.Upgraded, error) {
	if err := u.run.loader.begin(ctx); err != nil { // no reload meanwhile
		return nil, err
	}
	defer u.run.loader.end()
	if path == "" {
		var err error
		if path, err = os.Executable(); err != nil {
			return nil, err
		}
	}
	next, err := u.start(ctx, path)
	if err != nil {
		return nil, u.refused(path, err)
	}
	u.run.log.Info("another process takes over", "program", path, "version", next.Version, "pid", next.PID())
	r := &replacement{next: next, since: time.Now(), done: make(chan error, 1)}
	u.srv.Hold()
	bounded, cancel := context.WithTimeout(ctx, drain)
	r.out.Cut = u.srv.Drained(bounded)
	cancel()
	err = ctx.Err()
	select {
	case <-next.Exited():
		err = fmt.Errorf("%w: it ended while calls were drained", handover.ErrNotTaken)
	default:
	}
	if err == nil {
		select {
		case u.ask <- r:
			switch err = <-r.done; {
			case err == nil:
				return &r.out, nil
			case !errors.Is(err, errStopping): // the hosts were let go
				return nil, u.refused(path, err)
			}
		case <-u.run.sup.Done():
			err = errStopping
		}
	}
	next.Kill()
	u.srv.Release()
	return nil, u.refused(path, err)
}

// refused returns the error of an upgrade that was not made, which is in the log as well.
func (u *upgrader) refused(path string, err error) error {
	u.run.log.Error("the upgrade was not made; going on", "program", path, "reason", err)
	select {
	case <-u.run.sup.Done():
	default:
		u.run.sup.Note("the upgrade was not made: " + err.Error())
	}
	return &control.Error{Class: control.NotReplaced, Message: fmt.Sprintf("%s: %v; the supervisor goes on", path, err)}
}

// start starts a process that can take over, with the arguments and environment of this one.
func (u *upgrader) start(ctx context.Context, path string) (*handover.Next, error) {
	c := handover.Command{
		Path: path, Args: os.Args[1:], Env: append(os.Environ(), u.run.service.Environ()...),
		Files: map[string]*os.File{}, Sockets: map[string]*os.File{}, Pause: func() { u.pause(true) }, Resume: func() { u.pause(false) },
		Offer: handover.Offer{Version: version.Version(), Socket: u.run.spec.Socket, StateDir: u.run.spec.StateDir},
	}
	defer func() {
		for _, files := range []map[string]*os.File{c.Files, c.Sockets} {
			for _, f := range files {
				_ = f.Close()
			}
		}
	}()
	if own, ok := u.from.(*control.Listener); ok {
		files, err := own.Files()
		if err != nil {
			return nil, err
		}
		c.Files[lockName], c.Sockets[socketName] = files.Lock, files.Socket
		if files.Identity != nil {
			c.Sockets[identityName] = files.Identity
		}
	}
	for name, l := range u.listeners() {
		f, ok := l.(interface{ File() (*os.File, error) })
		if !ok {
			return nil, fmt.Errorf("%s: a %T cannot be inherited", name, l)
		}
		var err error
		if c.Sockets[name], err = f.File(); err != nil {
			delete(c.Sockets, name)
			return nil, err
		}
	}
	return handover.Start(ctx, c)
}

// listeners returns what the supervisor listens with, by name, besides a control socket of its own.
func (u *upgrader) listeners() map[string]net.Listener {
	out := map[string]net.Listener{}
	if g, ok := u.from.(given); ok {
		out[givenName] = g.Listener
	}
	if u.run.console != nil {
		out[tcpName(u.run.console.listen)] = u.run.console.raw
	}
	for _, s := range u.run.serves {
		out[tcpName(s.conf.Listen)] = s.raw
	}
	return out
}

// pause stops or resumes accepting connections.
func (u *upgrader) pause(on bool) {
	if own, ok := u.from.(*control.Listener); ok {
		if on {
			own.Pause()
		} else {
			own.Resume()
		}
	}
	for _, l := range u.listeners() {
		control.PauseListener(l, on)
	}
}

// Names of what a process inherits.
const (
	givenName    = "given control socket" // of a service manager
	socketName   = "control socket"
	lockName     = "lock of the control socket"
	identityName = "identity of the control socket"
)

// tcpName is the name of a socket that listens as configured.
func tcpName(listen string) string { return "tcp " + listen }

// let tells which hosts go over, and prepares those for the end of the tree.
func (r *replacement) let(run *running) {
	hosts := run.sup.Hosts()
	r.stay = survive.Leave(hosts)
	for _, h := range hosts {
		name := h.Name()
		switch {
		case !slices.Contains(r.next.Hosts, name):
			r.out.Removed = append(r.out.Removed, name)
		case slices.Contains(r.stay, name) && slices.Contains(r.next.Kept, name):
			r.out.Stayed = append(r.out.Stayed, name)
		default:
			r.out.Restarted = append(r.out.Restarted, name)
		}
	}
}

// handOver has the other process go on, once the tree has ended. If it does not, a process of this program as it
// runs does. The error is not nil if no process has taken over.
func (u *upgrader) handOver(r *replacement) error {
	ctx := context.Background()
	err := r.next.Go(ctx)
	if err != nil {
		u.run.log.Error("the process that was to take over has failed; another one of the program that ran goes on", "reason", err)
		failed := err
		if r.next, err = u.start(ctx, runningProgram()); err == nil {
			err = r.next.Go(ctx)
		}
		if err != nil {
			err = errors.Join(failed, err)
			r.done <- err
			return err
		}
		r.out = control.Upgraded{}
		err = fmt.Errorf("%w; pid %d of the program that ran has taken over instead", failed, r.next.PID())
	}
	u.srv.Pass(u.run.spec.Socket)
	r.out.From, r.out.To, r.out.PID, r.out.Pause = version.Version(), r.next.Version, r.next.PID(), time.Since(r.since).Seconds()
	r.done <- err
	return nil
}

// follow serves what is left for this process after another one has taken over: connections that were open
// before, and, unless a service manager knows the other process, those who wait for this one to end. It returns with the other
// process, whose exit code is that of this one.
func (u *upgrader) follow(r *replacement, signals <-chan os.Signal) error {
	debug.FreeOSMemory()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var left chan struct{}
	if u.run.service.Managed() {
		u.run.tell(func() error { return u.run.service.MainPID(r.next.PID()) })
		left = make(chan struct{})
		go func() { // ends with this call
			u.srv.Left(ctx)
			close(left)
		}()
	}
	for {
		select {
		case sig := <-signals:
			if left != nil {
				return nil // the manager signals the other process
			}
			_ = r.next.Signal(sig) // it may have ended
		case <-r.next.Exited():
			if code := r.next.Code(); code != exitDone {
				return &printed{code}
			}
			return nil
		case <-left:
			return nil
		}
	}
}
