package problems

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/hostsup/hostsup/workbench/diagnostics"
)

// Kinds of the location of files.
const (
	absolutePath = "absolute"
	relativePath = "relative"
	autoDetect   = "autoDetect"
	searchFor    = "search"
)

// Values of applyTo.
const (
	allDocuments    = "allDocuments"
	openDocuments   = "openDocuments"
	closedDocuments = "closedDocuments"
)

// maxVisited bounds the files and folders that are visited for one file whose folder is not known.
const maxVisited = 20_000

// Matcher finds problems in lines.
type Matcher struct {
	Name   string // "" for one of a task alone
	Owner  string // of the diagnostics
	Source string

	applyTo    string
	severity   diagnostics.Severity // of problems that tell none
	kind       string
	prefix     string // the folder of relative files
	include    []string
	exclude    []string
	patterns   []pattern
	background *background
}

// background tells when a task that does not end begins and ends to work.
type background struct {
	activeOnStart bool
	begins, ends  *regexp.Regexp
	file          int // the group of begins that is the file to look at, 0 for all
}

// matcherJSON is a matcher as manifests and tasks.json have it.
type matcherJSON struct {
	Name         string
	Base         string
	Owner        *string
	Source       *string
	ApplyTo      string
	Severity     string
	FileLocation json.RawMessage
	Pattern      json.RawMessage
	Background   *backgroundJSON
	Watching     *backgroundJSON
	Begins       string `json:"watchedTaskBeginsRegExp"`
	Ends         string `json:"watchedTaskEndsRegExp"`
}

type backgroundJSON struct {
	ActiveOnStart bool
	BeginsPattern json.RawMessage
	EndsPattern   json.RawMessage
}

// matcher returns the matcher of an object. owner is that of one without an owner.
func (r *Registry) matcher(raw json.RawMessage, owner string) (*Matcher, error) {
	var in matcherJSON
	if err := json.Unmarshal(raw, &in); err != nil {
		return nil, fmt.Errorf("an object expected, or a name such as $tsc: %w", err)
	}
	out := &Matcher{Owner: owner, applyTo: allDocuments, kind: relativePath, prefix: "${workspaceFolder}", severity: diagnostics.Error}
	if in.Base != "" {
		base, err := r.named(in.Base)
		if err != nil {
			return nil, fmt.Errorf("base: %w", err)
		}
		*out = *base
	}
	out.Name = in.Name
	if in.Owner != nil {
		out.Owner = *in.Owner
	}
	if in.Source != nil {
		out.Source = *in.Source
	}
	switch in.ApplyTo {
	case allDocuments, openDocuments, closedDocuments:
		out.applyTo = in.ApplyTo
	case "":
	default:
		return nil, fmt.Errorf("applyTo: %s, %s or %s expected, not %q", allDocuments, openDocuments, closedDocuments, in.ApplyTo)
	}
	if in.Severity != "" {
		s, ok := severityOf(in.Severity)
		if !ok {
			return nil, fmt.Errorf("severity: error, warning or info expected, not %q", in.Severity)
		}
		out.severity = s
	}
	if err := out.locate(in.FileLocation); err != nil {
		return nil, fmt.Errorf("fileLocation: %w", err)
	}
	switch list, err := r.pattern(in.Pattern); {
	case err != nil:
		return nil, err
	case list != nil:
		out.patterns = list
	case out.patterns == nil:
		return nil, errors.New("pattern: an object expected, a list of them, or a name such as $tsc")
	}
	return out, out.watch(&in)
}

// locate takes the location of files.
func (m *Matcher) locate(raw json.RawMessage) error {
	if len(raw) == 0 {
		return nil
	}
	var kind string
	var list []json.RawMessage
	expected := func() error {
		return fmt.Errorf("absolute, relative, autoDetect or search expected, or a list of relative, autoDetect or search and a folder, not %.80s", raw)
	}
	if json.Unmarshal(raw, &kind) != nil {
		if json.Unmarshal(raw, &list) != nil || len(list) == 0 || len(list) > 2 || json.Unmarshal(list[0], &kind) != nil {
			return expected()
		}
	}
	m.kind, m.prefix, m.include, m.exclude = kind, "${workspaceFolder}", []string{"${workspaceFolder}"}, nil
	switch {
	case kind == searchFor && len(list) == 2:
		var in struct{ Include, Exclude json.RawMessage }
		if json.Unmarshal(list[1], &in) != nil {
			return expected()
		}
		var ok, also bool
		if len(in.Include) > 0 {
			if m.include, ok = texts(in.Include); !ok {
				return expected()
			}
		}
		if m.exclude, also = texts(in.Exclude); !also {
			return expected()
		}
	case kind == absolutePath && len(list) < 2, kind == searchFor:
	case kind == relativePath, kind == autoDetect:
		if len(list) == 2 && (json.Unmarshal(list[1], &m.prefix) != nil || m.prefix == "") {
			return expected()
		}
	default:
		return expected()
	}
	return nil
}

// texts returns a text or a list of texts.
func texts(raw json.RawMessage) (out []string, ok bool) {
	var one string
	switch {
	case len(raw) == 0:
		return nil, true
	case json.Unmarshal(raw, &one) == nil:
		return []string{one}, true
	}
	return out, json.Unmarshal(raw, &out) == nil
}

// watch takes the patterns of a task in the background.
func (m *Matcher) watch(in *matcherJSON) error {
	b := in.Background
	if b == nil {
		b = in.Watching
	}
	if in.Begins != "" && in.Ends != "" {
		begins, err := json.Marshal(in.Begins)
		if err != nil {
			return err
		}
		ends, err := json.Marshal(in.Ends)
		if err != nil {
			return err
		}
		b = &backgroundJSON{BeginsPattern: begins, EndsPattern: ends}
	}
	if b == nil {
		return nil
	}
	out := &background{activeOnStart: b.ActiveOnStart}
	var err error
	if out.begins, out.file, err = edge(b.BeginsPattern); err != nil {
		return fmt.Errorf("background: beginsPattern: %w", err)
	}
	if out.ends, _, err = edge(b.EndsPattern); err != nil {
		return fmt.Errorf("background: endsPattern: %w", err)
	}
	m.background = out
	return nil
}

// edge returns the expression of a beginsPattern or endsPattern, and its group that is a file.
func edge(raw json.RawMessage) (re *regexp.Regexp, group int, err error) {
	var in struct {
		Regexp string
		File   int
	}
	if json.Unmarshal(raw, &in.Regexp) != nil {
		if err := json.Unmarshal(raw, &in); err != nil || in.Regexp == "" {
			return nil, 0, fmt.Errorf("a regular expression expected, or an object with a regexp, not %.80s", raw)
		}
	}
	if re, err = compile(in.Regexp); err != nil {
		return nil, 0, err
	}
	if in.File < 0 || in.File > re.NumSubexp() {
		return nil, 0, fmt.Errorf("file: the number of a group expected, 0 to %d, not %d", re.NumSubexp(), in.File)
	}
	return re, in.File, nil
}

// InBackground reports whether the matcher knows when a task in the background has done its work.
func (m *Matcher) InBackground() bool { return m.background != nil }

// Bind returns the matcher with the variables of its folders replaced.
func (m *Matcher) Bind(replace func(string) (string, error)) (*Matcher, error) {
	out := *m
	out.include, out.exclude = slices.Clone(m.include), slices.Clone(m.exclude)
	all := []*string{}
	switch m.kind {
	case relativePath, autoDetect:
		all = append(all, &out.prefix)
	case searchFor:
		for i := range out.include {
			all = append(all, &out.include[i])
		}
		for i := range out.exclude {
			all = append(all, &out.exclude[i])
		}
	}
	for _, text := range all {
		var err error
		if *text, err = replace(*text); err != nil {
			return nil, err
		}
	}
	return &out, nil
}

// Path returns the path of a file as a task has written it. exists reports whether a file may be used and is
// there.
func (m *Matcher) Path(name string, exists func(path string) bool) string {
	name = filepath.FromSlash(strings.ReplaceAll(strings.TrimPrefix(name, "file://"), `\`, "/"))
	below := filepath.Join(m.prefix, name)
	switch {
	case m.kind == relativePath && !filepath.IsAbs(name), m.kind == autoDetect && !filepath.IsAbs(name) && exists(below):
		return below
	case m.kind == searchFor && !filepath.IsAbs(name):
		if found := m.find(name, exists); found != "" {
			return found
		}
		return ""
	case filepath.IsAbs(name):
		return filepath.Clean(name)
	}
	return filepath.Join(string(filepath.Separator), name)
}

// find returns the first file below the folders of the matcher whose path ends with a name.
func (m *Matcher) find(name string, exists func(path string) bool) (found string) {
	visited := 0
	suffix := filepath.Join(string(filepath.Separator), name)
	for _, folder := range m.include {
		if found != "" || !exists(folder) {
			continue
		}
		// What cannot be read is not the file.
		_ = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			switch visited++; {
			case visited > maxVisited:
				return fs.SkipAll
			case err != nil:
				return fs.SkipDir
			case d.IsDir() && (slices.Contains(m.exclude, path) || d.Name() == ".git"):
				return fs.SkipDir
			case !d.IsDir() && strings.HasSuffix(path, suffix) && exists(path):
				found = path
				return fs.SkipAll
			}
			return nil
		})
	}
	return found
}

// Applies reports whether problems in a document that is open, or not, are kept.
func (m *Matcher) Applies(open bool) bool {
	return m.applyTo == allDocuments || open == (m.applyTo == openDocuments)
}

// severityOf returns the severity of a word.
func severityOf(word string) (diagnostics.Severity, bool) {
	switch strings.ToLower(word) {
	case "error", "fatal error":
		return diagnostics.Error, true
	case "warning", "warn":
		return diagnostics.Warning, true
	case "info", "hint", "note":
		return diagnostics.Info, true
	}
	switch word {
	case "E":
		return diagnostics.Error, true
	case "W":
		return diagnostics.Warning, true
	case "I":
		return diagnostics.Info, true
	}
	return 0, false
}
