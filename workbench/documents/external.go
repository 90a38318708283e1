package documents

import (
	"context"
	"crypto/sha256"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/workbench"
	"github.com/hostsup/hostsup/workbench/disk"
	"github.com/hostsup/hostsup/workbench/text"
)

// OpenText opens a document with the text of an editor that has it open, which may differ from that of
// the file: the document has then changes to save. A file that does not exist yet, and a scheme that no
// extension provides, are allowed. The errors are those of [Service.Open] and [Document.SetText].
func (s *Service) OpenText(ctx context.Context, uri workbench.URI, content string) (*Document, error) {
	open, err := s.Open(ctx, uri)
	if err != nil {
		if uri.Scheme == "file" && !missing(err) || ctx.Err() != nil {
			return nil, err
		}
		if open, err = s.hold(uri, content); err != nil {
			return nil, refused("cannot open %s. Detail: %w", uri, err)
		}
	}
	if err := open.SetText(content); err != nil {
		open.Close()
		return nil, err
	}
	return open, nil
}

// hold holds a document, which is made without a file if it is not open.
func (s *Service) hold(uri workbench.URI, content string) (*Document, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	d := s.documents[uri.String()]
	if d == nil {
		if len(content) > maxSize {
			return nil, ErrTooLarge
		}
		if err := s.room(text.Weight(content), 1); err != nil {
			return nil, err
		}
		d = s.add(uri, source{text: text.New(content, text.LF), encoding: utf8Name, dirty: true})
	}
	d.clients++
	return &Document{s: s, d: d}, nil
}

// Saved notes that an editor has written the file of the document. Extensions are told of a save. The
// document has no changes to save any more if the file has its text. The error is that of reading the
// file.
func (o *Document) Saved() error {
	return o.fromDisk(func(d *document, data []byte, _ *text.Text) {
		content, err := encode(d.model.Text().String(), d.encoding)
		if d.onDisk = sha256.Sum256(data); err == nil && sha256.Sum256(content) == d.onDisk {
			d.saved = d.model.State()
		}
		o.s.setDirty(d, o.s.isDirty(d))
		o.s.tell(d, methodSaved, d.uri)
	})
}

// WillSave lets extensions change the document before its client saves it: onWillSaveTextDocument happens
// in the extensions of all hosts, each of which has as long as SaveTimeout of the options says. What fails or
// takes longer is left out, as in VS Code. The error means that the document is closed.
func (o *Document) WillSave(ctx context.Context, reason SaveReason) error {
	var of *document
	if err := o.with(func(d *document) error {
		of = d
		return nil
	}); err != nil {
		return err
	}
	o.s.willSave(ctx, of, reason)
	return nil
}

// Discard gives up the changes that were not saved: the text is that of the file again. A document
// without a file is closed. The error is that of reading the file.
func (o *Document) Discard() error {
	err := o.fromDisk(func(d *document, data []byte, now *text.Text) {
		e := d.model.Reset(now)
		d.onDisk, d.saved = sha256.Sum256(data), d.model.State()
		if o.s.changed(d, e); e == nil {
			o.s.setDirty(d, o.s.isDirty(d))
		}
	})
	if missing(err) {
		return o.with(func(d *document) error {
			o.s.remove(d)
			o.s.sync()
			return nil
		})
	}
	return err
}

// fromDisk reads the file of the document, and calls f with its bytes and its text, locked.
func (o *Document) fromDisk(f func(d *document, data []byte, t *text.Text)) error {
	var path string
	var encoding string
	var guard workbench.Guard
	err := o.with(func(d *document) (err error) {
		var ok bool
		if path, ok = d.uri.FilePath(); !ok {
			return &codec.Error{Name: disk.NameNotFound, Message: d.key + " is no file"}
		}
		encoding = d.encoding
		guard, err = o.s.guard(d, path)
		return err
	})
	if err != nil {
		return err
	}
	data, err := readBounded(disk.FS{Guard: guard}, path)
	if err != nil {
		return err
	}
	content, _, err := decode(data, encoding)
	if err != nil {
		return err
	}
	return o.with(func(d *document) error {
		f(d, data, text.New(content, d.model.Text().EOL()))
		return nil
	})
}

// Subscribe calls changed with the URI of each document whose text has changed, until stop is called.
// changed must not block and must not call the service.
func (s *Service) Subscribe(changed func(workbench.URI)) (stop func()) {
	own := &changed
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.subscribers == nil {
		s.subscribers = map[*func(workbench.URI)]bool{}
	}
	s.subscribers[own] = true
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.subscribers, own)
	}
}
