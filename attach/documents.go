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
	methodDidOpen   = "textDocument/didOpen"
	methodDidChange = "textDocument/didChange"
	methodDidClose  = "textDocument/didClose"
)

// documents are what the clients have open. Its methods decide and do nothing else:
// they return what the host has to be told, and the clients whose text the host
// does not have any more.
type documents struct {
	open   map[string]*document
	serial uint64
}

// document is one document as the host is to see it.
type document struct {
	uri      string
	language string
	order    uint64 // of opening
	// version and text are what the host was told last, or is told when its next life
	// begins. The text is always that of the last view.
	version int64
	text    string
	shared  bool    // two clients have had it open at once, so that versions are not only those of one
	views   []*view // by their last use: a change, or a request about the document
}

// view is a document as one client has it open.
type view struct {
	client  *client
	version int64
	text    string
	edits   uint64 // counts changes of the text
	warned  bool   // that the host has another text
}

// outcome is what follows from something that a client has said of documents.
type outcome struct {
	host  []codec.Message // notifications for the host, in order
	apart []*client       // clients that have to be warned: the host has another text than theirs
	uri   string          // of the document that they are warned about
}

// opened is what a life is told of the document.
func (d *document) opened() codec.Raw {
	return encode(map[string]any{"textDocument": map[string]any{
		"uri": d.uri, "languageId": d.language, "version": d.version, "text": d.text,
	}})
}

// changed is the notification that gives the host the whole text. Every server that
// accepts changes accepts that one, whatever it counts characters in.
func (d *document) changed() codec.Message {
	return codec.Message{Method: methodDidChange, Params: encode(map[string]any{
		"textDocument":   map[string]any{"uri": d.uri, "version": d.version},
		"contentChanges": []any{map[string]any{"text": d.text}},
	})}
}

func closed(uri string) codec.Raw {
	return encode(map[string]any{"textDocument": map[string]any{"uri": uri}})
}

// all returns the documents in the order in which they were opened.
func (ds *documents) all() []*document {
	return slices.SortedFunc(maps.Values(ds.open), func(a, b *document) int { return int(a.order) - int(b.order) })
}

// view returns how a client has the document open, nil if it has not.
func (d *document) view(c *client) *view {
	if i := slices.IndexFunc(d.views, func(v *view) bool { return v.client == c }); i >= 0 {
		return d.views[i]
	}
	return nil
}

// view returns a document and how a client has it open, nil for what is not open.
func (ds *documents) view(c *client, uri string) (*document, *view) {
	d := ds.open[uri]
	if d == nil {
		return nil, nil
	}
	return d, d.view(c)
}

// use makes a view the last one.
func (d *document) use(v *view) {
	d.views = append(slices.DeleteFunc(d.views, func(o *view) bool { return o == v }), v)
}

// next counts the version of the host on, to the client's if that is possible.
func (d *document) next(v *view) { d.version = max(d.version+1, v.version) }

// follow gives the host the text of the last view.
func (d *document) follow() outcome {
	v := d.views[len(d.views)-1]
	if v.text == d.text {
		return d.compare()
	}
	d.text = v.text
	d.next(v)
	out := d.compare()
	out.host = []codec.Message{d.changed()}
	return out
}

// compare returns the clients that have come apart from the host's text. Each is
// warned once until all have the same text again.
func (d *document) compare() outcome {
	out := outcome{uri: d.uri}
	apart := false
	for _, v := range d.views {
		if v.text == d.text {
			continue
		}
		apart = true
		if !v.warned {
			v.warned = true
			out.apart = append(out.apart, v.client)
		}
	}
	if !apart {
		for _, v := range d.views {
			v.warned = false
		}
	}
	return out
}

// didOpen opens a document for a client. known tells that the host has it open for
// another one, so that it says nothing new of it.
func (ds *documents) didOpen(c *client, params codec.Raw) (out outcome, known bool) {
	var p struct {
		TextDocument struct {
			URI        string `json:"uri"`
			LanguageID string `json:"languageId"`
			Version    int64  `json:"version"`
			Text       string `json:"text"`
		} `json:"textDocument"`
	}
	if json.Unmarshal(params, &p) != nil || p.TextDocument.URI == "" {
		return pass(methodDidOpen, params), false // the host reports what is wrong with it
	}
	t := p.TextDocument
	d, v := ds.view(c, t.URI)
	if d == nil {
		ds.serial++
		ds.open[t.URI] = &document{uri: t.URI, language: t.LanguageID, version: t.Version, text: t.Text, order: ds.serial,
			views: []*view{{client: c, version: t.Version, text: t.Text}}}
		return pass(methodDidOpen, params), false
	}
	if v == nil {
		v, d.shared = &view{client: c}, true
	}
	v.version, v.text, v.edits = t.Version, t.Text, v.edits+1
	if v.text == d.text {
		v.text = d.text // one copy in memory
	}
	d.use(v)
	return d.follow(), true
}

// pass hands a notification on as it is.
func pass(method string, params codec.Raw) outcome {
	return outcome{host: []codec.Message{{Method: method, Params: params}}}
}

// about is the document that a message is about.
type about struct {
	TextDocument struct {
		URI string `json:"uri"`
	} `json:"textDocument"`
}

// subject returns the URI of the document that a message is about, or "".
func subject(params codec.Raw) string {
	var p about
	_ = json.Unmarshal(params, &p) // what is no object is about no document
	return p.TextDocument.URI
}

// didClose closes a document for a client.
func (ds *documents) didClose(c *client, params codec.Raw) outcome {
	d, v := ds.view(c, subject(params))
	switch {
	case d == nil:
		return pass(methodDidClose, params)
	case v == nil:
		return outcome{}
	}
	return ds.close(d, v)
}

// close takes a view off a document. The host gets the text of the view that was used
// before it, and after the last view it closes the document.
func (ds *documents) close(d *document, v *view) outcome {
	d.views = slices.DeleteFunc(d.views, func(o *view) bool { return o == v })
	if len(d.views) > 0 {
		return d.follow()
	}
	delete(ds.open, d.uri)
	return pass(methodDidClose, closed(d.uri))
}

// left closes what a client had open.
func (ds *documents) left(c *client) []outcome {
	var out []outcome
	for _, d := range ds.all() {
		if v := d.view(c); v != nil {
			out = append(out, ds.close(d, v))
		}
	}
	return out
}

// asks gives the host the text of a client that is about to ask something about a
// document: the positions of its question hold for no other text.
func (ds *documents) asks(c *client, uri string) outcome {
	d, v := ds.view(c, uri)
	if v == nil || v.text == d.text {
		return outcome{}
	}
	d.use(v)
	return d.follow()
}

// errNotOpen means that a client changes a document that only others have opened.
var errNotOpen = errors.New("this program has not opened it")

// terms are how a client and a life of the host speak of changes.
type terms struct {
	encoding string // what the client counts characters in: "utf-8", "utf-32", else UTF-16
	whole    bool   // the host does not accept parts of a text
}

// didChange changes the text that a client has, and gives it to the host.
func (ds *documents) didChange(c *client, params codec.Raw, t terms) (outcome, error) {
	var p struct {
		TextDocument struct {
			URI     string `json:"uri"`
			Version int64  `json:"version"`
		} `json:"textDocument"`
		ContentChanges []contentChange `json:"contentChanges"`
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return outcome{}, fmt.Errorf("a change of a document cannot be understood: %w", err)
	}
	d, v := ds.view(c, p.TextDocument.URI)
	if d == nil {
		return pass(methodDidChange, params), nil // the host's to judge
	}
	if v == nil {
		return outcome{}, fmt.Errorf("a change of %s cannot be made: %w", d.uri, errNotOpen)
	}
	text, parts := v.text, false
	for _, change := range p.ContentChanges {
		var err error
		if text, err = change.apply(text, t.encoding); err != nil {
			return outcome{}, fmt.Errorf("a change of %s cannot be made: %w", d.uri, err)
		}
		parts = parts || change.Range != nil
	}
	together := v.text == d.text
	v.text, v.version, v.edits, d.text = text, p.TextDocument.Version, v.edits+1, text
	d.use(v)
	d.next(v)
	out := d.compare()
	switch {
	case !together, parts && t.whole:
		out.host = []codec.Message{d.changed()}
	case d.version != v.version:
		version := encode(d.version)
		params = substitute(params, func(json.RawMessage) json.RawMessage { return json.RawMessage(version) }, "textDocument", "version")
		fallthrough
	default:
		out.host = []codec.Message{{Method: methodDidChange, Params: params}}
	}
	return out, nil
}
