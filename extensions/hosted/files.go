package hosted

import (
	"context"

	"github.com/hostsup/hostsup/supervisor"
	"github.com/hostsup/hostsup/workbench/files"
)

// filesOf returns the service for the files of a host and the hosts beside it.
func (s *services) filesOf(h *supervisor.Host) *files.Service {
	return files.New(files.Options{Activate: func(ctx context.Context, event string) error { return s.activateFor(ctx, h, event) }})
}

// activateFor requests an activation event for a service of a host. The extensions of a host
// without a service are known to itself alone.
func (s *services) activateFor(ctx context.Context, h *supervisor.Host, event string) error {
	s.mu.Lock()
	svc := s.list[h.Name()]
	s.mu.Unlock()
	if svc == nil {
		return h.Call(ctx, "ExtHostExtensionService.$activateByEvent", []any{event, 0}, nil)
	}
	return closed(svc.Activate(ctx, event))
}
