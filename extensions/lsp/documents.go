package lsp

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/hostsup/hostsup/workbench"
	"github.com/hostsup/hostsup/workbench/documents"
	"github.com/hostsup/hostsup/workbench/language"
	"github.com/hostsup/hostsup/workbench/text"
)

// view is a document as one client has it open. The mutex of the server guards it.
type view struct {
	of      *session
	uri     string // as the client writes it
	key     string
	open    *documents.Document
	text    *text.Text
	version int
	seen    int  // the version of the document that had the text last
	sending bool // the client was asked to make changes of an extension, and has not answered

	saving   chan struct{}  // extensions take part in a save, until it is closed; nil: they do not
	answered *text.Text     // what a save of the client is to have; nil: the client has answered that since
	tokens   semanticTokens // what the client got last
}

// find returns the view that a client has of a document; nil if it has none. The caller must hold mu.
func (s *Server) find(c *session, key string) *view {
	list := s.views[key]
	if i := slices.IndexFunc(list, func(v *view) bool { return v.of == c }); i >= 0 {
		return list[i]
	}
	return nil
}

// adopt makes the text of a view that of the document. The caller must hold mu.
func (s *Server) adopt(v *view) error {
	list := slices.DeleteFunc(s.views[v.key], func(o *view) bool { return o == v })
	s.views[v.key] = append(list, v)
	t, version := v.open.Text()
	if version == v.seen {
		return nil
	}
	if t.String() != v.text.String() {
		if err := v.open.SetText(v.text.String()); err != nil {
			return err
		}
		_, version = v.open.Text()
	}
	v.seen = version
	return nil
}

// use makes the text of a client that of the document, which is the one in the active editor then, unless
// the client is about to take that of the document.
func (s *Server) use(c *session, uri workbench.URI) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if v := s.find(c, uri.String()); v != nil && !v.sending {
		return s.edited(v)
	}
	return nil
}

type textDocumentItem struct {
	URI        string
	LanguageID string
	Version    int
	Text       string
}

// open opens a document for a client.
func (s *Server) open(ctx context.Context, c *session, item textDocumentItem) error {
	uri, err := workbench.ParseURI(item.URI)
	if err != nil {
		return err
	}
	open, err := s.opt.Documents.OpenText(ctx, uri, item.Text)
	if err != nil {
		return err
	}
	if item.LanguageID != "" && item.LanguageID != open.Language() && s.opt.Known(item.LanguageID) {
		if err := open.SetLanguage(item.LanguageID); err != nil {
			open.Close()
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.find(c, uri.String())
	if v == nil {
		if err := open.Pin(); err != nil {
			open.Close()
			return err
		}
		v = &view{of: c, key: uri.String(), open: open}
	} else {
		open.Close()
	}
	v.uri, v.version, v.text, v.seen = item.URI, item.Version, text.New(item.Text, text.LF), 0
	return s.edited(v)
}

type contentChange struct {
	Range *language.Range
	Text  string
}

// change makes the changes of a client.
func (s *Server) change(c *session, uri workbench.URI, version int, changes []contentChange) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.find(c, uri.String())
	if v == nil {
		return fmt.Errorf("%s was changed, but is not open", uri)
	}
	_, now := v.open.Text()
	same := now == v.seen // the changes are those of the document, too
	for _, change := range changes {
		if change.Range == nil {
			v.text, same = text.New(change.Text, v.text.EOL()), false
			continue
		}
		edits := []text.Edit{{Range: wide(*change.Range), Text: change.Text}}
		next, _, err := v.text.Apply(edits)
		if err != nil {
			return err
		}
		if v.text = next; same {
			if err := v.open.Change(edits); err != nil {
				return err
			}
		}
	}
	v.version, v.answered = version, nil
	if same {
		_, v.seen = v.open.Text()
	} else {
		v.seen = 0
	}
	return s.edited(v)
}

// edited makes a document that a client has opened, changed or asked about the one in the active editor. The caller
// must hold mu.
func (s *Server) edited(v *view) error {
	if err := s.adopt(v); err != nil {
		return err
	}
	return v.open.Focus()
}

// saved notes that a client has written the file of a document.
func (s *Server) saved(c *session, uri workbench.URI) error {
	if err := s.use(c, uri); err != nil {
		return err
	}
	s.mu.Lock()
	v := s.find(c, uri.String())
	var saving chan struct{}
	if v != nil {
		saving = v.saving
	}
	s.mu.Unlock()
	switch {
	case v == nil:
		return nil
	case saving == nil:
		return v.open.Saved()
	}
	c.work.Go(func() { // a save comes after what extensions do before it
		select {
		case <-saving:
		case <-c.ctx.Done():
			return
		}
		if err := v.open.Saved(); err != nil {
			c.log("textDocument/didSave: " + err.Error())
		}
	})
	return nil
}

// close ends the view of a client. The document gets the text of another client that has it open, or
// that of its file.
func (s *Server) close(c *session, key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.find(c, key)
	if v == nil {
		return
	}
	defer v.open.Close()
	rest := slices.DeleteFunc(s.views[key], func(o *view) bool { return o == v })
	var err error
	if len(rest) > 0 {
		s.views[key] = rest
		err = s.adopt(rest[len(rest)-1])
	} else {
		delete(s.views, key)
		if v.open.Dirty() {
			err = v.open.Discard()
		}
	}
	if err != nil {
		s.opt.Log.Debug("a document was closed by its client, its changes are not given up", "document", key, "error", err)
	}
}

// deliver sends the text of a document to the client that used it last, if that has another one.
func (s *Server) deliver(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deliverLocked(key)
}

// deliverLocked is deliver. The caller must hold mu.
func (s *Server) deliverLocked(key string) {
	list := s.views[key]
	if len(list) == 0 {
		return
	}
	v := list[len(list)-1]
	now, _ := v.open.Text()
	if v.sending || now.String() == v.text.String() || !s.sessions[v.of] || v.answered != nil && now.String() == v.answered.String() {
		return
	}
	v.sending = true
	edit := v.of.caps.edit(v.uri, v.version, difference(v.text, now))
	v.of.work.Go(func() {
		err := v.of.applyEdit("a change of an extension", edit)
		s.mu.Lock()
		v.sending = false
		s.mu.Unlock()
		if err != nil {
			v.of.log("an extension has changed " + v.uri + ", which is undone: " + err.Error())
			if err := s.use(v.of, v.open.URI()); err != nil {
				s.opt.Log.Debug("a document has not the text of its client", "document", key, "error", err)
			}
		}
	})
}

// difference returns the edits that make one text of another.
func difference(from, to *text.Text) []textEdit {
	e := text.NewModel(from).Reset(to)
	out := []textEdit{}
	if e != nil {
		for _, change := range e.Changes {
			out = append(out, textEdit{Range: narrow(change.Range), NewText: change.Text})
		}
	}
	return out
}

// wide returns a range as package text counts.
func wide(r language.Range) text.Range {
	return text.Range{StartLine: r.Start.Line + 1, StartColumn: r.Start.Character + 1, EndLine: r.End.Line + 1, EndColumn: r.End.Character + 1}
}

// narrow returns a range as clients count.
func narrow(r text.Range) language.Range {
	return language.Range{
		Start: language.Position{Line: r.StartLine - 1, Character: r.StartColumn - 1},
		End:   language.Position{Line: r.EndLine - 1, Character: r.EndColumn - 1},
	}
}

// spelled returns a URI as the client writes it, if it has the document open. The caller must not hold
// the mutex of the server.
func (c *session) spelled(uri language.URI) string {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	if v := c.s.find(c, string(uri)); v != nil {
		return v.uri
	}
	return string(uri)
}

// versions returns the versions of the documents that a client has open, by URI.
func (c *session) versions() map[string]int {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	out := map[string]int{}
	for key := range c.s.views {
		if v := c.s.find(c, key); v != nil {
			out[key] = v.version
		}
	}
	return out
}

// notified carries out a notification.
func (c *session) notified(method string, params json.RawMessage) error {
	if method == "window/workDoneProgress/cancel" {
		return c.cancelProgress(params)
	}
	var p struct {
		TextDocument   textDocumentItem
		ContentChanges []contentChange
		Reason         int
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return err
	}
	if method == "textDocument/didOpen" {
		return c.s.open(c.ctx, c, p.TextDocument)
	}
	uri, err := workbench.ParseURI(p.TextDocument.URI)
	if err != nil {
		return err
	}
	switch method {
	case "textDocument/didChange":
		return c.s.change(c, uri, p.TextDocument.Version, p.ContentChanges)
	case "textDocument/willSave":
		return c.s.announced(c, uri, documents.SaveReason(p.Reason))
	case "textDocument/didSave":
		return c.s.saved(c, uri)
	case "textDocument/didClose":
		c.s.close(c, uri.String())
	}
	return nil
}
