package watch

import (
	"path/filepath"
	"slices"
	"strings"
)

// Kind says what has happened to a file.
type Kind uint8

// The kinds of changes.
const (
	Changed Kind = iota
	Created
	Deleted
)

// Change is a change of a file or folder.
type Change struct {
	Path string
	Kind Kind
}

// pending has the changes that were not told yet. The zero value is ready to use.
type pending struct {
	kinds map[string]Kind
	order []string // may contain paths that were taken back
}

// add adds a change, and takes back or merges what came before.
func (p *pending) add(path string, kind Kind) {
	before, known := p.kinds[path]
	switch {
	case !known:
		if p.kinds == nil {
			p.kinds = map[string]Kind{}
		}
		p.order = append(p.order, path)
	case before == Created && kind == Deleted:
		delete(p.kinds, path)
		return
	case before == Deleted && kind == Created:
		kind = Changed
	case before == Created && kind == Changed, before == Changed && kind == Created:
		return
	}
	p.kinds[path] = kind
}

// take returns the changes in their order and forgets them.
func (p *pending) take() []Change {
	out := make([]Change, 0, len(p.kinds))
	for _, path := range p.order {
		if kind, there := p.kinds[path]; there {
			out = append(out, Change{path, kind})
			delete(p.kinds, path) // it may be in the order twice
		}
	}
	*p = pending{}
	return out
}

// outermost leaves out what is deleted within a deleted folder.
func outermost(changes []Change) []Change {
	deleted := map[string]bool{}
	for _, c := range changes {
		if c.Kind == Deleted {
			deleted[c.Path] = true
		}
	}
	if len(deleted) < 2 {
		return changes
	}
	return slices.DeleteFunc(changes, func(c Change) bool {
		if c.Kind != Deleted {
			return false
		}
		for path, up := c.Path, filepath.Dir(c.Path); up != path; path, up = up, filepath.Dir(up) {
			if deleted[up] {
				return true
			}
		}
		return false
	})
}

// isWithin reports whether a clean path is another one or below it.
func isWithin(path, dir string) bool {
	if path == dir {
		return true
	}
	if !strings.HasSuffix(dir, string(filepath.Separator)) {
		dir += string(filepath.Separator)
	}
	return strings.HasPrefix(path, dir)
}
