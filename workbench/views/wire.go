package views

import (
	"encoding/json"
	"path"

	"github.com/hostsup/hostsup/workbench"
)

// The methods of hosts.
const (
	ofHost          = "ExtHostTreeViews."
	methodChildren  = ofHost + "$getChildren"
	methodHasTip    = ofHost + "$hasResolve"
	methodResolve   = ofHost + "$resolve"
	methodExpanded  = ofHost + "$setExpanded"
	methodSelection = ofHost + "$setSelectionAndFocus"
	methodVisible   = ofHost + "$setVisible"
	methodChecked   = ofHost + "$changeCheckboxState"
)

// wireItem is an item as a host writes it.
type wireItem struct {
	Handle       string `json:"handle"`
	ParentHandle string `json:"parentHandle"`
	Label        struct{ Label string }
	Description  json.RawMessage // a text, or true: it is that of the resource
	ResourceURI  *workbench.URI  `json:"resourceUri"`
	Tooltip      json.RawMessage // a text, or one in Markdown
	Command      *struct {
		ID        string
		Title     string
		Arguments json.RawMessage
	}
	ContextValue     string
	ThemeIcon        *struct{ ID string }
	CollapsibleState int
	Checkbox         *struct{ IsChecked bool }
}

// The states of collapsible items.
const (
	collapsed = 1
	expanded  = 2
)

// register answers $registerTreeViewDataProvider: the id and the options of a view.
func (s *Service) register(c *workbench.Call) (any, error) {
	var id string
	var o struct{ CanSelectMany bool }
	if err := c.Args(&id, &o); err != nil {
		return nil, err
	}
	if id == "" || len(id) > maxText {
		return nil, workbench.Invalid("window.createTreeView: an id of up to %d bytes expected", maxText)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	h, err := s.hosts.Of(c)
	if err != nil {
		return nil, err
	}
	count := 0
	for k := range s.views {
		if k.host == h.Name() {
			count++
		}
	}
	at := key{h.Name(), id}
	if s.views[at] == nil && count >= maxViews {
		return nil, workbench.Invalid("window.createTreeView: the host has %d views, which is the limit", maxViews)
	}
	v := &view{
		View: View{Host: h.Name(), ID: id, Title: s.line(s.names[id]), Many: o.CanSelectMany}, host: h,
		expanded: map[string]bool{}, checked: map[string]bool{}, items: map[string]wireItem{},
	}
	s.views[at] = v
	s.tell(v)
	return nil, nil
}

// on returns a method whose first argument is the id of a view. A view that is not there any more is
// not an error, as in VS Code. do is called with mu held.
func (s *Service) on(do func(v *view, c *workbench.Call) error) func(*workbench.Call) (any, error) {
	return func(c *workbench.Call) (any, error) {
		var id string
		if err := c.Args(&id); err != nil {
			return nil, err
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		v := s.views[key{c.Host.Name(), id}]
		if v == nil || v.host.Life() != c.Life {
			return nil, nil
		}
		if err := do(v, c); err != nil {
			return nil, err
		}
		s.tell(v)
		return nil, nil
	}
}

// refresh answers $refresh: the items that have changed, by their old handles; without them all have.
func refresh(v *view, c *workbench.Call) error {
	var changed map[string]wireItem
	if err := c.Args(nil, &changed); err != nil {
		return err
	}
	if changed == nil {
		clear(v.items)
		clear(v.checked)
	}
	for old, item := range changed {
		delete(v.items, old)
		delete(v.checked, old)
		v.know(item)
	}
	return nil
}

// know remembers an item that was read.
func (v *view) know(item wireItem) {
	if _, has := v.items[item.Handle]; has || len(v.items) < maxKnown {
		v.items[item.Handle] = item
	}
}

// reveal answers $reveal: an item with those above it, and how it is to be shown.
func reveal(v *view, c *workbench.Call) error {
	var at *struct {
		Item        wireItem
		ParentChain []wireItem
	}
	var how struct {
		Select, Focus bool
		Expand        json.RawMessage // true, or a number of levels
	}
	if err := c.Args(nil, &at, &how); err != nil {
		return err
	}
	v.show(true)
	if at == nil {
		return nil
	}
	for _, above := range at.ParentChain {
		v.know(above)
		v.expand(above.Handle, true)
	}
	v.know(at.Item)
	selection, focus := v.Selection, v.focus
	if how.Select {
		selection = []string{at.Item.Handle}
	}
	if how.Focus {
		focus = at.Item.Handle
	}
	v.choose(selection, focus)
	if e := string(how.Expand); e != "" && e != "false" && e != "0" && e != "null" && at.Item.CollapsibleState > 0 {
		v.expand(at.Item.Handle, true)
	}
	return nil
}

// setMessage answers $setMessage: a text, or one in Markdown.
func (s *Service) setMessage(v *view, c *workbench.Call) error {
	v.Message = s.line(workbench.Text(c.Raw(1)))
	return nil
}

// setTitle answers $setTitle: the title, and the description.
func (s *Service) setTitle(v *view, c *workbench.Call) error {
	var title, description string
	if err := c.Args(nil, &title, &description); err != nil {
		return err
	}
	v.Title, v.Description = s.line(title), s.line(description)
	return nil
}

// setBadge answers $setBadge.
func (s *Service) setBadge(v *view, c *workbench.Call) error {
	var b *Badge
	if err := c.Args(nil, &b); err != nil {
		return err
	}
	if v.Badge = b; b != nil {
		b.Tooltip = s.line(b.Tooltip)
	}
	return nil
}

// item returns an item for a program.
func (s *Service) item(v *view, in wireItem) Item {
	out := Item{
		Handle: in.Handle, Label: s.line(in.Label.Label), Description: s.line(workbench.Text(in.Description)), Tooltip: s.line(workbench.Text(in.Tooltip)),
		Context: s.line(in.ContextValue), State: Leaf,
	}
	if u := in.ResourceURI; u != nil {
		out.Resource = s.line(u.String())
		if out.Label == "" { // it is that of the resource
			out.Label = s.line(path.Base(u.Path))
		}
	}
	if in.Command != nil {
		out.Command = s.line(in.Command.ID)
	}
	if in.ThemeIcon != nil {
		out.Icon = s.line(in.ThemeIcon.ID)
	}
	if in.Checkbox != nil {
		checked, said := v.checked[in.Handle]
		if !said {
			checked = in.Checkbox.IsChecked
		}
		out.Checked = &checked
	}
	if in.CollapsibleState > 0 {
		out.State = Collapsed
		open, said := v.expanded[in.Handle]
		if open || !said && in.CollapsibleState == expanded {
			out.State = Expanded
		}
	}
	return out
}
