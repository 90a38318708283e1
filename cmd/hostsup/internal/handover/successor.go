package handover

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
)

// Variable is the variable of the environment that a process has that is to take over.
const Variable = "HOSTSUP_HANDOVER"

// inherited is the value of Variable: the first descriptor that a process inherits besides its standard streams.
const inherited = "3"

// ErrGivenUp means that the process before goes on, or has ended before it let its hosts go.
var ErrGivenUp = errors.New("the supervisor that was to be replaced does not let go: it goes on, or has ended")

// Successor is this process if it is to take over from another one. The methods of a nil Successor do nothing.
type Successor struct {
	line   *line
	Offer  Offer
	files  map[string]*os.File
	listen map[string]net.Listener
}

// FromEnvironment returns nil if this process is not to take over. It tells its version and waits for the
// offer. The variable is taken out of the environment.
func FromEnvironment(version string) (*Successor, error) {
	if os.Getenv(Variable) != inherited {
		return nil, nil
	}
	_ = os.Unsetenv(Variable)
	s := &Successor{line: newLine(os.NewFile(3, "handover")), files: map[string]*os.File{}, listen: map[string]net.Listener{}}
	if err := s.line.send(report{Step: stepHello, Protocol: Protocol, Version: version}); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrGivenUp, err)
	}
	if err := s.line.receive(&s.Offer); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrGivenUp, err)
	}
	next := uintptr(4)
	for _, name := range s.Offer.Files {
		s.files[name] = os.NewFile(next, name)
		next++
	}
	for _, name := range s.Offer.Sockets {
		f := os.NewFile(next, name)
		next++
		l, err := net.FileListener(f)
		if err = errors.Join(err, f.Close()); err != nil {
			return s, fmt.Errorf("inherit %s: %w", name, err)
		}
		s.listen[name] = l
	}
	if err := s.line.send(report{Step: stepTaken}); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrGivenUp, err)
	}
	return s, nil
}

// Listener returns a socket that was inherited, which the caller must close; nil without one.
func (s *Successor) Listener(name string) net.Listener {
	if s == nil {
		return nil
	}
	l := s.listen[name]
	delete(s.listen, name)
	return l
}

// Take returns a file that was inherited, which the caller must close; nil without one.
func (s *Successor) Take(name string) *os.File {
	if s == nil {
		return nil
	}
	f := s.files[name]
	delete(s.files, name)
	return f
}

// Fail tells why this process does not take over. err may be nil, which tells nothing.
func (s *Successor) Fail(err error) {
	if s == nil || err == nil || errors.Is(err, ErrGivenUp) {
		return
	}
	_ = s.line.send(report{Error: err.Error()}) // otherwise the end of this process tells
}

// Ready tells that this process can take over, with the hosts of its configuration and those whose processes it would take
// back, and returns when it may. The error wraps [ErrGivenUp].
func (s *Successor) Ready(hosts, kept []string) error {
	if s == nil {
		return nil
	}
	for _, f := range s.files { // of what is not configured any more
		_ = f.Close()
	}
	for _, l := range s.listen {
		_ = l.Close()
	}
	var ahead goAhead
	err := s.line.send(report{Step: stepReady, Hosts: hosts, Kept: kept})
	if err == nil {
		err = s.line.receive(&ahead)
	}
	switch {
	case errors.Is(err, io.EOF):
		return ErrGivenUp
	case err != nil:
		return fmt.Errorf("%w: %w", ErrGivenUp, err)
	case !ahead.Go:
		return ErrGivenUp
	}
	return nil
}

// Running tells that this process has taken over.
func (s *Successor) Running() {
	if s == nil {
		return
	}
	_ = s.line.send(report{Step: stepRunning}) // the process before may have ended
	_ = s.line.file.Close()
}
