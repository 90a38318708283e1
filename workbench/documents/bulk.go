package documents

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/hostsup/hostsup/workbench"
	"github.com/hostsup/hostsup/workbench/disk"
	"github.com/hostsup/hostsup/workbench/text"
)

// change is a part of a workspace edit: an edit of a text, or of a file.
type change struct {
	Resource *workbench.URI
	TextEdit *struct {
		Range   text.Range
		Text    string
		EOL     *int
		Snippet bool `json:"insertAsSnippet"`
		Keep    bool `json:"keepWhitespace"`
	}
	VersionID *int

	OldResource, NewResource *workbench.URI
	Options                  fileOptions

	CellEdit json.RawMessage
}

// fileOptions are the options of a file operation.
type fileOptions struct {
	Overwrite         bool
	IgnoreIfExists    bool
	IgnoreIfNotExists bool
	Recursive         bool
	Folder            bool
	Copy              bool
	Contents          *struct{ Type, Value string }
}

func (s *Service) bulkMethods() map[string]workbench.Method {
	return map[string]workbench.Method{"MainThreadBulkEdits.$tryApplyWorkspaceEdit": {Do: s.tryWorkspaceEdit}}
}

func (s *Service) tryWorkspaceEdit(ctx context.Context, c *workbench.Call) (any, error) {
	var dto struct{ Edits []change }
	var refactoring bool
	if err := c.Args(&dto, nil, &refactoring); err != nil {
		return nil, err
	}
	if len(dto.Edits) == 0 {
		return false, nil
	}
	b := &bulk{s: s, caller: c, files: files(c), docs: map[string]*planned{}, fresh: map[string]source{}, old: map[string]*string{}}
	defer b.release()
	err := b.apply(ctx, dto.Edits)
	var named *refusedEdit
	switch {
	case errors.As(err, &named):
		s.opt.Warn("a workspace edit was not made", "method", c.Method, "error", err)
		return false, nil // as in VS Code
	case err != nil:
		return nil, err
	case refactoring && len(b.touched) > 1:
		for d := range b.touched {
			if _, err := s.save(ctx, d, c); err != nil {
				return nil, err
			}
		}
	}
	return true, nil
}

// refusedEdit is why a workspace edit was not made, of which extensions learn only that.
type refusedEdit struct{ error }

func (r *refusedEdit) Unwrap() error { return r.error }

func refuse(format string, args ...any) error { return &refusedEdit{fmt.Errorf(format, args...)} }

// bulk is a workspace edit while it is made. Nothing is changed before all of it is known to be
// possible, as far as that can be known, and files that were changed are put back if a later file
// cannot be.
type bulk struct {
	s       *Service
	caller  *workbench.Call
	files   disk.FS
	docs    map[string]*planned // by the URI at this point of the edit
	held    []*document
	moves   [][2]workbench.URI // renames until now
	touched map[*document]bool
	fresh   map[string]source  // files that the edit has made
	old     map[string]*string // paths where what will be removed is meanwhile, which follow moves
	back    []func() error     // puts files back, last first
	done    []func() error     // ends what is not needed any more
	news    []filesRun
	made    []fileChange       // what was done with files, for undo
	kept    int64              // bytes of that
	marked  map[*document]bool // those that were only moved
	id      string             // of undo
	batches int
	depth   int // of edits with which participants answer edits of participants

	operations, answered int // file operations: of the edit itself, and of participants
}

// planned is a document as the edit will leave it.
type planned struct {
	doc  *document // nil: a file that the edit makes
	text *text.Text
	at   int // the version from which it was planned
}

// step is what is done with the documents after the files were changed.
type step func() error

func (b *bulk) apply(ctx context.Context, edits []change) error {
	steps, err := b.plan(ctx, edits, nil)
	if err != nil {
		return err
	}
	if err := b.changeFiles(ctx); err != nil {
		return err
	}
	b.s.mu.Lock()
	err = b.unchanged()
	if err == nil {
		b.touched, b.marked = map[*document]bool{}, map[*document]bool{}
		b.id = b.group()
		for _, do := range steps {
			if err = do(); err != nil {
				break // it was tried on the same text
			}
		}
		if err == nil {
			b.remember()
		}
		b.s.sync()
		b.s.filesRun(b.news)
	}
	b.s.mu.Unlock()
	if err != nil {
		return errors.Join(err, b.putBack())
	}
	for _, end := range b.done {
		if err := end(); err != nil {
			b.s.opt.Warn("what a workspace edit replaced is still on disk", "error", err)
		}
	}
	return nil
}

// plan plans edits. Those of one kind that follow each other are one batch.
func (b *bulk) plan(ctx context.Context, edits []change, steps []step) ([]step, error) {
	for len(edits) > 0 {
		n := 1
		for n < len(edits) && edits[n].operation() == edits[0].operation() {
			n++
		}
		var err error
		switch edits[0].operation() {
		case noOperation:
			return nil, workbench.NotSupported("workspace.applyEdit", "edits of notebooks are not")
		case textOperation:
			steps, err = b.planTexts(ctx, edits[:n], steps)
		default:
			steps, err = b.planFiles(ctx, edits[:n], steps)
		}
		if err != nil {
			return nil, err
		}
		edits = edits[n:]
	}
	return steps, nil
}

// unchanged reports whether all documents have the versions with which the edit was planned. The
// caller must hold Service.mu.
func (b *bulk) unchanged() error {
	for key, p := range b.docs {
		if p.doc != nil && (b.s.documents[p.doc.key] != p.doc || p.doc.model.Version() != p.at) {
			return refuse("%s has changed in the meantime", key)
		}
	}
	return nil
}

// hold keeps a document open until release.
func (b *bulk) hold(ctx context.Context, uri workbench.URI) (*document, error) {
	d, err := b.s.open(ctx, uri, "", b.caller)
	if err != nil {
		return nil, &refusedEdit{err}
	}
	b.s.mu.Lock()
	defer b.s.mu.Unlock()
	if b.s.documents[d.key] != d {
		return nil, refuse("%s was closed in the meantime", d.key)
	}
	d.clients++
	b.held = append(b.held, d)
	return d, nil
}

func (b *bulk) release() {
	b.s.mu.Lock()
	defer b.s.mu.Unlock()
	for _, d := range b.held {
		for d.next != nil {
			d = d.next
		}
		d.clients--
	}
	if len(b.held) > 0 {
		b.s.sync()
	}
}

// before returns the URI that a file has before the renames of the edit.
func (b *bulk) before(uri workbench.URI) workbench.URI {
	for i := len(b.moves) - 1; i >= 0; i-- {
		if rest, ok := below(uri, b.moves[i][1]); ok {
			path := b.moves[i][0].Path + rest
			uri = b.moves[i][0]
			uri.Path = path
		}
	}
	return uri
}

// below returns the rest of the path of a file that is another one or in that folder.
func below(uri, folder workbench.URI) (rest string, ok bool) {
	if uri.Scheme != folder.Scheme || uri.Authority != folder.Authority {
		return "", false
	}
	rest, ok = strings.CutPrefix(uri.Path, strings.TrimSuffix(folder.Path, "/"))
	return rest, ok && (rest == "" || rest[0] == '/')
}

// planTexts plans edits of texts that follow each other.
func (b *bulk) planTexts(ctx context.Context, edits []change, steps []step) ([]step, error) {
	lists := map[string][]text.Edit{}
	eols := map[string]text.EOL{}
	var order []string
	for _, e := range edits {
		if e.Resource == nil {
			return nil, workbench.Invalid("a workspace edit has a text edit without a resource")
		}
		key := e.Resource.String()
		p := b.docs[key]
		if p == nil {
			d, err := b.hold(ctx, b.before(*e.Resource))
			if err != nil {
				return nil, err
			}
			b.s.mu.Lock()
			p = &planned{d, d.model.Text(), d.model.Version()}
			b.s.mu.Unlock()
			b.docs[key] = p
		}
		if err := b.mayEdit(p, *e.Resource); err != nil {
			return nil, err
		}
		if e.VersionID != nil && p.doc != nil && *e.VersionID != p.at {
			return nil, refuse("%s has changed in the meantime", key)
		}
		if _, seen := lists[key]; !seen {
			order = append(order, key)
			lists[key] = nil
		}
		if eol := newEOL(e.TextEdit.EOL); eol != "" {
			eols[key] = eol
		}
		made, err := e.edit(p)
		if err != nil {
			return nil, err
		}
		lists[key] = append(lists[key], made...)
	}
	for _, key := range order {
		p, list, eol := b.docs[key], lists[key], eols[key]
		next, _, err := p.text.Apply(list)
		if err != nil {
			return nil, &refusedEdit{fmt.Errorf("%s: %w", key, err)}
		}
		if next.Len() > maxSize && next.Len() > p.text.Len() {
			return nil, &refusedEdit{fmt.Errorf("%s: %w", key, ErrTooLarge)}
		}
		if p.text = next; eol != "" {
			p.text = next.WithEOL(eol)
		}
		steps = append(steps, func() error { return b.editText(key, list, eol) })
	}
	return steps, nil
}

func (b *bulk) mayEdit(p *planned, uri workbench.URI) error {
	if p.doc != nil {
		if err := editable(p.doc); err != nil {
			return err
		}
	}
	return mayWrite(b.caller, uri)
}

// edit returns the edit of a text; none if it changes the line ending alone.
func (e *change) edit(p *planned) ([]text.Edit, error) {
	in := e.TextEdit
	if in.Range == (text.Range{}) && in.Text == "" {
		return nil, nil
	}
	content := in.Text
	if in.Snippet {
		if !in.Keep {
			r := p.text.Clamp(in.Range)
			var err error
			if content, err = indented(content, p.text.Line(r.StartLine), editorOptions{}); err != nil {
				return nil, err
			}
		}
		x, err := snippet(content, nil)
		if err != nil {
			return nil, err
		}
		content = x.text
	}
	return []text.Edit{{Range: in.Range, Text: content}}, nil
}

// editText edits a document after the files were changed. The caller must hold Service.mu.
func (b *bulk) editText(key string, list []text.Edit, eol text.EOL) error {
	d := b.s.documents[key]
	if from, ok := b.fresh[key]; ok && d == nil {
		d = b.s.add(from.uri, from)
		d.clients++
		b.held = append(b.held, d)
	}
	if d == nil {
		return refuse("%s was closed in the meantime", key)
	}
	b.touched[d] = true
	d.model.Stop()
	if err := b.s.edit(d, list, b.id); err != nil {
		return err
	}
	if eol != "" {
		b.s.changed(d, d.model.SetEOL(eol, b.id))
	}
	d.model.Stop()
	return nil
}
