package terminals

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
	"time"

	"github.com/hostsup/hostsup/workbench"
	"github.com/hostsup/hostsup/workbench/problems"
	"github.com/hostsup/hostsup/workbench/tasks"
)

// fetched is a task that hosts were given.
type fetched struct {
	raw  json.RawMessage
	kind string          // its type
	host *workbench.Host // the host that provides it; nil for one of a file alone
	file *tasks.File     // nil for one that is not of a file
	task *tasks.Task     // likewise
}

// Describe notes that hosts have these extensions now, by their descriptions. It does not block.
func (s *Service) Describe(descriptions []json.RawMessage) {
	definitions := tasks.Definitions(descriptions)
	registry, left := problems.New(descriptions)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.types, s.matchers = definitions, registry
	s.log(left)
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
	types := slices.DeleteFunc(slices.Sorted(maps.Keys(s.types)), func(t string) bool { return kind != "" && t != kind })
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, activationTime)
	defer cancel()
	var all sync.WaitGroup
	for _, t := range types {
		all.Go(func() { _ = s.opt.Activate(ctx, "onTaskType:"+t) })
	}
	all.Wait()
}

// provider is a task provider of a life that is up.
type provider struct {
	host *workbench.Host
	key  providerKey
}

// providersOf returns the providers of tasks of a type, or of all types if it is "", and all types.
func (s *Service) providersOf(kind string) (list []provider, kinds map[string]bool) {
	kinds = map[string]bool{"shell": true, "process": true, "customExecution": true}
	s.mu.Lock()
	defer s.mu.Unlock()
	for k := range s.providers {
		kinds[k.kind] = true
		if h := s.hosts[k.host]; h != nil && h.Life() == k.life && (kind == "" || kind == k.kind) {
			list = append(list, provider{h, k})
		}
	}
	slices.SortFunc(list, func(a, b provider) int {
		return cmp.Or(strings.Compare(a.key.host, b.key.host), cmp.Compare(a.key.handle, b.key.handle))
	})
	return list, kinds
}

// fetch answers $fetchTasks: the tasks of all providers of all hosts, and those of the tasks.json of the
// workspace. filter.type is the kind of the tasks. Extensions that contribute it are activated first. A
// provider that fails has none, which is logged.
func (s *Service) fetch(ctx context.Context, c *workbench.Call) (any, error) {
	var filter struct{ Type string }
	if err := c.Args(&filter); err != nil {
		return nil, err
	}
	s.activate(ctx, filter.Type)
	all, err := s.provided(ctx, c, filter.Type)
	if err != nil {
		return nil, err
	}
	if all, err = s.configured(ctx, c, filter.Type, all); err != nil {
		return nil, err
	}
	out := make([]json.RawMessage, len(all))
	for i, f := range all {
		out[i] = f.raw
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.fetched, func(_ string, f fetched) bool { return filter.Type == "" || f.kind == filter.Type })
	for _, f := range all {
		s.fetched[idOf(f.raw)] = f
	}
	return out, nil
}

// provided returns the tasks of the providers of a type.
func (s *Service) provided(ctx context.Context, c *workbench.Call, kind string) (out []fetched, err error) {
	size := 0
	list, kinds := s.providersOf(kind)
	for _, p := range list {
		var got struct {
			Tasks []json.RawMessage
		}
		if err := p.host.Call(ctx, extTask+"$provideTasks", workbench.Params(p.key.handle, kinds), &got); err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			c.Host.Log().Warn("tasks are missing", "host", p.key.host, "type", p.key.kind, "error", err)
			continue
		}
		for _, raw := range got.Tasks {
			of := kindOf(raw)
			if string(raw) == "null" || kind != "" && of != kind {
				continue
			}
			if size += len(raw); len(out) == maxTasks || size > maxTaskBytes {
				return nil, workbench.Invalid("tasks.fetchTasks: the providers have more than %d tasks or %d bytes, which are the limits", maxTasks, maxTaskBytes)
			}
			out = append(out, fetched{raw: withID(raw), kind: of, host: p.host})
		}
	}
	return out, nil
}

// configured returns the tasks of providers with those of the tasks.json of the workspace, of a type or of
// all if it is "". A task of a provider that a file says something about is that of the file. What cannot be
// used is logged.
func (s *Service) configured(ctx context.Context, c *workbench.Call, kind string, all []fetched) ([]fetched, error) {
	files, left := s.opt.Files(c.Guard)
	provided := len(all)
	taken := map[string]bool{}
	for _, f := range files {
		left = append(left, f.Left...)
		for _, t := range f.Tasks {
			of := kindOf(t.DTO)
			if kind != "" && of != kind {
				continue
			}
			one := fetched{raw: withID(t.DTO), kind: of, file: f, task: t}
			if t.Type == "" {
				all = append(all, one)
				continue
			}
			at, err := s.match(ctx, &one, all[:provided])
			if id := idOf(one.raw); err == nil && taken[id] {
				err = errors.New("another task of the file has the same properties")
			} else if err == nil {
				taken[id] = true
			}
			switch {
			case ctx.Err() != nil:
				return nil, ctx.Err()
			case err != nil:
				left = append(left, fmt.Sprintf("%s: task %q is not used: %v", t.Place, t.Label, err))
			case at >= 0:
				all[at] = one
			default:
				all = append(all, one)
			}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log(left)
	return all, nil
}

// maxLogged bounds the lines that are remembered so that they are logged once.
const maxLogged = 1000

// log logs lines, each of them once. The caller must hold mu.
func (s *Service) log(lines []string) {
	for _, line := range lines {
		if s.left[line] {
			continue
		}
		if len(s.left) >= maxLogged {
			clear(s.left)
		}
		s.left[line] = true
		s.opt.Log(line)
	}
}

// match completes a task of a file that has the type of an extension: by the task among those provided with
// the same properties, whose index it returns, or as a provider resolves it.
func (s *Service) match(ctx context.Context, one *fetched, provided []fetched) (at int, err error) {
	definition, err := s.definition(one.task.Type)
	if err != nil {
		return -1, err
	}
	own, err := one.task.Identify(definition)
	if err != nil {
		return -1, err
	}
	at = slices.IndexFunc(provided, func(f fetched) bool { return f.task == nil && isSame(f.raw, definition, own) })
	var from fetched
	if at >= 0 {
		from = provided[at]
	} else {
		var task map[string]any
		if err := json.Unmarshal(one.task.DTO, &task); err != nil {
			return -1, err
		}
		if from, err = s.resolve(ctx, task, definition.Type, own); err != nil {
			return -1, err
		}
	}
	t, err := one.task.Customize(from.raw)
	if err != nil {
		return -1, err
	}
	one.raw, one.task, one.host = t.DTO, t, from.host
	return at, nil
}

// definition returns what an extension says about a type of tasks.
func (s *Service) definition(kind string) (tasks.Definition, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d, known := s.types[kind]
	if !known {
		return d, fmt.Errorf("the type of an extension that is installed expected, or shell or process, not %q", kind)
	}
	return d, nil
}

// isSame reports whether a task has the properties of another one.
func isSame(raw json.RawMessage, definition tasks.Definition, own map[string]json.RawMessage) bool {
	var d struct{ Definition map[string]json.RawMessage }
	if json.Unmarshal(raw, &d) != nil || kindOf(raw) != definition.Type {
		return false
	}
	theirs, err := definition.Identify(d.Definition)
	return err == nil && tasks.Same(theirs, own)
}

// resolve lets the providers of a type complete a task that has only properties.
func (s *Service) resolve(ctx context.Context, task map[string]any, kind string, own map[string]json.RawMessage) (fetched, error) {
	task["definition"], task["name"] = own, "" // the provider names it
	list, _ := s.providersOf(kind)
	var failed error
	for _, p := range list {
		var raw json.RawMessage
		if err := p.host.Call(ctx, extTask+"$resolveTask", workbench.Params(p.key.handle, task), &raw); err != nil {
			failed = err
			continue
		}
		if len(raw) > 0 && raw[0] == '{' && kindOf(raw) == kind {
			return fetched{raw: withID(raw), host: p.host, kind: kind}, nil
		}
	}
	if failed != nil {
		return fetched{}, fmt.Errorf("the extension that provides tasks of type %q has failed: %w", kind, failed)
	}
	return fetched{}, fmt.Errorf("an extension that provides or completes such a task of type %q expected", kind)
}
