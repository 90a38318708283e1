package languages

import (
	"encoding/json"
	"net/url"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/hostsup/hostsup/workbench"
	"github.com/hostsup/hostsup/workbench/glob"
)

// PlainText is the language of files that have no other. It is always known.
const PlainText = "plaintext"

// Registry has the languages of some extensions. It does not change, and is safe for concurrent
// use. The zero value knows [PlainText] only.
type Registry struct {
	ids    []string // in the order of their first contribution, without PlainText
	rules  []rule
	files  map[string][]string // of the configuration, by language
	labels map[string]string
}

// rule says which files are in a language. One of its fields but the language is set.
type rule struct {
	language  string
	name      string // in lower case, as the others
	extension string
	pattern   *glob.Glob
	length    int  // of the pattern
	whole     bool // the pattern has a slash
	firstLine *regexp.Regexp
}

// contribution is an entry of contributes.languages.
type contribution struct {
	ID            string   `json:"id"`
	Aliases       []string `json:"aliases"`
	Extensions    []string `json:"extensions"`
	Filenames     []string `json:"filenames"`
	Patterns      []string `json:"filenamePatterns"`
	FirstLine     string   `json:"firstLine"`
	Configuration string   `json:"configuration"`
}

// New returns the languages of extensions, by their descriptions: manifests with the field
// extensionLocation. Parts that have another form than VS Code's are left out.
func New(descriptions []json.RawMessage) *Registry {
	r := &Registry{files: map[string][]string{}, labels: map[string]string{}}
	for _, d := range descriptions {
		var m struct {
			Location    workbench.URI `json:"extensionLocation"`
			Contributes struct {
				Languages []json.RawMessage `json:"languages"`
			} `json:"contributes"`
		}
		if json.Unmarshal(d, &m) != nil {
			continue
		}
		folder, _ := m.Location.FilePath()
		for _, raw := range m.Contributes.Languages {
			var c contribution
			if json.Unmarshal(raw, &c) == nil && c.ID != "" {
				r.add(c, folder)
			}
		}
	}
	return r
}

func (r *Registry) add(c contribution, folder string) {
	if c.ID != PlainText && !slices.Contains(r.ids, c.ID) {
		r.ids = append(r.ids, c.ID)
	}
	if len(c.Aliases) > 0 && c.Aliases[0] != "" {
		r.labels[c.ID] = c.Aliases[0]
	}
	for _, e := range c.Extensions {
		if e != "" {
			r.rules = append(r.rules, rule{language: c.ID, extension: strings.ToLower(e)})
		}
	}
	for _, n := range c.Filenames {
		if n != "" {
			r.rules = append(r.rules, rule{language: c.ID, name: strings.ToLower(n)})
		}
	}
	for _, p := range c.Patterns {
		r.rules = appendPattern(r.rules, c.ID, p)
	}
	if c.FirstLine != "" {
		source := c.FirstLine
		if !strings.HasPrefix(source, "^") {
			source = "^" + source // as VS Code does
		}
		if re, err := regexp.Compile(source); err == nil && !re.MatchString("") {
			r.rules = append(r.rules, rule{language: c.ID, firstLine: re})
		}
	}
	// A file outside the folder of the extension does not belong to it.
	if file := filepath.FromSlash(c.Configuration); folder != "" && file != "" && filepath.IsLocal(file) {
		r.files[c.ID] = append(r.files[c.ID], filepath.Join(folder, file))
	}
}

func appendPattern(rules []rule, language, pattern string) []rule {
	g, err := glob.Compile(strings.ToLower(pattern))
	if err != nil || pattern == "" {
		return rules
	}
	return append(rules, rule{language: language, pattern: g, length: len(pattern), whole: strings.Contains(pattern, "/")})
}

// IDs returns the ids of all languages, [PlainText] first.
func (r *Registry) IDs() []string { return append([]string{PlainText}, r.ids...) }

// Known reports whether there is a language with this id.
func (r *Registry) Known(id string) bool { return id == PlainText || slices.Contains(r.ids, id) }

// Label returns the name of a language for people, which is its id unless it has an alias.
func (r *Registry) Label(id string) string {
	if label := r.labels[id]; label != "" {
		return label
	}
	return id
}

// Of returns the language of a file by its path, which has slashes, and its first line, which may be
// "". associations is files.associations: languages by pattern.
func (r *Registry) Of(file, firstLine string, associations map[string]string) string {
	file = strings.ToLower(file)
	if len(associations) > 0 {
		var own []rule
		for pattern, language := range associations {
			own = appendPattern(own, language, pattern)
		}
		// Maps have no order: of patterns of the same length, the first by its text wins.
		slices.SortFunc(own, func(a, b rule) int { return strings.Compare(b.pattern.String(), a.pattern.String()) })
		if found := byPath(own, file); found != "" {
			return found
		}
	}
	if found := byPath(r.rules, file); found != "" {
		return found
	}
	firstLine, _, _ = strings.Cut(strings.TrimPrefix(firstLine, "\ufeff"), "\n")
	for _, rule := range slices.Backward(r.rules) {
		if rule.firstLine != nil && rule.firstLine.MatchString(firstLine) {
			return rule.language
		}
	}
	return PlainText
}

// byPath returns the language of a path in lower case, "" if no rule is about it.
func byPath(rules []rule, file string) string {
	name := path.Base(file)
	var pattern, extension *rule
	for i := len(rules) - 1; i >= 0; i-- {
		r := &rules[i]
		switch {
		case r.name != "" && r.name == name:
			return r.language
		case r.pattern != nil && (pattern == nil || r.length > pattern.length):
			target := name
			if r.whole {
				target = file
			}
			if r.pattern.Match(target) {
				pattern = r
			}
		case r.extension != "" && (extension == nil || len(r.extension) > len(extension.extension)) && strings.HasSuffix(name, r.extension):
			extension = r
		}
	}
	switch {
	case pattern != nil:
		return pattern.language
	case extension != nil:
		return extension.language
	}
	return ""
}

// OfURI is [Registry.Of] for a URI as text.
func (r *Registry) OfURI(uri, firstLine string, associations map[string]string) string {
	u, err := url.Parse(uri)
	if err != nil {
		return PlainText
	}
	file := u.Path
	if file == "" {
		file = u.Opaque
	}
	return r.Of(file, firstLine, associations)
}
