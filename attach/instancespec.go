package attach

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hostsup/hostsup/supervisor"
)

// named makes of the spec of the host that of an instance.
func (i *instances) named(spec supervisor.HostSpec, m *made) supervisor.HostSpec {
	spec.Name, spec.InstanceOf = m.name, ""
	spec.Features = slices.Clone(spec.Features)
	for n, f := range spec.Features {
		if r, is := f.(Rule); is {
			spec.Features[n] = Rule{Isolate: r.Isolate, Silent: r.Silent}
		}
	}
	if m.want.id != "" {
		if !Can(spec.Protocol) {
			spec.Features = slices.DeleteFunc(spec.Features, func(f supervisor.Feature) bool { _, is := f.(Rule); return is })
		}
		spec.Features = append(spec.Features, keyed{m.want.id})
		spec.Start.Lazy = false
	}
	return spec
}

// spec returns the spec of the host as one instance has it.
func (i *instances) spec(w want) (supervisor.HostSpec, error) {
	spec := i.of.Spec()
	if rule := RuleOf(spec); rule.Instances == PerKey {
		if err := rule.check(spec.Name, w.id, w.vars); err != nil {
			return spec, err
		}
		return filled(spec, w)
	}
	return within(spec, w.root)
}

// within puts a folder in the place of [Root].
func within(spec supervisor.HostSpec, root string) (supervisor.HostSpec, error) {
	uses := false
	in := func(text string) string {
		uses = uses || strings.Contains(text, Root)
		return strings.ReplaceAll(text, Root, strings.TrimSuffix(root, "/"))
	}
	spec = rewritten(spec, in, in)
	if !uses {
		return spec, nil
	}
	if root == "" {
		return spec, fmt.Errorf("%w: the configuration of host %q uses the folder that the program works in, and the program has named none", ErrInstances, spec.Name)
	}
	if info, err := os.Stat(root); err != nil || !info.IsDir() || !filepath.IsAbs(root) || filepath.Clean(root) != strings.TrimSuffix(root, "/") {
		return spec, fmt.Errorf("%w: the folder that the program works in, %q, is not the whole path of a folder", ErrInstances, root)
	}
	return spec, nil
}

// rewritten returns a spec with its texts, and its paths, as two functions return them.
func rewritten(spec supervisor.HostSpec, text, path func(string) string) supervisor.HostSpec {
	all := func(list []string, in func(string) string) []string {
		list = slices.Clone(list)
		for i := range list {
			list[i] = in(list[i])
		}
		return list
	}
	program := spec.Command[:min(1, len(spec.Command))]
	spec.Command, spec.Dir = slices.Concat(all(program, path), all(spec.Command[len(program):], text)), path(spec.Dir)
	env := make(map[string]string, len(spec.Env))
	for name, value := range spec.Env {
		env[name] = text(value)
	}
	spec.Env, spec.Secrets.Env = env, maps.Clone(spec.Secrets.Env)
	for name, parts := range spec.Secrets.Env {
		parts = slices.Clone(parts)
		for i := range parts {
			parts[i].Words = text(parts[i].Words)
		}
		spec.Secrets.Env[name] = parts
	}
	if spec.Sandbox != nil {
		p := *spec.Sandbox
		p.Read, p.Exec, p.Write, p.Deny, p.Work.Path = all(p.Read, path), all(p.Exec, path), all(p.Write, path), all(p.Deny, path), path(p.Work.Path)
		spec.Sandbox = &p
	}
	return spec
}
