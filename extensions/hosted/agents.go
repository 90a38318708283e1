package hosted

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/workbench"
	"github.com/hostsup/hostsup/workbench/language"
)

// languageInput is the input of all language tools.
type languageInput struct {
	File         *string
	Line, Column *int
	EndLine      *int
	EndColumn    *int
	NewName      *string
	Query        *string
	Title        *string
	Kind         *string
	Limit        *int
	WaitSeconds  *float64
	TabSize      *int
	Tabs         *bool
}

// read reads an input and checks it against the schema. The file is checked against the folders.
func (t languageTool) read(raw json.RawMessage, allowed []string) (q languageQuery, limit int, err error) {
	bad := func(format string, args ...any) error {
		return &codec.Error{Name: codec.NameInvalidParams, Message: fmt.Sprintf(format, args...)}
	}
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(raw, &keys); err != nil {
		return q, 0, bad("an object expected: %v", err)
	}
	var shape struct {
		Properties map[string]json.RawMessage
		Required   []string
	}
	if err := json.Unmarshal(t.schema(), &shape); err != nil {
		return q, 0, err
	}
	for key := range keys {
		if shape.Properties[key] == nil {
			return q, 0, bad("the input has no property %q", key)
		}
	}
	for _, key := range shape.Required {
		if v := keys[key]; v == nil || string(v) == "null" || string(v) == `""` && key != "query" {
			return q, 0, bad("%s is missing", key)
		}
	}
	var in languageInput
	if err := json.Unmarshal(raw, &in); err != nil {
		return q, 0, bad("%v", err)
	}
	q.Feature, limit = t.feature, usualLimit
	var end language.Position
	for _, n := range []struct {
		name string
		from *int
		to   *int
		most int
	}{
		{"line", in.Line, &q.Position.Line, maxPlace}, {"column", in.Column, &q.Position.Character, maxPlace},
		{"endLine", in.EndLine, &end.Line, maxPlace}, {"endColumn", in.EndColumn, &end.Character, maxPlace},
		{"limit", in.Limit, &limit, maxLimit}, {"tabSize", in.TabSize, &q.TabSize, maxTab},
	} {
		if n.from == nil {
			continue
		}
		if *n.from < 1 || *n.from > n.most {
			return q, 0, bad("%s must be from 1 to %d, and is %d", n.name, n.most, *n.from)
		}
		*n.to = *n.from
	}
	if t.at == atPosition {
		q.Position = fromOne(q.Position)
	}
	if t.at == atSpan {
		if q.Range, err = spanOf(&in, q.Position, end); err != nil {
			return q, 0, bad("%v", err)
		}
		q.Position = language.Position{}
	}
	if in.Kind != nil {
		q.Kind = *in.Kind
	}
	if in.WaitSeconds != nil {
		if q.Wait = *in.WaitSeconds; q.Wait <= 0 || q.Wait > maxWait {
			return q, 0, bad("waitSeconds must be over 0 and up to %d", maxWait)
		}
	}
	if in.Tabs != nil {
		q.Tabs = *in.Tabs
	}
	for _, s := range []*string{in.NewName, in.Query, in.Title} {
		if s != nil {
			q.Text = *s
		}
	}
	if in.File != nil {
		path, err := fileIn(allowed, *in.File)
		if err != nil {
			return q, 0, bad("%v", err)
		}
		q.URI = workbench.File(path)
	}
	return q, limit, nil
}

// fromOne returns a position that counts from 0.
func fromOne(p language.Position) language.Position {
	return language.Position{Line: p.Line - 1, Character: p.Character - 1}
}

// spanOf returns the range of an input, whose positions count from 1; nil if it has none.
func spanOf(in *languageInput, start, end language.Position) (*language.Range, error) {
	switch {
	case (in.Line == nil) != (in.Column == nil):
		return nil, errors.New("line and column are needed together")
	case (in.EndLine == nil) != (in.EndColumn == nil):
		return nil, errors.New("endLine and endColumn are needed together")
	case in.Line == nil && in.EndLine != nil:
		return nil, errors.New("endLine and endColumn need line and column")
	case in.Line == nil:
		return nil, nil
	case in.EndLine == nil:
		end = start
	case end.Line < start.Line || end.Line == start.Line && end.Character < start.Character:
		return nil, errors.New("the range ends before it begins")
	}
	return &language.Range{Start: fromOne(start), End: fromOne(end)}, nil
}

// errOutside means that a file is in no workspace folder.
var errOutside = errors.New("the file is not in a workspace folder")

// fileIn returns the path of a file that is in one of the folders, also when links are followed. A
// relative name is that of a file in the first folder that has it.
func fileIn(allowed []string, name string) (string, error) {
	if len(allowed) == 0 {
		return "", fmt.Errorf("%w: %s (the host has no workspace folder)", errOutside, name)
	}
	outside := fmt.Errorf("%w: %s (the folders: %s)", errOutside, name, strings.Join(allowed, ", "))
	missing := fmt.Errorf("%s: %w", name, fs.ErrNotExist)
	last := outside
	for _, folder := range allowed {
		path := filepath.Clean(name)
		if !filepath.IsAbs(path) {
			path = filepath.Join(folder, path)
		}
		real, err := filepath.EvalSymlinks(folder)
		if err != nil {
			continue
		}
		// What is elsewhere is not looked at, so that agents do not find out what exists there.
		if !below(path, folder) && !below(path, real) {
			continue
		}
		switch target, err := filepath.EvalSymlinks(path); {
		case err != nil:
			last = missing
		case below(target, real):
			return path, nil
		}
	}
	return "", last
}

// below reports whether a clean path is in a folder, by its name.
func below(path, folder string) bool {
	rel, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(rel)
}
