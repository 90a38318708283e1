package documents

import (
	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/workbench"
	"github.com/hostsup/hostsup/workbench/text"
)

// changed tells the hosts about a change of a document, which is nil if nothing changed. The caller
// must hold mu.
func (s *Service) changed(d *document, e *text.Event) {
	if e == nil {
		return
	}
	d.weight = d.model.Weight()
	dirty := s.isDirty(d)
	s.tell(d, methodChanged, d.uri, e, dirty)
	shift := shifted(e.Changes)
	for _, g := range s.groups {
		for _, t := range g.tabs {
			if t.doc != d {
				continue
			}
			t.preview = t.preview && !dirty
			if t.editor.placed {
				continue
			}
			list := make([]Selection, 0, len(t.editor.selections))
			for _, sel := range t.editor.selections {
				sel.AnchorLine, sel.AnchorColumn = shift(d.model.Text(), sel.AnchorLine, sel.AnchorColumn)
				sel.ActiveLine, sel.ActiveColumn = shift(d.model.Text(), sel.ActiveLine, sel.ActiveColumn)
				list = append(list, sel)
			}
			s.selects(t.editor, list)
		}
	}
	s.setDirty(d, dirty)
	for f := range s.subscribers {
		(*f)(d.uri)
	}
}

// isDirty reports whether a document has changes that are not saved. The caller must hold mu.
func (s *Service) isDirty(d *document) bool {
	if d.uri.Scheme == "untitled" {
		_, placed := untitledPath(d.uri)
		return placed || d.model.Text().Len() > 0
	}
	return !d.virtual && d.model.State() != d.saved
}

// setDirty tells the hosts if a document has now changes to save, or none. The caller must hold mu.
func (s *Service) setDirty(d *document, dirty bool) {
	if d.dirty == dirty {
		return
	}
	d.dirty = dirty
	s.tell(d, methodDirty, d.uri, dirty)
	s.sync()
}

// edit makes edits in a document. id names a group of undo, or is "". The caller must hold mu.
func (s *Service) edit(d *document, edits []text.Edit, id string) error {
	if err := editable(d); err != nil {
		return err
	}
	if err := s.fits(d, edits); err != nil {
		return refused("cannot edit %s: %w", d.key, err)
	}
	e, err := d.model.Edit(edits, id)
	if err != nil {
		return &codec.Error{Name: codec.NameInvalidParams, Message: d.key + ": " + err.Error()}
	}
	s.changed(d, e)
	return nil
}

// fits reports whether there is room for a document after edits. The caller must hold mu.
func (s *Service) fits(d *document, edits []text.Edit) error {
	more, weight := 0, 0
	for _, e := range edits {
		more += len(e.Text)
		weight += text.Weight(e.Text)
	}
	if now := d.model.Text(); now.Len()+more > maxSize {
		if next, _, err := now.Apply(edits); err == nil && next.Len() > maxSize && next.Len() > now.Len() {
			return ErrTooLarge
		}
	}
	if more == 0 {
		return nil
	}
	return s.room(weight, 0)
}

func editable(d *document) error {
	if d.virtual {
		return workbench.NotSupported("TextEditor.edit", d.key+" has the content of a provider and cannot be edited")
	}
	return nil
}

// newEOL returns a line ending by its number on the wire, which is one less than that of
// vscode.EndOfLine; "" for nil and other numbers.
func newEOL(n *int) text.EOL {
	switch {
	case n == nil:
		return ""
	case *n == 0:
		return text.LF
	case *n == 1:
		return text.CRLF
	}
	return ""
}

// stops are the undo stops of edits.
type stops struct {
	SetEndOfLine   *int
	UndoStopBefore bool
	UndoStopAfter  bool
}

func (s *Service) tryEdit(c *workbench.Call) (any, error) {
	var version int
	var edits []text.Edit
	var opt stops
	return s.onEditor(c, func(t *tab) (any, error) { return s.editShown(c, t.doc, version, edits, opt) }, &version, &edits, &opt)
}

// mayEdit reports whether a caller may edit a document that had a version when it looked. The caller
// must hold mu.
func mayEdit(c *workbench.Call, d *document, version int) (current bool, err error) {
	if d.model.Version() != version {
		return false, nil
	}
	if err := mayWrite(c, d.uri); err != nil {
		return false, err
	}
	return true, editable(d)
}

func (s *Service) editShown(c *workbench.Call, d *document, version int, edits []text.Edit, opt stops) (any, error) {
	if current, err := mayEdit(c, d, version); err != nil || !current {
		return false, err
	}
	if _, _, err := d.model.Text().Apply(edits); err != nil {
		return nil, workbench.Invalid("%s: %v", d.key, err)
	}
	if eol := newEOL(opt.SetEndOfLine); eol != "" {
		s.changed(d, d.model.SetEOL(eol, ""))
	}
	return true, s.editWithin(d, edits, opt)
}

// editWithin makes edits between undo stops. The caller must hold mu.
func (s *Service) editWithin(d *document, edits []text.Edit, opt stops) error {
	if opt.UndoStopBefore {
		d.model.Stop()
	}
	err := s.edit(d, edits, "")
	if opt.UndoStopAfter {
		d.model.Stop()
	}
	return err
}
