package language

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/hostsup/hostsup/workbench"
	"github.com/hostsup/hostsup/workbench/documents"
	"github.com/hostsup/hostsup/workbench/language/builtin"
)

// ErrNoProvider means that no extension that is active provides the feature for the document.
var ErrNoProvider = errors.New("no extension provides this")

// maxHeld is how many results stay in the hosts, so that their items can be resolved and their commands
// executed.
const maxHeld = 32

// Options of a [Service].
type Options struct {
	// Documents has the documents that are asked about; it must be there.
	Documents *documents.Service
	// Activate activates the extensions that want an event, and waits for them; nil activates nothing.
	Activate func(ctx context.Context, event string) error
	// Start starts the first host, and waits until it is up. It is called for a question while no host is
	// up; nil starts nothing.
	Start func(ctx context.Context) error
	// Configuration returns what is known of a language for a document in it; nil: nothing is.
	Configuration func(language string, uri workbench.URI) builtin.Language
	// Patience bounds how long a question whose life ended waits for the next life's providers. 0 means
	// 30 s.
	Patience time.Duration
}

// Service has the providers of a workbench. It must be made with [New]. It is safe for concurrent use.
type Service struct {
	opt Options

	mu        sync.Mutex
	hosts     workbench.Hosts
	providers registry
	changed   chan struct{}   // closed when providers or hosts change
	activated map[string]bool // languages, since a life began
	held      []*held
	last      int // the number of the last result that was held

	subscribers map[*func()]bool
}

// held is a result that the host keeps until it is released.
type held struct {
	p       scored
	number  int
	feature feature
	ids     []json.RawMessage
	items   []item
}

// New returns the service of a workbench without providers.
func New(opt Options) *Service {
	if opt.Patience == 0 {
		opt.Patience = 30 * time.Second
	}
	return &Service{opt: opt, changed: make(chan struct{}), activated: map[string]bool{}, subscribers: map[*func()]bool{}}
}

// Methods implements [workbench.Service].
func (s *Service) Methods() map[string]workbench.Method {
	out := map[string]workbench.Method{mainThread + "$unregister": {Now: s.unregister}}
	for _, f := range features {
		out[mainThread+"$register"+f.register] = workbench.Method{Now: func(c *workbench.Call) (any, error) {
			return nil, s.register(f.register, c)
		}}
	}
	return out
}

// Up implements [workbench.Follower].
func (s *Service) Up(h *workbench.Host) {
	defer s.hosts.Enter(&s.mu, h)()
	s.change()
}

// Down implements [workbench.Follower].
func (s *Service) Down(h *workbench.Host) {
	defer s.hosts.Leave(&s.mu, h)()
	s.providers.remove(func(p *provider) bool { return p.host == h.Name() && p.life <= h.Life() })
	kept := s.held[:0]
	for _, one := range s.held {
		if one.p.on != h {
			kept = append(kept, one)
		}
	}
	clear(s.held[len(kept):])
	s.held = kept
	s.change()
}

// change wakes those that wait for providers. The caller must hold mu.
func (s *Service) change() {
	clear(s.activated)
	s.wake()
}

// wake is change for providers alone. The caller must hold mu.
func (s *Service) wake() {
	close(s.changed)
	s.changed = make(chan struct{})
	for told := range s.subscribers {
		(*told)()
	}
}

// maxArgs is more than any registration has.
const maxArgs = 10

func (s *Service) register(kind string, c *workbench.Call) error {
	p := &provider{host: c.Host.Name(), life: c.Life, kind: kind}
	if err := c.Args(&p.handle); err != nil {
		return err
	}
	for i := 1; i < maxArgs; i++ {
		p.rest = append(p.rest, c.Raw(i))
	}
	if n := len(p.rest[0]); n > maxRegistration { // before it is parsed
		return workbench.Invalid("a document selector of at most %d bytes expected, found %d", maxRegistration, n)
	}
	if kind != features[FeatureWorkspaceSymbol].register {
		p.text = string(p.rest[0])
		var err error
		if p.selector, err = parseSelector(p.rest[0]); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if h := s.hosts[p.host]; h != nil && h.Life() > p.life {
		return nil // its life is over
	}
	defer s.wake()
	return s.providers.add(p)
}

func (s *Service) unregister(c *workbench.Call) (any, error) {
	var handle int
	if err := c.Args(&handle); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.providers.remove(func(p *provider) bool { return p.host == c.Host.Name() && p.life == c.Life && p.handle == handle }) {
		s.wake()
	}
	return nil, nil
}

// start starts the first host if no host is up.
func (s *Service) start(ctx context.Context) error {
	s.mu.Lock()
	up := len(s.hosts) > 0
	s.mu.Unlock()
	if up || s.opt.Start == nil {
		return nil
	}
	return s.opt.Start(ctx)
}

// find returns the providers of a feature for a document.
func (s *Service) find(f feature, d document) []scored {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.providers.find(s.hosts, f.register, d)
}

// activate activates the extensions of a language, once since the last life began.
func (s *Service) activate(ctx context.Context, language string) error {
	s.mu.Lock()
	done := s.activated[language]
	s.mu.Unlock()
	if done || language == "" || s.opt.Activate == nil {
		return nil
	}
	if err := s.opt.Activate(ctx, "onLanguage:"+language); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.activated[language] = true
	return nil
}

// hold keeps a result, and releases the oldest one if there are too many. It returns the number of the
// result.
func (s *Service) hold(h *held) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hosts[h.p.host] != h.p.on {
		return 0 // the result has ended with its life
	}
	s.last++
	h.number = s.last
	s.held = append(s.held, h)
	if len(s.held) > maxHeld {
		oldest := s.held[0]
		s.held = append(s.held[:0], s.held[1:]...)
		for _, id := range oldest.ids {
			args := []any{oldest.p.handle, id}
			if ended := oldest.feature.ended; ended != nil {
				args = append(args, ended)
			}
			oldest.p.on.Tell(extHost+oldest.feature.release, workbench.Params(args...))
		}
	}
	return h.number
}
