package documents

import (
	"context"
	"fmt"

	"github.com/hostsup/hostsup/workbench"
	"github.com/hostsup/hostsup/workbench/text"
)

// Document is a document that a program holds open. It must be closed.
type Document struct {
	s      *Service
	d      *document
	pinned bool
	closed bool
}

// Open opens a document, or holds one that is open. ctx bounds reading it.
func (s *Service) Open(ctx context.Context, uri workbench.URI) (*Document, error) {
	return s.OpenFor(ctx, uri, nil)
}

// OpenFor is [Service.Open] on behalf of a host: with what its sandbox lets it read, and within the
// bounds of what hosts may have open. A nil caller is the program itself.
func (s *Service) OpenFor(ctx context.Context, uri workbench.URI, caller *workbench.Call) (*Document, error) {
	for {
		d, err := s.open(ctx, uri, "", caller)
		if err != nil {
			return nil, err
		}
		s.mu.Lock()
		here := s.documents[d.key] == d
		if here {
			d.clients++
		}
		s.mu.Unlock()
		if here {
			return &Document{s: s, d: d}, nil
		}
	}
}

// Find returns a document that is open; nil if it is not. It must be closed.
func (s *Service) Find(uri workbench.URI) *Document {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.documents[uri.String()]
	if d == nil {
		return nil
	}
	d.clients++
	return &Document{s: s, d: d}
}

// current returns the document under its present URI. The caller must hold the lock of the service.
func (o *Document) current() *document {
	for o.d.next != nil {
		o.d = o.d.next
	}
	return o.d
}

// with calls f with the document, locked; the error is [ErrClosed] if it is not open any more.
func (o *Document) with(f func(*document) error) error {
	o.s.mu.Lock()
	defer o.s.mu.Unlock()
	d := o.current()
	if o.closed || o.s.documents[d.key] != d {
		return fmt.Errorf("document %s: %w", d.key, ErrClosed)
	}
	return f(d)
}

// Close releases the document. It stays open while something else holds it. A second Close does
// nothing.
func (o *Document) Close() {
	o.s.mu.Lock()
	defer o.s.mu.Unlock()
	if d := o.current(); !o.closed {
		o.closed = true
		d.clients--
		if o.pinned {
			o.s.unpin(d)
		}
		o.s.sync()
	}
}

// URI returns the URI, which a save or a rename may have changed.
func (o *Document) URI() workbench.URI {
	o.s.mu.Lock()
	defer o.s.mu.Unlock()
	return o.current().uri
}

// Text returns the text with its version.
func (o *Document) Text() (t *text.Text, version int) {
	o.s.mu.Lock()
	defer o.s.mu.Unlock()
	m := o.current().model
	return m.Text(), m.Version()
}

// Language returns the id of the language.
func (o *Document) Language() string {
	o.s.mu.Lock()
	defer o.s.mu.Unlock()
	return o.current().language
}

// SetLanguage gives the document another language.
func (o *Document) SetLanguage(id string) error {
	return o.with(func(d *document) error { o.s.setLanguage(d, id); return nil })
}

// Dirty reports whether the document has changes that are not saved.
func (o *Document) Dirty() bool {
	o.s.mu.Lock()
	defer o.s.mu.Unlock()
	return o.current().dirty
}

// Change makes edits, as one step of undo. All hosts get them before it returns. The errors are
// [text.ErrOverlap] and [ErrClosed].
func (o *Document) Change(edits []text.Edit) error {
	return o.with(func(d *document) error {
		d.model.Stop()
		defer d.model.Stop()
		return o.s.edit(d, edits, "")
	})
}

// SetText replaces the text; only the lines that differ are a change.
func (o *Document) SetText(content string) error {
	return o.with(func(d *document) error {
		if err := editable(d); err != nil {
			return err
		}
		o.s.changed(d, d.model.Reset(text.New(content, d.model.Text().EOL())))
		return nil
	})
}

// Undo undoes the last step, if there is one. A step that is a workspace edit with file operations, or
// over several documents, is undone as a whole: files that were deleted or overwritten come back, those
// that were made are removed, those that were moved are moved back. A workspace edit over documents
// alone is undone in this document only if another one has changed since. The error is [ErrNotUndone]
// if files are concerned and that is not possible. ctx bounds the work on files.
func (o *Document) Undo(ctx context.Context) error { return o.step(ctx, false) }

// Redo makes the last step that was undone again, if there is one, as [Document.Undo].
func (o *Document) Redo(ctx context.Context) error { return o.step(ctx, true) }

func (o *Document) step(ctx context.Context, redo bool) error {
	var d *document
	if err := o.with(func(now *document) error { d = now; return nil }); err != nil {
		return err
	}
	return o.s.undo(ctx, nil, d, redo)
}

// Show shows the document in the active group of tabs, as its active editor.
func (o *Document) Show() error {
	return o.with(func(d *document) error { o.s.show(d, showing{}); return nil })
}

// Pin keeps a tab of the document until o is closed; it does not become the active one. Extensions treat
// a document as visible if it has a tab, and many look at nothing else: VS Code's own client of LSP asks
// servers for the problems of such documents only. A second Pin does nothing. A tab that something else
// has opened stays after o is closed.
func (o *Document) Pin() error {
	return o.with(func(d *document) error {
		if !o.pinned {
			o.pinned = true
			o.s.pin(d)
		}
		return nil
	})
}

// Reveal is Pin for a document that extensions shall see in an editor, as if a user looked at it: those of
// TypeScript of VS Code 1.100 tell their server the settings only of such documents. It is shown in a group
// beside the active one, or in that one if nothing is shown there.
func (o *Document) Reveal() error {
	return o.with(func(d *document) error {
		if !o.pinned {
			o.pinned = true
			d.pins++
		}
		o.s.reveal(d)
		return nil
	})
}

// Focus is [Document.Show] for a document that is not the active one.
func (o *Document) Focus() error {
	return o.with(func(d *document) error {
		if t := o.s.active.active; t == nil || t.doc != d {
			o.s.show(d, showing{})
		}
		return nil
	})
}

// Save saves the document if it has changes. The error is [ErrConflict] if the file has changed on disk
// meanwhile: it is then not written.
func (o *Document) Save(ctx context.Context) error {
	var d *document
	if err := o.with(func(now *document) error { d = now; return nil }); err != nil {
		return err
	}
	_, err := o.s.save(ctx, d, nil)
	return err
}

// Documents returns the URIs of all open documents, in no order.
func (s *Service) Documents() (out []workbench.URI) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range s.documents {
		out = append(out, d.uri)
	}
	return out
}
