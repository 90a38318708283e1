package documents

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/hostsup/hostsup/workbench"
)

// Languages knows the languages of documents. It must be safe for concurrent use and must not block.
type Languages interface {
	// Of returns the language of a file by its path and first line.
	Of(path, firstLine string) string
	// Known reports whether there is a language with this id.
	Known(id string) bool
}

// Watcher watches files. Watch must not block; changed is called after each change of the file, until
// stop is called.
type Watcher interface {
	Watch(path string, changed func()) (stop func())
}

// Options are what documents need besides themselves. All of it may be absent.
type Options struct {
	// Languages knows the languages; without it, a document is "plaintext" until an extension says
	// otherwise.
	Languages Languages
	// Watcher reports changes on disk; without it, documents are not reloaded.
	Watcher Watcher
	// Files has the file systems that extensions provide; without it, documents have files of this machine
	// alone. The service calls [Service.Changed] for its files that have changed.
	Files FileSystems
	// Opened is called once for each language that a document has, so that extensions become active by
	// "onLanguage". It has a goroutine of its own, which must end with ctx.
	Opened func(ctx context.Context, language string)
	// SaveTimeout bounds how long the extensions of one host may take for onWillSaveTextDocument. 0
	// means 1.75 s, as in VS Code.
	SaveTimeout time.Duration
	// Setting returns the value of a setting for a resource: "files.participants.timeout", in
	// milliseconds. Without it, and for nil, it has the default of VS Code.
	Setting func(name string, resource workbench.URI) any
	// Clipboard returns the text of the clipboard, for snippets. It must not block.
	Clipboard func() string
	// Indentation returns how a document is indented by the settings, for its editors. It must not
	// block. Without it, with 4 spaces or as its text is.
	Indentation func(uri workbench.URI, language string) Indentation
	// Warn gets why a workspace edit was not made or a file not reloaded; without it, nothing does.
	Warn func(message string, args ...any)
}

// Service has the documents of a workbench. It must be made with [New].
type Service struct {
	opt     Options
	methods map[string]workbench.Method
	ctx     context.Context // ends with Close
	cancel  context.CancelFunc
	work    sync.WaitGroup // reloads

	mu        sync.Mutex
	views     map[string]*view // by the name of the host
	documents map[string]*document
	opening   map[string]*opening
	providers []provider
	languages map[string]bool // Opened was called
	groups    []*group
	active    *group
	lastID    int         // of groups, editors, groups of undo, uses
	past      []*pastEdit // the last one is the newest
	closed    bool

	stepping sync.Mutex // one undo or redo at a time

	subscribers map[*func(workbench.URI)]bool // of changes
}

// New returns the service of a workbench without documents.
func New(opt Options) *Service {
	if opt.SaveTimeout == 0 {
		opt.SaveTimeout = 1750 * time.Millisecond
	}
	if opt.Warn == nil {
		opt.Warn = func(string, ...any) {}
	}
	s := &Service{
		opt: opt, views: map[string]*view{}, documents: map[string]*document{}, opening: map[string]*opening{}, languages: map[string]bool{},
		methods: map[string]workbench.Method{},
	}
	if s.opt.Setting == nil {
		s.opt.Setting = func(string, workbench.URI) any { return nil }
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.active = &group{}
	s.groups = []*group{s.active}
	for _, some := range []map[string]workbench.Method{
		s.documentMethods(), s.editorMethods(), s.tabMethods(), s.contentMethods(), s.bulkMethods(), s.saveMethods(), encodingMethods(),
	} {
		maps.Copy(s.methods, some)
	}
	return s
}

// Methods implements [workbench.Service].
func (s *Service) Methods() map[string]workbench.Method { return s.methods }

// Up implements [workbench.Follower].
func (s *Service) Up(h *workbench.Host) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := &view{host: h, documents: map[string]*document{}, editors: map[string]*editor{}, may: map[*document]bool{}}
	s.views[h.Name()] = v
	v.sync(s)
}

// Down implements [workbench.Follower].
func (s *Service) Down(h *workbench.Host) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if v := s.views[h.Name()]; v != nil && v.host == h {
		delete(s.views, h.Name())
	}
	s.providers = slices.DeleteFunc(s.providers, func(p provider) bool { return p.host == h })
}

// Close implements [workbench.Closer]. Changes that were not saved are lost.
func (s *Service) Close() error {
	s.mu.Lock()
	s.closed = true
	for _, d := range s.documents {
		d.unwatch()
	}
	s.mu.Unlock()
	s.cancel()
	s.work.Wait()
	return nil
}

// nextID returns a number that was not used before. The caller must hold mu.
func (s *Service) nextID() int {
	s.lastID++
	return s.lastID
}

// tell sends a notification to the hosts that have a document. The caller must hold mu.
func (s *Service) tell(d *document, method string, args ...any) {
	params := workbench.Params(args...)
	for _, v := range s.views {
		if v.documents[d.key] == d {
			v.host.Tell(method, params)
		}
	}
}
