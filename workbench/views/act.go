package views

import (
	"context"
	"fmt"
	"slices"

	"github.com/hostsup/hostsup/workbench"
)

// Action is what a user does with a view or an item. Extensions are told as by VS Code.
type Action string

// The actions. Those from [Expand] on need an item.
const (
	Show     Action = "show"
	Hide     Action = "hide"
	Expand   Action = "expand"
	Collapse Action = "collapse"
	Select   Action = "select" // the last item gets the focus
	Check    Action = "check"
	Uncheck  Action = "uncheck"
	Run      Action = "run" // executes the command of the item, as a click does
)

// Actions returns all actions.
func Actions() []Action { return []Action{Show, Hide, Expand, Collapse, Select, Check, Uncheck, Run} }

// Act does something with a view: with all of the items, which must have been read. Extensions are
// activated for the view as by [Service.Read]. The error is [ErrNoView], [ErrNoItem], [ErrAction], or that
// of the host or of the command.
func (s *Service) Act(ctx context.Context, host, id string, action Action, items ...string) error {
	v, err := s.find(ctx, host, id)
	if err != nil {
		return err
	}
	ofView := action == Show || action == Hide
	switch {
	case !slices.Contains(Actions(), action):
		return fmt.Errorf("%w: %q is not one of %v", ErrAction, action, Actions())
	case ofView && len(items) > 0:
		return fmt.Errorf("%w: %s is for the whole view, and no item", ErrAction, action)
	case !ofView && len(items) == 0:
		return fmt.Errorf("%w: %s needs an item", ErrAction, action)
	case action == Select && len(items) > 1 && !s.many(v):
		return fmt.Errorf("%w: one item of the view %s can be selected", ErrAction, id)
	}
	list := make([]wireItem, len(items))
	for i, handle := range items {
		if list[i], err = s.known(v, handle); err != nil {
			return err
		}
		if err := fits(action, list[i]); err != nil {
			return err
		}
	}
	switch action {
	case Check, Uncheck:
		return s.check(ctx, v, list, action == Check)
	case Run:
		return s.run(ctx, v, list)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch action {
	case Show, Hide:
		v.show(action == Show)
	case Select:
		v.choose(items, items[len(items)-1])
	default:
		for _, handle := range items {
			v.expand(handle, action == Expand)
		}
	}
	s.tell(v)
	return nil
}

func (s *Service) many(v *view) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return v.Many
}

// fits returns an error for an action that an item does not have.
func fits(action Action, in wireItem) error {
	switch {
	case (action == Expand || action == Collapse) && in.CollapsibleState < collapsed:
		return fmt.Errorf("%w: %q has no items below it", ErrAction, in.Handle)
	case (action == Check || action == Uncheck) && in.Checkbox == nil:
		return fmt.Errorf("%w: %q has no check box", ErrAction, in.Handle)
	case action == Run && in.Command == nil:
		return fmt.Errorf("%w: %q has no command", ErrAction, in.Handle)
	}
	return nil
}

// check changes check boxes. Those of items above and below stay as they are.
func (s *Service) check(ctx context.Context, v *view, list []wireItem, checked bool) error {
	type change struct {
		Handle string `json:"treeItemHandle"`
		State  bool   `json:"newState"`
	}
	var changes []change
	for _, in := range list {
		changes = append(changes, change{in.Handle, checked})
	}
	if err := v.host.Call(ctx, methodChecked, workbench.Params(v.ID, changes), nil); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, in := range list { // the host keeps its items as they were
		if len(v.checked) < maxKnown {
			v.checked[in.Handle] = checked
		}
	}
	s.tell(v)
	return nil
}

// run executes the commands of items.
func (s *Service) run(ctx context.Context, v *view, list []wireItem) error {
	host, ok := v.host.(*workbench.Host)
	if s.opt.Execute == nil || !ok {
		return fmt.Errorf("%w: commands cannot be executed here", ErrAction)
	}
	for _, in := range list {
		if err := s.opt.Execute(ctx, host, in.Command.ID, in.Command.Arguments); err != nil {
			return err
		}
	}
	return nil
}

// show changes whether a view is visible. The caller must hold mu.
func (v *view) show(visible bool) {
	if v.Visible == visible {
		return
	}
	v.Visible = visible
	v.host.Tell(methodVisible, workbench.Params(v.ID, visible))
}

// expand expands or collapses an item. The caller must hold mu.
func (v *view) expand(handle string, open bool) {
	if is, said := v.expanded[handle]; said && is == open {
		return
	}
	if len(v.expanded) >= maxKnown {
		clear(v.expanded)
	}
	v.expanded[handle] = open
	v.host.Tell(methodExpanded, workbench.Params(v.ID, handle, open))
}

// choose changes the selected items and the one that has the focus. The caller must hold mu.
func (v *view) choose(selection []string, focus string) {
	if slices.Equal(v.Selection, selection) && v.focus == focus {
		return
	}
	v.Selection, v.focus = slices.Clone(selection), focus
	if selection == nil {
		selection = []string{}
	}
	v.host.Tell(methodSelection, workbench.Params(v.ID, selection, focus))
}
