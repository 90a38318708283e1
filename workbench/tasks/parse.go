package tasks

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hostsup/hostsup/workbench/settings/model"
)

// ErrVersion means that a file has another version than 2.0.0.
var ErrVersion = errors.New(`"version": "2.0.0" expected`)

// source is the text of a file.
type source struct {
	name string
	text []byte // without comments
}

// at returns FILE:LINE of an offset.
func (s source) at(offset int) string {
	return fmt.Sprintf("%s:%d", s.name, 1+bytes.Count(s.text[:min(offset, len(s.text))], []byte("\n")))
}

// Parse reads the tasks of the file of a folder. goos is the system as package runtime names it. An
// error names the file, the line and what was expected; a task that cannot be used is told in Left.
func Parse(folder string, text []byte, goos string) (*File, error) {
	src := source{Path(folder), model.WithoutComments(text)}
	f := &File{Folder: folder, Inputs: map[string]Input{}}
	if len(bytes.TrimSpace(src.text)) == 0 {
		return f, nil // editors create such files
	}
	var in struct {
		Version string
		Inputs  []json.RawMessage
		properties
	}
	if err := decode(src.text, &in); err != nil {
		return nil, fmt.Errorf("%s: %w", src.at(offsetOf(src.text, err)), err)
	}
	if in.Version != "2.0.0" {
		return nil, fmt.Errorf("%s: %w", src.at(nth(src.offsets("version"), 0)), ErrVersion)
	}
	left := func(offset int, raw json.RawMessage, what string, err error) {
		f.Left = append(f.Left, fmt.Sprintf("%s: %s: %v", src.at(offset+offsetOf(raw, err)), what, err))
	}
	at := src.offsets("inputs")
	for i, raw := range in.Inputs {
		var input Input
		err := decode(raw, &input)
		if err == nil {
			err = input.check()
		}
		if err != nil {
			left(nth(at, i), raw, "an input is not used", err)
			continue
		}
		f.Inputs[input.ID] = input
	}
	common := maps.Clone(in.Options)
	lists := [][]json.RawMessage{in.Tasks}
	places := [][]int{src.offsets("tasks")}
	if s := in.system(goos); s != nil { // its tasks have the place of those with the same label
		common = merged(common, s.Options)
		lists = append(lists, s.Tasks)
		places = append(places, src.offsets(map[string]string{"darwin": "osx"}[goos]+strings.TrimPrefix(goos, "darwin"), "tasks"))
	}
	for i, raws := range lists {
		before := len(f.Tasks)
		for n, raw := range raws {
			offset := nth(places[i], n)
			t, err := task(folder, goos, common, raw)
			if err != nil {
				left(offset, raw, "a task is not used", err)
				continue
			}
			t.Place = src.at(offset)
			switch same := slices.IndexFunc(f.Tasks, func(o *Task) bool { return t.Label != "" && o.Label == t.Label }); {
			case same < 0 && len(f.Tasks) == maxTasks:
				return nil, fmt.Errorf("%s: up to %d tasks expected", t.Place, maxTasks)
			case same < 0:
				f.Tasks = append(f.Tasks, t)
			case same < before:
				f.Tasks[same] = t
			default:
				left(offset, raw, "a task is not used", fmt.Errorf("a label of its own expected, and %s has %q too", f.Tasks[same].Place, t.Label))
			}
		}
	}
	return f, nil
}

// nth returns an offset, 0 for one that is not known: a file may have a member twice.
func nth(offsets []int, i int) int {
	if i < len(offsets) {
		return offsets[i]
	}
	return 0
}

// decode decodes JSON. An error says what was expected.
func decode(raw []byte, out any) error {
	err := json.Unmarshal(raw, out)
	var typed *json.UnmarshalTypeError
	if !errors.As(err, &typed) {
		return err
	}
	return &typeError{typed}
}

// typeError is a value of another type than the expected one.
type typeError struct{ *json.UnmarshalTypeError }

// Unwrap returns the error of package json, which has the offset.
func (e *typeError) Unwrap() error { return e.UnmarshalTypeError }

// Error implements error.
func (e *typeError) Error() string {
	kind := map[string]string{"string": "a text", "bool": "true or false", "slice": "a list", "map": "an object", "struct": "an object", "ptr": "an object"}[e.Type.Kind().String()]
	field := strings.ToLower(strings.ReplaceAll(e.Field, "properties.", ""))
	if field != "" {
		field += ": "
	}
	return fmt.Sprintf("%s%s expected, not %s", field, kind, e.Value)
}

// offsetOf returns where in a text the error of package json is, 0 for another error.
func offsetOf(raw []byte, err error) int {
	var syntax *json.SyntaxError
	var typed *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return int(min(syntax.Offset, int64(len(raw))))
	case errors.As(err, &typed):
		return int(min(typed.Offset, int64(len(raw))))
	}
	return 0
}

// offsets returns where the value at a path of names is; the elements, if it is a list.
func (s source) offsets(path ...string) (out []int) {
	d := json.NewDecoder(bytes.NewReader(s.text))
	for _, name := range path {
		if t, err := d.Token(); err != nil || t != json.Delim('{') {
			return nil
		}
		for {
			key, err := d.Token()
			if err != nil || key == json.Delim('}') {
				return nil
			}
			if text, ok := key.(string); ok && strings.EqualFold(text, name) {
				break // as package json finds fields
			}
			var skipped json.RawMessage
			if d.Decode(&skipped) != nil {
				return nil
			}
		}
	}
	before := int(d.InputOffset())
	if t, err := d.Token(); err != nil || t != json.Delim('[') {
		return []int{before}
	}
	for d.More() {
		var raw json.RawMessage
		if d.Decode(&raw) != nil {
			return nil
		}
		out = append(out, int(d.InputOffset())-len(raw))
	}
	return out
}

// merged returns options in which those of above replace the ones below; variables of the environment
// are replaced one by one.
func merged(below, above map[string]json.RawMessage) map[string]json.RawMessage {
	out := map[string]json.RawMessage{}
	maps.Copy(out, below)
	for name, value := range above {
		var old, env map[string]json.RawMessage
		if name == "env" && json.Unmarshal(out[name], &old) == nil && json.Unmarshal(value, &env) == nil && old != nil {
			maps.Copy(old, env)
			if both, err := json.Marshal(old); err == nil {
				value = both
			}
		}
		out[name] = value
	}
	return out
}
