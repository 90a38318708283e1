package search

import (
	"path"
	"path/filepath"
	"strings"

	"github.com/hostsup/hostsup/workbench/glob"
)

// query is what files a search looks at.
type query struct {
	folder   string // absolute
	include  *glob.Glob
	exclude  []exclude
	excludes int  // alternatives of these; more than maxRules: some are missing
	fold     bool // patterns ignore case

	local, parent, global bool // which ignore files are obeyed; without local, no ignore files are
	follow                bool
	files                 files
}

type exclude struct {
	Exclude
	glob *glob.Glob
}

// newGlob compiles a pattern for [query.matches].
func (q *query) newGlob(pattern string) (*glob.Glob, error) {
	if q.fold {
		pattern = strings.ToLower(pattern)
	}
	return glob.Compile(pattern)
}

// addExclude adds patterns. Those that are no globs are ignored, as VS Code does. After maxRules
// alternatives nothing is added, which excludes tells.
func (q *query) addExclude(all ...Exclude) {
	for _, e := range all {
		g, err := q.newGlob(e.Pattern)
		if err != nil {
			continue
		}
		if q.excludes += g.Size(); q.excludes <= maxRules {
			q.exclude = append(q.exclude, exclude{e, g})
		}
	}
}

func (q *query) matches(g *glob.Glob, rel string) bool {
	if q.fold {
		rel = strings.ToLower(rel)
	}
	return g.Match(rel)
}

// isIncluded reports whether the path of a file, relative to the folder, is looked for.
func (q *query) isIncluded(rel string) bool { return q.include == nil || q.matches(q.include, rel) }

// isExcluded reports whether a file or folder itself is excluded, but not whether one above it is.
func (q *query) isExcluded(rel string) bool {
	for _, e := range q.exclude {
		if !q.matches(e.glob, rel) {
			continue
		}
		if e.When == "" {
			return true
		}
		name := path.Base(rel)
		when := strings.ReplaceAll(e.When, "$(basename)", strings.TrimSuffix(name, path.Ext(name)))
		if q.files.exists(filepath.Join(q.folder, filepath.FromSlash(path.Dir(rel)), when)) {
			return true
		}
	}
	return false
}

// filter decides which of the files that an engine finds are results. It is used by one goroutine.
type filter struct {
	*query
	folders map[string]bool // whether a folder or one above it is excluded
}

func newFilter(q *query) *filter { return &filter{q, map[string]bool{".": false}} }

func (f *filter) has(rel string) bool {
	if len(f.exclude) == 0 {
		return f.isIncluded(rel)
	}
	return f.isIncluded(rel) && !f.isExcluded(rel) && !f.isBelowExcluded(path.Dir(rel))
}

func (f *filter) isBelowExcluded(dir string) bool {
	out, known := f.folders[dir]
	if !known {
		out = f.isExcluded(dir) || f.isBelowExcluded(path.Dir(dir))
		f.folders[dir] = out
	}
	return out
}
