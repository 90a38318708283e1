package documents

import (
	"github.com/hostsup/hostsup/workbench"
	"github.com/hostsup/hostsup/workbench/text"
)

// ActiveEditor describes the active editor.
type ActiveEditor struct {
	URI       workbench.URI
	Selection Selection // the first one
	Selected  string    // its text
}

// Active returns the active editor, and false without one.
func (s *Service) Active() (a ActiveEditor, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.active == nil || s.active.active == nil {
		return a, false
	}
	e := s.active.active.editor
	a.URI = e.doc.uri
	if len(e.selections) > 0 {
		a.Selection = e.selections[0]
		from, to := [2]int{a.Selection.AnchorLine, a.Selection.AnchorColumn}, [2]int{a.Selection.ActiveLine, a.Selection.ActiveColumn}
		if to[0] < from[0] || to[0] == from[0] && to[1] < from[1] {
			from, to = to, from
		}
		t := e.doc.model.Text()
		a.Selected = t.Slice(t.Clamp(text.Range{StartLine: from[0], StartColumn: from[1], EndLine: to[0], EndColumn: to[1]}))
	}
	return a, true
}

// IsOpen reports whether a document is open.
func (s *Service) IsOpen(uri workbench.URI) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.documents[uri.String()] != nil
}
