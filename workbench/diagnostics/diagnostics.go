// Package diagnostics has the problems that extensions report in files: those of all hosts of a
// workbench together, by file.
//
// Each host gets the diagnostics of the other ones, as languages.getDiagnostics() shows them. The
// diagnostics of a host are gone with its life. The editor itself reports what problem matchers have found
// ([Service.Report]). All methods are safe for concurrent use.
package diagnostics

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"sync"

	"github.com/hostsup/hostsup/workbench"
	"github.com/hostsup/hostsup/workbench/text"
)

// maxWeight bounds what the extensions of a host may report at one time, in bytes. Each file and each
// diagnostic takes perItem bytes besides its text.
const (
	maxWeight = 64 << 20
	perItem   = 256
)

const methodChanged = "ExtHostDiagnostics.$acceptMarkersChange"

// Severity is how bad a problem is, by VS Code's numbers.
type Severity int

// The severities.
const (
	Hint    Severity = 1
	Info    Severity = 2
	Warning Severity = 4
	Error   Severity = 8
)

// String returns the name of a severity, such as "warning", and the number of one without a name.
func (s Severity) String() string {
	switch s {
	case Hint:
		return "hint"
	case Info:
		return "information"
	case Warning:
		return "warning"
	case Error:
		return "error"
	}
	return strconv.Itoa(int(s))
}

// Diagnostic is a problem in a file.
type Diagnostic struct {
	text.Range
	Severity Severity
	Message  string
	Source   string // "" if the extension names none
	Code     string // "" if it has none
	Tags     []int  // 1: unnecessary, 2: deprecated
	Host     string // the name of the host that reports it; "" for the editor itself
	Owner    string // the collection of the extension
}

// owner is a collection of a life of a host, or of the editor itself.
type owner struct {
	host *workbench.Host // nil for the editor itself
	name string
}

// entry is what a collection has for a file.
type entry struct {
	uri workbench.URI
	raw []json.RawMessage
	all []Diagnostic
}

// weight returns about how many bytes the entry takes; 0 for one that is not kept.
func (e *entry) weight() int {
	if len(e.raw) == 0 {
		return 0
	}
	n := perItem + 2*len(e.uri.Path)
	for _, raw := range e.raw {
		n += perItem + 2*len(raw)
	}
	return n
}

// Service has the diagnostics. It must be made with [New].
type Service struct {
	mu        sync.Mutex
	hosts     workbench.Hosts
	owners    map[owner]map[string]entry // by the URI as text
	weights   map[*workbench.Host]int    // bytes
	listeners map[int]func([]workbench.URI)
	next      int
}

// New returns a service without diagnostics.
func New() *Service {
	return &Service{owners: map[owner]map[string]entry{}, weights: map[*workbench.Host]int{}, listeners: map[int]func([]workbench.URI){}}
}

// Methods implements [workbench.Service].
func (s *Service) Methods() map[string]workbench.Method {
	return map[string]workbench.Method{
		"MainThreadDiagnostics.$changeMany": {Now: s.changeMany},
		"MainThreadDiagnostics.$clear":      {Now: s.clear},
	}
}

// Up implements [workbench.Follower].
func (s *Service) Up(h *workbench.Host) {
	defer s.hosts.Enter(&s.mu, h)()
	all := map[string]workbench.URI{}
	for _, files := range s.owners {
		for key, e := range files {
			all[key] = e.uri
		}
	}
	s.tellHost(h, all)
}

// Down implements [workbench.Follower].
func (s *Service) Down(h *workbench.Host) {
	defer s.hosts.Leave(&s.mu, h)()
	gone := map[string]workbench.URI{}
	for o, files := range s.owners {
		if o.host == h {
			for key, e := range files {
				gone[key] = e.uri
			}
			delete(s.owners, o)
		}
	}
	delete(s.weights, h)
	s.changed(h, gone)
}

func (s *Service) changeMany(c *workbench.Call) (any, error) {
	var name string
	var list [][2]json.RawMessage
	if err := c.Args(&name, &list); err != nil {
		return nil, err
	}
	now := map[string]entry{}
	for _, pair := range list {
		var e entry
		if err := json.Unmarshal(pair[0], &e.uri); err != nil {
			return nil, workbench.Invalid("%s: a URI expected, %.40q", c.Method, pair[0])
		}
		if !undefined(pair[1]) {
			if err := json.Unmarshal(pair[1], &e.raw); err != nil {
				return nil, workbench.Invalid("%s: a list of diagnostics expected, %.40q", c.Method, pair[1])
			}
		}
		for _, raw := range e.raw {
			d, err := diagnostic(raw)
			if err != nil {
				return nil, workbench.Invalid("%s: %v", c.Method, err)
			}
			d.Host, d.Owner = c.Host.Name(), name
			e.all = append(e.all, d)
		}
		now[e.uri.String()] = e // the last one of a file counts
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.hosts[c.Host.Name()]
	if h == nil || h.Life() != c.Life {
		return nil, nil // its life is over
	}
	return nil, s.put(owner{h, name}, now)
}

// put takes what a collection has for files now. If that is more than a host may report, nothing changes.
// The caller must hold mu.
func (s *Service) put(o owner, now map[string]entry) error {
	more := 0
	for key, e := range now {
		before := s.owners[o][key]
		more += e.weight() - before.weight()
	}
	if n := s.weights[o.host] + more; n > maxWeight && more > 0 {
		return workbench.Invalid("languages.createDiagnosticCollection: the diagnostics of the host take %d bytes, limit %d", n, maxWeight)
	}
	s.weights[o.host] += more
	if s.owners[o] == nil {
		s.owners[o] = map[string]entry{}
	}
	files := map[string]workbench.URI{}
	for key, e := range now {
		files[key] = e.uri
		if len(e.raw) == 0 {
			delete(s.owners[o], key)
		} else {
			s.owners[o][key] = e
		}
	}
	if len(s.owners[o]) == 0 {
		delete(s.owners, o)
	}
	s.changed(o.host, files)
	return nil
}

func (s *Service) clear(c *workbench.Call) (any, error) {
	var name string
	if err := c.Args(&name); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.hosts[c.Host.Name()]
	if h == nil || h.Life() != c.Life {
		return nil, nil
	}
	s.drop(owner{h, name})
	return nil, nil
}

// drop takes away what a collection has. The caller must hold mu.
func (s *Service) drop(o owner) {
	files := map[string]workbench.URI{}
	for key, e := range s.owners[o] {
		files[key] = e.uri
		s.weights[o.host] -= e.weight()
	}
	delete(s.owners, o)
	s.changed(o.host, files)
}

// undefined reports whether a value is absent.
func undefined(raw json.RawMessage) bool {
	return len(raw) == 0 || string(raw) == "null" || string(raw) == string(workbench.Undefined)
}

// diagnostic reads a diagnostic of either release: the message is a text, or one with its markup.
func diagnostic(raw json.RawMessage) (Diagnostic, error) {
	var in struct {
		text.Range
		Severity      Severity
		Message, Code json.RawMessage
		Source        string
		Tags          []int
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		return Diagnostic{}, err
	}
	return Diagnostic{
		Range: in.Range, Severity: in.Severity, Message: textOf(in.Message), Source: in.Source, Code: textOf(in.Code), Tags: in.Tags,
	}, nil
}

// textOf returns a text, a number, or the value of an object.
func textOf(raw json.RawMessage) string {
	var s string
	if undefined(raw) {
		return ""
	}
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var object struct{ Value json.RawMessage }
	if json.Unmarshal(raw, &object) == nil && object.Value != nil {
		return textOf(object.Value)
	}
	return string(raw)
}

// changed tells the other hosts and the listeners. The caller must hold mu.
func (s *Service) changed(from *workbench.Host, files map[string]workbench.URI) {
	if len(files) == 0 {
		return
	}
	for _, h := range s.hosts {
		if h != from {
			s.tellHost(h, files)
		}
	}
	uris := slices.Collect(maps.Values(files))
	for _, f := range s.listeners {
		f(uris)
	}
}

// tellHost sends what other hosts have for files. The caller must hold mu.
func (s *Service) tellHost(h *workbench.Host, files map[string]workbench.URI) {
	list := [][2]any{}
	for key, uri := range files {
		if path, ok := uri.FilePath(); ok && workbench.Allowed(h.Guard(), path, workbench.Read) != nil {
			continue // a confined host does not learn about files that it must not read
		}
		raw := []json.RawMessage{}
		for o, files := range s.owners {
			if o.host == nil || o.host.Name() != h.Name() {
				raw = append(raw, files[key].raw...)
			}
		}
		list = append(list, [2]any{uri, raw})
	}
	if len(list) > 0 {
		h.Tell(methodChanged, workbench.Params(list))
	}
}

// Diagnostics returns the problems of a file, by position.
func (s *Service) Diagnostics(uri workbench.URI) []Diagnostic {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Diagnostic
	for _, files := range s.owners {
		out = append(out, files[uri.String()].all...)
	}
	slices.SortFunc(out, func(a, b Diagnostic) int {
		return cmp.Or(
			cmp.Compare(a.StartLine, b.StartLine), cmp.Compare(a.StartColumn, b.StartColumn),
			cmp.Compare(a.Host, b.Host), cmp.Compare(a.Owner, b.Owner), cmp.Compare(a.Message, b.Message),
		)
	})
	return out
}

// All returns the files that have problems, in the order of their URIs.
func (s *Service) All() []workbench.URI {
	s.mu.Lock()
	defer s.mu.Unlock()
	files := map[string]workbench.URI{}
	for _, list := range s.owners {
		for key, e := range list {
			files[key] = e.uri
		}
	}
	var out []workbench.URI
	for _, key := range slices.Sorted(maps.Keys(files)) {
		out = append(out, files[key])
	}
	return out
}

// Subscribe calls changed with the files whose problems have changed, until stop is called. changed
// must not block and must not call the service.
func (s *Service) Subscribe(changed func([]workbench.URI)) (stop func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next++
	id := s.next
	s.listeners[id] = changed
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.listeners, id)
	}
}
