package accounts

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/hostsup/hostsup/workbench"
)

// The bounds of what a service keeps.
const (
	maxProviders = 1000 // that extensions have registered
	maxCalls     = 1000 // at one time
	maxHeld      = 200  // tokens that are taken out of logs
	maxKept      = 1000 // of each: sessions that a host was given, accounts that extensions prefer, refusals that were reported

	maxText    = 1000     // bytes of an id or a label that an extension names
	maxSession = 64 << 10 // bytes of a session of an extension
)

// tooLong returns an error if a text is longer than maxText. what names the text.
func tooLong(what, text string) error {
	if len(text) > maxText {
		return workbench.Invalid("authentication: %s of at most %d bytes expected, found %d", what, maxText, len(text))
	}
	return nil
}

// Token is a secret text. It does not print itself, also not as JSON.
type Token string

// redacted is what a token prints.
const redacted = "[redacted]"

// String implements [fmt.Stringer].
func (Token) String() string { return redacted }

// GoString implements [fmt.GoStringer].
func (Token) GoString() string { return redacted }

// MarshalText implements [encoding.TextMarshaler].
func (Token) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// Account is somebody who can sign in at a provider.
type Account struct {
	ID    string `json:"id"`
	Label string `json:"label"` // what people read
}

// Session is an account that has signed in, with what it may do.
type Session struct {
	ID          string
	AccessToken Token
	IDToken     Token // "": none
	Account     Account
	Scopes      []string

	raw json.RawMessage // as an extension made it, else nil
}

// Query says which sessions are asked for, or what kind of session is made.
type Query struct {
	Scopes  []string // nil: sessions with any scopes. A session fits if it has all of them
	Account *Account // nil: of any account
}

// Source has the sessions of a provider. It must be safe for concurrent use, and must end when ctx does.
// Its errors reach the extension that asked, and must not contain tokens.
type Source interface {
	// Sessions returns the sessions that fit, without asking anybody.
	Sessions(ctx context.Context, q Query) ([]Session, error)
	// Create makes a session that fits, for example by asking somebody to sign in.
	Create(ctx context.Context, q Query) (Session, error)
	// Remove ends a session.
	Remove(ctx context.Context, id string) error
}

// Change lists sessions that were added, removed or changed.
type Change struct{ Added, Removed, Changed []Session }

// Provider is a provider of accounts of the program.
type Provider struct {
	ID    string // such as "github"; an extension cannot register this one then
	Label string // what people read; default: ID
	// MultipleAccounts says that several accounts can be signed in at one time. Without it an
	// extension that does not name an account gets the first session.
	MultipleAccounts bool
	Source           Source
	// Watch, if not nil, is called once by each service with a function that tells all extensions
	// that sessions have changed. The function must not be called after stop. What the service itself
	// creates and removes is told without it.
	Watch func(changed func(Change)) (stop func())
}

// Access is the use of an account by an extension.
type Access struct {
	Host      string // of the extension
	Extension string // its id, in lower case
	Provider  string
	Account   Account // zero: one that has not signed in yet
	// Default says what the policy is without Options.Allow.
	Default bool
}

// Options of a [Service].
type Options struct {
	// Providers are those of the program.
	Providers []Provider
	// Allow decides which accounts an extension may use. It must be safe for concurrent use and must
	// not block. Default: Access.Default, which is true for the extensions of Listed and for the
	// extension that provides the account: the only one whose manifest declares the provider.
	Allow func(Access) bool
	// Listed has ids of extensions by the id of the provider whose accounts they may use.
	Listed map[string][]string
	// Runs reports whether an extension runs in a host. A host says itself which of its extensions asks,
	// so that a session is refused for one that runs elsewhere. nil: all extensions run in one host.
	Runs func(ctx context.Context, host, extension string) (bool, error)
	// Activate activates the extensions that want an event, and waits for them. nil: nothing is
	// activated.
	Activate func(ctx context.Context, event string) error
	// Hold takes a value out of all that is kept and shown until release is called; the name stands
	// in its place. nil: nothing is taken out.
	Hold func(name string, value []byte) (release func())
	// Report gets an event about a host, at most one for an extension and a provider in a life. It
	// must not block. nil: there are no events.
	Report func(host, text string)
}

// Service answers MainThreadAuthentication. It must be made with [New].
type Service struct {
	opt   Options
	stops []func()

	mu        sync.Mutex
	hosts     workbench.Hosts
	providers map[string]*provider
	changed   chan struct{}       // closed and replaced when a provider was registered
	declared  map[string][]string // ids of extensions whose manifests have a provider
	prefers   map[[2]string]string
	given     map[string]map[[2]string]bool // sessions of providers that hosts were given
	reported  map[[3]string]bool
	held      map[[sha256.Size]byte]func()
	order     []heldToken // of held, the oldest one first
	calls     int
}

// heldToken is a token that is held.
type heldToken struct {
	key  [sha256.Size]byte
	host string // of its provider; "" for one of the program
}

// provider is one that is registered.
type provider struct {
	id, label string
	multiple  bool
	source    Source
	host      string // of an extension's one; "" for the program's
	life      uint64
}

// Validate returns an error if a provider has no ID or Source, or an ID is there twice.
func Validate(list []Provider) error {
	seen := map[string]bool{}
	for i, p := range list {
		switch {
		case p.ID == "":
			return fmt.Errorf("provider %d of accounts: an ID expected", i+1)
		case p.Source == nil:
			return fmt.Errorf("provider %q of accounts: a Source expected", p.ID)
		case seen[p.ID]:
			return fmt.Errorf("provider %q of accounts: there are two", p.ID)
		}
		seen[p.ID] = true
	}
	return nil
}

// New returns the service. It panics if [Validate] returns an error for the providers of the program,
// which is a mistake of the program.
func New(opt Options) *Service {
	if err := Validate(opt.Providers); err != nil {
		panic("accounts: " + err.Error())
	}
	s := &Service{
		opt: opt, providers: map[string]*provider{}, changed: make(chan struct{}), declared: map[string][]string{},
		prefers: map[[2]string]string{}, given: map[string]map[[2]string]bool{}, reported: map[[3]string]bool{},
		held: map[[sha256.Size]byte]func(){},
	}
	for _, p := range opt.Providers {
		label := p.Label
		if label == "" {
			label = p.ID
		}
		s.providers[p.ID] = &provider{id: p.ID, label: label, multiple: p.MultipleAccounts, source: p.Source}
	}
	for _, p := range opt.Providers {
		if p.Watch != nil {
			s.stops = append(s.stops, p.Watch(func(c Change) { s.tell(p.ID, c) }))
		}
	}
	return s
}

// Methods implements [workbench.Service].
func (s *Service) Methods() map[string]workbench.Method {
	const m = "MainThreadAuthentication."
	return map[string]workbench.Method{
		m + "$registerAuthenticationProvider":   {Now: s.register},
		m + "$unregisterAuthenticationProvider": {Now: s.unregister},
		m + "$sendDidChangeSessions":            {Now: s.changes},
		m + "$ensureProvider":                   {Do: s.bounded(s.ensure)},
		m + "$getSession":                       {Do: s.bounded(s.session)},
		m + "$getAccounts":                      {Do: s.bounded(s.accounts)},
		m + "$removeSession":                    {Do: s.bounded(s.remove)},
	}
}

// bounded refuses calls while too many of them wait.
func (s *Service) bounded(do func(context.Context, *workbench.Call) (any, error)) func(context.Context, *workbench.Call) (any, error) {
	return func(ctx context.Context, c *workbench.Call) (any, error) {
		s.mu.Lock()
		full := s.calls >= maxCalls
		if !full {
			s.calls++
		}
		s.mu.Unlock()
		if full {
			return nil, workbench.Invalid("%s: %d calls wait, which is the limit", c.Method, maxCalls)
		}
		defer func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.calls--
		}()
		return do(ctx, c)
	}
}

// Up implements [workbench.Follower].
func (s *Service) Up(h *workbench.Host) {
	defer s.hosts.Enter(&s.mu, h)()
}

// Down implements [workbench.Follower]: what a life has registered ends with it.
func (s *Service) Down(h *workbench.Host) {
	defer s.hosts.Leave(&s.mu, h)()
	delete(s.given, h.Name())
	for id, p := range s.providers {
		if p.host == h.Name() && p.life <= h.Life() {
			delete(s.providers, id)
		}
	}
	for key := range s.reported {
		if key[0] == h.Name() {
			delete(s.reported, key)
		}
	}
}

// Close implements [workbench.Closer]: it ends the watching of the program's providers.
func (s *Service) Close() error {
	for _, stop := range s.stops {
		stop()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, release := range s.held {
		release()
	}
	clear(s.held)
	s.order = nil
	return nil
}

// Describe notes that hosts have these extensions now, by their descriptions. It does not block.
func (s *Service) Describe(descriptions []json.RawMessage) {
	declared := map[string][]string{}
	for _, raw := range descriptions {
		var d struct {
			Publisher, Name string
			Contributes     struct{ Authentication []struct{ ID string } }
		}
		if json.Unmarshal(raw, &d) != nil {
			continue
		}
		for _, a := range d.Contributes.Authentication {
			declared[a.ID] = append(declared[a.ID], strings.ToLower(d.Publisher+"."+d.Name))
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.declared = declared
}

// hold takes the tokens of sessions out of what is kept and shown.
func (s *Service) hold(p *provider, sessions ...Session) {
	if s.opt.Hold == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range sessions {
		for _, token := range []Token{one.AccessToken, one.IDToken} {
			key := sha256.Sum256([]byte(token))
			if token == "" || s.held[key] != nil {
				continue
			}
			if len(s.order) >= maxHeld {
				s.letGo()
			}
			s.held[key] = s.opt.Hold("token of "+p.id, []byte(token))
			s.order = append(s.order, heldToken{key, p.host})
		}
	}
}

// letGo lets the oldest token go of the host that has the most, so that a host cannot have those of
// others shown. The caller must hold mu.
func (s *Service) letGo() {
	counts, most := map[string]int{}, s.order[0].host
	for _, t := range s.order {
		if counts[t.host]++; counts[t.host] > counts[most] {
			most = t.host
		}
	}
	i := slices.IndexFunc(s.order, func(t heldToken) bool { return t.host == most })
	key := s.order[i].key
	s.held[key]()
	delete(s.held, key)
	s.order = slices.Delete(s.order, i, i+1)
}
