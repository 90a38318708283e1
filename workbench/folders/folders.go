package folders

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/hostsup/hostsup/extensions/vscode"
	"github.com/hostsup/hostsup/workbench"
)

// maxFolders bounds the folders of a workspace.
const maxFolders = 1000

// Options of a [Service].
type Options struct {
	// Workspace is the workspace at the beginning; nil means that there is no workspace.
	Workspace *vscode.Workspace
	// Changing is called with the folders before hosts are told of a change, and Changed after that,
	// before the extension gets its result.
	Changing, Changed func(dirs []string)
	// Report reports changes and refusals. It must not block.
	Report func(reason string)
}

// Service has the workspace of a household. It must be made with [New].
type Service struct {
	opt    Options
	change sync.Mutex // is held during a change; before mu

	mu    sync.Mutex
	now   *vscode.Present // is replaced, not changed
	first *vscode.Present // the one of the configuration
	hosts workbench.Hosts
}

var _ workbench.Follower = (*Service)(nil)

// New returns a service.
func New(opt Options) *Service {
	s := &Service{opt: opt}
	if w := opt.Workspace; w != nil {
		s.now = &vscode.Present{Workspace: *w, ID: w.ID()}
		s.first = s.now
	}
	return s
}

// Workspace returns the present workspace, nil for none. It must not be changed.
func (s *Service) Workspace() *vscode.Present {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

// Folders returns the paths of the present folders.
func (s *Service) Folders() []string {
	if w := s.Workspace(); w != nil {
		return slices.Clone(w.Folders)
	}
	return nil
}

// First returns the path of the first folder, "" for none.
func (s *Service) First() string {
	if w := s.Workspace(); w != nil && len(w.Folders) > 0 {
		return w.Folders[0]
	}
	return ""
}

// Up implements [workbench.Follower].
func (s *Service) Up(h *workbench.Host) {
	defer s.hosts.Enter(&s.mu, h)()
	if s.now == s.first {
		return // the life has it since its handshake
	}
	// It may have changed since the handshake. A host that has it already sees no difference.
	h.Tell(methodData, workbench.Params(s.now.Data()))
}

// Down implements [workbench.Follower].
func (s *Service) Down(h *workbench.Host) {
	defer s.hosts.Leave(&s.mu, h)()
}

const methodData = "ExtHostWorkspace.$acceptWorkspaceData"

// Methods implements [workbench.Service].
func (s *Service) Methods() map[string]workbench.Method {
	trust := func(api string) workbench.Method {
		return workbench.Method{Now: func(*workbench.Call) (any, error) { return s.trusted(api), nil }}
	}
	return map[string]workbench.Method{
		"MainThreadWorkspace.$updateWorkspaceFolders": {Do: s.update},
		"MainThreadWorkspace.$requestWorkspaceTrust":  trust("workspace.requestWorkspaceTrust"),
		"MainThreadWorkspace.$requestResourceTrust":   trust("workspace.requestResourceTrust"),
		"MainThreadWorkspace.$isResourceTrusted":      trust(""),
	}
}

// trusted reports whether the workspace is trusted, as the configuration says. A request for trust
// that is refused is reported.
func (s *Service) trusted(api string) bool {
	s.mu.Lock()
	trusted := s.now == nil || !s.now.Untrusted
	s.mu.Unlock()
	if !trusted && api != "" {
		s.report("%s is refused: the configuration does not trust the workspace", api)
	}
	return trusted
}

func (s *Service) report(format string, args ...any) {
	if s.opt.Report != nil {
		s.opt.Report(fmt.Sprintf(format, args...))
	}
}

// update implements $updateWorkspaceFolders(extension, index, count, folders).
func (s *Service) update(_ context.Context, c *workbench.Call) (any, error) {
	var extension string
	var index, count int
	var add []struct {
		URI  workbench.URI
		Name string
	}
	if err := c.Args(&extension, &index, &count, &add); err != nil {
		return nil, err
	}
	s.change.Lock()
	defer s.change.Unlock()
	before := s.Workspace()
	next := &vscode.Present{Titles: map[string]string{}}
	if before != nil {
		*next = *before
		next.Titles = maps.Clone(next.Titles)
		if next.Titles == nil {
			next.Titles = map[string]string{}
		}
	}
	if index < 0 || count < 0 || count > len(next.Folders) || index > len(next.Folders)-count {
		return nil, workbench.Invalid("workspace.updateWorkspaceFolders: %d folders at %d; there are %d", count, index, len(next.Folders))
	}
	var dirs []string
	for _, f := range add {
		dir, ok := f.URI.FilePath()
		if !ok {
			return nil, workbench.NotSupported("workspace.updateWorkspaceFolders", fmt.Sprintf("%.200s is no folder of this machine", f.URI))
		}
		if err := workbench.Allowed(c.Guard, dir, workbench.Read); err != nil {
			return nil, workbench.Refused("workspace.updateWorkspaceFolders", err)
		}
		dirs = append(dirs, dir)
		next.Titles[dir] = f.Name
	}
	next.Folders = slices.Concat(next.Folders[:index], dirs, next.Folders[index+count:])
	if len(next.Folders) > maxFolders {
		return nil, workbench.Invalid("workspace.updateWorkspaceFolders: %d folders, limit %d", len(next.Folders), maxFolders)
	}
	for i, dir := range next.Folders {
		if slices.Contains(next.Folders[:i], dir) {
			return nil, workbench.Invalid("workspace.updateWorkspaceFolders: %s is twice in the workspace", filepath.Clean(dir))
		}
	}
	maps.DeleteFunc(next.Titles, func(dir, _ string) bool { return !slices.Contains(next.Folders, dir) })
	s.set(next)
	s.report("workspace folders by %.100s: %s", extension, strings.Join(next.Folders, ", "))
	return nil, nil
}

// set makes a workspace the present one and tells everybody. The caller must hold change.
func (s *Service) set(next *vscode.Present) {
	if s.opt.Changing != nil {
		s.opt.Changing(slices.Clone(next.Folders))
	}
	s.mu.Lock()
	s.now = next
	s.hosts.Tell(methodData, workbench.Params(next.Data()))
	s.mu.Unlock()
	if s.opt.Changed != nil {
		s.opt.Changed(slices.Clone(next.Folders))
	}
}
