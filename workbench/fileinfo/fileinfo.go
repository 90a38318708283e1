// Package fileinfo has what extensions say of files beside their content: decorations
// (window.registerFileDecorationProvider), which a window shows beside names of files, and timelines, such as
// the commits of git that have changed a file. Without a window a program asks for them with
// [Service.Decorations] and [Service.Timeline]. A Go program finds the service of a host with [Of]. What a
// life has registered ends with it, and a host that does not run says nothing.
package fileinfo

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/workbench"
)

// The bounds of what a host may register, and of what is asked for.
const (
	maxProviders = 1000 // of each kind
	maxText      = 1000 // bytes of a text; longer ones are cut
	maxFiles     = 10_000
	maxItems     = 10_000 // of a timeline
)

// Options of a service.
type Options struct {
	// Redact takes secrets out of texts. nil: nothing is taken out.
	Redact func(text string) string
}

// Service answers MainThreadDecorations and MainThreadTimeline. It must be made with [New]. It is safe for
// concurrent use.
type Service struct {
	opt Options

	mu    sync.Mutex
	hosts workbench.Hosts
	// Providers of decorations are known by their handles, those of timelines by their ids.
	decorating map[key]*provider
	timelines  map[key]*provider
}

var _ workbench.Follower = (*Service)(nil)

type key struct{ host, id string }

// life is the life of a host with a provider: a [*workbench.Host].
type life interface {
	Name() string
	Life() uint64
	Call(ctx context.Context, method string, params codec.Raw, out any) error
}

// provider is a provider of an extension.
type provider struct {
	host    life
	handle  int      // of decorations
	id      string   // of a timeline; or of the extension that decorates
	label   string   // of a timeline
	schemes []string // of a timeline
}

// New returns the service.
func New(opt Options) *Service {
	if opt.Redact == nil {
		opt.Redact = func(text string) string { return text }
	}
	return &Service{opt: opt, decorating: map[key]*provider{}, timelines: map[key]*provider{}}
}

// Of returns the service of a host. The error is [extensions.ErrNoExtensions] for a host that is not one
// of VS Code.
func Of(host *actors.Ref) (*Service, error) { return workbench.Of[*Service](host) }

// Up implements [workbench.Follower].
func (s *Service) Up(h *workbench.Host) { defer s.hosts.Enter(&s.mu, h)() }

// Down implements [workbench.Follower]: what the life has registered is gone.
func (s *Service) Down(h *workbench.Host) {
	defer s.hosts.Leave(&s.mu, h)()
	for _, all := range []map[key]*provider{s.decorating, s.timelines} {
		maps.DeleteFunc(all, func(_ key, p *provider) bool { return p.host == life(h) })
	}
}

// Methods implements [workbench.Service]. Changes are not told on: each question asks the extensions.
func (s *Service) Methods() map[string]workbench.Method {
	nothing := workbench.Method{Now: func(*workbench.Call) (any, error) { return nil, nil }}
	return map[string]workbench.Method{
		"MainThreadDecorations.$registerDecorationProvider": {Now: func(c *workbench.Call) (any, error) {
			p := &provider{}
			if err := c.Args(&p.handle, &p.id); err != nil {
				return nil, err
			}
			return nil, s.register(c, s.decorating, fmt.Sprint(p.handle), p, "window.registerFileDecorationProvider")
		}},
		"MainThreadDecorations.$unregisterDecorationProvider": {Now: func(c *workbench.Call) (any, error) {
			var handle int
			if err := c.Args(&handle); err != nil {
				return nil, err
			}
			s.unregister(c, s.decorating, fmt.Sprint(handle))
			return nil, nil
		}},
		"MainThreadDecorations.$onDidChange": nothing,
		"MainThreadTimeline.$registerTimelineProvider": {Now: func(c *workbench.Call) (any, error) {
			var in struct {
				ID, Label string
				Scheme    json.RawMessage // a text, or a list
			}
			if err := c.Args(&in); err != nil {
				return nil, err
			}
			p := &provider{id: in.ID, label: in.Label, schemes: []string{""}}
			if json.Unmarshal(in.Scheme, &p.schemes[0]) != nil {
				if err := json.Unmarshal(in.Scheme, &p.schemes); err != nil {
					return nil, workbench.Invalid("workspace.registerTimelineProvider: %v", err)
				}
			}
			return nil, s.register(c, s.timelines, p.id, p, "workspace.registerTimelineProvider")
		}},
		"MainThreadTimeline.$unregisterTimelineProvider": {Now: func(c *workbench.Call) (any, error) {
			var id string
			if err := c.Args(&id); err != nil {
				return nil, err
			}
			s.unregister(c, s.timelines, id)
			return nil, nil
		}},
		"MainThreadTimeline.$emitTimelineChangeEvent": nothing,
	}
}

func (s *Service) register(c *workbench.Call, all map[key]*provider, id string, p *provider, api string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	h, err := s.hosts.Of(c)
	if err != nil {
		return err
	}
	p.host = h
	return s.add(all, key{h.Name(), id}, p, api)
}

// add adds a provider. The caller must hold mu.
func (s *Service) add(all map[key]*provider, at key, p *provider, api string) error {
	count := 0
	for k := range all {
		if k.host == at.host {
			count++
		}
	}
	if count >= maxProviders {
		return workbench.Invalid("%s: the host has %d, which is the limit", api, maxProviders)
	}
	all[at] = p
	return nil
}

func (s *Service) unregister(c *workbench.Call, all map[key]*provider, id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := key{c.Host.Name(), id}
	if p := all[at]; p != nil && p.host.Life() == c.Life {
		delete(all, at)
	}
}

// of returns the providers of a host in their order; those of all hosts if host is "".
func (s *Service) of(all map[key]*provider, host string) (out []*provider) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k, p := range all {
		if host == "" || k.host == host {
			out = append(out, p)
		}
	}
	slices.SortFunc(out, func(a, b *provider) int {
		return cmp.Or(strings.Compare(a.host.Name(), b.host.Name()), a.handle-b.handle, strings.Compare(a.id, b.id))
	})
	return out
}

// line returns a text of an extension in one line, without secrets.
func (s *Service) line(text string) string {
	return workbench.OneLine(s.opt.Redact(text[:min(len(text), 16*maxText)]), maxText)
}
