package documents

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hostsup/hostsup/workbench"
	"github.com/hostsup/hostsup/workbench/disk"
)

// Bounds of what is kept to undo file operations of workspace edits.
const (
	maxKept       = 64 << 20 // bytes of all edits: the oldest are forgotten
	maxKeptOfEdit = 16 << 20 // bytes of one edit: more can not be undone
	maxPast       = 100      // edits
)

// Errors of undo and redo.
var (
	// ErrNotUndone means that a workspace edit was neither undone nor redone, because a file or document
	// has changed since, or because what is needed was too large to be kept. Nothing is changed.
	ErrNotUndone = errors.New("the workspace edit can not be undone or redone as a whole")
	// ErrNothing means that there is no workspace edit to undo or redo.
	ErrNothing = errors.New("there is no workspace edit to undo or redo")
)

// changeKind is what a workspace edit did with a file or folder.
type changeKind uint8

const (
	changeMade changeKind = iota
	changeRemoved
	changeMoved
)

// fileChange is one change of files, which can be made in both directions.
type fileChange struct {
	kind changeKind
	uri  workbench.URI
	from workbench.URI  // of what was moved
	kept *disk.Snapshot // of what was removed
	sum  [sha256.Size]byte
	lost error // why it cannot be undone: it was too large to be kept
}

// pastEdit is a workspace edit that changed files or several documents.
type pastEdit struct {
	id     string
	files  []fileChange // in their order
	news   []filesRun
	docs   map[*document]bool // which have a step of undo with the id
	closed string             // the key of a document that was closed since, with its step
	undone bool
	weight int64 // about the bytes that are kept for it
}

// perChange is about how many bytes a change of a file takes besides the file.
const perChange = 1 << 10

// filesGroup begins the id of an edit with file operations.
const filesGroup = "files:"

// group returns the id of undo for the whole edit. The caller must hold Service.mu.
func (b *bulk) group() string {
	if len(b.news) > 0 {
		return fmt.Sprint(filesGroup, b.s.nextID())
	}
	return fmt.Sprint("edit:", b.s.nextID())
}

// wasMade notes a file or folder that was made.
func (b *bulk) wasMade(fs disk.FS, uri workbench.URI) {
	path, _ := uri.FilePath()
	c := fileChange{kind: changeMade, uri: uri}
	if now, err := fs.Snapshot(path, maxKeptOfEdit, b.isOld); err != nil {
		c.lost = err
	} else {
		c.sum = now.Sum()
	}
	b.made = append(b.made, c)
}

// replaced is aside with a note of the file or folder.
func (b *bulk) replaced(ctx context.Context, run filesRun, path string, empty bool, end end) error {
	c := fileChange{kind: changeRemoved, uri: *run.Target}
	if c.kept, c.lost = run.files.Snapshot(path, maxKeptOfEdit-b.kept, b.isOld); c.lost == nil {
		c.sum = c.kept.Sum()
	}
	if err := b.aside(ctx, run.files, path, empty, end); err != nil {
		return err
	}
	if c.lost == nil {
		b.kept += c.kept.Size()
	}
	b.made = append(b.made, c)
	return nil
}

// markMoved gives documents a step of undo for the move. The caller must hold Service.mu.
func (b *bulk) markMoved(docs []*document) {
	for _, d := range docs {
		d.model.Mark(b.id)
		b.marked[d] = true
	}
}

// remember keeps the edit for undo. The caller must hold Service.mu.
func (b *bulk) remember() {
	p := &pastEdit{id: b.id, files: b.made, news: b.news, docs: map[*document]bool{}}
	for _, docs := range []map[*document]bool{b.touched, b.marked} {
		for d := range docs {
			if last, ok := d.model.Undoable(); ok && last == b.id && b.s.documents[d.key] == d {
				p.docs[d] = true
			}
		}
	}
	if len(p.files) == 0 && len(p.docs) < 2 {
		return
	}
	for i := range p.news {
		p.news[i].data = nil // it is not told
	}
	s := b.s
	s.past = slices.DeleteFunc(s.past, func(old *pastEdit) bool { // as typing ends what can be redone
		return old.undone && slices.ContainsFunc(p.files, func(c fileChange) bool { return old.concerns(c.uri) })
	})
	s.past = append(s.past, p)
	s.trim(p)
}

// trim forgets edits that are too many, after one was made, undone or redone. The caller must hold mu.
func (s *Service) trim(p *pastEdit) {
	p.weight = int64(len(p.files)) * perChange
	for _, c := range p.files {
		if c.kept != nil {
			p.weight += c.kept.Size()
		}
	}
	for d := range p.docs {
		if d.parked {
			p.weight += int64(d.weight)
		}
	}
	for len(s.past) > maxPast || s.keptBytes() > maxKept {
		s.past = slices.Clone(s.past[1:])
	}
}

// keptBytes returns how many bytes are kept for undo of files. The caller must hold mu.
func (s *Service) keptBytes() (n int64) {
	for _, p := range s.past {
		n += p.weight
	}
	return n
}

// concerns reports whether the edit did something with a file.
func (p *pastEdit) concerns(uri workbench.URI) bool {
	return slices.ContainsFunc(p.files, func(c fileChange) bool {
		_, ok := below(uri, c.uri)
		if !ok && c.kind == changeMoved {
			_, ok = below(uri, c.from)
		}
		return ok
	})
}

// moved notes that a document is another one now. The caller must hold mu.
func (s *Service) moved(d, now *document) {
	for _, p := range s.past {
		if p.docs[d] {
			delete(p.docs, d)
			p.docs[now] = true
		}
	}
}

// forget notes that a document was closed, with what can be undone in it. The caller must hold mu.
func (s *Service) forget(d *document) {
	for _, p := range s.past {
		if p.docs[d] && !d.parked {
			delete(p.docs, d)
			p.closed = d.key
		}
	}
}

// pastOf returns the edit that the next step of a document belongs to: by the id of the step, or by the
// file if the document was opened after the edit and has no step. The caller must hold mu.
func (s *Service) pastOf(d *document, redo bool) (p *pastEdit, id string, ok bool) {
	id, ok = nextStep(d, redo)
	for _, p := range slices.Backward(s.past) {
		if p.undone == redo && (ok && p.id == id || !ok && p.concerns(d.uri)) {
			return p, p.id, true
		}
	}
	return nil, id, ok
}

// lastPast returns the edit that was made last, or undone last. The caller must hold mu.
func (s *Service) lastPast(redo bool) *pastEdit {
	for _, p := range slices.Backward(s.past) {
		if p.undone == redo {
			return p
		}
	}
	return nil
}

// nextStep returns the id of the group that would be undone or redone. The caller must hold
// Service.mu.
func nextStep(d *document, redo bool) (id string, ok bool) {
	if redo {
		return d.model.Redoable()
	}
	return d.model.Undoable()
}

// needsFiles reports whether a group has file operations.
func needsFiles(id string) bool { return strings.HasPrefix(id, filesGroup) }
