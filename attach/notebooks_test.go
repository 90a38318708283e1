package attach

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/internal/require"
)

// modelBook is a notebook as a program shows it: the texts of its cells, in order.
type modelBook struct {
	cells []string
	texts map[string]string
}

func (b *modelBook) clone() *modelBook { return &modelBook{slices.Clone(b.cells), maps.Clone(b.texts)} }

func (b *modelBook) String() string {
	var out []string
	for _, c := range b.cells {
		out = append(out, c+"="+b.texts[c])
	}
	return strings.Join(out, " ")
}

func (b *modelBook) open() codec.Raw {
	cells, texts := []any{}, []any{}
	for _, c := range b.cells {
		cells = append(cells, map[string]any{"kind": 2, "document": c})
		texts = append(texts, map[string]any{"uri": c, "languageId": "x", "version": 1, "text": b.texts[c]})
	}
	return encode(map[string]any{"notebookDocument": map[string]any{"uri": "book", "notebookType": "t", "version": 1, "cells": cells}, "cellTextDocuments": texts})
}

// take applies what a server is told; a notebook that is not open is nil.
func (b *modelBook) take(t *testing.T, m codec.Message) *modelBook {
	t.Helper()
	var p struct {
		NotebookDocument struct {
			Cells []struct{ Document string }
		}
		CellTextDocuments []cellText
		Change            notebookChange
	}
	if err := json.Unmarshal(m.Params, &p); err != nil {
		t.Fatal(err)
	}
	if (b == nil) != (m.Method == methodNotebookOpen) {
		t.Fatalf("%s %s", m.Method, m.Params)
	}
	switch m.Method {
	case methodNotebookOpen:
		b = &modelBook{texts: map[string]string{}}
		for _, c := range p.NotebookDocument.Cells {
			b.cells = append(b.cells, c.Document)
		}
		for _, c := range p.CellTextDocuments {
			b.texts[c.URI] = c.Text
		}
	case methodNotebookClose:
		if len(p.CellTextDocuments) != len(b.cells) {
			t.Fatalf("closed with %s, and it has %v", m.Params, b.cells)
		}
		return nil
	case methodNotebookChange:
		if s := p.Change.Cells.Structure; s != nil {
			for range s.Array.DeleteCount {
				delete(b.texts, b.cells[s.Array.Start])
				b.cells = slices.Delete(b.cells, s.Array.Start, s.Array.Start+1)
			}
			for i, c := range s.Array.Cells {
				b.cells = slices.Insert(b.cells, s.Array.Start+i, cellOf(c))
			}
			for _, c := range s.DidOpen {
				b.texts[c.URI] = c.Text
			}
		}
		for _, c := range p.Change.Cells.TextContent {
			b.texts[c.Document.URI] = c.Changes[0].Text
		}
	}
	return b
}

// The server has the notebook of the client that has used it last, over closings,
// departures and new lives.
func TestNotebooksModel(t *testing.T) {
	for seed := range uint64(require.Rounds(20, 5)) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		ns := notebooks{open: map[string]*notebook{}}
		clients := []*client{new(client), new(client), new(client)}
		shows := make([]*modelBook, len(clients))
		var server *modelBook
		var used []int
		named := 0
		for step := range 500 {
			i := rnd.IntN(len(clients))
			c, b := clients[i], shows[i]
			var out outcome
			use, unuse := false, false
			switch what := rnd.IntN(10); {
			case b == nil:
				b = &modelBook{[]string{"a", "b"}, map[string]string{"a": fmt.Sprint(rnd.IntN(2)), "b": ""}}
				out, use = ns.didOpen(c, b.open()), true
			case what < 5:
				b = b.clone()
				change := map[string]any{}
				if rnd.IntN(2) == 0 || len(b.cells) == 0 {
					at := rnd.IntN(len(b.cells) + 1)
					count := rnd.IntN(len(b.cells) - at + 1)
					gone := []any{}
					for _, c := range b.cells[at : at+count] {
						gone = append(gone, map[string]any{"uri": c})
						delete(b.texts, c)
					}
					named++
					name := fmt.Sprint("n", named)
					b.cells, b.texts[name] = slices.Replace(b.cells, at, at+count, name), "new"
					change["structure"] = map[string]any{
						"array":    map[string]any{"start": at, "deleteCount": count, "cells": []any{map[string]any{"kind": 2, "document": name}}},
						"didOpen":  []any{map[string]any{"uri": name, "languageId": "x", "version": 1, "text": "new"}},
						"didClose": gone,
					}
				} else {
					name := b.cells[rnd.IntN(len(b.cells))]
					b.texts[name] = fmt.Sprint(step)
					change["textContent"] = []any{map[string]any{"document": map[string]any{"uri": name, "version": step + 2}, "changes": []any{map[string]any{"text": b.texts[name]}}}}
				}
				var err error
				out, err = ns.didChange(c, encode(map[string]any{"notebookDocument": map[string]any{"uri": "book", "version": step + 2}, "change": map[string]any{"cells": change}}), terms{})
				if err != nil {
					t.Fatal(err)
				}
				use = true
			case what < 7:
				out, use = ns.asks(c, "book", ""), true
			case what == 7:
				out, unuse = ns.didClose(c, codec.Raw(`{"notebookDocument":{"uri":"book"}}`)), true
			case what == 8:
				for _, o := range ns.left(c) {
					out.host = append(out.host, o.host...)
				}
				unuse = true
			default:
				n := ns.open["book"]
				server = (*modelBook)(nil).take(t, codec.Message{Method: methodNotebookOpen, Params: n.views[len(n.views)-1].opened()})
			}
			for _, m := range out.host {
				server = server.take(t, m)
			}
			if use || unuse {
				used = slices.DeleteFunc(used, func(o int) bool { return o == i })
				shows[i] = nil
			}
			if use {
				used, shows[i] = append(used, i), b
			}
			switch {
			case len(used) == 0:
				if server != nil || len(ns.open) != 0 {
					t.Fatalf("seed %d, step %d: it is still open", seed, step)
				}
			case server == nil || server.String() != shows[used[len(used)-1]].String():
				t.Fatalf("seed %d, step %d: the server has %v, the client that used it last %v", seed, step, server, shows[used[len(used)-1]])
			}
		}
	}
}

// What cannot be done to a notebook changes nothing.
func TestNotebookChangesThatFail(t *testing.T) {
	ns := notebooks{open: map[string]*notebook{}}
	a, b := new(client), new(client)
	book := &modelBook{[]string{"a"}, map[string]string{"a": "x"}}
	ns.didOpen(a, book.open())
	before := string(ns.open["book"].views[0].opened())
	for _, change := range []string{
		`{"structure":{"array":{"start":2,"deleteCount":0}}}`, `{"structure":{"array":{"start":0,"deleteCount":2}}}`, `{"structure":{"array":{"start":-1,"deleteCount":0}}}`,
		`{"structure":{"array":{"start":1,"deleteCount":9223372036854775807}}}`, `{"structure":{"array":{"start":0,"deleteCount":0},"didOpen":[null]}}`,
		`{"data":[{"document":"b"}]}`, `{"textContent":[{"document":{"uri":"b"},"changes":[]}]}`,
	} {
		out, err := ns.didChange(a, codec.Raw(`{"notebookDocument":{"uri":"book"},"change":{"cells":`+change+`}}`), terms{})
		if !errors.Is(err, errCells) || len(out.host) > 0 {
			t.Errorf("%s: %v, %v", change, tells(out), err)
		}
	}
	if _, err := ns.didChange(b, codec.Raw(`{"notebookDocument":{"uri":"book"},"change":{}}`), terms{}); !errors.Is(err, errNotOpen) {
		t.Errorf("a change by a client that has not opened it: %v", err)
	}
	if now := string(ns.open["book"].views[0].opened()); now != before {
		t.Errorf("it has become %s", now)
	}
	// A server that takes whole texts alone is given the whole notebook.
	out, err := ns.didChange(a, codec.Raw(`{"notebookDocument":{"uri":"book","version":2},"change":{"cells":{"textContent":[{"document":{"uri":"a","version":2},"changes":[{"range":{"start":{"line":0,"character":1},"end":{"line":0,"character":1}},"text":"y"}]}]}}}`), terms{whole: true})
	if err != nil || len(out.host) != 2 || !strings.Contains(string(out.host[1].Params), `"xy"`) {
		t.Errorf("%s, %v", tells(out), err)
	}
}
