package attach

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/hostsup/hostsup/codec"
)

const (
	methodNotebookOpen   = "notebookDocument/didOpen"
	methodNotebookChange = "notebookDocument/didChange"
	methodNotebookClose  = "notebookDocument/didClose"
)

// notebooks are the notebooks that the clients have open. As with documents, the host
// has the state of the client that has used a notebook last; another state comes by
// closing the notebook and opening it.
type notebooks struct {
	open   map[string]*notebook
	serial uint64
}

type notebook struct {
	uri   string
	order uint64          // of opening
	views []*notebookView // by their last use; the host has the last
}

// notebookView is a notebook as one client has it open.
type notebookView struct {
	client *client
	about  object // the notebook without its cells
	cells  []json.RawMessage
	texts  []*cellText
}

// cellText is the text of a cell.
type cellText struct {
	URI        string `json:"uri"`
	LanguageID string `json:"languageId"`
	Version    int64  `json:"version"`
	Text       string `json:"text"`
}

// opened is what a life is told of the notebook.
func (v *notebookView) opened() codec.Raw {
	about := maps.Clone(v.about)
	about["cells"] = json.RawMessage(encode(append([]json.RawMessage{}, v.cells...)))
	return encode(map[string]any{"notebookDocument": about, "cellTextDocuments": append([]*cellText{}, v.texts...)})
}

// replaced tells the host to forget one state of a notebook for another.
func (n *notebook) replaced(v *notebookView) outcome {
	return outcome{host: []codec.Message{
		{Method: methodNotebookClose, Params: n.closed()},
		{Method: methodNotebookOpen, Params: v.opened()},
	}}
}

// closed is what the host is told of a notebook that is closed. Its cells are those
// that the host has, which are the last view's.
func (n *notebook) closed() codec.Raw {
	cells := []any{}
	for _, t := range n.views[len(n.views)-1].texts {
		cells = append(cells, map[string]any{"uri": t.URI})
	}
	return encode(map[string]any{"notebookDocument": map[string]any{"uri": n.uri}, "cellTextDocuments": cells})
}

func (n *notebook) view(c *client) *notebookView {
	if i := slices.IndexFunc(n.views, func(v *notebookView) bool { return v.client == c }); i >= 0 {
		return n.views[i]
	}
	return nil
}

// use makes a view the last one and gives the host its state.
func (n *notebook) use(v *notebookView) (out outcome) {
	last := n.views[len(n.views)-1]
	if v == last {
		return out
	}
	if string(v.opened()) != string(last.opened()) {
		out = n.replaced(v)
	}
	n.views = append(slices.DeleteFunc(n.views, func(o *notebookView) bool { return o == v }), v)
	return out
}

// all returns the notebooks in the order in which they were opened.
func (ns *notebooks) all() []*notebook {
	return slices.SortedFunc(maps.Values(ns.open), func(a, b *notebook) int { return int(a.order) - int(b.order) })
}

// notebookOf returns the URI of the notebook that a message is about, or "".
func notebookOf(params codec.Raw) string {
	var p struct {
		NotebookDocument struct {
			URI string `json:"uri"`
		} `json:"notebookDocument"`
	}
	_ = json.Unmarshal(params, &p) // what is no object is about no notebook
	return p.NotebookDocument.URI
}

// didOpen opens a notebook for a client.
func (ns *notebooks) didOpen(c *client, params codec.Raw) outcome {
	var p struct {
		NotebookDocument  object      `json:"notebookDocument"`
		CellTextDocuments []*cellText `json:"cellTextDocuments"`
	}
	uri := notebookOf(params)
	v := &notebookView{client: c}
	if json.Unmarshal(params, &p) != nil || uri == "" || slices.Contains(p.CellTextDocuments, nil) ||
		p.NotebookDocument["cells"] != nil && json.Unmarshal(p.NotebookDocument["cells"], &v.cells) != nil {
		return pass(methodNotebookOpen, params) // the host reports what is wrong with it
	}
	delete(p.NotebookDocument, "cells")
	v.about, v.texts = p.NotebookDocument, p.CellTextDocuments
	n := ns.open[uri]
	if n == nil {
		ns.serial++
		ns.open[uri] = &notebook{uri: uri, order: ns.serial, views: []*notebookView{v}}
		return pass(methodNotebookOpen, params)
	}
	old := n.view(c)
	if old == nil {
		n.views = slices.Insert(n.views, 0, v)
		return n.use(v)
	}
	out := n.use(old)
	if string(v.opened()) != string(old.opened()) {
		re := n.replaced(v)
		out.host = append(out.host, re.host...)
	}
	*old = *v
	return out
}

// didClose closes a notebook for a client.
func (ns *notebooks) didClose(c *client, params codec.Raw) outcome {
	n := ns.open[notebookOf(params)]
	if n == nil {
		return pass(methodNotebookClose, params)
	}
	if v := n.view(c); v != nil {
		return ns.close(n, v)
	}
	return outcome{}
}

// close takes a view off a notebook.
func (ns *notebooks) close(n *notebook, v *notebookView) (out outcome) {
	if len(n.views) == 1 {
		delete(ns.open, n.uri)
		return pass(methodNotebookClose, n.closed())
	}
	if n.views[len(n.views)-1] == v {
		out = n.use(n.views[len(n.views)-2])
	}
	n.views = slices.DeleteFunc(n.views, func(o *notebookView) bool { return o == v })
	return out
}

// left closes what a client had open.
func (ns *notebooks) left(c *client) []outcome {
	var out []outcome
	for _, n := range ns.all() {
		if v := n.view(c); v != nil {
			out = append(out, ns.close(n, v))
		}
	}
	return out
}

// asks gives the host the notebook of a client that is about to ask something about
// it, or about the cell at uri.
func (ns *notebooks) asks(c *client, book, uri string) outcome {
	for _, n := range ns.open {
		if len(n.views) == 1 {
			continue
		}
		if v := n.view(c); v != nil && (n.uri == book || v.text(uri) != nil) {
			return n.use(v)
		}
	}
	return outcome{}
}

func (v *notebookView) text(uri string) *cellText {
	if i := slices.IndexFunc(v.texts, func(t *cellText) bool { return t.URI == uri }); i >= 0 {
		return v.texts[i]
	}
	return nil
}

// notebookChange is the change of a notebook.
type notebookChange struct {
	Metadata json.RawMessage `json:"metadata"`
	Cells    struct {
		Structure *struct {
			Array struct {
				Start       int               `json:"start"`
				DeleteCount int               `json:"deleteCount"`
				Cells       []json.RawMessage `json:"cells"`
			} `json:"array"`
			DidOpen  []*cellText `json:"didOpen"`
			DidClose []struct {
				URI string `json:"uri"`
			} `json:"didClose"`
		} `json:"structure"`
		Data        []json.RawMessage `json:"data"`
		TextContent []struct {
			Document struct {
				URI     string `json:"uri"`
				Version int64  `json:"version"`
			} `json:"document"`
			Changes []contentChange `json:"changes"`
		} `json:"textContent"`
	} `json:"cells"`
}

var errCells = errors.New("it names cells that the notebook does not have")

// didChange changes the notebook that a client has, and gives it to the host.
func (ns *notebooks) didChange(c *client, params codec.Raw, t terms) (outcome, error) {
	var p struct {
		NotebookDocument struct {
			Version json.RawMessage `json:"version"`
		} `json:"notebookDocument"`
		Change notebookChange `json:"change"`
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return outcome{}, fmt.Errorf("a change of a notebook cannot be understood: %w", err)
	}
	n := ns.open[notebookOf(params)]
	if n == nil {
		return pass(methodNotebookChange, params), nil // the host's to judge
	}
	v := n.view(c)
	if v == nil {
		return outcome{}, fmt.Errorf("a change of %s cannot be made: %w", n.uri, errNotOpen)
	}
	next, parts, err := v.change(&p.Change, t.encoding)
	if err != nil {
		return outcome{}, fmt.Errorf("a change of %s cannot be made: %w", n.uri, err)
	}
	if p.NotebookDocument.Version != nil {
		next.about["version"] = p.NotebookDocument.Version
	}
	if parts && t.whole { // the closing names the cells that the host has
		out := n.replaced(next)
		n.views = append(slices.DeleteFunc(n.views, func(o *notebookView) bool { return o == v }), v)
		*v = *next
		return out, nil
	}
	out := n.use(v)
	out.host = append(out.host, codec.Message{Method: methodNotebookChange, Params: params})
	*v = *next
	return out, nil
}

// change returns the notebook after a change. parts tells that a text was changed in part.
func (v *notebookView) change(ch *notebookChange, encoding string) (next *notebookView, parts bool, err error) {
	next = &notebookView{client: v.client, about: maps.Clone(v.about), cells: slices.Clone(v.cells)}
	for _, t := range v.texts {
		text := *t
		next.texts = append(next.texts, &text)
	}
	if ch.Metadata != nil {
		next.about["metadata"] = ch.Metadata
	}
	if s := ch.Cells.Structure; s != nil {
		from, count := s.Array.Start, s.Array.DeleteCount
		if from < 0 || count < 0 || from > len(next.cells) || count > len(next.cells)-from || slices.Contains(s.DidOpen, nil) {
			return nil, false, errCells
		}
		next.cells = slices.Replace(next.cells, from, from+count, s.Array.Cells...)
		for _, gone := range s.DidClose {
			next.texts = slices.DeleteFunc(next.texts, func(t *cellText) bool { return t.URI == gone.URI })
		}
		next.texts = append(next.texts, s.DidOpen...)
	}
	for _, data := range ch.Cells.Data {
		i := slices.IndexFunc(next.cells, func(have json.RawMessage) bool { return cellOf(have) == cellOf(data) })
		if i < 0 {
			return nil, false, errCells
		}
		next.cells[i] = data
	}
	for _, content := range ch.Cells.TextContent {
		t := next.text(content.Document.URI)
		if t == nil {
			return nil, false, errCells
		}
		t.Version = content.Document.Version
		for _, one := range content.Changes {
			parts = parts || one.Range != nil
			if t.Text, err = one.apply(t.Text, encoding); err != nil {
				return nil, false, err
			}
		}
	}
	return next, parts, nil
}

// cellOf returns the URI of a cell's document.
func cellOf(cell json.RawMessage) string {
	var c struct {
		Document string `json:"document"`
	}
	_ = json.Unmarshal(cell, &c) // then it has none
	return c.Document
}
