// Package systemd is what a program and its service manager tell each other: that it is
// ready, reloads or stops (sd_notify), that it is not stuck (the watchdog), and which
// sockets the manager listens on for it (socket activation). Other managers and
// container engines speak the same.
package systemd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/coreos/go-systemd/v22/activation"
	"github.com/coreos/go-systemd/v22/daemon"

	"github.com/hostsup/hostsup/internal/sys"
)

// notifySocket is the variable with the address of the manager.
const notifySocket = "NOTIFY_SOCKET"

// Service is this program as a unit of a service manager. The methods of one that no
// manager has started do nothing.
type Service struct {
	manager  *net.UnixAddr // nil: no manager has started this program
	watchdog time.Duration // within which the manager wants a sign of life; 0: it does not

	// Socket is where the manager listens for control connections; nil: nowhere.
	Socket net.Listener
}

// FromEnvironment reads what the service manager has put into the environment, and takes
// it out: it is meant for this process, not for those that it starts. The error names
// sockets that are not what this program can use; they are closed.
func FromEnvironment() (*Service, error) {
	s := &Service{}
	if name := os.Getenv(notifySocket); name != "" {
		s.manager = &net.UnixAddr{Net: "unixgram", Name: name}
	}
	watchdog, err := daemon.SdWatchdogEnabled(true)
	if err != nil {
		err = fmt.Errorf("watchdog: %w", err)
	}
	if s.manager != nil {
		s.watchdog = watchdog
	}
	_ = os.Unsetenv(notifySocket)
	return s, errors.Join(err, s.take(activation.Files(true)))
}

// take makes the only inherited socket the one for control connections.
func (s *Service) take(files []*os.File) error {
	var errs []error
	for _, f := range files {
		l, err := net.FileListener(f)
		_ = f.Close() // l has a copy
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("inherited socket %s: %w", f.Name(), err))
		case l.Addr().Network() != "unix":
			errs = append(errs, fmt.Errorf("inherited socket %s: listens at %s, want a unix stream socket", f.Name(), l.Addr()), l.Close())
		case s.Socket != nil:
			errs = append(errs, fmt.Errorf("inherited socket %s: there is one already, at %s", f.Name(), s.Socket.Addr()), l.Close())
		default:
			s.Socket = l
		}
	}
	return errors.Join(errs...)
}

// Ready tells that the program has started, or has been reloaded; status is shown to
// people.
func (s *Service) Ready(status string) error {
	return s.tell("READY=1", "STATUS="+status)
}

// Reloading tells that the configuration is being reloaded. Ready must be called when
// that is over, whatever came of it.
func (s *Service) Reloading() error {
	// A manager that waits for the end of a reload orders it by this time (Type=notify-reload).
	return s.tell("RELOADING=1", "MONOTONIC_USEC="+strconv.FormatInt(sys.Monotonic().Microseconds(), 10))
}

// Stopping tells that the program is about to end.
func (s *Service) Stopping() error { return s.tell("STOPPING=1") }

// Managed reports whether a service manager has started this program.
func (s *Service) Managed() bool { return s.manager != nil }

// Environ returns the variables by which a process that takes over from this one is told of the manager.
func (s *Service) Environ() []string {
	if s.manager == nil {
		return nil
	}
	out := []string{notifySocket + "=" + s.manager.Name}
	if s.watchdog > 0 {
		out = append(out, "WATCHDOG_USEC="+strconv.FormatInt(s.watchdog.Microseconds(), 10))
	}
	return out
}

// MainPID tells that another process is the main one of the unit from now on.
func (s *Service) MainPID(pid int) error { return s.tell("MAINPID=" + strconv.Itoa(pid)) }

// Watch gives the manager signs of life until ctx ends, as long as alive returns nil.
// alive has until its context ends, which is before the next sign of life is due.
func (s *Service) Watch(ctx context.Context, alive func(context.Context) error) error {
	if s.watchdog == 0 {
		return nil
	}
	tick := time.NewTicker(s.watchdog / 3) // two may be late
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
		if !answers(ctx, s.watchdog/3, alive) {
			continue // the manager acts if this goes on
		}
		if err := s.tell("WATCHDOG=1"); err != nil {
			return err
		}
	}
}

func answers(ctx context.Context, within time.Duration, alive func(context.Context) error) bool {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	return alive(ctx) == nil
}

// tell sends assignments as one datagram.
func (s *Service) tell(lines ...string) error {
	if s.manager == nil {
		return nil
	}
	for i, l := range lines {
		lines[i] = strings.ReplaceAll(l, "\n", " ")
	}
	c, err := net.DialUnix(s.manager.Net, nil, s.manager)
	if err != nil {
		return fmt.Errorf("tell the service manager: %w", err)
	}
	_, err = c.Write([]byte(strings.Join(lines, "\n")))
	if err = errors.Join(err, c.Close()); err != nil {
		return fmt.Errorf("tell the service manager: %w", err)
	}
	return nil
}
