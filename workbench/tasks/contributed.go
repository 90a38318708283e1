package tasks

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
)

// Definition is what an extension says about a type of tasks (taskDefinitions of its manifest).
type Definition struct {
	Type       string
	Required   []string
	Properties map[string]json.RawMessage
}

// Definitions returns the definitions of extensions with these descriptions, by type. Of two with the
// same type the first one wins.
func Definitions(descriptions []json.RawMessage) map[string]Definition {
	all := map[string]Definition{}
	for _, raw := range descriptions {
		var m struct {
			Contributes struct {
				Definitions []Definition `json:"taskDefinitions"`
			}
		}
		if json.Unmarshal(raw, &m) != nil { // contributes may be anything
			continue
		}
		for _, d := range m.Contributes.Definitions {
			if _, twice := all[d.Type]; !twice && d.Type != "" {
				all[d.Type] = d
			}
		}
	}
	return all
}

// Identify returns the properties by which a task is known to its extension: the type and those that the
// extension has declared. The error names one that is required and missing.
func (d Definition) Identify(properties map[string]json.RawMessage) (map[string]json.RawMessage, error) {
	out := map[string]json.RawMessage{}
	for name := range d.Properties {
		if raw := properties[name]; raw != nil && string(raw) != "null" {
			out[name] = raw
		}
	}
	for _, name := range d.Required {
		if out[name] == nil && name != "type" {
			return nil, fmt.Errorf("%s expected, which tasks of type %q have", name, d.Type)
		}
	}
	kind, err := json.Marshal(d.Type)
	out["type"] = kind
	return out, err
}

// Identify is [Definition.Identify] for the task.
func (t *Task) Identify(d Definition) (map[string]json.RawMessage, error) {
	return d.Identify(t.fields)
}

// Has reports whether the file gives the task these properties.
func (t *Task) Has(properties map[string]json.RawMessage) bool {
	for name, value := range properties {
		if !bytes.Equal(canonical(value), canonical(t.fields[name])) {
			return false
		}
	}
	return true
}

// Same reports whether properties of tasks have the same values.
func Same(a, b map[string]json.RawMessage) bool {
	return maps.EqualFunc(a, b, func(a, b json.RawMessage) bool { return bytes.Equal(canonical(a), canonical(b)) })
}

// canonical returns JSON in the order of names and without spaces.
func canonical(raw json.RawMessage) []byte {
	var value any
	if json.Unmarshal(raw, &value) != nil {
		return raw
	}
	out, err := json.Marshal(value)
	if err != nil {
		return raw
	}
	return out
}

// Customize returns the task of an extension with what the file says about it, and what applies of both.
func (t *Task) Customize(provided json.RawMessage) (*Task, error) {
	var dto map[string]json.RawMessage
	if err := json.Unmarshal(provided, &dto); err != nil {
		return nil, err
	}
	var own map[string]json.RawMessage
	if err := json.Unmarshal(t.DTO, &own); err != nil {
		return nil, err
	}
	out := *t
	take := []string{"source"}
	for field, name := range map[string]string{"group": "group", "isBackground": "isBackground", "detail": "detail", "problemMatcher": "problemMatchers"} {
		if t.fields[field] != nil {
			take = append(take, name)
		}
	}
	if t.Label != "" {
		take = append(take, "name")
	}
	for _, name := range take {
		if dto[name] = own[name]; own[name] == nil { // such as the group "none"
			delete(dto, name)
		}
	}
	var is struct {
		Name         string
		IsBackground bool
		Execution    json.RawMessage
	}
	var execution map[string]json.RawMessage
	all, err := json.Marshal(dto)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(all, &is); err != nil {
		return nil, err
	}
	if t.options != nil && json.Unmarshal(is.Execution, &execution) == nil && execution != nil {
		if err := t.override(execution); err != nil {
			return nil, err
		}
		if dto["execution"], err = json.Marshal(execution); err != nil {
			return nil, err
		}
		if all, err = json.Marshal(dto); err != nil {
			return nil, err
		}
	}
	out.Label, out.Background, out.DTO = is.Name, is.IsBackground, all
	return &out, nil
}

// override puts the options of the file over those of an execution.
func (t *Task) override(execution map[string]json.RawMessage) error {
	own := map[string]json.RawMessage{}
	for name, value := range t.options {
		raw, err := json.Marshal(value)
		if err != nil {
			return err
		}
		own[name] = raw
	}
	if t.options["cwd"] == t.folder { // the default, which is the extension's to choose
		delete(own, "cwd")
	}
	var theirs map[string]json.RawMessage
	if len(execution["options"]) > 0 {
		if err := json.Unmarshal(execution["options"], &theirs); err != nil {
			return err
		}
	}
	both, err := json.Marshal(merged(theirs, own))
	execution["options"] = both
	return err
}
