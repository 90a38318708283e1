package hosted

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/extensions"
	"github.com/hostsup/hostsup/extensions/service"
	"github.com/hostsup/hostsup/extensions/vscode"
	"github.com/hostsup/hostsup/supervisor"
	"github.com/hostsup/hostsup/workbench/accounts"
)

// Part manages the extensions of the hosts of a supervisor. The zero value is ready.
type Part struct {
	// Accounts are providers of accounts of the program, for the extensions of all hosts of VS Code:
	// authentication.getSession gives them sessions. Each household has a service of its own that
	// asks them.
	Accounts []accounts.Provider
	// AllowAccount decides which extension may use which account; see [accounts.Options]. nil: the
	// extension that provides the account, and those that [vscode.Options] lists.
	AllowAccount func(accounts.Access) bool
}

var _ supervisor.Part = Part{}

// Identity implements [supervisor.Part].
func (Part) Identity() (kind, name string) { return "extensions", "" }

// Validate implements [supervisor.Part].
func (p Part) Validate() error { return accounts.Validate(p.Accounts) }

// Open implements [supervisor.Part].
func (p Part) Open(t supervisor.Tree) (*supervisor.Opened, error) {
	s := &services{part: p, tree: t}
	return &supervisor.Opened{Extensions: s, Added: s.added, Removed: s.removed, Close: s.close}, nil
}

// services has the services of one tree.
type services struct {
	part Part
	tree supervisor.Tree

	mu      sync.Mutex
	list    map[string]*service.Service // by host name
	editors map[string]*editor          // by household

	servers sync.Map // of *served, by host name: read where the lock is held
}

// Activate implements [supervisor.Extensions].
func (s *services) Activate(ctx context.Context, host, event string) error {
	list, err := s.of(host)
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

// closed translates the error of a stopped service to that of package supervisor.
func closed(err error) error {
	if errors.Is(err, service.ErrClosed) {
		return supervisor.ErrClosed
	}
	return err
}

// Extensions implements [supervisor.Extensions].
func (s *services) Extensions(host string) ([]extensions.Status, error) {
	list, err := s.of(host)
	if err != nil {
		return nil, err
	}
	out := []extensions.Status{}
	for _, svc := range list {
		part, err := svc.Status(context.Background())
		if err != nil {
			return nil, closed(err)
		}
		out = append(out, part...)
	}
	return out, nil
}

// SetExtension implements [supervisor.Extensions].
func (s *services) SetExtension(ctx context.Context, host, id string, verb extensions.Verb) error {
	list, err := s.of(host)
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
		return fmt.Errorf("%w: %q", extensions.ErrUnknown, id)
	}
	return errors.Join(errs...)
}

// RescanExtensions implements [supervisor.Extensions].
func (s *services) RescanExtensions(ctx context.Context, host string) ([]extensions.Difference, error) {
	list, err := s.of(host)
	if err != nil {
		return nil, err
	}
	out := []extensions.Difference{}
	var errs []error
	looked := false
	for _, svc := range list {
		part, err := svc.Rescan(ctx)
		if host == "" && errors.Is(err, extensions.ErrNoFolders) {
			continue
		}
		looked = true
		out = append(out, part...)
		if err != nil {
			errs = append(errs, closed(err))
		}
	}
	if !looked {
		return nil, extensions.ErrNoFolders
	}
	return out, errors.Join(errs...)
}

// of returns the service of a host, or all services by name.
func (s *services) of(host string) ([]*service.Service, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if host != "" {
		if svc := s.list[host]; svc != nil {
			return []*service.Service{svc}, nil
		}
		if _, err := s.tree.Supervisor.Host(host); err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("%w: %q", extensions.ErrNoExtensions, host)
	}
	var out []*service.Service
	for _, svc := range s.list {
		out = append(out, svc)
	}
	slices.SortFunc(out, func(a, b *service.Service) int { return strings.Compare(a.Base(), b.Base()) })
	return out, nil
}

// added gives a host of VS Code its workbench, and starts a service for a host that has
// extensions.
func (s *services) added(h *supervisor.Host) error {
	s.openEditor(h)
	if h.Spec().Extensions == nil {
		return nil
	}
	sup := s.tree.Supervisor
	svc := service.New(h.Ref(), *h.Spec().Extensions, service.Tree{
		Host: s.host, Add: s.beside(h), Remove: sup.Remove, Journal: s.tree.Journal, Log: s.tree.Log,
		Redact: s.tree.Redact, Profile: sup.ProfileLife, Allocations: sup.SampleAllocations, Profiles: s.profiles(),
		Notes: func(ctx context.Context, host string, life uint64) (service.Notes, error) {
			return sup.NoteCalls(ctx, host, life)
		},
		Changed: func() { s.offersChanged(h.Name()) },
	})
	s.openDoor(h, svc)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.list == nil {
		s.list = make(map[string]*service.Service)
	}
	s.list[h.Name()] = svc
	return nil
}

// host returns the handle of a host, or nil.
func (s *services) host(name string) *actors.Ref {
	h, err := s.tree.Supervisor.Host(name)
	if err != nil {
		return nil
	}
	return h.Ref()
}

// profiles returns the folder for profiles of crash reports, "" without one.
func (s *services) profiles() string {
	if s.tree.StateDir == "" {
		return ""
	}
	return filepath.Join(s.tree.StateDir, "profiles")
}

// beside returns a function that adds hosts for isolated extensions of the host base,
// with which they share stored data.
func (s *services) beside(base *supervisor.Host) func(context.Context, string) error {
	return func(ctx context.Context, name string) error {
		h := base.Spec()
		h.Name, h.Extensions, h.Attach, h.Start.Lazy = name, nil, false, true
		if p, ok := h.Protocol.(*vscode.Protocol); ok {
			h.Protocol = p.Beside(base.Name())
		}
		_, err := s.tree.Supervisor.Add(ctx, base.Group(), h)
		return err
	}
}

// removed closes the service of a host and removes the hosts that were added for it.
func (s *services) removed(ctx context.Context, h *supervisor.Host) error {
	defer s.closeEditor(h)
	s.mu.Lock()
	svc := s.list[h.Name()]
	delete(s.list, h.Name())
	s.mu.Unlock()
	s.removeDoor(h.Name(), fmt.Errorf("%w: %q was removed, or is not the one any more that was attached to", supervisor.ErrNoHost, h.Name()))
	if svc == nil {
		return nil
	}
	made, err := svc.Made(ctx)
	svc.Close()
	for _, name := range made {
		if gone := s.tree.Supervisor.Remove(ctx, name); gone != nil && !errors.Is(gone, supervisor.ErrNoHost) {
			err = errors.Join(err, gone)
		}
	}
	return err
}

// IsApart implements [supervisor.Extensions].
func (s *services) IsApart(host string) bool {
	base, _, ok := strings.Cut(host, "~")
	s.mu.Lock()
	defer s.mu.Unlock()
	return ok && s.list[base] != nil
}

// close closes all services after the end of the tree.
func (s *services) close() error {
	s.mu.Lock()
	list, editors := s.list, s.editors
	s.list, s.editors = nil, nil
	s.mu.Unlock()
	// The doors stay: without one, a program that attaches until the control socket is closed would be
	// told that the host has no protocol for it, rather than that the supervisor is stopping.
	s.servers.Range(func(_, own any) bool {
		own.(*served).close(supervisor.ErrClosed)
		return true
	})
	for _, svc := range list {
		svc.Close()
	}
	var errs []error
	for _, e := range editors {
		errs = append(errs, e.bench.Close())
	}
	return errors.Join(errs...)
}
