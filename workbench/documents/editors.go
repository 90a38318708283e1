package documents

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/hostsup/hostsup/workbench"
	"github.com/hostsup/hostsup/workbench/text"
)

// group is a group of tabs. The service guards it with its tabs and editors.
type group struct {
	id     int
	tabs   []*tab
	active *tab // nil if there is no tab
}

// tab is a document in a group.
type tab struct {
	doc     *document
	preview bool // the next document takes its place
	pinned  bool // it is closed with the last program that pins the document
	editor  *editor
}

// editor shows the active tab of a group.
type editor struct {
	id         string
	doc        *document
	selections []Selection
	options    editorOptions
	placed     bool // an edit is being made that selects something itself
}

func (e *editor) dto(column int) editorDTO {
	return editorDTO{e.id, e.doc.uri, e.options, e.selections, []text.Range{}, column}
}

// maxSelections limits the selections of an editor, as VS Code does (editor.multiCursorLimit): each
// moves with each change.
const maxSelections = 10_000

// Positions of a document that is shown, besides the index of a group.
const (
	inActive = -1
	beside   = -2
)

// showing are the options of $tryShowTextDocument.
type showing struct {
	Position      *int
	PreserveFocus bool
	Pinned        *bool
	Selection     *text.Range
}

func (s *Service) newEditor(d *document) *editor {
	return &editor{id: fmt.Sprintf("editor:%d", s.nextID()), doc: d, selections: []Selection{{1, 1, 1, 1}}, options: s.firstOptions(d)}
}

// show shows a document and returns its editor. The caller must hold mu.
func (s *Service) show(d *document, how showing) *editor {
	at := inActive
	if how.Position != nil {
		at = *how.Position
	}
	g := s.groupAt(at)
	i := slices.IndexFunc(g.tabs, func(t *tab) bool { return t.doc == d })
	pinned := how.Pinned != nil && *how.Pinned || d.dirty
	if i < 0 {
		t := &tab{doc: d, preview: !pinned, editor: s.newEditor(d)}
		i = slices.IndexFunc(g.tabs, func(t *tab) bool { return t.preview })
		switch {
		case t.preview && i >= 0:
			g.tabs[i] = t
		case g.active != nil:
			i = slices.Index(g.tabs, g.active) + 1
			g.tabs = slices.Insert(g.tabs, i, t)
		default:
			i = 0
			g.tabs = append(g.tabs, t)
		}
	}
	t := g.tabs[i]
	t.preview = t.preview && !pinned
	g.active = t
	if !how.PreserveFocus {
		s.active = g
	}
	if how.Selection != nil {
		r := d.model.Text().Clamp(*how.Selection)
		s.selects(t.editor, []Selection{{r.StartLine, r.StartColumn, r.EndLine, r.EndColumn}})
	}
	s.sync()
	return t.editor
}

// maxGroups bounds the groups of tabs, which hosts are told of whole.
const maxGroups = 100

// groupAt returns the group at a position, which is made if it is not there. If there are maxGroups, it is
// the last one. The caller must hold mu.
func (s *Service) groupAt(at int) *group {
	if at == beside {
		at = slices.Index(s.groups, s.active) + 1
	}
	switch {
	case at < 0:
		return s.active
	case at < len(s.groups):
		return s.groups[at]
	case len(s.groups) >= maxGroups:
		return s.groups[len(s.groups)-1]
	}
	g := &group{id: s.nextID()}
	s.groups = append(s.groups, g)
	return g
}

// closeTab closes a tab, and its group if that is empty and not the only one. The caller must hold mu
// and call sync.
func (s *Service) closeTab(g *group, t *tab) {
	i := slices.Index(g.tabs, t)
	g.tabs = slices.Delete(g.tabs, i, i+1)
	if g.active == t {
		g.active = nil
		if len(g.tabs) > 0 {
			g.active = g.tabs[min(i, len(g.tabs)-1)]
		}
	}
	if len(g.tabs) == 0 && len(s.groups) > 1 {
		s.closeGroup(g)
	}
}

func (s *Service) closeGroup(g *group) {
	i := slices.Index(s.groups, g)
	s.groups = slices.Delete(s.groups, i, i+1)
	if s.active == g {
		s.active = s.groups[max(0, i-1)]
	}
}

func (s *Service) closeTabsOf(d *document) {
	for _, g := range slices.Clone(s.groups) {
		for _, t := range slices.Clone(g.tabs) {
			if t.doc == d {
				s.closeTab(g, t)
			}
		}
	}
}

// column returns the index of an editor's group; -1 if it is in none. The caller must hold mu.
func (s *Service) column(e *editor) int {
	return slices.IndexFunc(s.groups, func(g *group) bool { return g.active != nil && g.active.editor == e })
}

// editorOf returns the editor with an id. The caller must hold mu.
func (s *Service) editorOf(id string) (*group, *tab, error) {
	for _, g := range s.groups {
		if t := g.active; t != nil && t.editor.id == id {
			return g, t, nil
		}
	}
	return nil, nil, &noEditor{id}
}

// noEditor means that an editor is not there any more. The extension host takes an error with this
// name as no error for some calls, as in VS Code.
type noEditor struct{ id string }

func (e *noEditor) Error() string { return fmt.Sprintf("TextEditor(%s) is closed", e.id) }

// selects changes the selections of an editor and tells the hosts. The caller must hold mu.
func (s *Service) selects(e *editor, list []Selection) {
	if len(list) == 0 || slices.Equal(list, e.selections) {
		return
	}
	e.selections = list
	s.tellEditor(e, map[string]any{"selections": map[string]any{"selections": list, "source": "api"}, "options": nil, "visibleRanges": nil})
}

// tellEditor tells the hosts that have an editor what is different. The caller must hold mu.
func (s *Service) tellEditor(e *editor, what map[string]any) {
	params := workbench.Params(e.id, what)
	for _, v := range s.views {
		if v.editors[e.id] == e {
			v.host.Tell(methodEditor, params)
		}
	}
}

func (s *Service) editorMethods() map[string]workbench.Method {
	ignore := workbench.Method{Now: func(*workbench.Call) (any, error) { return nil, nil }}
	return map[string]workbench.Method{
		"MainThreadTextEditors.$tryShowTextDocument": {Do: s.tryShow},
		"MainThreadTextEditors.$tryShowEditor":       {Now: s.tryShowEditor},
		"MainThreadTextEditors.$tryHideEditor":       {Now: s.tryHide},
		"MainThreadTextEditors.$trySetSelections":    {Now: s.trySelect},
		"MainThreadTextEditors.$trySetOptions":       {Now: s.trySetOptions},
		"MainThreadTextEditors.$tryApplyEdits":       {Now: s.tryEdit},
		"MainThreadTextEditors.$tryInsertSnippet":    {Now: s.trySnippet},
		// What is seen in a window alone.
		"MainThreadTextEditors.$tryRevealRange": ignore,
	}
}

func (s *Service) tryShow(ctx context.Context, c *workbench.Call) (any, error) {
	var uri workbench.URI
	var how showing
	if err := c.Args(&uri, &how); err != nil {
		return nil, err
	}
	e, err := s.openAndShow(ctx, uri, how, c)
	if err != nil {
		return nil, err
	}
	return e.id, nil
}

func (s *Service) openAndShow(ctx context.Context, uri workbench.URI, how showing, c *workbench.Call) (*editor, error) {
	d, err := s.open(ctx, uri, "", c)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.documents[d.key] != d {
		return nil, refused("cannot show %s: %w", d.key, ErrClosed)
	}
	return s.show(d, how), nil
}

// onEditor calls f with the tab of an editor, locked. Arguments of c after the id of the editor are
// decoded into args.
func (s *Service) onEditor(c *workbench.Call, f func(*tab) (any, error), args ...any) (any, error) {
	var id string
	if err := c.Args(append([]any{&id}, args...)...); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, t, err := s.editorOf(id)
	if err != nil {
		return nil, err
	}
	return f(t)
}

func (s *Service) tryShowEditor(c *workbench.Call) (any, error) {
	var at *int
	return s.onEditor(c, func(t *tab) (any, error) {
		s.show(t.doc, showing{Position: at})
		return nil, nil
	}, &at)
}

func (s *Service) tryHide(c *workbench.Call) (any, error) {
	var id string
	if err := c.Args(&id); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	g, t, err := s.editorOf(id)
	if err != nil {
		return nil, nil // it is hidden, as in VS Code
	}
	if t.doc.dirty && s.shownIn(t.doc) == 1 {
		return nil, unsaved("TextEditor.hide", t.doc)
	}
	s.closeTab(g, t)
	s.sync()
	return nil, nil
}

func (s *Service) trySelect(c *workbench.Call) (any, error) {
	var list []Selection
	return s.onEditor(c, func(t *tab) (any, error) {
		if len(list) > maxSelections {
			return nil, workbench.Invalid("TextEditor.selections: %d selections, limit %d", len(list), maxSelections)
		}
		now := t.doc.model.Text()
		for i, sel := range list {
			a, b := now.Clamp(text.At(sel.AnchorLine, sel.AnchorColumn)), now.Clamp(text.At(sel.ActiveLine, sel.ActiveColumn))
			list[i] = Selection{a.StartLine, a.StartColumn, b.StartLine, b.StartColumn}
		}
		s.selects(t.editor, list)
		return nil, nil
	}, &list)
}

// newOptions are options to set; what is absent stays.
type newOptions struct {
	TabSize, IndentSize, InsertSpaces json.RawMessage
	CursorStyle, LineNumbers          *int
}

func (s *Service) trySetOptions(c *workbench.Call) (any, error) {
	var in newOptions
	return s.onEditor(c, func(t *tab) (any, error) {
		if o := in.on(t.editor.options); o != t.editor.options {
			t.editor.options = o
			s.tellEditor(t.editor, map[string]any{"options": o, "selections": nil, "visibleRanges": nil})
		}
		return nil, nil
	}, &in)
}

// on returns the options after the new ones are set.
func (in *newOptions) on(o editorOptions) editorOptions {
	// What is "auto" would be detected from the text by VS Code; here it stays as it is.
	number := func(raw json.RawMessage, to *int) bool {
		var n int
		if json.Unmarshal(raw, &n) != nil || n < 1 {
			return false
		}
		*to = n
		return true
	}
	if number(in.TabSize, &o.TabSize) && o.OwnIndent == "tabSize" {
		o.IndentSize = o.TabSize
	}
	if number(in.IndentSize, &o.IndentSize) {
		o.OwnIndent = o.IndentSize
	} else if string(in.IndentSize) == `"tabSize"` {
		o.OwnIndent, o.IndentSize = "tabSize", o.TabSize
	}
	var spaces bool
	if json.Unmarshal(in.InsertSpaces, &spaces) == nil {
		o.InsertSpaces = spaces
	}
	if in.CursorStyle != nil {
		o.Cursor = *in.CursorStyle
	}
	if in.LineNumbers != nil {
		o.LineNumbers = *in.LineNumbers
	}
	return o
}
