package documents

import (
	"context"
	"crypto/sha256"
	"maps"
	"slices"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/workbench"
	"github.com/hostsup/hostsup/workbench/disk"
	"github.com/hostsup/hostsup/workbench/text"
)

// SaveReason is why a document is saved: 1 an extension or a person asked for it, 2 some time has passed
// since a change, 3 its editor has lost the focus.
type SaveReason int

// byHand is the reason of the saves of extensions.
const byHand SaveReason = 1

// NameConflict is the name of the error by which an extension learns that a file has changed on disk
// since its document was read; see [ErrConflict].
const NameConflict = "FileModifiedSince"

func (s *Service) saveMethods() map[string]workbench.Method {
	return map[string]workbench.Method{
		"MainThreadWorkspace.$save":    {Do: s.saveShown},
		"MainThreadWorkspace.$saveAll": {Do: s.saveAll},
	}
}

func (s *Service) trySave(ctx context.Context, c *workbench.Call) (any, error) {
	var uri workbench.URI
	if err := c.Args(&uri); err != nil {
		return nil, err
	}
	s.mu.Lock()
	d := s.documents[uri.String()]
	s.mu.Unlock()
	if d == nil {
		return false, nil
	}
	_, err := s.save(ctx, d, c)
	return err == nil, err
}

// saveShown saves a document that is in a tab; of others VS Code saves nothing.
func (s *Service) saveShown(ctx context.Context, c *workbench.Call) (any, error) {
	var uri workbench.URI
	var opt struct{ SaveAs bool }
	if err := c.Args(&uri, &opt); err != nil {
		return nil, err
	}
	if opt.SaveAs {
		return nil, workbench.NotSupported("workspace.saveAs", "there is no user to ask for the path")
	}
	s.mu.Lock()
	d := s.documents[uri.String()]
	shown := d != nil && s.shownIn(d) > 0
	s.mu.Unlock()
	if !shown {
		return nil, nil
	}
	return s.save(ctx, d, c)
}

func (s *Service) saveAll(ctx context.Context, c *workbench.Call) (any, error) {
	var untitled bool
	if err := c.Args(&untitled); err != nil {
		return nil, err
	}
	s.mu.Lock()
	var list []*document
	for _, key := range slices.Sorted(maps.Keys(s.documents)) {
		if d := s.documents[key]; d.dirty && (untitled || d.uri.Scheme != "untitled") {
			list = append(list, d)
		}
	}
	s.mu.Unlock()
	for _, d := range list {
		if _, err := s.save(ctx, d, c); err != nil {
			return nil, err
		}
	}
	return true, nil
}

// save writes a document with changes, after extensions had their say, and returns where it is. A
// document without changes is left as it is.
func (s *Service) save(ctx context.Context, d *document, caller *workbench.Call) (workbench.URI, error) {
	fail := func(err error) (workbench.URI, error) {
		return d.uri, refused("cannot save %s: %w", d.key, err)
	}
	target, ok := s.target(d.uri)
	if !ok {
		return fail(workbench.NotSupported("TextDocument.save", "the document has no path, and there is no user to ask for one"))
	}
	if err := mayWrite(caller, d.uri); err != nil {
		return fail(err)
	}
	release, err := s.beginSave(ctx, d)
	if release == nil {
		if err != nil {
			return fail(err)
		}
		return d.uri, nil
	}
	defer release()
	s.willSave(ctx, d, byHand)

	s.mu.Lock()
	t, state, encoding, known := d.model.Text(), d.model.State(), d.encoding, d.onDisk
	s.mu.Unlock()
	data, err := encode(t.String(), encoding)
	if err != nil {
		return fail(err)
	}
	now, err := s.read(ctx, files(caller), target)
	switch untitled := d.uri.Scheme == "untitled"; {
	case err != nil && !missing(err):
		return fail(err)
	case err == nil && (untitled || sha256.Sum256(now) != known):
		return fail(&failure{&codec.Error{Name: NameConflict, Message: ErrConflict.Error()}, ErrConflict})
	}
	if err := s.write(ctx, files(caller), target, data); err != nil {
		return fail(err)
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	if s.documents[d.key] != d {
		return d.uri, nil
	}
	d.onDisk, d.saved = sha256.Sum256(data), state
	if d.uri.Scheme == "untitled" {
		d = s.replace(d, target)
	}
	s.setDirty(d, s.isDirty(d))
	s.tell(d, methodSaved, d.uri)
	return d.uri, nil
}

// beginSave waits until no other save of the document is under way. release is nil if there is
// nothing to save.
func (s *Service) beginSave(ctx context.Context, d *document) (release func(), err error) {
	for {
		s.mu.Lock()
		switch {
		case s.closed || s.documents[d.key] != d:
			s.mu.Unlock()
			return nil, ErrClosed
		case !d.dirty:
			s.mu.Unlock()
			return nil, nil
		case d.saving == nil:
			done := make(chan struct{})
			d.saving = done
			s.mu.Unlock()
			return func() {
				s.mu.Lock()
				d.saving = nil
				s.mu.Unlock()
				close(done)
			}, nil
		}
		wait := d.saving
		s.mu.Unlock()
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// willSave lets the extensions of all hosts change a document before it is saved, host by host. What
// fails or takes too long is left out, as in VS Code.
func (s *Service) willSave(ctx context.Context, d *document, reason SaveReason) {
	s.mu.Lock()
	var hosts []*workbench.Host
	for _, name := range slices.Sorted(maps.Keys(s.views)) {
		if v := s.views[name]; v.documents[d.key] == d {
			hosts = append(hosts, v.host)
		}
	}
	s.mu.Unlock()
	for _, h := range hosts {
		bounded, cancel := context.WithTimeout(ctx, s.opt.SaveTimeout)
		if err := h.Call(bounded, methodWillSave, workbench.Params(d.uri, reason), nil); err != nil {
			s.opt.Warn("extensions have not taken part in a save", "host", h.Name(), "document", d.key, "error", err)
		}
		cancel()
	}
}

// replace gives a document another URI, which is another document for extensions: with the same text,
// version and undo, in the same tabs. A document that had the URI is closed. The caller must hold mu.
func (s *Service) replace(d *document, uri workbench.URI) *document {
	if other := s.documents[uri.String()]; other != nil {
		s.remove(other)
	}
	from := source{text: d.model.Text(), encoding: d.encoding, onDisk: d.onDisk, dirty: d.dirty, virtual: d.virtual}
	if d.language != s.languageOf(d) {
		from.language = d.language // an extension has set it
	}
	d.unwatch()
	if s.documents[d.key] == d {
		delete(s.documents, d.key)
	}
	now := s.make(uri, from)
	now.model, now.saved, now.clients, d.clients = d.model, d.saved, d.clients, 0
	now.pins, now.dirty, now.weight = d.pins, s.isDirty(now), d.weight
	d.next = now
	s.moved(d, now)
	for _, g := range s.groups {
		for _, t := range g.tabs {
			if t.doc == d {
				t.doc, t.editor = now, s.newEditor(now)
			}
		}
	}
	s.sync()
	s.opened(now.language)
	return now
}

// changedOnDisk reads a file again.
func (s *Service) changedOnDisk(d *document) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.work.Go(func() {
		if err := s.reload(d); err != nil && !missing(err) {
			s.opt.Warn("a document was not read again", "document", d.key, "error", err)
		}
	})
}

// reload takes the text of a document from disk if it has no changes to save.
func (s *Service) reload(d *document) error {
	var guard workbench.Guard
	if path, ok := d.uri.FilePath(); ok {
		var err error
		s.mu.Lock()
		guard, err = s.guard(d, path)
		s.mu.Unlock()
		if err != nil {
			return err
		}
	}
	data, err := s.read(s.ctx, disk.FS{Guard: guard}, d.uri)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.documents[d.key] != d || d.dirty || d.onDisk == sha256.Sum256(data) {
		return nil
	}
	content, encoding, err := decode(data, "")
	if d.encoding == latin1 {
		content, encoding, err = decode(data, latin1)
	}
	if err != nil {
		return err
	}
	e := d.model.Reset(text.New(content, d.model.Text().EOL()))
	d.onDisk, d.saved = sha256.Sum256(data), d.model.State()
	s.changed(d, e)
	if encoding != d.encoding {
		d.encoding = encoding
		s.tell(d, methodEncoding, d.uri, encoding)
	}
	return nil
}
