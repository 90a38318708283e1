// Package tools has the language model tools of extensions: vscode.lm.tools, lm.registerTool and
// lm.invokeTool. A tool is invoked in the host of its extension, also for the hosts beside, and its
// extension is activated first.
package tools

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/hostsup/hostsup/workbench"
)

const (
	extTools = "ExtHostLanguageModelTools."
	// maxTools bounds the tools that are known, and those that are registered.
	maxTool  = 1 << 20 // bytes of a tool that code defines
	maxTools = 1000
	// maxCalls bounds the invocations at one time.
	maxCalls = 1000
)

// Tool describes a tool.
type Tool struct {
	ID               string          `json:"id"` // its name
	ReferenceName    string          `json:"toolReferenceName,omitempty"`
	DisplayName      string          `json:"displayName"`
	UserDescription  string          `json:"userDescription,omitempty"`
	ModelDescription string          `json:"modelDescription"`
	Tags             []string        `json:"tags"`
	InputSchema      json.RawMessage `json:"inputSchema,omitempty"` // a JSON schema
	Source           Source          `json:"source"`
}

// Source is where a tool comes from.
type Source struct {
	Type      string         `json:"type"` // "extension"
	Label     string         `json:"label"`
	Extension map[string]any `json:"extensionId,omitempty"`
}

// Options of a [Service].
type Options struct {
	// Activate activates the extensions that want an event, and waits for them.
	Activate func(ctx context.Context, event string) error
	// Changed is called when the tools have changed. It must not block or use the service. May be
	// nil.
	Changed func()
}

// Service answers MainThreadLanguageModelTools. It must be made with [New].
type Service struct {
	opt Options

	mu        sync.Mutex
	hosts     workbench.Hosts
	declared  map[string]Tool // by manifests
	defined   map[string]Tool // by code
	registers map[string]at
	calls     map[string]*workbench.Host // that invoke a tool, by the id of the call
	progress  map[string]*follower       // of invocations of the program
	last      int
}

// at is where a tool is registered.
type at struct {
	host string
	life uint64
}

// New returns the service.
func New(opt Options) *Service {
	return &Service{
		opt: opt, declared: map[string]Tool{}, defined: map[string]Tool{}, registers: map[string]at{},
		calls: map[string]*workbench.Host{}, progress: map[string]*follower{},
	}
}

// Methods implements [workbench.Service].
func (s *Service) Methods() map[string]workbench.Method {
	const m = "MainThreadLanguageModelTools."
	return map[string]workbench.Method{
		m + "$getTools":                   {Now: func(*workbench.Call) (any, error) { return s.Tools(), nil }},
		m + "$registerTool":               {Now: s.register},
		m + "$registerToolWithDefinition": {Now: s.define},
		m + "$unregisterTool":             {Now: s.unregister},
		m + "$invokeTool":                 {Do: s.invoke},
		m + "$countTokensForInvocation":   {Do: s.count},
		m + "$acceptToolProgress":         {Now: s.progressed},
	}
}

// Up implements [workbench.Follower].
func (s *Service) Up(h *workbench.Host) {
	defer s.hosts.Enter(&s.mu, h)()
	if all := s.all(); len(all) > 0 {
		h.Tell(extTools+"$onDidChangeTools", workbench.Params(all)) // it may have asked before
	}
}

// Down implements [workbench.Follower].
func (s *Service) Down(h *workbench.Host) {
	defer s.hosts.Leave(&s.mu, h)()
	changed := false
	for id, where := range s.registers {
		if where.host == h.Name() && where.life <= h.Life() {
			delete(s.registers, id)
			_, code := s.defined[id]
			changed = changed || code
			delete(s.defined, id)
		}
	}
	if changed {
		s.changed()
	}
	maps.DeleteFunc(s.calls, func(_ string, by *workbench.Host) bool { return by == h })
}

// Describe notes that hosts have these extensions now, by their descriptions. Tools that are no
// objects with a name and a description are left out, as in VS Code. It does not block.
func (s *Service) Describe(descriptions []json.RawMessage) {
	declared := map[string]Tool{}
	for _, raw := range descriptions {
		var d struct {
			Publisher, Name, DisplayName string
			Contributes                  struct{ LanguageModelTools []json.RawMessage }
		}
		if json.Unmarshal(raw, &d) != nil {
			continue
		}
		for _, raw := range d.Contributes.LanguageModelTools {
			var c struct {
				Name, ToolReferenceName, DisplayName, UserDescription, ModelDescription string
				Tags                                                                    []string
				InputSchema                                                             json.RawMessage
			}
			if json.Unmarshal(raw, &c) != nil || c.Name == "" || c.ModelDescription == "" || len(declared) >= maxTools {
				continue
			}
			if _, twice := declared[c.Name]; twice {
				continue
			}
			id := d.Publisher + "." + d.Name
			declared[c.Name] = Tool{
				c.Name, c.ToolReferenceName, c.DisplayName, c.UserDescription, c.ModelDescription, append([]string{}, c.Tags...), c.InputSchema,
				Source{"extension", first(d.DisplayName, d.Name), map[string]any{"value": id, "_lower": strings.ToLower(id)}},
			}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	before := string(workbench.Params(s.all()))
	s.declared = declared
	if string(workbench.Params(s.all())) != before {
		s.changed()
	}
}

// changed tells hosts and the program that the tools have changed. The caller must hold mu.
func (s *Service) changed() {
	s.hosts.Tell(extTools+"$onDidChangeTools", workbench.Params(s.all()))
	if s.opt.Changed != nil {
		s.opt.Changed()
	}
}

func first(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}

// Tools returns the tools, by their names: those of manifests, also of extensions that are not
// active, and those that code has defined.
func (s *Service) Tools() []Tool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all()
}

// all is Tools. The caller must hold mu.
func (s *Service) all() []Tool {
	tools := maps.Clone(s.declared)
	maps.Copy(tools, s.defined)
	out := make([]Tool, 0, len(tools))
	for _, name := range slices.Sorted(maps.Keys(tools)) {
		out = append(out, tools[name])
	}
	return out
}

// register answers $registerTool: a tool of a manifest has an implementation now.
func (s *Service) register(c *workbench.Call) (any, error) {
	var id string
	if err := c.Args(&id); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return nil, s.claim(c, id)
}

// define answers $registerToolWithDefinition: the extension, and a tool that no manifest has.
func (s *Service) define(c *workbench.Call) (any, error) {
	var t Tool
	if err := c.Args(nil, &t); err != nil {
		return nil, err
	}
	if n := len(c.Raw(1)); n > maxTool {
		return nil, workbench.Invalid("lm.registerToolDefinition: a tool of %d bytes, limit %d", n, maxTool)
	}
	if t.Tags == nil {
		t.Tags = []string{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.claim(c, t.ID); err != nil {
		return nil, err
	}
	s.defined[t.ID] = t
	s.changed()
	return nil, nil
}

// claim notes who implements a tool. The caller must hold mu.
func (s *Service) claim(c *workbench.Call, id string) error {
	where, taken := s.registers[id]
	switch {
	case id == "":
		return workbench.Invalid("%s: the name of a tool expected", c.Method)
	case taken && where != (at{c.Host.Name(), c.Life}):
		return workbench.Invalid("lm.registerTool: the tool %q has an implementation in host %s already", id, where.host)
	case !taken && len(s.registers) >= maxTools:
		return workbench.Invalid("lm.registerTool: %d tools are registered, which is the limit", maxTools)
	}
	s.registers[id] = at{c.Host.Name(), c.Life}
	return nil
}

func (s *Service) unregister(c *workbench.Call) (any, error) {
	var id string
	if err := c.Args(&id); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.registers[id] != (at{c.Host.Name(), c.Life}) {
		return nil, nil
	}
	delete(s.registers, id)
	if _, code := s.defined[id]; code {
		delete(s.defined, id)
		s.changed()
	}
	return nil, nil
}

// implementation returns the host that implements a tool, whose extension is activated if need be.
func (s *Service) implementation(ctx context.Context, id string) (*workbench.Host, error) {
	find := func() (h *workbench.Host, known bool) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if where, ok := s.registers[id]; ok {
			if h := s.hosts[where.host]; h != nil && h.Life() == where.life {
				return h, true
			}
		}
		_, known = s.declared[id]
		return nil, known
	}
	h, known := find()
	if h != nil {
		return h, nil
	}
	if !known {
		return nil, workbench.Invalid("lm.invokeTool: there is no tool %q", id)
	}
	if s.opt.Activate != nil {
		if err := s.opt.Activate(ctx, "onLanguageModelTool:"+id); err != nil {
			return nil, err
		}
	}
	if h, _ = find(); h == nil {
		return nil, workbench.Invalid("lm.invokeTool: the extension of the tool %q has not registered it", id)
	}
	return h, nil
}

// token is a cancellation token, as package codec/vscode writes it.
var token = json.RawMessage(`{"$token":true}`)

// invoke answers $invokeTool: the tool and its parameters.
func (s *Service) invoke(ctx context.Context, c *workbench.Call) (any, error) {
	var q struct{ CallID, ToolID string }
	if err := c.Args(&q); err != nil {
		return nil, err
	}
	h, err := s.implementation(ctx, q.ToolID)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	by := s.hosts[c.Host.Name()]
	full := len(s.calls) >= maxCalls
	if by != nil && !full {
		s.calls[q.CallID] = by
	}
	s.mu.Unlock()
	if full {
		return nil, workbench.Invalid("lm.invokeTool: %d invocations run, which is the limit", maxCalls)
	}
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.calls, q.CallID)
	}()
	return call(ctx, h, c.Raw(0))
}

func call(ctx context.Context, h *workbench.Host, invocation any) (json.RawMessage, error) {
	var out json.RawMessage
	if err := h.Call(ctx, extTools+"$invokeTool", workbench.Params(invocation, token), &out); err != nil {
		return nil, err
	}
	return out, nil
}

// count answers $countTokensForInvocation, with what the host that has invoked the tool counts.
func (s *Service) count(ctx context.Context, c *workbench.Call) (any, error) {
	var id string
	if err := c.Args(&id); err != nil {
		return nil, err
	}
	s.mu.Lock()
	by := s.calls[id]
	s.mu.Unlock()
	if by == nil {
		return nil, workbench.Invalid("the invocation %q of a tool does not run, or counts no tokens", id)
	}
	var n float64
	if err := by.Call(ctx, extTools+"$countTokensForInvocation", workbench.Params(id, c.Raw(1), token), &n); err != nil {
		return nil, err
	}
	return n, nil
}
