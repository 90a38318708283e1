package terminals

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hostsup/hostsup/workbench"
)

const extTask = "ExtHostTask."

// providerKey names a task provider: its host, the life, and the number that the host has given.
type providerKey struct {
	host   string
	life   uint64
	handle int
	kind   string // of the tasks
}

// task is a task that runs.
type task struct {
	id       string
	terminal *terminal
}

// execution is a task as hosts have it (TaskExecutionDTO).
type execution struct {
	ID   string          `json:"id"`
	Task json.RawMessage `json:"task"`
}

// dto has the parts of a task that matter here (TaskDTO, or TaskHandleDTO with an id).
type dto struct {
	ID         string `json:"id"`
	Name       string
	Definition json.RawMessage
	Execution  json.RawMessage
}

func (s *Service) register(c *workbench.Call) (any, error)   { return s.provides(c, true) }
func (s *Service) unregister(c *workbench.Call) (any, error) { return s.provides(c, false) }

func (s *Service) provides(c *workbench.Call, on bool) (any, error) {
	k := providerKey{host: c.Host.Name(), life: c.Life}
	var kind string
	if err := c.Args(&k.handle, &kind); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for old := range s.providers {
		if old.host == k.host && old.life == k.life && old.handle == k.handle {
			delete(s.providers, old)
		}
	}
	if k.kind = kind; on {
		switch n := len(kind); {
		case n > maxName:
			return nil, workbench.Invalid("tasks.registerTaskProvider: a type of %d bytes, limit %d", n, maxName)
		case len(s.providers) >= maxProviders:
			return nil, workbench.Invalid("tasks.registerTaskProvider: %d providers are registered, which is the limit", maxProviders)
		}
		s.providers[k] = true
	}
	return nil, nil
}

// Describe notes that hosts have these extensions now, by their descriptions. It does not block.
func (s *Service) Describe(descriptions []json.RawMessage) {
	all := map[string]bool{}
	for _, raw := range descriptions {
		var m struct {
			Contributes struct {
				Definitions []struct{ Type string } `json:"taskDefinitions"`
			} `json:"contributes"`
		}
		if json.Unmarshal(raw, &m) != nil {
			continue
		}
		for _, d := range m.Contributes.Definitions {
			if d.Type != "" {
				all[d.Type] = true
			}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.types = slices.Sorted(maps.Keys(all))
}

// activationTime bounds how long extensions may take to become active before tasks are fetched without
// theirs, as in VS Code.
const activationTime = 5 * time.Second

// activate activates the extensions that contribute tasks of a type, or of all types if it is "". Those
// that fail are reported by their service.
func (s *Service) activate(ctx context.Context, kind string) {
	if s.opt.Activate == nil {
		return
	}
	s.mu.Lock()
	types := slices.DeleteFunc(slices.Clone(s.types), func(t string) bool { return kind != "" && t != kind })
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, activationTime)
	defer cancel()
	var all sync.WaitGroup
	for _, t := range types {
		all.Go(func() { _ = s.opt.Activate(ctx, "onTaskType:"+t) })
	}
	all.Wait()
}

// fetch answers $fetchTasks: the tasks of all providers of all hosts. filter.type is the kind of the
// tasks. Extensions that contribute it are activated first. A provider that fails has none, which is logged.
func (s *Service) fetch(ctx context.Context, c *workbench.Call) (any, error) {
	var filter struct{ Type string }
	if err := c.Args(&filter); err != nil {
		return nil, err
	}
	s.activate(ctx, filter.Type)
	type asked struct {
		host *workbench.Host
		key  providerKey
	}
	var list []asked
	kinds := map[string]bool{"shell": true, "process": true, "customExecution": true}
	s.mu.Lock()
	for k := range s.providers {
		kinds[k.kind] = true
		if h := s.hosts[k.host]; h != nil && h.Life() == k.life && (filter.Type == "" || filter.Type == k.kind) {
			list = append(list, asked{h, k})
		}
	}
	s.mu.Unlock()
	slices.SortFunc(list, func(a, b asked) int {
		return cmp.Or(strings.Compare(a.key.host, b.key.host), cmp.Compare(a.key.handle, b.key.handle))
	})
	out, size := []json.RawMessage{}, 0
	for _, a := range list {
		var got struct {
			Tasks []json.RawMessage
		}
		if err := a.host.Call(ctx, extTask+"$provideTasks", workbench.Params(a.key.handle, kinds), &got); err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			c.Host.Log().Warn("tasks are missing", "host", a.key.host, "type", a.key.kind, "error", err)
			continue
		}
		for _, raw := range got.Tasks {
			var kind struct{ Definition struct{ Type string } }
			if string(raw) != "null" && json.Unmarshal(raw, &kind) == nil && (filter.Type == "" || kind.Definition.Type == filter.Type) {
				if size += len(raw); len(out) == maxTasks || size > maxTaskBytes {
					return nil, workbench.Invalid("tasks.fetchTasks: the providers have more than %d tasks or %d bytes, which are the limits", maxTasks, maxTaskBytes)
				}
				out = append(out, withID(raw))
			}
		}
	}
	fetched := make(map[string]json.RawMessage, len(out))
	for _, raw := range out {
		fetched[idOf(raw)] = raw
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fetched = fetched
	return out, nil
}

// withID returns a task with its id, by which a host takes it for one that it was given.
func withID(raw json.RawMessage) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil || fields == nil { // null is decoded too
		return raw
	}
	if _, has := fields["_id"]; !has {
		fields["_id"], _ = json.Marshal(idOf(raw))
	}
	out, err := json.Marshal(fields)
	if err != nil {
		return raw
	}
	return out
}

// idOf returns the id of a task: the same for the same definition, name and source.
func idOf(raw json.RawMessage) string {
	var key struct {
		ID         string `json:"_id"`
		Name       string
		Definition map[string]any
		Source     struct {
			Label string
			Scope any
		}
	}
	_ = json.Unmarshal(raw, &key) // what is missing is the same
	if key.ID != "" {
		return key.ID
	}
	text, err := json.Marshal(key) // maps are sorted
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:12])
}

// executionOf returns the execution of the task that is the first argument of a call: a task, or the
// id of one that fetch has returned.
func (s *Service) executionOf(c *workbench.Call) (e execution, d dto, err error) {
	raw := c.Raw(0)
	if err := json.Unmarshal(raw, &d); err != nil {
		return e, d, workbench.Invalid("%s: a task expected: %v", c.Method, err)
	}
	if string(raw) == "null" {
		return e, d, workbench.Invalid("%s: a task expected, not null", c.Method)
	}
	if d.ID != "" && len(d.Execution) == 0 {
		id := d.ID
		s.mu.Lock()
		raw = s.fetched[id]
		s.mu.Unlock()
		if raw == nil || json.Unmarshal(raw, &d) != nil {
			return e, d, workbench.Invalid("%s: there is no task %q among those of the last tasks.fetchTasks", c.Method, id)
		}
	}
	return execution{idOf(raw), withID(raw)}, d, nil
}

func (s *Service) taskID(c *workbench.Call) (any, error) {
	e, _, err := s.executionOf(c)
	return e.ID, err
}

func (s *Service) execution(c *workbench.Call) (any, error) {
	e, _, err := s.executionOf(c)
	if err != nil {
		return nil, err
	}
	return e, nil
}

// execute answers $executeTask. A task that runs already is not started again.
func (s *Service) execute(c *workbench.Call) (any, error) {
	e, d, err := s.executionOf(c)
	if err != nil {
		return nil, err
	}
	t := &terminal{name: d.Name, host: c.Host, life: c.Life}
	if t.program, t.custom, err = s.taskProgram(c, d); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tasks[e.ID] != nil {
		return nil, workbench.Invalid("tasks.executeTask: the task %q is running already", d.Name)
	}
	running := &task{e.ID, t}
	t.started = func(pid int) {
		s.hosts.Tell(extTask+"$onDidStartTaskProcess", workbench.Params(map[string]any{"id": e.ID, "processId": pid}))
	}
	t.closed = func(code *int) {
		delete(s.tasks, e.ID)
		end := map[string]any{"id": e.ID}
		if code != nil {
			end["exitCode"] = *code
		}
		s.hosts.Tell(extTask+"$onDidEndTaskProcess", workbench.Params(end))
		s.hosts.Tell(extTask+"$OnDidEndTask", workbench.Params(e))
	}
	if t.custom {
		// The host attaches its terminal when it is told of the start of the task.
		t.kick, t.stop = make(chan struct{}, 1), make(chan struct{})
		if err := s.open(t); err != nil {
			return nil, err
		}
	} else if err := s.begin(t); err != nil {
		return nil, err
	}
	s.tasks[e.ID] = running
	s.hosts.Tell(extTask+"$onDidStartTask", workbench.Params(e, t.id, d.Definition))
	if h := s.hosts[c.Host.Name()]; t.custom && h != nil {
		h.Tell(extTerminals+"$startExtensionTerminal", workbench.Params(t.id, map[string]int{"columns": cols, "rows": rows}))
	}
	return e, nil
}

func (s *Service) terminate(c *workbench.Call) (any, error) {
	var id string
	if err := c.Args(&id); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	running := s.tasks[id]
	if running == nil {
		return nil, workbench.Invalid("TaskExecution.terminate: the task does not run")
	}
	running.terminal.end(reasonExtension, nil)
	return nil, nil
}

// isCustom reports whether an execution is played by an extension.
func isCustom(raw json.RawMessage) bool {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text == "customExecution"
	}
	return bytes.Contains(raw, []byte(`"customExecution"`))
}
