// Package scm has the source control of extensions (scm.createSourceControl): the groups of changed files
// that a window would list, and the input box for the message of a commit. Without a window a program reads
// them with [Service.State], writes the message with [Service.SetInput], and commits with
// [Service.Accept]. A Go program finds the service of a host with [Of]. What a life has registered ends
// with it.
package scm

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

// The bounds of what a host may show.
const (
	maxControls  = 1000
	maxGroups    = 1000    // of a source control
	maxResources = 100_000 // of a group
	maxText      = 1000    // bytes of a text; longer ones are cut
	maxInput     = 1 << 20 // bytes of a message
)

// Errors of [Service.SetInput] and [Service.Accept].
var (
	// ErrNoControl means that no extension has a source control with the id.
	ErrNoControl = errors.New("no such source control")
	// ErrNotAccepted means that a message cannot be written or accepted.
	ErrNotAccepted = errors.New("the source control cannot do this")
)

// Control is a source control that an extension has registered, such as one for each repository of git.
type Control struct {
	ID     string          `json:"id"` // names it while its life runs
	Host   string          `json:"host"`
	Kind   string          `json:"kind"` // as the extension names it, such as git
	Label  string          `json:"label"`
	Root   string          `json:"root,omitempty"` // a URI
	Count  *int            `json:"count,omitempty"`
	Groups []ResourceGroup `json:"groups"`
	Input  Input           `json:"input"`
	// Template is the message that a commit begins with.
	Template string `json:"template,omitempty"`
	// Accept is the command that [Service.Accept] executes; absent without one.
	Accept string `json:"accept,omitempty"`
}

// ResourceGroup is a group of resources, such as the staged changes.
type ResourceGroup struct {
	ID        string     `json:"id"`
	Label     string     `json:"label"`
	Resources []Resource `json:"resources"`
}

// Resource is a changed file.
type Resource struct {
	URI string `json:"uri"`
	// State is what its decoration says, such as Modified; "" if the extension does not tell.
	State   string `json:"state,omitempty"`
	Context string `json:"context,omitempty"` // contextValue
	Struck  bool   `json:"struck,omitempty"`  // shown with a line through it, as a deleted file
	Faded   bool   `json:"faded,omitempty"`
}

// Input is the input box for a message.
type Input struct {
	Value       string `json:"value"`
	Placeholder string `json:"placeholder,omitempty"`
	Enabled     bool   `json:"enabled"`
	Visible     bool   `json:"visible"`
}

// Options of a service.
type Options struct {
	// Execute executes a command in a host. nil: [Service.Accept] is refused.
	Execute func(ctx context.Context, host *workbench.Host, command string, args json.RawMessage) error
	// Read reads what a file is compared with, on behalf of a host. nil: [Service.Original] has no texts.
	Read func(ctx context.Context, host *workbench.Host, uri workbench.URI) ([]byte, error)
	// Redact takes secrets out of texts. nil: nothing is taken out.
	Redact func(text string) string
}

// Service answers MainThreadSCM. It must be made with [New]. It is safe for concurrent use.
type Service struct {
	opt Options

	mu       sync.Mutex
	hosts    workbench.Hosts
	controls map[key]*control
}

var _ workbench.Follower = (*Service)(nil)

type key struct {
	host   string
	handle int
}

// life is the life of a host that has a source control: a [*workbench.Host].
type life interface {
	Life() uint64
	Tell(method string, params codec.Raw)
	Call(ctx context.Context, method string, params codec.Raw, out any) error
}

type control struct {
	Control
	host   life
	handle int
	groups []*group
	accept json.RawMessage // the arguments of its command

	root     *workbench.URI
	compares bool // it has originals of files
}

type group struct {
	ResourceGroup
	handle int
	hide   bool // while it has no resources
}

// New returns the service.
func New(opt Options) *Service {
	if opt.Redact == nil {
		opt.Redact = func(text string) string { return text }
	}
	return &Service{opt: opt, controls: map[key]*control{}}
}

// Of returns the service of a host. The error is [extensions.ErrNoExtensions] for a host that is not one
// of VS Code.
func Of(host *actors.Ref) (*Service, error) { return workbench.Of[*Service](host) }

// Up implements [workbench.Follower].
func (s *Service) Up(h *workbench.Host) { defer s.hosts.Enter(&s.mu, h)() }

// Down implements [workbench.Follower]: what the life has registered is gone.
func (s *Service) Down(h *workbench.Host) {
	defer s.hosts.Leave(&s.mu, h)()
	maps.DeleteFunc(s.controls, func(_ key, c *control) bool { return c.host == life(h) })
}

// State returns the source controls of a host by their roots; those of all hosts if host is "".
func (s *Service) State(host string) []Control {
	out := []Control{}
	s.mu.Lock()
	for _, c := range s.controls {
		if host == "" || c.Host == host {
			out = append(out, c.state())
		}
	}
	s.mu.Unlock()
	slices.SortFunc(out, func(a, b Control) int {
		return cmp.Or(strings.Compare(a.Host, b.Host), strings.Compare(a.Root, b.Root), strings.Compare(a.ID, b.ID))
	})
	for i := range out {
		out[i].Input.Value = s.opt.Redact(out[i].Input.Value)
	}
	return out
}

// state returns a copy that does not change.
func (c *control) state() Control {
	out := c.Control
	out.Groups = []ResourceGroup{}
	for _, g := range c.groups {
		if len(g.Resources) > 0 || !g.hide {
			one := g.ResourceGroup
			one.Resources = append([]Resource{}, g.Resources...)
			out.Groups = append(out.Groups, one)
		}
	}
	return out
}

// SetInput writes the message into the input box, as a user does. The error is [ErrNoControl], or
// [ErrNotAccepted] for a box that cannot be written or a message of more than 1 MiB.
func (s *Service) SetInput(id, message string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.find(id)
	switch {
	case err != nil:
		return err
	case !c.Input.Enabled || !c.Input.Visible:
		return fmt.Errorf("%w: the input box of %s is disabled", ErrNotAccepted, id)
	case len(message) > maxInput:
		return fmt.Errorf("%w: a message of up to %d bytes expected", ErrNotAccepted, maxInput)
	}
	c.Input.Value = message
	c.host.Tell("ExtHostSCM.$onInputBoxValueChange", workbench.Params(c.handle, message))
	return nil
}

// Accept executes the command for the message, which commits with most extensions. The error is
// [ErrNoControl], [ErrNotAccepted] without such a command, or that of the command.
func (s *Service) Accept(ctx context.Context, id string) error {
	s.mu.Lock()
	c, err := s.find(id)
	if err != nil {
		s.mu.Unlock()
		return err
	}
	command, args := c.Control.Accept, c.accept
	host, ok := c.host.(*workbench.Host)
	s.mu.Unlock()
	if command == "" || s.opt.Execute == nil || !ok {
		return fmt.Errorf("%w: %s has no command for its message", ErrNotAccepted, id)
	}
	return s.opt.Execute(ctx, host, command, args)
}

// find returns a source control by its id. The caller must hold mu.
func (s *Service) find(id string) (*control, error) {
	for _, c := range s.controls {
		if c.ID == id {
			return c, nil
		}
	}
	return nil, fmt.Errorf("%w: %q", ErrNoControl, id)
}

// line returns a text of an extension in one line, without secrets.
func (s *Service) line(text string) string {
	return workbench.OneLine(s.opt.Redact(text[:min(len(text), 16*maxText)]), maxText)
}
