package terminals

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

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

// task is a task that runs, or that waits for those that it depends on.
type task struct {
	id       string
	terminal *terminal       // nil while it waits
	cancel   func()          // ends the waiting; nil when it has begun
	done     chan struct{}   // closed when it has ended
	ready    <-chan struct{} // closed when it has done its work in the background; nil if that is not known
	code     *int            // with which it has ended; nil if it has none
	host     string
	life     uint64
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
	Source     struct{ Scope json.RawMessage }

	IsBackground    bool
	ProblemMatchers []json.RawMessage // their names
}

// folder returns the workspace folder that a task belongs to, "" without one.
func (d *dto) folder() string {
	var uri workbench.URI
	if json.Unmarshal(d.Source.Scope, &uri) != nil { // a number
		return ""
	}
	path, _ := uri.FilePath()
	return path
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
		raw = s.fetched[id].raw
		s.mu.Unlock()
		if raw == nil || json.Unmarshal(raw, &d) != nil {
			return e, d, workbench.Invalid("%s: there is no task %q among those of the last tasks.fetchTasks", c.Method, id)
		}
	}
	return execution{idOf(raw), withID(raw)}, d, nil
}

// kindOf returns the type of a task.
func kindOf(raw json.RawMessage) string {
	var of struct{ Definition struct{ Type string } }
	_ = json.Unmarshal(raw, &of) // without it the type is unknown
	return of.Definition.Type
}

func (s *Service) taskID(c *workbench.Call) (any, error) {
	e, _, err := s.executionOf(c)
	return e.ID, err
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
	if running.cancel != nil {
		running.cancel()
		return nil, nil
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
