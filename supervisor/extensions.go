package supervisor

import (
	"context"
	"fmt"

	"github.com/hostsup/hostsup/extensions/service"
)

// Extensions looks after the extensions of hosts. Its methods are those of
// [Supervisor].
type Extensions interface {
	Activate(ctx context.Context, host, event string) error
	Extensions(host string) ([]service.Status, error)
	SetExtension(ctx context.Context, host, id string, verb service.Verb) error
	RescanExtensions(ctx context.Context, host string) ([]service.Difference, error)
	// IsApart reports whether a host was added for extensions that were put apart.
	IsApart(host string) bool
}

// extensions returns what looks after extensions in the tree.
func (s *Supervisor) extensions(host string) (Extensions, error) {
	for _, p := range s.parts {
		if p.Opened.Extensions != nil {
			return p.Opened.Extensions, nil
		}
	}
	if host == "" {
		return nil, fmt.Errorf("extensions: %w", ErrNoPart)
	}
	if _, err := s.Host(host); err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("%w: %q", service.ErrNoExtensions, host)
}

// Activate requests an activation event, like "onCommand:hello.greet", of a
// host ("" for every host with extensions that it concerns) and waits until
// those who want it are active or have failed. An event that concerns nobody
// starts nothing. Errors: *service.ActivationError with each extension that is
// not active, service.ErrNoExtensions, ErrNoHost, ErrClosed, ctx's.
func (s *Supervisor) Activate(ctx context.Context, host, event string) error {
	e, err := s.extensions(host)
	if err != nil {
		return err
	}
	return e.Activate(ctx, host, event)
}

// Extensions returns what there is to say of the extensions of a host ("" for
// all). Errors: service.ErrNoExtensions, ErrNoHost, ErrClosed.
func (s *Supervisor) Extensions(host string) ([]service.Status, error) {
	e, err := s.extensions(host)
	if err != nil {
		return nil, err
	}
	return e.Extensions(host)
}

// SetExtension does for an extension of a host ("" for all that have it) what
// verb says, and returns when that is done. Errors: service.ErrUnknownExtension,
// ErrVerb and ErrNoExtensions, ErrNoHost, ErrClosed, ctx's.
func (s *Supervisor) SetExtension(ctx context.Context, host, id string, verb service.Verb) error {
	e, err := s.extensions(host)
	if err != nil {
		return err
	}
	return e.SetExtension(ctx, host, id, verb)
}

// RescanExtensions looks into the folders of the extensions of a host ("" for all
// that have some) anew, has what is different count, and returns that when the
// hosts that it concerns have been told or restarted; see [service.Service.Rescan].
// Errors: service.ErrNoFolders and ErrNoExtensions, ErrNoHost, ErrClosed, ctx's.
func (s *Supervisor) RescanExtensions(ctx context.Context, host string) ([]service.Difference, error) {
	e, err := s.extensions(host)
	if err != nil {
		return nil, err
	}
	return e.RescanExtensions(ctx, host)
}

// sharer is a protocol whose hosts take an argument by which they share what they
// keep with hosts beside them.
type sharer interface {
	Shared(command []string) []string
}

// sharing has a host of such a protocol keep what it keeps for a workspace in the
// same folder in each of its lives, as hosts beside it do at the same time. VS Code's
// own lock would lead the life after one that was killed to another folder:
// the lock names a process by its id, and in a pid namespace the next life has
// the same. Here no life begins before the one before is over.
func sharing(h HostSpec) HostSpec {
	if p, ok := h.Protocol.(sharer); ok {
		h.Command = p.Shared(h.Command)
	}
	return h
}
