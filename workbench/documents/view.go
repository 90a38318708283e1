package documents

import (
	"slices"

	"github.com/hostsup/hostsup/workbench"
	"github.com/hostsup/hostsup/workbench/text"
)

// view is what a life of a host has been told.
type view struct {
	host      *workbench.Host
	documents map[string]*document
	editors   map[string]*editor
	columns   map[string]int // by editor
	active    string         // the id of an editor
	groups    []groupDTO
	hasTabs   bool               // groups was told
	may       map[*document]bool // what a confined host may read
}

// sync tells all hosts what is not yet known to them. The caller must hold mu.
func (s *Service) sync() {
	s.retire()
	for _, v := range s.views {
		v.sync(s)
	}
}

// sync tells the life what is different now. The caller must hold Service.mu.
func (v *view) sync(s *Service) {
	documents, editors := map[string]*document{}, map[string]*editor{}
	for key, d := range s.documents {
		if v.sees(d) {
			documents[key] = d
		}
	}
	var active *string
	var shown []*editor
	for _, g := range s.groups {
		if g.active == nil || documents[g.active.doc.key] == nil {
			continue
		}
		e := g.active.editor
		editors[e.id] = e
		shown = append(shown, e)
		if g == s.active {
			active = &e.id
		}
	}
	v.tabs(s.tabModel(documents))
	var d delta
	for key, doc := range v.documents {
		if documents[key] != doc {
			d.RemovedDocuments = append(d.RemovedDocuments, doc.uri)
		}
	}
	for key, doc := range documents {
		if v.documents[key] != doc {
			d.AddedDocuments = append(d.AddedDocuments, doc.dto())
		}
	}
	for id := range v.editors {
		if editors[id] == nil {
			d.RemovedEditors = append(d.RemovedEditors, id)
		}
	}
	columns := map[string]int{}
	moved := len(d.RemovedEditors) > 0
	for _, e := range shown {
		columns[e.id] = s.column(e)
		if v.editors[e.id] == nil {
			d.AddedEditors = append(d.AddedEditors, e.dto(columns[e.id]))
		} else if v.columns[e.id] != columns[e.id] {
			moved = true
		}
	}
	var id string
	if active != nil {
		id = *active
	}
	if id != v.active {
		d.ActiveEditor = &active
	}
	for doc := range v.may {
		if s.documents[doc.key] != doc {
			delete(v.may, doc)
		}
	}
	v.documents, v.editors, v.active, v.columns = documents, editors, id, columns
	changed := len(d.RemovedDocuments)+len(d.AddedDocuments)+len(d.RemovedEditors)+len(d.AddedEditors) > 0 || d.ActiveEditor != nil
	if changed {
		v.host.Tell(methodDelta, workbench.Params(d))
	}
	if moved {
		v.host.Tell(methodPositions, workbench.Params(columns))
	}
}

// sees reports whether a host may have a document: a confined one only what it may read.
func (v *view) sees(d *document) bool {
	path, ok := d.uri.FilePath()
	guard := v.host.Guard()
	if !ok || guard == nil {
		return true
	}
	may, known := v.may[d]
	if !known {
		may = workbench.Allowed(guard, path, workbench.Read) == nil
		v.may[d] = may
	}
	return may
}

// tabs tells the life what is different in the tabs.
func (v *view) tabs(now []groupDTO) {
	before := v.groups
	v.groups = now
	old := map[int][]tabDTO{}
	for _, g := range before {
		old[g.ID] = g.Tabs
	}
	same := v.hasTabs && slices.EqualFunc(before, now, func(a, b groupDTO) bool {
		return a.ID == b.ID && a.Active == b.Active && a.Column == b.Column
	})
	v.hasTabs = true
	if !same {
		model := slices.Clone(now)
		for i, g := range model {
			model[i].Tabs = append([]tabDTO{}, old[g.ID]...)
		}
		v.host.Tell(methodTabs, workbench.Params(model))
	}
	for _, g := range now {
		for _, op := range tabOperations(g.ID, old[g.ID], g.Tabs) {
			v.host.Tell(methodTab, workbench.Params(op))
		}
	}
}

// tabOperations returns what leads from the old tabs of a group to the new ones. Tabs that changed
// their order are closed and opened.
func tabOperations(group int, old, now []tabDTO) (out []tabOperation) {
	old = slices.Clone(old)
	at := func(list []tabDTO, id string) int {
		return slices.IndexFunc(list, func(t tabDTO) bool { return t.ID == id })
	}
	last := len(now)
	for i, t := range slices.Backward(old) {
		if to := at(now, t.ID); to >= 0 && to < last {
			last = to
			continue
		}
		out = append(out, tabOperation{tabClosed, group, i, t})
		old = slices.Delete(old, i, i+1)
	}
	for i, t := range now {
		switch k := at(old, t.ID); {
		case k < 0:
			out = append(out, tabOperation{tabOpened, group, i, t})
			old = slices.Insert(old, i, t)
		case old[k] != t:
			out = append(out, tabOperation{tabUpdated, group, i, t})
		}
	}
	return out
}

// shifted returns where positions are after changes.
func shifted(changes []text.Change) func(t *text.Text, line, column int) (int, int) {
	all := make([]func(line, column int) (int, int), len(changes))
	for i, c := range changes {
		all[i] = c.Shifter()
	}
	return func(t *text.Text, line, column int) (int, int) {
		for _, shift := range all {
			line, column = shift(line, column)
		}
		r := t.Clamp(text.At(line, column))
		return r.StartLine, r.StartColumn
	}
}
