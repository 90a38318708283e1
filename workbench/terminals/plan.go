package terminals

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/hostsup/hostsup/workbench"
	"github.com/hostsup/hostsup/workbench/problems"
	"github.com/hostsup/hostsup/workbench/tasks"
)

// maxDepends bounds the tasks that one task depends on, itself included.
const maxDepends = 100

// step is a task with those that run before it.
type step struct {
	e        execution
	d        dto
	host     *workbench.Host // that provides it; nil for one of a file alone, and for one that the caller has made
	program  program
	custom   bool
	empty    bool // it only depends on others
	before   []*step
	sequence bool
	matchers []*problems.Matcher
}

// watches reports whether a problem matcher knows when the task, which runs in the background, has done its
// work.
func (s *step) watches() bool {
	return slices.ContainsFunc(s.matchers, (*problems.Matcher).InBackground)
}

// planning makes the steps of a task.
type planning struct {
	s     *Service
	c     *workbench.Call
	steps map[string]*step // nil for those whose plan is being made
}

// plan returns the steps of a task, with the programs of all: what cannot run is an error before
// anything has begun.
func (s *Service) plan(ctx context.Context, c *workbench.Call, e execution) (*step, error) {
	s.mu.Lock()
	of := s.fetched[e.ID]
	s.mu.Unlock()
	of.raw = e.Task
	p := &planning{s, c, map[string]*step{}}
	return p.step(ctx, of)
}

func (p *planning) step(ctx context.Context, of fetched) (*step, error) {
	out := &step{e: execution{idOf(of.raw), withID(of.raw)}, host: of.host}
	if err := json.Unmarshal(of.raw, &out.d); err != nil {
		return nil, err
	}
	name := out.d.Name
	if of, seen := p.steps[out.e.ID]; seen {
		if of == nil {
			return nil, workbench.Invalid("tasks.executeTask: the task %q depends on itself", name)
		}
		return of, nil
	}
	if len(p.steps) >= maxDepends {
		return nil, workbench.Invalid("tasks.executeTask: more than %d tasks depend on each other", maxDepends)
	}
	p.steps[out.e.ID] = nil
	if of.task != nil {
		out.sequence = of.task.Sequence
		out.empty = len(out.d.Execution) == 0 && len(of.task.DependsOn) > 0
		for _, on := range of.task.DependsOn {
			next, err := p.dependency(ctx, of, name, on)
			if err != nil {
				return nil, err
			}
			out.before = append(out.before, next)
		}
	}
	if !out.empty {
		v := &values{s: p.s, ctx: ctx, host: p.c.Host.Name(), env: p.c.Host.Spec().Env, file: of.file, folder: out.d.folder(), inputs: map[string]string{}}
		if v.folder == "" {
			v.folder = p.s.opt.Folder()
		}
		var err error
		if out.program, out.custom, err = p.s.taskProgram(out.d, v.replace); err != nil {
			return nil, err
		}
		if v.cwd = out.program.dir; v.cwd == "" {
			v.cwd = v.folder
		}
		out.matchers = p.matchers(of, &out.d, v)
	}
	p.steps[out.e.ID] = out
	return out, nil
}

// matchers returns the problem matchers of a task. Those that cannot be used are logged: the task runs without
// them, as in VS Code.
func (p *planning) matchers(of fetched, d *dto, v *values) (out []*problems.Matcher) {
	place, list := fmt.Sprintf("task %q", d.Name), []json.RawMessage(nil)
	if of.task != nil {
		place, list = fmt.Sprintf("%s: task %q", of.task.Place, d.Name), of.task.Matchers
	}
	if list == nil {
		list = d.ProblemMatchers
	}
	p.s.mu.Lock()
	registry := p.s.matchers
	p.s.mu.Unlock()
	for i, raw := range list {
		m, err := registry.Matcher(raw, fmt.Sprintf("%s of %s", d.Name, v.folder))
		if err == nil {
			m, err = m.Bind(v.replace)
		}
		if err != nil {
			p.s.opt.Log(fmt.Sprintf("%s: problem matcher %d is not used: %v", place, i+1, err))
			continue
		}
		out = append(out, m)
	}
	return out
}

// dependency returns the steps of a task that another one depends on: one of the same file, or one that a
// provider has.
func (p *planning) dependency(ctx context.Context, from fetched, name string, on tasks.Dependency) (*step, error) {
	found, err := p.find(ctx, from.file, on)
	if err != nil {
		return nil, workbench.Invalid("tasks.executeTask: the task %q depends on %s: %v", name, on, err)
	}
	of, err := p.step(ctx, found)
	if err == nil && of.d.IsBackground && !of.watches() {
		return nil, workbench.NotSupported("tasks.executeTask",
			fmt.Sprintf("the task %q depends on %q, which runs in the background: only a problem matcher with background patterns knows when it is ready", name, of.d.Name))
	}
	return of, err
}

// find returns a task that another one of a file depends on.
func (p *planning) find(ctx context.Context, file *tasks.File, on tasks.Dependency) (fetched, error) {
	if on.Properties != nil {
		return p.same(ctx, file, on.Properties)
	}
	t := file.Find(on.Label)
	if t != nil && t.Type == "" {
		return fetched{raw: withID(t.DTO), file: file, task: t}, nil
	}
	if t != nil {
		found, ok := p.among(func(f fetched) bool { return f.task != nil && f.file.Folder == file.Folder && f.task.Label == on.Label })
		if ok {
			return found, nil
		}
		p.s.activate(ctx, t.Type)
		all, err := p.s.provided(ctx, p.c, t.Type)
		if err != nil {
			return fetched{}, err
		}
		found = fetched{raw: t.DTO, file: file, task: t}
		_, err = p.s.match(ctx, &found, all)
		return found, err
	}
	is := func(f fetched) bool {
		var d struct {
			Name   string
			Source struct{ Label string }
		}
		return f.task == nil && json.Unmarshal(f.raw, &d) == nil && (d.Name == on.Label || d.Source.Label+": "+d.Name == on.Label)
	}
	if found, ok := p.among(is); ok {
		return found, nil
	}
	p.s.activate(ctx, "")
	all, err := p.s.provided(ctx, p.c, "")
	if err != nil {
		return fetched{}, err
	}
	if i := slices.IndexFunc(all, is); i >= 0 {
		return all[i], nil
	}
	return fetched{}, fmt.Errorf("a task with this label expected in %s or of an extension", tasks.Path(file.Folder))
}

// among returns a task that hosts were given.
func (p *planning) among(is func(fetched) bool) (fetched, bool) {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(p.s.fetched)) {
		if f := p.s.fetched[id]; is(f) {
			return f, true
		}
	}
	return fetched{}, false
}

// same returns the task of an extension with some properties.
func (p *planning) same(ctx context.Context, file *tasks.File, properties map[string]json.RawMessage) (fetched, error) {
	var kind string
	if err := json.Unmarshal(properties["type"], &kind); err != nil {
		return fetched{}, errors.New("a text as its type expected")
	}
	for _, t := range file.Tasks { // it may say more about the task
		if t.Type == kind && t.Label != "" && t.Has(properties) {
			return p.find(ctx, file, tasks.Dependency{Label: t.Label})
		}
	}
	p.s.activate(ctx, kind)
	all, err := p.s.provided(ctx, p.c, kind)
	if err != nil {
		return fetched{}, err
	}
	definition, err := p.s.definition(kind)
	if err != nil {
		return fetched{}, err
	}
	own, err := definition.Identify(properties)
	if err != nil {
		return fetched{}, err
	}
	if i := slices.IndexFunc(all, func(f fetched) bool { return isSame(f.raw, definition, own) }); i >= 0 {
		return all[i], nil
	}
	source := map[string]any{"label": "Workspace", "scope": workbench.File(file.Folder)}
	return p.s.resolve(ctx, map[string]any{"source": source, "isBackground": false, "problemMatchers": []string{}, "hasDefinedMatchers": false}, kind, own)
}
