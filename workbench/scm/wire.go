package scm

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/hostsup/hostsup/workbench"
)

// Methods implements [workbench.Service].
func (s *Service) Methods() map[string]workbench.Method {
	const of = "MainThreadSCM."
	return map[string]workbench.Method{
		of + "$registerSourceControl": {Now: s.register},
		of + "$unregisterSourceControl": {Now: s.on(func(c *control, _ *workbench.Call) error {
			delete(s.controls, key{c.Host, c.handle})
			return nil
		})},
		of + "$updateSourceControl":  {Now: s.on(s.update)},
		of + "$registerGroups":       {Now: s.on(s.registerGroups)},
		of + "$updateGroup":          {Now: s.on(updateGroup)},
		of + "$updateGroupLabel":     {Now: s.on(s.updateGroupLabel)},
		of + "$unregisterGroup":      {Now: s.on(unregisterGroup)},
		of + "$spliceResourceStates": {Now: s.on(func(c *control, call *workbench.Call) error { return s.splice(c, call.Raw(1)) })},
		of + "$setInputBoxValue":     {Now: s.on(func(c *control, call *workbench.Call) error { return call.Args(nil, &c.Input.Value) })},
		of + "$setInputBoxPlaceholder": {Now: s.on(func(c *control, call *workbench.Call) error {
			var text string
			err := call.Args(nil, &text)
			c.Input.Placeholder = s.line(text)
			return err
		})},
		of + "$setInputBoxEnablement": {Now: s.on(func(c *control, call *workbench.Call) error { return call.Args(nil, &c.Input.Enabled) })},
		of + "$setInputBoxVisibility": {Now: s.on(func(c *control, call *workbench.Call) error { return call.Args(nil, &c.Input.Visible) })},
	}
}

// register answers $registerSourceControl: a handle, in newer releases the handle of a parent, the kind,
// the label, and the root.
func (s *Service) register(c *workbench.Call) (any, error) {
	own := &control{}
	var root *workbench.URI
	first := 1
	if raw := c.Raw(1); len(raw) == 0 || raw[0] != '"' {
		first = 2
	}
	to := []any{&own.handle, nil, nil, nil, nil}
	to[first], to[first+1], to[first+2] = &own.Kind, &own.Label, &root
	if err := c.Args(to...); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	h, err := s.hosts.Of(c)
	if err != nil {
		return nil, err
	}
	count := 0
	for k := range s.controls {
		if k.host == h.Name() {
			count++
		}
	}
	if count >= maxControls {
		return nil, workbench.Invalid("scm.createSourceControl: the host has %d, which is the limit", maxControls)
	}
	own.host, own.Host, own.ID = h, h.Name(), fmt.Sprintf("%s.%d.%d", h.Name(), h.Life(), own.handle)
	own.Kind, own.Label, own.Input = s.line(own.Kind), s.line(own.Label), Input{Enabled: true, Visible: true}
	if root != nil {
		own.Root, own.root = s.line(root.String()), root
	}
	s.controls[key{own.Host, own.handle}] = own
	return nil, nil
}

// on returns a method whose first argument is the handle of a source control. One that is not there any
// more is not an error, as in VS Code. do is called with mu held.
func (s *Service) on(do func(c *control, call *workbench.Call) error) func(*workbench.Call) (any, error) {
	return func(call *workbench.Call) (any, error) {
		var handle int
		if err := call.Args(&handle); err != nil {
			return nil, err
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		c := s.controls[key{call.Host.Name(), handle}]
		if c == nil || c.host.Life() != call.Life {
			return nil, nil
		}
		return nil, do(c, call)
	}
}

// update answers $updateSourceControl: the features that have changed.
func (s *Service) update(c *control, call *workbench.Call) error {
	var f struct {
		Count              *int
		CommitTemplate     *string
		AcceptInputCommand *struct {
			ID        string
			Arguments json.RawMessage
		}
		HasQuickDiffProvider *bool
	}
	if err := call.Args(nil, &f); err != nil {
		return err
	}
	if f.Count != nil {
		c.Count = f.Count
	}
	if f.HasQuickDiffProvider != nil {
		c.compares = *f.HasQuickDiffProvider
	}
	if f.CommitTemplate != nil {
		c.Template = s.opt.Redact(*f.CommitTemplate)
	}
	if f.AcceptInputCommand != nil {
		c.Control.Accept, c.accept = f.AcceptInputCommand.ID, f.AcceptInputCommand.Arguments
	}
	return nil
}

// registerGroups answers $registerGroups: groups, and the resources that they have already.
func (s *Service) registerGroups(c *control, call *workbench.Call) error {
	var list [][]json.RawMessage // each: handle, id, label and features
	if err := call.Args(nil, &list); err != nil {
		return err
	}
	for _, raw := range list {
		g := &group{}
		var features struct{ HideWhenEmpty bool }
		if err := tuple(raw, &g.handle, &g.ID, &g.Label, &features); err != nil {
			return err
		}
		if len(c.groups) >= maxGroups {
			return workbench.Invalid("SourceControl.createResourceGroup: there are %d, which is the limit", maxGroups)
		}
		g.ID, g.Label, g.hide = s.line(g.ID), s.line(g.Label), features.HideWhenEmpty
		c.groups = append(c.groups, g)
	}
	return s.splice(c, call.Raw(2))
}

// tuple decodes the elements of a list, as far as there are any.
func tuple(list []json.RawMessage, out ...any) error {
	for i, p := range out {
		if i < len(list) && p != nil {
			if err := json.Unmarshal(list[i], p); err != nil {
				return workbench.Invalid("source control: element %d: %v", i+1, err)
			}
		}
	}
	return nil
}

// group returns a group; nil without one.
func (c *control) group(handle int) *group {
	i := slices.IndexFunc(c.groups, func(g *group) bool { return g.handle == handle })
	if i < 0 {
		return nil
	}
	return c.groups[i]
}

func updateGroup(c *control, call *workbench.Call) error {
	var handle int
	var features struct{ HideWhenEmpty bool }
	if err := call.Args(nil, &handle, &features); err != nil {
		return err
	}
	if g := c.group(handle); g != nil {
		g.hide = features.HideWhenEmpty
	}
	return nil
}

func (s *Service) updateGroupLabel(c *control, call *workbench.Call) error {
	var handle int
	var label string
	if err := call.Args(nil, &handle, &label); err != nil {
		return err
	}
	if g := c.group(handle); g != nil {
		g.Label = s.line(label)
	}
	return nil
}

func unregisterGroup(c *control, call *workbench.Call) error {
	var handle int
	if err := call.Args(nil, &handle); err != nil {
		return err
	}
	c.groups = slices.DeleteFunc(c.groups, func(g *group) bool { return g.handle == handle })
	return nil
}

// splice changes resources: for each group a list of places, how many are removed there, and those that
// are added. The places are those before the change, in rising order.
func (s *Service) splice(c *control, raw json.RawMessage) error {
	if len(raw) == 0 {
		return nil
	}
	var all [][]json.RawMessage // each: the handle of a group, and its changes
	if err := json.Unmarshal(raw, &all); err != nil {
		return workbench.Invalid("source control: %v", err)
	}
	for _, one := range all {
		var handle int
		var changes [][]json.RawMessage
		if err := tuple(one, &handle, &changes); err != nil {
			return err
		}
		g := c.group(handle)
		if g == nil {
			continue
		}
		for _, change := range slices.Backward(changes) {
			var start, remove int
			var added [][]json.RawMessage
			if err := tuple(change, &start, &remove, &added); err != nil {
				return err
			}
			if start < 0 || remove < 0 || start+remove > len(g.Resources) {
				return workbench.Invalid("source control: %d resources at %d of %d are to be removed", remove, start, len(g.Resources))
			}
			if len(g.Resources)-remove+len(added) > maxResources {
				return workbench.Invalid("source control: the group %s has more than %d resources, which is the limit", g.ID, maxResources)
			}
			list := make([]Resource, len(added))
			for i, raw := range added {
				if err := s.resource(raw, &list[i]); err != nil {
					return err
				}
			}
			g.Resources = slices.Replace(g.Resources, start, start+remove, list...)
		}
	}
	return nil
}

// resource decodes a resource: handle, URI, icons, tooltip, whether it is struck and faded, contextValue.
func (s *Service) resource(raw []json.RawMessage, out *Resource) error {
	var uri workbench.URI
	if err := tuple(raw, nil, &uri, nil, &out.State, &out.Struck, &out.Faded, &out.Context); err != nil {
		return err
	}
	out.URI, out.State, out.Context = s.line(uri.String()), s.line(out.State), s.line(out.Context)
	return nil
}
