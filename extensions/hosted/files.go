package hosted

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/hostsup/hostsup/extensions/service"
	"github.com/hostsup/hostsup/extensions/vscode"
	"github.com/hostsup/hostsup/supervisor"
	"github.com/hostsup/hostsup/workbench"
	"github.com/hostsup/hostsup/workbench/documents"
	"github.com/hostsup/hostsup/workbench/files"
	"github.com/hostsup/hostsup/workbench/settings"
	"github.com/hostsup/hostsup/workbench/watch"
)

// filesOf returns the services for the files of a host and the hosts beside it.
func (s *services) filesOf(h *supervisor.Host, p *vscode.Protocol, set *settings.Service) (*fileSystems, *watch.Service) {
	var watcher *watch.Service
	all, own := &fileSystems{}, editorFiles{set}
	all.Service = files.New(files.Options{
		Own:      map[string]files.FileSystem{editorScheme: own},
		Activate: func(ctx context.Context, event string) error { return s.activateFor(ctx, h, event) },
		Changed: func(changes []files.Change) {
			watcher.Publish(changes)
			all.changed(changes)
		},
	})
	opt := watch.ServiceOptions{
		Schemes: all.Service, Problem: func(text string) { s.tree.Log.Warn(text, "host", nameOf(h)) },
		Excludes: func() []string { return excludes(set.Get("files.watcherExclude", nil, "")) },
	}
	if w := p.Options().Workspace; w != nil {
		opt.Folders = w.Folders
	}
	watcher = watch.New(opt)
	set.OnChange(watcher.Refresh)
	set.OnSchema(func() { watcher.Publish(own.changed()) })
	return all, watcher
}

// fileSystems are the files of a host and the hosts beside it, with the documents that are made of
// them. Package workbench/files answers its methods.
type fileSystems struct {
	*files.Service
	documents atomic.Pointer[documents.Service]
	watches   atomic.Int64
}

var _ documents.FileSystems = (*fileSystems)(nil)

// changed tells the documents which files have changed.
func (f *fileSystems) changed(changes []files.Change) {
	docs := f.documents.Load()
	if docs == nil {
		return
	}
	uris := make([]workbench.URI, len(changes))
	for i, c := range changes {
		uris[i] = c.Resource
	}
	docs.Changed(uris)
}

// ReadFile implements [documents.FileSystems].
func (f *fileSystems) ReadFile(ctx context.Context, uri workbench.URI) ([]byte, error) {
	return f.For(nil).ReadFile(ctx, uri)
}

// WriteFile implements [documents.FileSystems].
func (f *fileSystems) WriteFile(ctx context.Context, uri workbench.URI, data []byte) error {
	return f.For(nil).WriteFile(ctx, uri, data)
}

// Watch implements [documents.FileSystems].
func (f *fileSystems) Watch(uri workbench.URI) (stop func()) {
	const who = "" // no host has this name
	session := float64(f.watches.Add(1))
	f.Service.Watch(who, session, uri, json.RawMessage(`{"recursive":false,"excludes":[]}`))
	return func() { f.Unwatch(who, session) }
}

// excludes returns the patterns of a value of files.watcherExclude and those of its default.
func excludes(value any) []string {
	all := map[string]bool{}
	for _, p := range watch.DefaultExcludes {
		all[p] = true
	}
	given, _ := value.(map[string]any)
	for p, on := range given {
		if set, ok := on.(bool); ok {
			all[p] = set
		}
	}
	maps.DeleteFunc(all, func(_ string, on bool) bool { return !on })
	return slices.Sorted(maps.Keys(all))
}

// activateFor requests an activation event for a service of a host. The extensions of a host
// without a service are known to itself alone.
func (s *services) activateFor(ctx context.Context, h *supervisor.Host, event string) error {
	svc := s.serviceOf(h)
	if svc == nil {
		return h.Call(ctx, "ExtHostExtensionService.$activateByEvent", []any{event, 0}, nil)
	}
	return closed(svc.Activate(ctx, event))
}

// serviceOf returns the service that has the extensions of a host; nil if the host alone knows them.
func (s *services) serviceOf(h *supervisor.Host) *service.Service {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.list[h.Name()]
}
