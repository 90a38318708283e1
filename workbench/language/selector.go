package language

import (
	"encoding/json"
	"path"
	"strings"

	"github.com/hostsup/hostsup/workbench"
	"github.com/hostsup/hostsup/workbench/glob"
	"github.com/hostsup/hostsup/workbench/text"
)

// Scores of a selector for a document.
const (
	scoreExact     = 10
	scoreAny       = 5    // by "*"
	scoreExclusive = 1000 // of a provider that shuts out all others
)

// document is what is asked about.
type document struct {
	uri       workbench.URI
	language  string
	whole     Range
	text      func() *text.Text // at the time; nil without a document
	failed    error             // of an extension that was to be activated
	recursive bool              // an exclusive provider itself asks for the others
}

// The bounds of a selector.
const (
	maxFilters = 500
	filterSize = 256 // bytes that a filter takes, at least
)

// selector is a list of filters; one that fits is enough.
type selector []filter

// filter fits a document if all that it has fits.
type filter struct {
	Language     string
	Scheme       string
	NotebookType string
	Pattern      json.RawMessage
	Exclusive    bool
	BuiltIn      bool `json:"isBuiltin"` // the extension ships with VS Code

	pattern *glob.Glob // nil without a pattern
	file    string     // the pattern, if it is the name of one file
}

// parseSelector reads a selector as hosts send it.
func parseSelector(raw json.RawMessage) (selector, error) {
	var s selector
	if err := json.Unmarshal(raw, &s); err != nil {
		return nil, workbench.Invalid("a document selector expected, %.100q", raw)
	}
	if len(s) > maxFilters {
		return nil, workbench.Invalid("document selector: at most %d filters expected, found %d", maxFilters, len(s))
	}
	for i := range s {
		if err := s[i].compile(); err != nil {
			return nil, workbench.Invalid("document selector: %v", err)
		}
	}
	return s, nil
}

// compile prepares the pattern, which is a text or is relative to a folder.
func (f *filter) compile() (err error) {
	if len(f.Pattern) == 0 || string(f.Pattern) == "null" || string(f.Pattern) == string(workbench.Undefined) {
		return nil
	}
	if json.Unmarshal(f.Pattern, &f.file) == nil {
		f.pattern, err = glob.Compile(f.file)
		return err
	}
	var relative struct {
		Base    string
		BaseURI workbench.URI `json:"baseUri"`
		Pattern string
	}
	if err := json.Unmarshal(f.Pattern, &relative); err != nil {
		return err
	}
	base := relative.BaseURI.Path
	if base == "" {
		base = relative.Base
	}
	f.pattern, err = glob.In(path.Clean(base), relative.Pattern)
	return err
}

// score returns how well the filter fits a document; 0 if it does not.
func (f *filter) score(d document) int {
	best := 0
	fits := func(want, is string) bool {
		switch want {
		case "":
			return true
		case is:
			best = scoreExact
			return true
		case "*":
			best = max(best, scoreAny)
			return true
		}
		return false
	}
	if !fits(f.Scheme, d.uri.Scheme) || !fits(f.Language, d.language) || f.NotebookType != "" {
		return 0 // there are no notebooks
	}
	if f.pattern != nil {
		if f.file != d.uri.Path && !f.pattern.Match(d.uri.Path) {
			return 0
		}
		best = scoreExact
	}
	return best
}

// score returns how well the best filter fits.
func (s selector) score(d document) (best int) {
	for i := range s {
		best = max(best, s[i].score(d))
	}
	return best
}

// has reports whether a filter has a property.
func (s selector) has(property func(*filter) bool) bool {
	for i := range s {
		if property(&s[i]) {
			return true
		}
	}
	return false
}

func (s selector) exclusive() bool { return s.has(func(f *filter) bool { return f.Exclusive }) }
func (s selector) builtIn() bool   { return s.has(func(f *filter) bool { return f.BuiltIn }) }

// includes reports whether a kind of code actions, such as "refactor", includes another, such as
// "refactor.extract".
func includes(kind, other string) bool {
	return kind == "" || kind == other || strings.HasPrefix(other, kind+".")
}
