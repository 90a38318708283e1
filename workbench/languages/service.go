package languages

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/hostsup/hostsup/workbench"
)

// Bounds of the statuses that the extensions of a host may show at one time.
const (
	maxStatuses = 1000
	maxStatus   = 64 << 10 // bytes of each, as JSON
)

// Service answers MainThreadLanguages, but for $changeLanguage, and tells hosts of the languages.
// The zero value is ready for use.
type Service struct {
	// Associations returns files.associations for a file. A nil function means no associations.
	Associations func(path string) map[string]string
	// Changed, if set, is called when an extension of a host sets or removes (nil) a status, which the
	// handle names, but not when the host ends. It must not block and must not call the service.
	Changed func(host string, handle int, status *Status)

	mu       sync.Mutex
	registry *Registry
	hosts    workbench.Hosts
	status   map[string]map[int]Status // by host and handle
}

var _ workbench.Follower = (*Service)(nil)

// Status is what an extension shows about a language, such as the version of its tools.
type Status struct {
	ID       string          `json:"id"`
	Name     string          `json:"name"`
	Source   string          `json:"source"`   // the extension
	Selector json.RawMessage `json:"selector"` // the documents that it is about
	Label    string          `json:"label"`
	Detail   string          `json:"detail"`
	Severity int             `json:"severity"` // 0 to 3 as in VS Code: ignore, information, warning, error
	Busy     bool            `json:"busy"`
	Command  string          `json:"command,omitempty"` // the id of the command that a click executes
}

// Methods implements [workbench.Service].
func (s *Service) Methods() map[string]workbench.Method {
	return map[string]workbench.Method{
		"MainThreadLanguages.$setLanguageStatus":    {Now: s.setStatus},
		"MainThreadLanguages.$removeLanguageStatus": {Now: s.removeStatus},
		// Undefined is VS Code's answer for text without tokens: the host takes the word for one.
		"MainThreadLanguages.$tokensAtPosition": {Now: func(*workbench.Call) (any, error) { return workbench.Undefined, nil }},
	}
}

// Up implements [workbench.Follower].
func (s *Service) Up(h *workbench.Host) {
	defer s.hosts.Enter(&s.mu, h)()
	h.Tell("ExtHostLanguages.$acceptLanguageIds", workbench.Params(s.current().IDs()))
}

// Down implements [workbench.Follower].
func (s *Service) Down(h *workbench.Host) {
	defer s.hosts.Leave(&s.mu, h)()
	delete(s.status, h.Name())
}

// current returns the registry. The caller must hold mu.
func (s *Service) current() *Registry {
	if s.registry == nil {
		s.registry = New(nil)
	}
	return s.registry
}

// Registry returns the current languages.
func (s *Service) Registry() *Registry {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current()
}

// Describe notes that hosts have these extensions now, by their descriptions, and tells the hosts
// if the languages have changed. It does not block.
func (s *Service) Describe(descriptions []json.RawMessage) {
	now := New(descriptions)
	s.mu.Lock()
	defer s.mu.Unlock()
	changed := !slices.Equal(s.current().IDs(), now.IDs())
	s.registry = now
	if changed {
		s.hosts.Tell("ExtHostLanguages.$acceptLanguageIds", workbench.Params(now.IDs()))
	}
}

// Of returns the language of a file by its path, which has slashes, and its first line.
func (s *Service) Of(path, firstLine string) string {
	var associations map[string]string
	if s.Associations != nil {
		associations = s.Associations(path)
	}
	return s.Registry().Of(path, firstLine, associations)
}

// Known reports whether there is a language with this id.
func (s *Service) Known(id string) bool { return s.Registry().Known(id) }

// Configuration returns the configuration of a language; see [Registry.Configuration].
func (s *Service) Configuration(language string) (Configuration, error) {
	return s.Registry().Configuration(language)
}

// Statuses returns what the extensions of all hosts show, sorted by its ID.
func (s *Service) Statuses() []Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := []Status{}
	for _, of := range s.status {
		for _, one := range of {
			out = append(out, one)
		}
	}
	slices.SortFunc(out, func(a, b Status) int { return strings.Compare(a.ID, b.ID) })
	return out
}

// setStatus answers (handle, status).
func (s *Service) setStatus(c *workbench.Call) (any, error) {
	var handle int
	var in struct {
		Status
		Command *struct{ ID string } `json:"command"` // in the place of that of Status
	}
	if err := c.Args(&handle, &in); err != nil {
		return nil, err
	}
	status := in.Status
	if in.Command != nil {
		status.Command = in.Command.ID
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.status == nil {
		s.status = map[string]map[int]Status{}
	}
	host := c.Host.Name()
	if s.status[host] == nil {
		s.status[host] = map[int]Status{}
	}
	if n := len(c.Raw(1)); n > maxStatus {
		return nil, workbench.Invalid("languages.createLanguageStatusItem: a status of %d bytes, limit %d", n, maxStatus)
	}
	if _, known := s.status[host][handle]; !known && len(s.status[host]) >= maxStatuses {
		return nil, workbench.Invalid("languages.createLanguageStatusItem: the host has %d statuses, which is the limit", maxStatuses)
	}
	s.status[host][handle] = status
	s.changed(host, handle, &status)
	return nil, nil
}

// removeStatus answers (handle).
func (s *Service) removeStatus(c *workbench.Call) (any, error) {
	var handle int
	if err := c.Args(&handle); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.status[c.Host.Name()], handle)
	s.changed(c.Host.Name(), handle, nil)
	return nil, nil
}

// changed calls Changed, if it is set.
func (s *Service) changed(host string, handle int, status *Status) {
	if s.Changed != nil {
		s.Changed(host, handle, status)
	}
}
