package supervisor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec/vscode"
	"github.com/hostsup/hostsup/extensions/service"
)

// Activate requests an activation event, like "onCommand:hello.greet", of a
// host ("" for every host with extensions that it concerns) and waits until
// those who want it are active or have failed. An event that concerns nobody
// starts nothing. Errors: *service.ActivationError with each extension that is
// not active, service.ErrNoExtensions, ErrNoHost, ErrClosed, ctx's.
func (s *Supervisor) Activate(ctx context.Context, host, event string) error {
	list, err := s.services(host)
	if err != nil {
		return err
	}
	errs := make([]error, len(list))
	done := make(chan struct{})
	for i, svc := range list {
		go func() {
			errs[i] = closed(svc.Activate(ctx, event))
			done <- struct{}{}
		}()
	}
	for range list {
		<-done
	}
	return errors.Join(errs...)
}

// closed says in the words of this package that the supervisor has stopped.
func closed(err error) error {
	if errors.Is(err, service.ErrClosed) {
		return ErrClosed
	}
	return err
}

// Extensions returns what there is to say of the extensions of a host ("" for
// all). Errors: service.ErrNoExtensions, ErrNoHost, ErrClosed.
func (s *Supervisor) Extensions(host string) ([]service.Status, error) {
	list, err := s.services(host)
	if err != nil {
		return nil, err
	}
	out := []service.Status{}
	for _, svc := range list {
		part, err := svc.Status(context.Background())
		if err != nil {
			return nil, closed(err)
		}
		out = append(out, part...)
	}
	return out, nil
}

// SetExtension does for an extension of a host ("" for all that have it) what
// verb says, and returns when that is done. Errors: service.ErrUnknownExtension,
// ErrVerb and ErrNoExtensions, ErrNoHost, ErrClosed, ctx's.
func (s *Supervisor) SetExtension(ctx context.Context, host, id string, verb service.Verb) error {
	list, err := s.services(host)
	if err != nil {
		return err
	}
	var errs []error
	found := false
	for _, svc := range list {
		has, err := svc.Has(ctx, id)
		if err == nil && has {
			found = true
			err = svc.Set(ctx, id, verb)
		}
		if err != nil {
			errs = append(errs, closed(err))
		}
	}
	if !found && len(errs) == 0 {
		return fmt.Errorf("%w: %q", service.ErrUnknownExtension, id)
	}
	return errors.Join(errs...)
}

// RescanExtensions looks into the folders of the extensions of a host ("" for all
// that have some) anew, has what is different count, and returns that when the
// hosts that it concerns have been told or restarted; see [service.Service.Rescan].
// Errors: service.ErrNoFolders and ErrNoExtensions, ErrNoHost, ErrClosed, ctx's.
func (s *Supervisor) RescanExtensions(ctx context.Context, host string) ([]service.Difference, error) {
	list, err := s.services(host)
	if err != nil {
		return nil, err
	}
	out := []service.Difference{}
	var errs []error
	looked := false
	for _, svc := range list {
		part, err := svc.Rescan(ctx)
		if host == "" && errors.Is(err, service.ErrNoFolders) {
			continue
		}
		looked = true
		out = append(out, part...)
		if err != nil {
			errs = append(errs, closed(err))
		}
	}
	if !looked {
		return nil, service.ErrNoFolders
	}
	return out, errors.Join(errs...)
}

// services are those of a host, or all of them by name.
func (s *Supervisor) services(host string) ([]*service.Service, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if host != "" {
		if svc := s.extended[host]; svc != nil {
			return []*service.Service{svc}, nil
		}
		if _, err := s.Host(host); err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("%w: %q", service.ErrNoExtensions, host)
	}
	var out []*service.Service
	for _, svc := range s.extended {
		out = append(out, svc)
	}
	slices.SortFunc(out, func(a, b *service.Service) int { return strings.Compare(a.Base(), b.Base()) })
	return out, nil
}

// extend begins to look after the extensions of a host, if it has some.
func (s *Supervisor) extend(h *Host) error {
	if h.Spec().Extensions == nil {
		return nil
	}
	svc, err := service.New(h, service.Tree{
		Host: s.world.Ref, Add: s.beside(h.Name()), Remove: s.Remove, Journal: s.world.Journal, Log: s.world.Log,
		Redact: s.world.Redactor.String, Profile: s.profile, Profiles: s.profiles(),
	})
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.extended == nil {
		s.extended = make(map[string]*service.Service)
	}
	s.extended[h.Name()] = svc
	return nil
}

// beside adds hosts for extensions of another one, with which they share what
// these keep.
func (s *Supervisor) beside(base string) func(context.Context, string, actors.HostSpec) error {
	return func(ctx context.Context, group string, h actors.HostSpec) error {
		if p, ok := h.Protocol.(*vscode.Protocol); ok {
			h.Protocol = p.Beside(base)
		}
		return s.Add(ctx, group, h)
	}
}

// sharing has a host of VS Code's keep what it keeps for a workspace in the same
// folder in each of its lives, as hosts beside it do at the same time. VS Code's
// own lock would lead the life after one that was killed to another folder:
// the lock names a process by its id, and in a pid namespace the next life has
// the same. Here no life begins before the one before is over.
func sharing(h HostSpec) HostSpec {
	if _, ok := h.Protocol.(*vscode.Protocol); ok && !slices.Contains(h.Command, vscode.ArgShared) {
		h.Command = append(slices.Clone(h.Command), vscode.ArgShared)
	}
	return h
}

// unextend ends that, and takes away the hosts that were made for it.
func (s *Supervisor) unextend(ctx context.Context, host string) error {
	s.mu.Lock()
	svc := s.extended[host]
	delete(s.extended, host)
	s.mu.Unlock()
	if svc == nil {
		return nil
	}
	made, err := svc.Made(ctx)
	svc.Close()
	for _, name := range made {
		if gone := s.Remove(ctx, name); gone != nil && !errors.Is(gone, ErrNoHost) {
			err = errors.Join(err, gone)
		}
	}
	return err
}

// apart says whether a host is one for extensions that were put apart.
func (s *Supervisor) apart(host string) bool {
	base, _, ok := strings.Cut(host, "~")
	s.mu.Lock()
	defer s.mu.Unlock()
	return ok && s.extended[base] != nil
}

// endExtensions ends all services. The tree has ended.
func (s *Supervisor) endExtensions() {
	s.mu.Lock()
	list := s.extended
	s.extended = nil
	s.mu.Unlock()
	for _, svc := range list {
		svc.Close()
	}
}
