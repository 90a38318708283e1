package views

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/workbench"
)

// The bounds of what a host may show, and of what is read at one time.
const (
	maxViews  = 1000
	maxText   = 1000   // bytes of a text; longer ones are cut
	maxHandle = 4096   // bytes of a handle; items with longer ones are left out
	maxItems  = 10_000 // that one Read returns
	maxKnown  = 50_000 // items of a view whose handles are known
	maxDepth  = 100
)

// onView is the activation event of a view, with its id behind it.
const onView = "onView:"

// Errors of [Service.Read] and [Service.Act].
var (
	// ErrNoView means that no extension has registered a view with the id.
	ErrNoView = errors.New("no such view")
	// ErrNoItem means that the view has no item with the handle, or that the item was not read yet.
	ErrNoItem = errors.New("no such item")
	// ErrAction means that the action is not one of the view or of the item.
	ErrAction = errors.New("the view cannot do this")
)

// View is a view that an extension has registered. Its texts have one line.
type View struct {
	Host  string `json:"host"`
	ID    string `json:"id"`
	Title string `json:"title,omitempty"` // "" without one in a manifest, unless the extension has given one
	// Description stands beside the title, Message above the items.
	Description string `json:"description,omitempty"`
	Message     string `json:"message,omitempty"`
	Badge       *Badge `json:"badge,omitempty"`
	Visible     bool   `json:"visible"`
	// Selection has the handles of the selected items.
	Selection []string `json:"selection,omitempty"`
	// Many reports whether several items may be selected.
	Many bool `json:"many,omitempty"`
}

// Badge is a number on a view.
type Badge struct {
	Value   int    `json:"value"`
	Tooltip string `json:"tooltip,omitempty"`
}

// Options of a service.
type Options struct {
	// Activate requests an activation event and waits until the extensions that declare it are active.
	// nil: extensions are not activated for a view.
	Activate func(ctx context.Context, event string) error
	// Execute executes the command of an item in the host that has the view. nil: [Run] is refused.
	Execute func(ctx context.Context, host *workbench.Host, command string, args json.RawMessage) error
	// Redact takes secrets out of texts. nil: nothing is taken out.
	Redact func(text string) string
}

// Service answers MainThreadTreeViews. It must be made with [New]. It is safe for concurrent use.
type Service struct {
	opt Options

	mu          sync.Mutex
	hosts       workbench.Hosts
	views       map[key]*view
	names       map[string]string // of views, in the manifests, by their ids
	subscribers map[*func(View)]bool
}

var _ workbench.Follower = (*Service)(nil)

// key names a view: the same id may be registered in several hosts.
type key struct{ host, id string }

// life is the life of a host that has a view: a [*workbench.Host].
type life interface {
	Life() uint64
	Tell(method string, params codec.Raw)
	Call(ctx context.Context, method string, params codec.Raw, out any) error
}

// view is a registered view.
type view struct {
	View
	host     life
	expanded map[string]bool
	checked  map[string]bool     // by a user, since the host has told the item
	items    map[string]wireItem // those that were read, by handle
	focus    string
}

// New returns the service.
func New(opt Options) *Service {
	if opt.Redact == nil {
		opt.Redact = func(text string) string { return text }
	}
	return &Service{opt: opt, views: map[key]*view{}, subscribers: map[*func(View)]bool{}}
}

// Of returns the service of a host. The error is [extensions.ErrNoExtensions] for a host that is not one
// of VS Code.
func Of(host *actors.Ref) (*Service, error) {
	return workbench.Of[*Service](host)
}

// Methods implements [workbench.Service].
func (s *Service) Methods() map[string]workbench.Method {
	const of = "MainThreadTreeViews."
	return map[string]workbench.Method{
		of + "$registerTreeViewDataProvider": {Now: s.register},
		of + "$disposeTree":                  {Now: s.on(func(v *view, _ *workbench.Call) error { delete(s.views, v.key()); return nil })},
		of + "$refresh":                      {Now: s.on(refresh)},
		of + "$reveal":                       {Now: s.on(reveal)},
		of + "$setMessage":                   {Now: s.on(s.setMessage)},
		of + "$setTitle":                     {Now: s.on(s.setTitle)},
		of + "$setBadge":                     {Now: s.on(s.setBadge)},
	}
}

// Describe notes the names of views that the manifests of extensions have.
func (s *Service) Describe(descriptions []json.RawMessage) {
	names := map[string]string{}
	for _, raw := range descriptions {
		var d struct {
			Contributes struct {
				Views map[string][]struct{ ID, Name string }
			}
		}
		if json.Unmarshal(raw, &d) != nil { // contributes may be anything
			continue
		}
		for _, list := range d.Contributes.Views {
			for _, v := range list {
				names[v.ID] = v.Name
			}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.names = names
}

// Command returns the command of a view that shows it, for its name: the id of a registered view with
// ".focus" or ".open".
func (s *Service) Command(name string) (m workbench.Method, ok bool) {
	id, focus := strings.CutSuffix(name, ".focus")
	if !focus {
		if id, ok = strings.CutSuffix(name, ".open"); !ok {
			return m, false
		}
	}
	if s.registered("", id) == nil {
		return m, false
	}
	m.Now = func(c *workbench.Call) (any, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, host := range []string{c.Host.Name(), ""} {
			for k, v := range s.views {
				if k.id == id && (host == "" || k.host == host) {
					v.show(true)
					s.tell(v)
					return nil, nil
				}
			}
		}
		return nil, fmt.Errorf("%w: %q", ErrNoView, id)
	}
	return m, true
}

// Up implements [workbench.Follower].
func (s *Service) Up(h *workbench.Host) {
	defer s.hosts.Enter(&s.mu, h)()
}

// Down implements [workbench.Follower]: the views of the life are gone.
func (s *Service) Down(h *workbench.Host) {
	defer s.hosts.Leave(&s.mu, h)()
	maps.DeleteFunc(s.views, func(_ key, v *view) bool { return v.host == life(h) })
}

// State returns the views of a host by their ids; of all hosts if host is "".
func (s *Service) State(host string) []View {
	out := []View{}
	s.mu.Lock()
	for _, v := range s.views {
		if host == "" || v.Host == host {
			out = append(out, v.state())
		}
	}
	s.mu.Unlock()
	slices.SortFunc(out, func(a, b View) int { return cmp.Or(strings.Compare(a.Host, b.Host), strings.Compare(a.ID, b.ID)) })
	return out
}

// Subscribe calls changed with each view that is registered or changes, whose items change, or that an
// extension reveals, until stop is called. changed must not block and must not call the service.
func (s *Service) Subscribe(changed func(View)) (stop func()) {
	own := &changed
	s.mu.Lock()
	defer s.mu.Unlock()
	s.subscribers[own] = true
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.subscribers, own)
	}
}

// tell tells the subscribers of a view. The caller must hold mu.
func (s *Service) tell(v *view) {
	for changed := range s.subscribers {
		(*changed)(v.state())
	}
}

// state returns a copy that does not change.
func (v *view) state() View {
	out := v.View
	out.Selection = slices.Clone(v.Selection)
	return out
}

func (v *view) key() key { return key{v.Host, v.ID} }

// line returns a text of an extension in one line, without secrets.
func (s *Service) line(text string) string {
	return workbench.OneLine(s.opt.Redact(text[:min(len(text), 16*maxText)]), maxText)
}
