package search

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"

	"github.com/hostsup/hostsup/workbench"
)

// engine searches the text of files.
type engine interface {
	// text calls found with the blocks of a file that has matches. Calls do not overlap; found returns
	// false to end the search.
	text(ctx context.Context, q *query, p *pattern, c charset, found func(rel string, blocks []block) bool) error
}

// walker is the engine of this package. The zero value is ready for use.
type walker struct{}

// text implements engine.
func (walker) text(ctx context.Context, q *query, p *pattern, c charset, found func(rel string, blocks []block) bool) error {
	if p.pcre {
		return workbench.NotSupported("look-around and back-references in searches", "they need ripgrep, which was not found")
	}
	return q.walk(ctx, func(rel string) bool {
		text, ok := q.read(rel, c)
		if !ok {
			return true
		}
		blocks := p.blocks(text)
		return len(blocks) == 0 || found(rel, blocks)
	})
}

// read returns the text of a file; false if it is binary or not readable.
func (q *query) read(rel string, c charset) ([]byte, bool) {
	content, err := q.files.read(filepath.Join(q.folder, filepath.FromSlash(rel)))
	if err != nil {
		return nil, false
	}
	return c.decode(content)
}

// maxMatches bounds the matches of one file that are reported: a file may have one at each byte.
const maxMatches = 100_000

// blocks returns the lines of a text that match, up to one match more than maxMatches.
func (p *pattern) blocks(text []byte) (out []block) {
	if p.multiline {
		if all := p.compiled.FindAllIndex(text, maxMatches+1); all != nil {
			out = append(out, block{text: text, matches: all})
		}
		return out
	}
	if p.fixed != "" && p.caseMatch && !bytes.Contains(text, []byte(p.fixed)) {
		return nil
	}
	for line, left := 0, maxMatches+1; len(text) > 0 && left > 0; line++ {
		whole := text
		if n := bytes.IndexByte(text, '\n'); n >= 0 {
			whole = text[:n+1]
		}
		text = text[len(whole):]
		content := bytes.TrimSuffix(bytes.TrimSuffix(whole, []byte("\n")), []byte("\r"))
		if all := p.compiled.FindAllIndex(content, left); all != nil {
			left -= len(all)
			out = append(out, block{line, whole, all})
		}
	}
	return out
}

// lowerSlash makes a path of ripgrep one with slashes, relative to the folder.
func lowerSlash(p string) string { return strings.TrimPrefix(filepath.ToSlash(p), "./") }
