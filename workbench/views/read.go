package views

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/hostsup/hostsup/workbench"
)

// The states of items.
const (
	Leaf      = "leaf" // it has no items below it
	Collapsed = "collapsed"
	Expanded  = "expanded"
)

// Item is an item of a view. Its texts have one line.
type Item struct {
	Handle      string `json:"handle"` // names it while its view shows it
	Label       string `json:"label"`
	Description string `json:"description,omitempty"`
	Tooltip     string `json:"tooltip,omitempty"`
	Resource    string `json:"resource,omitempty"` // a URI
	Command     string `json:"command,omitempty"`  // what a click executes
	Context     string `json:"context,omitempty"`  // contextValue
	Icon        string `json:"icon,omitempty"`     // the id of an icon of the theme
	State       string `json:"state" enum:"leaf,collapsed,expanded"`
	Checked     *bool  `json:"checked,omitempty"` // absent without a check box
	Items       []Item `json:"items,omitempty"`   // those below it, if they were read
}

// Query says what to read of a view.
type Query struct {
	Host string // "": the first host that has the view
	View string // the id
	// Item is the handle of the item whose items are read; "": those at the top. It must have been read
	// before, since the view changed as a whole.
	Item string
	// Depth is how many levels are read below collapsed items, up to 100. Items below expanded ones are
	// always read. The default 0 reads what a window would show.
	Depth int
}

// Tree is what was read of a view.
type Tree struct {
	View View `json:"view"`
	// Item is the item of the query with the tooltip that its extension makes when it is needed; absent
	// without one.
	Item  *Item  `json:"item,omitempty"`
	Items []Item `json:"items"`
	// Truncated reports that there are more than 10,000 items, or more than 100 levels.
	Truncated bool `json:"truncated,omitempty"`
}

// Read reads items of a view from its extension, which is activated for it if it has not registered the
// view yet. The error is [ErrNoView], [ErrNoItem], or that of the host.
func (s *Service) Read(ctx context.Context, q Query) (*Tree, error) {
	v, err := s.find(ctx, q.Host, q.View)
	if err != nil {
		return nil, err
	}
	out := &Tree{}
	if q.Item != "" {
		item, err := s.resolve(ctx, v, q.Item)
		if err != nil {
			return nil, err
		}
		out.Item = &item
	}
	left := maxItems
	out.Items, err = s.below(ctx, v, q.Item, min(max(q.Depth, 0), maxDepth), maxDepth, &left)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	out.View, out.Truncated = v.state(), left < 0
	return out, nil
}

// find returns a view, for which extensions are activated.
func (s *Service) find(ctx context.Context, host, id string) (*view, error) {
	if v := s.registered(host, id); v != nil {
		return v, nil
	}
	var err error
	if s.opt.Activate != nil {
		err = s.opt.Activate(ctx, onView+id)
	}
	if v := s.registered(host, id); v != nil {
		return v, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %q: %w", ErrNoView, id, err)
	}
	return nil, fmt.Errorf("%w: %q", ErrNoView, id)
}

// registered returns a view that is registered, that of the first host by name if host is ""; nil
// without one.
func (s *Service) registered(host, id string) (found *view) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k, v := range s.views {
		if k.id == id && (host == "" || k.host == host) && (found == nil || k.host < found.Host) {
			found = v
		}
	}
	return found
}

// below reads the items below one. depth is how many levels below collapsed items are read, levels how
// many at all, and left how many items.
func (s *Service) below(ctx context.Context, v *view, handle string, depth, levels int, left *int) ([]Item, error) {
	if levels == 0 {
		*left = -1
		return nil, nil
	}
	list, err := v.children(ctx, handle)
	if err != nil {
		return nil, err
	}
	out := []Item{}
	for _, in := range list {
		if *left--; *left < 0 {
			return out, nil
		}
		s.mu.Lock()
		v.know(in)
		item := s.item(v, in)
		s.mu.Unlock()
		if item.State == Expanded || item.State == Collapsed && depth > 0 {
			next := depth
			if item.State == Collapsed {
				next--
			}
			if item.Items, err = s.below(ctx, v, in.Handle, next, levels-1, left); err != nil {
				return nil, err
			}
		}
		out = append(out, item)
	}
	return out, nil
}

// children asks the extension for the items below one, or at the top.
func (v *view) children(ctx context.Context, handle string) (out []wireItem, err error) {
	args := []any{v.ID}
	if handle != "" {
		args = append(args, []string{handle})
	}
	var raw json.RawMessage
	if err := v.host.Call(ctx, methodChildren, workbench.Params(args...), &raw); err != nil {
		return nil, err
	}
	var lists [][]json.RawMessage // each: the index of its parent in the call, and the items
	if err := workbench.Decode(raw, &lists); err != nil {
		return nil, fmt.Errorf("items of the view %s: %w", v.ID, err)
	}
	if len(lists) == 0 || len(lists[0]) == 0 {
		return nil, nil
	}
	for _, raw := range lists[0][1:] {
		var item wireItem
		if err := json.Unmarshal(raw, &item); err != nil {
			return nil, fmt.Errorf("items of the view %s: %w", v.ID, err)
		}
		if item.Handle != "" && len(item.Handle) <= maxHandle { // null: the extension has no such item
			out = append(out, item)
		}
	}
	return out, nil
}

// resolve returns an item that was read, with what its extension adds when the item is needed.
func (s *Service) resolve(ctx context.Context, v *view, handle string) (Item, error) {
	in, err := s.known(v, handle)
	if err != nil {
		return Item{}, err
	}
	var has bool
	if err := v.host.Call(ctx, methodHasTip, workbench.Params(v.ID), &has); err != nil {
		return Item{}, err
	}
	if has {
		var raw json.RawMessage
		if err := v.host.Call(ctx, methodResolve, workbench.Params(v.ID, handle), &raw); err != nil {
			return Item{}, err
		}
		var now *wireItem
		if err := workbench.Decode(raw, &now); err != nil {
			return Item{}, fmt.Errorf("item %s of the view %s: %w", handle, v.ID, err)
		}
		if now != nil {
			in.Tooltip, in.Command = now.Tooltip, now.Command
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	v.know(in)
	return s.item(v, in), nil
}

// known returns an item that was read.
func (s *Service) known(v *view, handle string) (wireItem, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	in, ok := v.items[handle]
	if !ok {
		return in, fmt.Errorf("%w: %q is not known in the view %s: read its items first", ErrNoItem, handle, v.ID)
	}
	return in, nil
}
