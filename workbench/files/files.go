package files

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/hostsup/hostsup/workbench"
	"github.com/hostsup/hostsup/workbench/disk"
)

// DefaultMaxRead is the default of [Options.MaxRead], in bytes.
const DefaultMaxRead = 32 << 20

// Options of the service. The zero value is valid.
type Options struct {
	// Activate requests an activation event of the hosts and waits until the extensions that
	// declare it are active. nil: extensions are not activated for a scheme.
	Activate func(ctx context.Context, event string) error
	// Changed is called with what a provider tells about its files. It must not block.
	Changed func(changes []Change)
	// MaxRead is the size of the largest file that is read for a host, in bytes; default
	// [DefaultMaxRead]. It must be less than the largest message of the hosts.
	MaxRead int64
	// Own are read-only file systems of the editor itself, by scheme.
	Own map[string]FileSystem
}

// FileSystem is a file system of the editor that extensions may read. It must be safe for concurrent
// use.
type FileSystem interface {
	// ReadFile returns the content of a file. The errors are those of package workbench/disk; that of a
	// missing file has the name [disk.NameNotFound].
	ReadFile(uri workbench.URI) ([]byte, error)
}

// Change is a change of a file. Its JSON is that of VS Code.
type Change struct {
	Resource workbench.URI `json:"resource"`
	Type     ChangeType    `json:"type"`
}

// ChangeType says what has happened to a file.
type ChangeType int

// The types of changes.
const (
	Updated ChangeType = iota
	Added
	Deleted
)

// Capabilities of a file system, as VS Code has them.
const (
	canReadWrite    = 1 << 1
	canCopy         = 1 << 3
	isCaseSensitive = 1 << 10
	isReadOnly      = 1 << 11
	hasTrash        = 1 << 12
)

// Service is the [workbench.Service] for MainThreadFileSystem. It must be made with [New].
type Service struct {
	opt Options

	mu        sync.Mutex
	hosts     workbench.Hosts
	schemes   map[string]*provider
	watches   map[watchKey]*watch
	lastWatch int // the id of the last one
}

var _ workbench.Follower = (*Service)(nil)

// New returns the service.
func New(opt Options) *Service {
	if opt.MaxRead <= 0 {
		opt.MaxRead = DefaultMaxRead
	}
	s := &Service{opt: opt, schemes: map[string]*provider{}, watches: map[watchKey]*watch{}}
	for scheme, own := range opt.Own {
		s.schemes[scheme] = &provider{own: own, capabilities: canReadWrite | isReadOnly}
	}
	return s
}

// Up implements [workbench.Follower].
func (s *Service) Up(h *workbench.Host) {
	defer s.hosts.Enter(&s.mu, h)()
	h.Tell(acceptInfos, infos("file", local()))
	h.Tell(acceptInfos, infos(workbench.LogScheme, local()))
	for scheme, p := range s.schemes {
		h.Tell(acceptInfos, infos(scheme, p.capabilities))
	}
}

// Down implements [workbench.Follower].
func (s *Service) Down(h *workbench.Host) {
	defer s.hosts.Leave(&s.mu, h)()
	for scheme, p := range s.schemes {
		if p.host == h {
			s.drop(scheme)
		}
	}
}

// acceptInfos tells a host the capabilities of a scheme.
const acceptInfos = "ExtHostFileSystemInfo.$acceptProviderInfos"

func infos(scheme string, capabilities any) []byte {
	return workbench.Params(workbench.URI{Scheme: scheme, Path: "/dummy"}, capabilities)
}

// local returns the capabilities of the files of this machine.
func local() int {
	c := canReadWrite | canCopy
	if caseSensitive {
		c |= isCaseSensitive
	}
	if disk.HasTrash {
		c |= hasTrash
	}
	return c
}

// For returns the files of all schemes for one host; guard is that of the host.
func (s *Service) For(guard workbench.Guard) Files { return Files{s, guard} }

// Methods implements [workbench.Service].
func (s *Service) Methods() map[string]workbench.Method {
	const of = "MainThreadFileSystem."
	return map[string]workbench.Method{
		of + "$stat": s.on(func(ctx context.Context, f Files, u workbench.URI, _ *workbench.Call) (any, error) {
			return f.Stat(ctx, u)
		}),
		of + "$readdir": s.on(func(ctx context.Context, f Files, u workbench.URI, _ *workbench.Call) (any, error) {
			return entries(f.ReadDir(ctx, u))
		}),
		of + "$readFile": s.on(func(ctx context.Context, f Files, u workbench.URI, _ *workbench.Call) (any, error) {
			data, err := f.ReadFile(ctx, u)
			return workbench.Bytes(data), err
		}),
		of + "$writeFile": s.on(func(ctx context.Context, f Files, u workbench.URI, c *workbench.Call) (any, error) {
			var data workbench.Bytes
			if err := c.Args(nil, &data); err != nil {
				return nil, err
			}
			return nil, f.WriteFile(ctx, u, data)
		}),
		of + "$mkdir": s.on(func(ctx context.Context, f Files, u workbench.URI, _ *workbench.Call) (any, error) {
			return nil, f.Mkdir(ctx, u)
		}),
		of + "$delete": s.on(func(ctx context.Context, f Files, u workbench.URI, c *workbench.Call) (any, error) {
			var o struct{ Recursive, UseTrash bool }
			if err := c.Args(nil, &o); err != nil {
				return nil, err
			}
			return nil, f.Delete(ctx, u, o.Recursive, o.UseTrash)
		}),
		of + "$rename":                     s.transfer(Files.Rename),
		of + "$copy":                       s.transfer(Files.Copy),
		of + "$ensureActivation":           {Do: s.ensure},
		of + "$registerFileSystemProvider": {Now: s.register},
		of + "$unregisterProvider":         {Now: s.unregister},
		of + "$onFileSystemChange":         {Now: s.changed},
	}
}

// on returns a method whose first argument is a URI.
func (s *Service) on(do func(context.Context, Files, workbench.URI, *workbench.Call) (any, error)) workbench.Method {
	return workbench.Method{Do: func(ctx context.Context, c *workbench.Call) (any, error) {
		var u workbench.URI
		if err := c.Args(&u); err != nil {
			return nil, err
		}
		return do(ctx, s.For(c.Guard), u, c)
	}}
}

// transfer returns a method that moves or copies.
func (s *Service) transfer(do func(f Files, ctx context.Context, from, to workbench.URI, overwrite bool) error) workbench.Method {
	return s.on(func(ctx context.Context, f Files, from workbench.URI, c *workbench.Call) (any, error) {
		var to workbench.URI
		var o struct{ Overwrite bool }
		if err := c.Args(nil, &to, &o); err != nil {
			return nil, err
		}
		return nil, do(f, ctx, from, to, o.Overwrite)
	})
}

// entries returns entries as VS Code writes them.
func entries(list []disk.Entry, err error) ([][2]any, error) {
	out := make([][2]any, 0, len(list))
	for _, e := range list {
		out = append(out, [2]any{e.Name, e.Type})
	}
	return out, err
}

// parseEntries parses the entries of a provider.
func parseEntries(raw json.RawMessage) (out []disk.Entry, err error) {
	var list [][2]json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, err
	}
	for _, e := range list {
		var one disk.Entry
		if err := json.Unmarshal(e[0], &one.Name); err != nil {
			return nil, err
		}
		if err := json.Unmarshal(e[1], &one.Type); err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, nil
}
