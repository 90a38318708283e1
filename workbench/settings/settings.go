package settings

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/hostsup/hostsup/codec"
	wire "github.com/hostsup/hostsup/codec/vscode"
	"github.com/hostsup/hostsup/workbench"
	"github.com/hostsup/hostsup/workbench/settings/model"
)

// Options of a [Service].
type Options struct {
	// UserFile is the file of the user's settings. It must exist when a host starts. Default:
	// settings.json in Home, which is made at the first change.
	UserFile string
	// Home is the folder for files of the service, which hosts must not be able to write. It is
	// made when it is needed.
	Home string
	// Defaults override the defaults that extensions contribute.
	Defaults map[string]any
	// Fixed override the user's settings of UserFile, and cannot be changed.
	Fixed map[string]any
	// Folders are the workspace folders, as absolute paths; see [Service.SetFolders].
	Folders []string
	// Untrusted disables the settings of a workspace that extensions restrict to trusted ones.
	Untrusted bool
	// Report reports a settings file that cannot be read, with its line. It must not block.
	Report func(reason string)
	// Guard returns what restricts the files of a host, nil if it is not confined. The settings of a
	// workspace folder are read only if all hosts of the household may read the file. nil: no host is
	// confined.
	Guard func(host string) workbench.Guard
	// Watch watches files; nil: they are read at the start of each host only. See [Watch].
	Watch func(files []string, changed func()) (stop func())
}

// Service has the settings of a household. It must be made with [New] and closed.
type Service struct {
	opt     Options
	disk    sync.Mutex // is held while files are read or written; before mu
	fixed   map[string]any
	watches sync.Mutex // is held while the watch is replaced; before mu
	wrong   error      // Options that cannot be used

	mu        sync.Mutex
	user      *file
	workspace *file   // of several folders; nil: that of the only folder
	folders   []*file // in the order of the folders
	known     map[string]model.Contributed
	lives     map[string]*life       // by host
	cache     map[string]*model.Data // by host
	listeners []func()
	onSchema  []func() // see OnSchema
	watching  bool     // since the first start of a host
	stop      func()   // ends the watch
	closed    bool
}

// life is what a life of a host has got.
type life struct {
	number uint64
	sent   *model.Data
	tell   func(codec.Raw) error // nil: it is not up yet
}

var _ workbench.Follower = (*Service)(nil)

// New reads the files. Mistakes in them are reported. If Defaults or Fixed cannot be encoded as
// JSON, every start of a host fails.
func New(opt Options) *Service {
	s := &Service{opt: opt, known: map[string]model.Contributed{}, lives: map[string]*life{}, cache: map[string]*model.Data{}}
	var err, fixed error
	s.opt.Defaults, err = model.Plain(opt.Defaults)
	s.fixed, fixed = model.Plain(opt.Fixed)
	s.wrong = errors.Join(err, fixed)
	s.user = &file{path: opt.UserFile, required: opt.UserFile != ""}
	if opt.UserFile == "" {
		s.user.path = filepath.Join(opt.Home, "settings.json")
	}
	s.SetFolders(opt.Folders)
	return s
}

// SetFolders changes the workspace folders and tells hosts the settings.
func (s *Service) SetFolders(dirs []string) {
	s.mu.Lock()
	before := s.folders
	s.folders, s.workspace = nil, nil
	for _, dir := range dirs {
		path := filepath.Join(dir, ".vscode", "settings.json")
		f := &file{path: path, folder: dir}
		for _, old := range before {
			if old.path == path {
				f = old
			}
		}
		s.folders = append(s.folders, f)
	}
	if len(dirs) > 1 {
		s.workspace = &file{path: filepath.Join(s.opt.Home, "workspace.json")}
	}
	watching := s.watching
	s.mu.Unlock()
	if watching {
		s.watch()
	}
	s.Reload()
}

// watch watches the present files instead of the last ones.
func (s *Service) watch() {
	if s.opt.Watch == nil {
		return
	}
	s.watches.Lock() // so that of two calls the later one wins
	defer s.watches.Unlock()
	s.mu.Lock()
	stop := s.stop
	s.stop = nil
	var paths []string
	for _, f := range s.files() {
		paths = append(paths, f.path)
	}
	s.mu.Unlock()
	if stop != nil {
		stop()
	}
	stop = s.opt.Watch(paths, s.Reload)
	s.mu.Lock()
	late := s.closed
	if !late {
		s.stop = stop
	}
	s.mu.Unlock()
	if late {
		stop()
	}
}

// Close ends the watch.
func (s *Service) Close() error {
	s.mu.Lock()
	stop := s.stop
	s.stop, s.closed = nil, true
	s.mu.Unlock()
	if stop != nil {
		stop()
	}
	return nil
}

// files returns all files. The caller must hold mu.
func (s *Service) files() []*file {
	out := append([]*file{s.user}, s.folders...)
	if s.workspace != nil {
		out = append(out, s.workspace)
	}
	return out
}

// guards returns those of the confined hosts that are up or start. The caller must hold mu.
func (s *Service) guards() (out []workbench.Guard) {
	if s.opt.Guard == nil {
		return nil
	}
	for host := range s.lives {
		if g := s.opt.Guard(host); g != nil {
			out = append(out, g)
		}
	}
	return out
}

// Reload reads the files again and tells hosts what has changed.
func (s *Service) Reload() {
	s.disk.Lock()
	defer s.disk.Unlock()
	s.mu.Lock()
	files, guards := s.files(), s.guards()
	s.mu.Unlock()
	type result struct {
		settings map[string]any
		err      error
	}
	results := make([]result, len(files))
	for i, f := range files {
		results[i].settings, results[i].err = f.parsed(guards)
	}
	s.mu.Lock()
	var reports []string
	for i, f := range files {
		switch err := results[i].err; {
		case err == nil:
			if f.broken != "" {
				reports = append(reports, fmt.Sprintf("settings: %s can be read again", f.path))
			}
			f.settings, f.broken = results[i].settings, ""
		case errors.Is(err, errDenied): // it may have been read before, when no such host was up
			if f.settings = map[string]any{}; err.Error() != f.broken {
				f.broken = err.Error()
				reports = append(reports, "settings: "+f.broken+"; it counts as empty")
			}
		case err.Error() != f.broken:
			f.broken = err.Error()
			reports = append(reports, "settings: "+f.broken+"; the last good settings stay")
		}
	}
	listeners := s.broadcast()
	s.mu.Unlock()
	for _, text := range reports {
		if s.opt.Report != nil {
			s.opt.Report(text)
		}
	}
	all(listeners)
}

// all calls listeners, without a lock.
func all(listeners []func()) {
	for _, f := range listeners {
		f()
	}
}

// OnChange calls f after settings have changed, on any goroutine. It must not block.
func (s *Service) OnChange(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listeners = append(s.listeners, f)
}

// Get returns the value of a setting for a file and a language, or an object with all settings of
// a section: as package json decodes it, nil without one. resource may be nil, and language "".
// Those of the settings of extensions are known once a host has started.
func (s *Service) Get(name string, resource *workbench.URI, language string) any {
	s.mu.Lock()
	defer s.mu.Unlock()
	host := ""
	if hosts := slices.Sorted(maps.Keys(s.known)); len(hosts) > 0 {
		host = hosts[0]
	}
	folder := ""
	if f := s.folderOf(resource); f != nil {
		folder = filepath.ToSlash(f.folder)
	}
	return s.data(host).Value(name, folder, language)
}

// folderOf returns the file of the workspace folder that has a resource, the innermost of several;
// nil without one. The caller must hold mu.
func (s *Service) folderOf(resource *workbench.URI) (found *file) {
	if resource == nil {
		return nil
	}
	path, ok := resource.FilePath()
	if !ok {
		return nil
	}
	for _, f := range s.folders {
		rel, err := filepath.Rel(f.folder, path)
		if err == nil && filepath.IsLocal(rel) && (found == nil || len(f.folder) > len(found.folder)) {
			found = f
		}
	}
	return found
}

// data returns the settings for a host. The caller must hold mu.
func (s *Service) data(host string) *model.Data {
	if d := s.cache[host]; d != nil {
		return d
	}
	known := s.known[host]
	d := model.NewData()
	defaults := model.OwnDefaults()
	maps.Copy(defaults, known.Defaults)
	maps.Copy(defaults, s.opt.Defaults)
	d.Defaults = model.New(defaults)
	user := maps.Clone(s.user.settings)
	if user == nil {
		user = map[string]any{}
	}
	maps.Copy(user, s.fixed)
	d.UserLocal = model.New(user)
	inFolder := model.Scope.InWorkspace
	if s.workspace != nil {
		inFolder = model.Scope.InFolder
		d.Workspace = model.New(s.allowed(known, s.workspace.settings, model.Scope.InWorkspace))
	}
	for i, f := range s.folders {
		m := model.New(s.allowed(known, f.settings, inFolder))
		if s.workspace == nil && i == 0 {
			d.Workspace = m
		}
		d.Folders = append(d.Folders, model.Pair{Path: filepath.ToSlash(f.folder), Model: m})
	}
	s.cache[host] = d
	return d
}

// allowed returns the settings that a workspace or a folder may have.
func (s *Service) allowed(known model.Contributed, settings map[string]any, in func(model.Scope) bool) map[string]any {
	out := map[string]any{}
	for key, value := range settings {
		if inner, ok := value.(map[string]any); ok && strings.HasPrefix(key, "[") {
			out[key] = s.allowed(known, inner, in)
			continue
		}
		scope, registered := scopeOf(known, key)
		if registered && !in(scope) || s.opt.Untrusted && known.Restricted[key] {
			continue
		}
		out[key] = value
	}
	return out
}

// scopeOf returns the scope of a setting; false if it is not registered.
func scopeOf(known model.Contributed, name string) (model.Scope, bool) {
	if scope, ok := known.Scopes[name]; ok {
		return scope, true
	}
	if scope, ok := model.Own(name); ok {
		return scope, true
	}
	_, ok := known.Defaults[name]
	return model.Window, ok
}

// broadcast tells all lives what has changed for them, and returns the listeners if anything has.
// The caller must hold mu.
func (s *Service) broadcast() []func() {
	clear(s.cache)
	for host, l := range s.lives {
		if l.tell != nil {
			// The end of the life is reported by its connection.
			_ = s.send(host, l, l.tell)
		}
	}
	return s.listeners
}

// send tells a life what has changed. The caller must hold mu.
func (s *Service) send(host string, l *life, tell func(codec.Raw) error) error {
	now := s.data(host)
	if l.sent == now {
		return nil
	}
	c := l.sent.Changes(now)
	folders := func(d *model.Data) (out []string) {
		for _, p := range d.Folders {
			out = append(out, p.Path)
		}
		return out
	}
	changed := len(c.Keys) > 0 || !slices.Equal(folders(l.sent), folders(now))
	l.sent = now
	if !changed {
		return nil
	}
	return tell(workbench.Params(now, c))
}

// Opening implements Opening of extensions/vscode.Editor.
func (s *Service) Opening(host string, number uint64, descriptions []json.RawMessage) (codec.Raw, error) {
	s.mu.Lock()
	first := !s.watching
	s.watching = true
	l := &life{number: number} // its guard counts from now on
	s.lives[host] = l
	s.mu.Unlock()
	if first {
		s.watch()
	}
	s.Reload()
	var changed []func()
	defer func() { all(changed) }()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.wrong != nil {
		delete(s.lives, host)
		return nil, fmt.Errorf("settings: %w", s.wrong)
	}
	if s.user.required && s.user.settings == nil {
		delete(s.lives, host)
		return nil, errors.New(s.user.broken)
	}
	changed = s.describe(host, descriptions)
	l.sent = s.data(host)
	return json.Marshal([]any{l.sent})
}

// Described implements Described of extensions/vscode.Editor.
func (s *Service) Described(host string, number uint64, descriptions []json.RawMessage, tell func(codec.Raw) error) error {
	var changed []func()
	defer func() { all(changed) }()
	s.mu.Lock()
	defer s.mu.Unlock()
	changed = s.describe(host, descriptions)
	l := s.lives[host]
	if l == nil || l.number != number {
		return nil // its end comes
	}
	return s.send(host, l, tell)
}

// Up implements [workbench.Follower].
func (s *Service) Up(h *workbench.Host) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.lives[h.Name()]
	if l == nil || l.number != h.Life() { // its handshake had its settings from elsewhere
		l = &life{number: h.Life(), sent: model.NewData()}
		s.lives[h.Name()] = l
	}
	l.tell = func(params codec.Raw) error {
		h.Tell(wire.MethodReconfigured, params)
		return nil
	}
	_ = s.send(h.Name(), l, l.tell)
}

// Down implements [workbench.Follower].
func (s *Service) Down(h *workbench.Host) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.lives[h.Name()]; l != nil && l.number == h.Life() {
		delete(s.lives, h.Name())
	}
}
