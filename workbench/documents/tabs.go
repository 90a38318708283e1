package documents

import (
	"fmt"
	"slices"

	"github.com/hostsup/hostsup/workbench"
)

// tabModel returns the groups with the tabs of some documents. The caller must hold mu.
func (s *Service) tabModel(documents map[string]*document) []groupDTO {
	var out []groupDTO
	for i, g := range s.groups {
		dto := groupDTO{ID: g.id, Active: g == s.active, Column: i, Tabs: []tabDTO{}}
		for _, t := range g.tabs {
			if documents[t.doc.key] != t.doc {
				continue
			}
			dto.Tabs = append(dto.Tabs, tabDTO{
				ID: tabID(g, t), Label: t.doc.name(), Editor: "default", Input: tabInput{1, t.doc.uri},
				Preview: t.preview, Active: t == g.active, Dirty: t.doc.dirty,
			})
		}
		out = append(out, dto)
	}
	return out
}

func tabID(g *group, t *tab) string { return fmt.Sprintf("%d~default-%s", g.id, t.doc.key) }

// shownIn returns how many tabs a document has. The caller must hold mu.
func (s *Service) shownIn(d *document) (n int) {
	for _, g := range s.groups {
		for _, t := range g.tabs {
			if t.doc == d {
				n++
			}
		}
	}
	return n
}

// pin adds a tab for a document that has none, beside the active one. The caller must hold mu.
func (s *Service) pin(d *document) {
	d.pins++
	for _, g := range s.groups {
		if i := slices.IndexFunc(g.tabs, func(t *tab) bool { return t.doc == d }); i >= 0 {
			g.tabs[i].preview = false
			s.sync()
			return
		}
	}
	g, t := s.active, &tab{doc: d, pinned: true, editor: s.newEditor(d)}
	g.tabs = append(g.tabs, t)
	if g.active == nil {
		g.active = t
	}
	s.sync()
}

// reveal gives a document an editor, if it has none. The caller must hold mu.
func (s *Service) reveal(d *document) {
	for _, g := range s.groups {
		if g.active != nil && g.active.doc == d {
			return
		}
	}
	g := s.active
	if g.active != nil {
		g = s.groupAt(beside)
	}
	i := slices.IndexFunc(g.tabs, func(t *tab) bool { return t.doc == d })
	if i < 0 {
		i = len(g.tabs)
		g.tabs = append(g.tabs, &tab{doc: d, pinned: true, editor: s.newEditor(d)})
	}
	g.active = g.tabs[i]
	s.sync()
}

// unpin closes the tab that pin has opened, when nothing pins the document any more. The caller must hold
// mu and call sync.
func (s *Service) unpin(d *document) {
	if d.pins--; d.pins > 0 {
		return
	}
	for _, g := range slices.Clone(s.groups) {
		for _, t := range slices.Clone(g.tabs) {
			if t.doc == d && t.pinned {
				s.closeTab(g, t)
			}
		}
	}
}

// unsaved is the error for closing a document with changes, about which VS Code would ask.
func unsaved(api string, d *document) error {
	return workbench.NotSupported(api, d.key+" has changes that are not saved, and there is no user to ask")
}

func (s *Service) tabMethods() map[string]workbench.Method {
	return map[string]workbench.Method{
		"MainThreadEditorTabs.$closeTab":   {Now: s.closeTabs},
		"MainThreadEditorTabs.$closeGroup": {Now: s.closeGroups},
		"MainThreadEditorTabs.$moveTab":    {Now: s.moveTab},
	}
}

// closing closes tabs, all of them or no tab. The caller must hold mu.
func (s *Service) closing(chosen func(*group, *tab) bool) error {
	count := map[*document]int{}
	type pair struct {
		g *group
		t *tab
	}
	var list []pair
	for _, g := range s.groups {
		for _, t := range g.tabs {
			if chosen(g, t) {
				list = append(list, pair{g, t})
				count[t.doc]++
			}
		}
	}
	for d, n := range count {
		if d.dirty && n == s.shownIn(d) {
			return unsaved("window.tabGroups.close", d)
		}
	}
	for _, p := range list {
		s.closeTab(p.g, p.t)
	}
	s.sync()
	return nil
}

func (s *Service) closeTabs(c *workbench.Call) (any, error) {
	var ids []string
	if err := c.Args(&ids); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.closing(func(g *group, t *tab) bool { return slices.Contains(ids, tabID(g, t)) })
	return err == nil, err
}

func (s *Service) closeGroups(c *workbench.Call) (any, error) {
	var ids []int
	if err := c.Args(&ids); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.closing(func(g *group, _ *tab) bool { return slices.Contains(ids, g.id) }); err != nil {
		return nil, err
	}
	for _, g := range slices.Clone(s.groups) { // a group that had no tab before
		if slices.Contains(ids, g.id) && len(s.groups) > 1 {
			s.closeGroup(g)
		}
	}
	s.sync()
	return true, nil
}

func (s *Service) moveTab(c *workbench.Call) (any, error) {
	var id string
	var index, column int
	var preserve bool
	if err := c.Args(&id, &index, &column, &preserve); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, g := range s.groups {
		for _, t := range g.tabs {
			if tabID(g, t) != id {
				continue
			}
			to := s.groupAt(column)
			if to != g && slices.ContainsFunc(to.tabs, func(o *tab) bool { return o.doc == t.doc }) {
				return nil, workbench.NotSupported("window.tabGroups.move", t.doc.key+" is in the other group already")
			}
			i := slices.Index(g.tabs, t)
			g.tabs = slices.Insert(slices.Delete(g.tabs, i, i+1), i, t) // a slice of its own
			s.closeTab(g, t)
			if index < 0 || index > len(to.tabs) {
				index = len(to.tabs)
			}
			to.tabs = slices.Insert(to.tabs, index, t)
			to.active = t
			if !slices.Contains(s.groups, to) {
				s.groups = append(s.groups, to)
			}
			if !preserve {
				s.active = to
			}
			s.sync()
			return nil, nil
		}
	}
	return nil, workbench.Invalid("there is no tab %q", id)
}

// closeAll closes the active tab or all tabs.
func (s *Service) closeAll(activeOnly bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closing(func(g *group, t *tab) bool { return !activeOnly || g == s.active && t == g.active })
}
