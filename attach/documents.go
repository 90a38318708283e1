package attach

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/hostsup/hostsup/codec"
)

// documents are what the clients have open.
type documents struct {
	open   map[string]*document
	serial uint64
}

// document is one document as the host is to see it.
type document struct {
	uri      string
	language string
	version  int64
	text     string
	order    uint64    // of opening
	clients  []*client // those that have it open; the first owns its text
}

// opened is what a life is told of it.
func (d *document) opened() codec.Raw {
	return encode(map[string]any{"textDocument": map[string]any{
		"uri": d.uri, "languageId": d.language, "version": d.version, "text": d.text,
	}})
}

func closed(uri string) codec.Raw {
	return encode(map[string]any{"textDocument": map[string]any{"uri": uri}})
}

// all returns the documents in the order in which they were opened.
func (ds *documents) all() []*document {
	return slices.SortedFunc(maps.Values(ds.open), func(a, b *document) int { return int(a.order) - int(b.order) })
}

// didOpen says whether the host is to be told.
func (ds *documents) didOpen(c *client, params codec.Raw) bool {
	var p struct {
		TextDocument struct {
			URI        string `json:"uri"`
			LanguageID string `json:"languageId"`
			Version    int64  `json:"version"`
			Text       string `json:"text"`
		} `json:"textDocument"`
	}
	if json.Unmarshal(params, &p) != nil || p.TextDocument.URI == "" {
		return true // the host says what is wrong with it
	}
	t := p.TextDocument
	if d := ds.open[t.URI]; d != nil {
		if !slices.Contains(d.clients, c) {
			d.clients = append(d.clients, c)
		}
		return false
	}
	ds.serial++
	ds.open[t.URI] = &document{uri: t.URI, language: t.LanguageID, version: t.Version, text: t.Text, order: ds.serial, clients: []*client{c}}
	return true
}

// didClose says whether the host is to be told.
func (ds *documents) didClose(c *client, params codec.Raw) bool {
	var p struct {
		TextDocument struct {
			URI string `json:"uri"`
		} `json:"textDocument"`
	}
	if json.Unmarshal(params, &p) != nil {
		return true
	}
	d := ds.open[p.TextDocument.URI]
	if d == nil {
		return true
	}
	return ds.close(c, d)
}

// close takes a client off a document; true when it was the last.
func (ds *documents) close(c *client, d *document) bool {
	d.clients = slices.DeleteFunc(d.clients, func(o *client) bool { return o == c })
	if len(d.clients) > 0 {
		return false
	}
	delete(ds.open, d.uri)
	return true
}

// left closes what a client had open and returns the documents that no client has open any more.
func (ds *documents) left(c *client) []string {
	var out []string
	for _, d := range ds.all() {
		if slices.Contains(d.clients, c) && ds.close(c, d) {
			out = append(out, d.uri)
		}
	}
	return out
}

// position is a place in a text, both numbers from 0.
type position struct {
	Line      int `json:"line"`
	Character int `json:"character"`
}

type contentChange struct {
	Range *struct {
		Start position `json:"start"`
		End   position `json:"end"`
	} `json:"range"`
	Text string `json:"text"`
}

var errRange = errors.New("a change ends before it begins")

// didChange changes the text of a document and returns its owner: nobody, when
// it is not open, which is the host's to judge.
func (ds *documents) didChange(c *client, params codec.Raw, encoding string) (*client, error) {
	var p struct {
		TextDocument struct {
			URI     string `json:"uri"`
			Version int64  `json:"version"`
		} `json:"textDocument"`
		ContentChanges []contentChange `json:"contentChanges"`
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, fmt.Errorf("a change of a document cannot be understood: %w", err)
	}
	d := ds.open[p.TextDocument.URI]
	if d == nil {
		return c, nil
	}
	if d.clients[0] != c {
		return d.clients[0], nil
	}
	text := d.text
	for _, change := range p.ContentChanges {
		var err error
		if text, err = change.apply(text, encoding); err != nil {
			return nil, fmt.Errorf("a change of %s cannot be made: %w", d.uri, err)
		}
	}
	d.text, d.version = text, p.TextDocument.Version
	return c, nil
}

// apply returns the text after the change.
func (ch *contentChange) apply(text, encoding string) (string, error) {
	if ch.Range == nil {
		return ch.Text, nil
	}
	from, to := offset(text, ch.Range.Start, encoding), offset(text, ch.Range.End, encoding)
	if to < from {
		return "", errRange
	}
	return text[:from] + ch.Text + text[to:], nil
}

// offset is where a position lies in a text, in bytes. A line that is not there
// is the end of the text, a character that is not there the end of its line.
// Lines end at \n, \r\n or \r, as the protocol says.
func offset(text string, at position, encoding string) int {
	i := 0
	for line := 0; line < at.Line; line++ {
		for i < len(text) && text[i] != '\n' && text[i] != '\r' {
			i++
		}
		if i == len(text) {
			return i
		}
		if text[i] == '\r' && i+1 < len(text) && text[i+1] == '\n' {
			i++
		}
		i++
	}
	for n := 0; n < at.Character && i < len(text) && text[i] != '\n' && text[i] != '\r'; {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch encoding {
		case "utf-8":
			n += size
		case "utf-32":
			n++
		default:
			n++
			if r > 0xffff {
				n++
			}
		}
		if n > at.Character {
			break // within a character: before it
		}
		i += size
	}
	return i
}
