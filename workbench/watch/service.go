package watch

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"

	"github.com/hostsup/hostsup/workbench"
	"github.com/hostsup/hostsup/workbench/files"
)

// DefaultExcludes are the default of files.watcherExclude.
var DefaultExcludes = []string{"**/.git/objects/**", "**/.git/subtree-cache/**", "**/.hg/store/**"}

// most is how many files one message to a host names.
const most = 1000

// ServiceOptions are the options of a [Service]. The zero value is valid.
type ServiceOptions struct {
	// Folders are those of the workspace: absolute paths, which every host has watched. nil: none.
	Folders []string
	// Excludes returns the patterns of files.watcherExclude for those folders; nil: DefaultExcludes.
	Excludes func() []string
	// Schemes watches files of other schemes than file; nil: these are not watched.
	Schemes Schemes
	// Problem reports what is not watched and why, once each. It must not block. nil: nothing is
	// reported.
	Problem func(text string)
}

// Schemes watches files of other schemes. A [files.Service] is one.
type Schemes interface {
	// Watch begins what Unwatch ends. who and session name it: a host, and the number that it has
	// given. A request of that name before is replaced.
	Watch(who string, session float64, u workbench.URI, options json.RawMessage)
	Unwatch(who string, session float64)
}

// Service is the [workbench.Service] for the watchers of MainThreadFileSystemEventService. It must
// be made with [New].
type Service struct {
	opt   ServiceOptions
	files *Watcher

	mu       sync.Mutex
	hosts    workbench.Hosts
	excludes []string                    // of the folders
	others   map[string]map[float64]bool // sessions of other schemes, by host
}

var (
	_ workbench.Follower = (*Service)(nil)
	_ workbench.Closer   = (*Service)(nil)
)

// New returns the service.
func New(opt ServiceOptions) *Service {
	if opt.Excludes == nil {
		opt.Excludes = func() []string { return DefaultExcludes }
	}
	s := &Service{opt: opt, others: map[string]map[float64]bool{}}
	s.excludes = opt.Excludes()
	s.files = NewWatcher(Options{Send: s.send, Problem: opt.Problem})
	return s
}

// Methods implements [workbench.Service].
func (s *Service) Methods() map[string]workbench.Method {
	return map[string]workbench.Method{
		"MainThreadFileSystemEventService.$watch":   {Now: s.watch},
		"MainThreadFileSystemEventService.$unwatch": {Now: s.unwatch},
	}
}

// Up implements [workbench.Follower].
func (s *Service) Up(h *workbench.Host) {
	defer s.hosts.Enter(&s.mu, h)()
	s.workspace(h)
}

// workspace has the folders of the workspace watched for a host. The caller must hold mu.
func (s *Service) workspace(h *workbench.Host) {
	for _, folder := range s.opt.Folders {
		s.files.Watch(folderKey(h.Name(), folder), Request{For: h.Name(), Path: folder, Recursive: true, Excludes: s.excludes, Guard: h.Guard()})
	}
}

func folderKey(host, folder string) string { return host + " folder " + folder }

// SetFolders changes the folders of the workspace.
func (s *Service) SetFolders(folders []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name := range s.hosts {
		for _, folder := range s.opt.Folders {
			s.files.Unwatch(folderKey(name, folder))
		}
	}
	s.opt.Folders = slices.Clone(folders)
	for _, h := range s.hosts {
		s.workspace(h)
	}
}

// Refresh applies the excludes of the workspace, if they have changed.
func (s *Service) Refresh() {
	excludes := s.opt.Excludes()
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.Equal(excludes, s.excludes) {
		return
	}
	s.excludes = excludes
	for _, h := range s.hosts {
		s.workspace(h)
	}
}

// Down implements [workbench.Follower].
func (s *Service) Down(h *workbench.Host) {
	unlock := s.hosts.Leave(&s.mu, h)
	sessions := s.others[h.Name()]
	delete(s.others, h.Name())
	unlock()
	s.files.Forget(h.Name())
	for id := range sessions {
		s.opt.Schemes.Unwatch(h.Name(), id)
	}
}

// Close implements [workbench.Closer].
func (s *Service) Close() error { return s.files.Close() }

// Watcher returns what watches the files of this machine.
func (s *Service) Watcher() *Watcher { return s.files }

// pattern is a glob pattern, or one for the paths below a base.
type pattern struct{ text string }

// UnmarshalJSON implements [json.Unmarshaler].
func (p *pattern) UnmarshalJSON(raw []byte) error {
	if json.Unmarshal(raw, &p.text) == nil {
		return nil
	}
	var relative struct{ Base, Pattern string }
	if err := json.Unmarshal(raw, &relative); err != nil {
		return err
	}
	p.text = escape(relative.Base) + "/" + relative.Pattern
	return nil
}

func texts(list []pattern) (out []string) {
	for _, p := range list {
		out = append(out, p.text)
	}
	return out
}

// maxOthers bounds the watchers of a host for files of other schemes.
const maxOthers = 1000

func (s *Service) watch(c *workbench.Call) (any, error) {
	var extension string
	var session float64
	var u workbench.URI
	var o struct {
		Recursive          bool
		Excludes, Includes []pattern
	}
	if err := c.Args(&extension, &session, &u, &o); err != nil {
		return nil, err
	}
	path, ok := u.FilePath()
	if ok {
		s.files.Watch(key(c, session), Request{
			For: c.Host.Name(), Path: path, Recursive: o.Recursive, Excludes: texts(o.Excludes), Includes: texts(o.Includes), Guard: c.Guard,
		})
		return nil, nil
	}
	if s.opt.Schemes == nil {
		return nil, workbench.NotSupported("workspace.createFileSystemWatcher", "files of the scheme "+u.Scheme+" are not watched")
	}
	s.mu.Lock()
	mine := s.others[c.Host.Name()]
	if mine == nil {
		mine = map[float64]bool{}
		s.others[c.Host.Name()] = mine
	}
	full := !mine[session] && len(mine) >= maxOthers
	if !full {
		mine[session] = true
	}
	s.mu.Unlock()
	if full {
		return nil, workbench.NotSupported("workspace.createFileSystemWatcher", fmt.Sprintf("the host has %d watchers of file systems of extensions, which is the limit", maxOthers))
	}
	s.opt.Schemes.Watch(c.Host.Name(), session, u, c.Raw(3))
	return nil, nil
}

func (s *Service) unwatch(c *workbench.Call) (any, error) {
	var session float64
	if err := c.Args(&session); err != nil {
		return nil, err
	}
	s.mu.Lock()
	other := s.others[c.Host.Name()][session]
	delete(s.others[c.Host.Name()], session)
	s.mu.Unlock()
	if other {
		s.opt.Schemes.Unwatch(c.Host.Name(), session)
		return nil, nil
	}
	s.files.Unwatch(key(c, session))
	return nil, nil
}

func key(c *workbench.Call, session float64) string {
	return c.Host.Name() + " " + strconv.FormatFloat(session, 'g', -1, 64)
}

// event is FileSystemEvents of VS Code.
type event struct {
	Created []workbench.URI `json:"created"`
	Changed []workbench.URI `json:"changed"`
	Deleted []workbench.URI `json:"deleted"`
}

func (e *event) add(u workbench.URI, kind Kind) {
	into := map[Kind]*[]workbench.URI{Created: &e.Created, Changed: &e.Changed, Deleted: &e.Deleted}[kind]
	*into = append(*into, u)
}

// send tells a host what has changed.
func (s *Service) send(to string, changes []Change) {
	s.mu.Lock()
	h := s.hosts[to]
	s.mu.Unlock()
	if h == nil {
		return
	}
	for part := range slices.Chunk(changes, most) {
		e := empty()
		for _, c := range part {
			e.add(workbench.File(c.Path), c.Kind)
		}
		h.Tell(onEvent, workbench.Params(e))
	}
}

const onEvent = "ExtHostFileSystemEventService.$onFileEvent"

// empty returns an event whose lists are not null.
func empty() *event {
	return &event{[]workbench.URI{}, []workbench.URI{}, []workbench.URI{}}
}

// Publish tells all hosts what has changed in a file system that an extension has registered.
func (s *Service) Publish(changes []files.Change) {
	e := empty()
	kinds := map[files.ChangeType]Kind{files.Added: Created, files.Updated: Changed, files.Deleted: Deleted}
	for _, c := range changes {
		if kind, known := kinds[c.Type]; known {
			e.add(c.Resource, kind)
		}
	}
	s.mu.Lock()
	hosts := maps.Clone(s.hosts)
	s.mu.Unlock()
	hosts.Tell(onEvent, workbench.Params(e))
}
