package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/hashicorp/go-hclog"

	"github.com/hostsup/hostsup/cmd/hostsup/internal/handover"
	"github.com/hostsup/hostsup/config"
	"github.com/hostsup/hostsup/control"
	"github.com/hostsup/hostsup/internal/version"
	"github.com/hostsup/hostsup/supervisor"
	"github.com/hostsup/hostsup/survive"
)

// successor is this process if it is to take over from another one. Its methods work without one, too: Successor is nil
// then.
type successor struct{ *handover.Successor }

func newSuccessor() (successor, error) {
	s, err := handover.FromEnvironment(version.Version())
	return successor{s}, err
}

// fail tells the other process why this one does not take over, and returns err.
func (s successor) fail(err error) error {
	told := err
	var conf *configError
	if errors.As(err, &conf) {
		var text bytes.Buffer
		_ = config.Print(&text, conf.diags, false, 0) // a buffer takes everything
		told = fmt.Errorf("%w:\n%s", err, text.String())
	}
	s.Fail(told)
	return err
}

// check returns an error if this process cannot go on with what the other one has.
func (s successor) check(spec supervisor.Spec) error {
	if s.Successor == nil {
		return nil
	}
	for _, setting := range []struct{ name, now, before string }{
		{"control socket", spec.Socket, s.Offer.Socket}, {"state_dir", spec.StateDir, s.Offer.StateDir},
	} {
		if setting.now != setting.before {
			return fmt.Errorf("the %s is %s in the configuration, and was %s: that needs a new start of the supervisor", setting.name, setting.now, setting.before)
		}
	}
	return survive.Check(spec.StateDir)
}

// controlSocket returns where control connections come from: what the service manager or the process before has
// made, or what this process makes.
func (s successor) controlSocket(spec *supervisor.Spec, managed net.Listener) (socket, error) {
	if l := s.Listener(givenName); l != nil {
		managed = l
	}
	switch {
	case managed != nil:
		spec.Socket = managed.Addr().String()
		return given{managed}, nil
	case s.Successor == nil:
		return control.Listen(spec.Socket)
	}
	return control.Inherit(spec.Socket, s.Listener(socketName), s.Take(lockName), s.Listener(identityName))
}

// listenTCP listens at an address of the configuration, with the socket of the process before if that has one.
func (s successor) listenTCP(ctx context.Context, address string) (net.Listener, error) {
	if l := s.Listener(tcpName(address)); l != nil {
		return l, nil
	}
	return new(net.ListenConfig).Listen(ctx, "tcp", address)
}

// takeOver waits until the other process lets go.
func (s successor) takeOver(spec supervisor.Spec) error {
	if s.Successor == nil {
		return nil
	}
	hosts := []string{}
	for _, g := range spec.Groups {
		for _, h := range g.Hosts {
			hosts = append(hosts, h.Name)
		}
	}
	return s.Ready(hosts, survive.Kept(spec.StateDir, spec.Groups))
}

// running makes l this process's own, and tells the other process that this one has taken over.
func (s successor) running(l socket, log hclog.Logger) {
	if s.Successor == nil {
		return
	}
	if own, ok := l.(*control.Listener); ok {
		if err := own.Own(); err != nil {
			log.Warn("those who connect see the process id of the supervisor before", "error", err)
		}
	}
	s.Running()
}
