package documents

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"

	"github.com/hostsup/hostsup/workbench"
)

// UndoEdit undoes the workspace edit over files or several documents that was made last, as a whole. The
// errors are [ErrNothing] and [ErrNotUndone]. ctx bounds the work on files.
func (s *Service) UndoEdit(ctx context.Context) error { return s.stepLast(ctx, false) }

// RedoEdit makes the workspace edit that was undone last again. The errors are those of
// [Service.UndoEdit].
func (s *Service) RedoEdit(ctx context.Context) error { return s.stepLast(ctx, true) }

func (s *Service) stepLast(ctx context.Context, redo bool) error {
	s.stepping.Lock()
	defer s.stepping.Unlock()
	s.mu.Lock()
	p := s.lastPast(redo)
	s.mu.Unlock()
	if p == nil {
		return ErrNothing
	}
	return s.step(ctx, nil, p, redo)
}

// undo undoes or redoes the last group of a document, on behalf of a caller. A workspace edit with
// file operations is undone as a whole or not at all. One over documents alone is undone in this
// document alone if that is not possible, as VS Code offers.
func (s *Service) undo(ctx context.Context, c *workbench.Call, d *document, redo bool) error {
	s.stepping.Lock()
	defer s.stepping.Unlock()
	s.mu.Lock()
	err := errors.Join(editable(d), mayWrite(c, d.uri))
	p, id, ok := s.pastOf(d, redo)
	s.mu.Unlock()
	switch {
	case err != nil:
		return err
	case !ok:
		return nil // as in VS Code
	case p != nil:
		err := s.step(ctx, c, p, redo)
		if err == nil || len(p.files) > 0 || !errors.Is(err, ErrNotUndone) {
			return err
		}
	case needsFiles(id):
		return notUndone("%s: what is needed is not kept any more", d.key)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if now, ok := nextStep(d, redo); ok && now == id && s.documents[d.key] == d {
		s.stepText(d, id, redo)
	}
	return nil
}

func notUndone(format string, args ...any) error {
	return refused("%w: %w", ErrNotUndone, fmt.Errorf(format, args...))
}

// stepText undoes or redoes a group in a document. The caller must hold mu.
func (s *Service) stepText(d *document, id string, redo bool) {
	for {
		if redo {
			s.changed(d, d.model.Redo())
		} else {
			s.changed(d, d.model.Undo())
		}
		if next, ok := nextStep(d, redo); !ok || next != id || id == "" {
			return
		}
	}
}

// reversal is a workspace edit while it is undone or redone.
type reversal struct {
	bulk
	past  *pastEdit
	redo  bool
	files []fileChange // what is to be done, in order
	known map[string][sha256.Size]byte
}

// step undoes or redoes a workspace edit, all of it or nothing. The caller must hold stepping.
func (s *Service) step(ctx context.Context, c *workbench.Call, p *pastEdit, redo bool) error {
	r := &reversal{bulk: bulk{s: s, caller: c, files: files(c), old: map[string]*string{}}, past: p, redo: redo, known: map[string][sha256.Size]byte{}}
	r.files = slices.Clone(p.files)
	if !redo {
		slices.Reverse(r.files)
	}
	s.mu.Lock()
	err := r.possible()
	s.mu.Unlock()
	if err != nil {
		return err
	}
	for i := range r.files {
		if err := r.changeFile(ctx, &r.files[i]); err != nil {
			return errors.Join(notUndone("%w", err), r.putBack())
		}
	}
	s.mu.Lock()
	if err = r.possible(); err == nil {
		r.finish()
	}
	s.mu.Unlock()
	if err != nil {
		return errors.Join(err, r.putBack())
	}
	return r.end()
}

// makes reports whether a change of what was made or removed makes a file.
func (r *reversal) makes(c *fileChange) bool { return (c.kind == changeMade) == r.redo }

// possible returns why the documents do not allow it. The caller must hold Service.mu.
func (r *reversal) possible() error {
	if r.past.closed != "" {
		return notUndone("%s was closed since", r.past.closed)
	}
	for d := range r.past.docs {
		if err := mayWrite(r.caller, d.uri); err != nil {
			return err
		}
		if next, ok := nextStep(d, r.redo); !ok || next != r.past.id || r.s.documents[d.key] != d && !d.parked {
			return notUndone("%s has changed since", d.key)
		}
		if path, ok := d.uri.FilePath(); ok {
			r.known[path] = d.onDisk
		}
	}
	for i := range r.files {
		c := &r.files[i]
		if c.lost != nil {
			return notUndone("%w", c.lost)
		}
		if c.kind == changeMoved || r.makes(c) {
			continue
		}
		for _, d := range r.documentsBelow(c.uri) {
			if d.dirty && !r.past.docs[d] {
				return notUndone("%s has changes that are not saved", d.key)
			}
		}
	}
	return nil
}

// changeFile makes one change.
func (r *reversal) changeFile(ctx context.Context, c *fileChange) error {
	path, _ := c.uri.FilePath()
	fs, late := r.bulk.files, context.WithoutCancel(ctx)
	switch {
	case c.kind == changeMoved:
		from, _ := c.from.FilePath()
		if !r.redo {
			from, path = path, from
		}
		if err := fs.Rename(ctx, from, path, false); err != nil {
			return err
		}
		r.carry(from, path)
		r.back = append(r.back, func() error {
			r.carry(path, from)
			return fs.Rename(late, path, from, false)
		})
	case r.makes(c):
		if err := fs.Restore(path, c.kept); err != nil {
			return err
		}
		c.sum = c.kept.Sum()
		r.back = append(r.back, func() error { return fs.Remove(path, true) })
	default:
		now, err := fs.Snapshot(path, maxKeptOfEdit, r.isOld)
		if err != nil {
			return err
		}
		data, file := now.Data()
		if saved, ok := r.known[path]; now.Sum() != c.sum && !(ok && file && saved == sha256.Sum256(data)) {
			return fmt.Errorf("%s has changed since", path)
		}
		c.kept, c.sum = now, now.Sum()
		return r.aside(ctx, fs, path, false, remove)
	}
	return nil
}

// finish changes the documents and tells the hosts. The caller must hold Service.mu.
func (r *reversal) finish() {
	p, s := r.past, r.s
	r.id = p.id
	for d := range p.docs {
		if d.parked {
			d.parked = false
			d = s.replace(d, d.uri)
		}
		s.stepText(d, p.id, r.redo)
	}
	for i, c := range r.files {
		switch {
		case c.kind == changeMoved && r.redo:
			r.moveDocuments(c.from, c.uri)
		case c.kind == changeMoved:
			r.moveDocuments(c.uri, c.from)
		case r.makes(&c):
			r.restored(&c)
		case i+1 < len(r.files) && r.files[i+1].uri == c.uri && r.files[i+1].kind != changeMoved && r.makes(&r.files[i+1]):
			// What it has replaced comes next.
		default:
			r.close(c.uri)
		}
	}
	if !r.redo {
		slices.Reverse(r.files)
	}
	p.files, p.undone = r.files, !r.redo
	s.past = append(slices.DeleteFunc(s.past, func(other *pastEdit) bool { return other == p }), p)
	s.trim(p)
	s.sync()
	s.filesRun(r.newsOf())
}

// close closes the documents of what is removed. Those that redo needs are kept.
func (r *reversal) close(uri workbench.URI) {
	for _, d := range r.documentsBelow(uri) {
		d.parked = r.past.docs[d]
		r.s.remove(d)
	}
}

// restored gives a document that is open the text of its file, which is there again.
func (r *reversal) restored(c *fileChange) {
	d := r.s.documents[c.uri.String()]
	if data, ok := c.kept.Data(); ok && d != nil && !(r.redo && r.past.docs[d]) {
		if from, err := decoded(data, ""); err == nil {
			from.uri = c.uri
			r.fresh = map[string]source{}
			r.created(from)
		}
	}
}

// newsOf returns the file operations that hosts are told.
func (r *reversal) newsOf() []filesRun {
	out := slices.Clone(r.past.news)
	if r.redo {
		return out
	}
	slices.Reverse(out)
	for i := range out {
		switch run := &out[i]; run.operation {
		case fileCreated:
			run.operation = fileDeleted
		case fileDeleted:
			run.operation = fileCreated
		case fileMoved:
			run.Source, run.Target = run.Target, run.Source
		case fileCopied:
			run.operation, run.Source = fileDeleted, nil
		}
	}
	return out
}

// end removes what was moved away.
func (r *reversal) end() error {
	for _, end := range r.done {
		if err := end(); err != nil {
			r.s.opt.Warn("what was undone is still on disk", "error", err)
		}
	}
	return nil
}
