package tests

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/workbench"
	"github.com/hostsup/hostsup/workbench/language"
)

// The bounds of what a host may have, and of what is read at one time.
const (
	maxControllers = 1000
	maxProfiles    = 100     // of a controller
	maxTests       = 100_000 // of a controller
	maxRead        = 10_000  // tests that one Read returns
	maxText        = 1000    // bytes of a text in one line; longer ones are cut
	maxID          = 4096    // bytes of an id; tests with longer ones are left out
	maxTags        = 100     // of a test
)

// Errors of [Service.Read], [Service.Run] and [Service.Cancel].
var (
	// ErrNoTest means that no controller has a test with the id.
	ErrNoTest = errors.New("no such test")
	// ErrNoProfile means that no profile of the controller can run a test.
	ErrNoProfile = errors.New("no profile runs the test")
	// ErrNoRun means that no run with the id is kept.
	ErrNoRun = errors.New("no such run of tests")
)

// Controller is a test controller that an extension has created. Its texts have one line.
type Controller struct {
	Host  string `json:"host"`
	ID    string `json:"id"`
	Label string `json:"label"`
	// Refresh reports whether the extension finds its tests again when it is asked to; see [Query].
	Refresh  bool      `json:"refresh,omitempty"`
	Profiles []Profile `json:"profiles"`
}

// Profile is a way to run tests.
type Profile struct {
	Label   string `json:"label"`
	Kind    string `json:"kind" enum:"run,debug,coverage"`
	Default bool   `json:"default,omitempty"`
	Tag     string `json:"tag,omitempty"` // only tests with this tag are run; "": all

	id int
}

// Test is a test, or a group of tests. Its texts have one line.
type Test struct {
	ID          string `json:"id"`
	Label       string `json:"label"`
	Description string `json:"description,omitempty"`
	// Error says why the tests below it could not be found.
	Error string   `json:"error,omitempty"`
	Tags  []string `json:"tags,omitempty"`
	Location
	Busy bool `json:"busy,omitempty"` // its extension is looking for tests below it
	// More reports that the extension was not asked for the tests below it; see [Query].
	More  bool   `json:"more,omitempty"`
	Tests []Test `json:"tests,omitempty"`
}

// Location is a part of a document. Lines and characters count from 0.
type Location struct {
	URI   string          `json:"uri,omitempty"`
	Range *language.Range `json:"range,omitempty"`
}

// Options of a service.
type Options struct {
	// Start starts the host, and waits until it runs. nil: a host that does not run has no tests.
	Start func(ctx context.Context) error
	// Redact takes secrets out of texts. nil: nothing is taken out.
	Redact func(text string) string
}

// Service answers MainThreadTesting. It must be made with [New]. It is safe for concurrent use.
type Service struct {
	opt Options

	mu          sync.Mutex
	hosts       workbench.Hosts
	controllers map[key]*controller
	runs        []*run // the oldest first
}

var _ workbench.Follower = (*Service)(nil)

type key struct{ host, id string }

// life is the life of a host that has tests: a [*workbench.Host].
type life interface {
	Name() string
	Life() uint64
	Tell(method string, params codec.Raw)
	Call(ctx context.Context, method string, params codec.Raw, out any) error
}

type controller struct {
	Controller
	host  life
	tests map[string]*test // by the id that the host uses
}

// test is a test as its host has sent it.
type test struct {
	wireTest
	expand int
	below  []string // ids that the host uses
}

// New returns the service.
func New(opt Options) *Service {
	if opt.Redact == nil {
		opt.Redact = func(text string) string { return text }
	}
	return &Service{opt: opt, controllers: map[key]*controller{}}
}

// Of returns the service of a host. The error is [extensions.ErrNoExtensions] for a host that is not one
// of VS Code.
func Of(host *actors.Ref) (*Service, error) { return workbench.Of[*Service](host) }

// Up implements [workbench.Follower].
func (s *Service) Up(h *workbench.Host) { defer s.hosts.Enter(&s.mu, h)() }

// Down implements [workbench.Follower]: the tests of the life are gone, and its runs have ended.
func (s *Service) Down(h *workbench.Host) {
	defer s.hosts.Leave(&s.mu, h)()
	maps.DeleteFunc(s.controllers, func(_ key, c *controller) bool { return c.host == life(h) })
	for _, r := range s.runs {
		if r.own == nil && r.Host == h.Name() && r.Ended == nil {
			r.fail(fmt.Sprintf("the host %s has ended", h.Name()))
			r.end()
		}
	}
}

// State returns the controllers of a host by their ids; those of all hosts if host is "".
func (s *Service) State(host string) []Controller {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := []Controller{}
	for _, c := range s.of(host) {
		out = append(out, c.state())
	}
	return out
}

// of returns the controllers of a host, or of all, in order. The caller must hold mu.
func (s *Service) of(host string) (out []*controller) {
	for _, c := range s.controllers {
		if host == "" || c.Host == host {
			out = append(out, c)
		}
	}
	slices.SortFunc(out, func(a, b *controller) int {
		return cmp.Or(strings.Compare(a.Host, b.Host), strings.Compare(a.ID, b.ID))
	})
	return out
}

// state returns a copy that does not change.
func (c *controller) state() Controller {
	out := c.Controller
	out.ID, out.Profiles = nameOf(c.ID), append([]Profile{}, c.Profiles...)
	return out
}

// test returns a test for a program, with those below it. left is how many tests are left of the bound.
func (s *Service) test(c *controller, id string, left *int) Test {
	t := c.tests[id]
	out := Test{
		ID: nameOf(id), Label: s.line(t.Label), Description: s.line(deref(t.Description)), Error: s.line(workbench.Text(t.Error)),
		Location: s.location(t.URI, t.Range), Busy: t.Busy, More: t.expand == expandable,
	}
	for _, tag := range t.Tags[:min(len(t.Tags), maxTags)] {
		out.Tags = append(out.Tags, s.line(tagName(tag)))
	}
	below := slices.Clone(t.below)
	slices.SortStableFunc(below, func(a, b string) int { return strings.Compare(c.tests[a].order(), c.tests[b].order()) })
	for _, one := range below {
		if *left--; *left < 0 {
			return out
		}
		out.Tests = append(out.Tests, s.test(c, one, left))
	}
	return out
}

// order returns the text by which a test is sorted.
func (t *test) order() string {
	if t.SortText != nil {
		return *t.SortText
	}
	return t.Label
}

func (s *Service) location(uri *workbench.URI, r *language.Range) (out Location) {
	if uri == nil {
		return out
	}
	out.URI = s.line(uri.String())
	if r != nil {
		out.Range = new(*r)
	}
	return out
}

// line returns a text of an extension in one line, without secrets.
func (s *Service) line(text string) string {
	return workbench.OneLine(s.opt.Redact(text[:min(len(text), 16*maxText)]), maxText)
}

func deref(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}
