package tasks

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/hostsup/hostsup/workbench"
)

// MaxFile bounds a tasks.json, in bytes.
const MaxFile = 1 << 20

// maxTasks bounds the tasks of a file.
const maxTasks = 1000

// File is a tasks.json.
type File struct {
	Folder string // the workspace folder
	Tasks  []*Task
	Inputs map[string]Input // by id
	Left   []string         // why tasks or inputs of the file are not used: FILE:LINE and what was expected
}

// Task is a task of a file. Variables in it have not been replaced.
type Task struct {
	Label string
	Place string // FILE:LINE
	// DTO is the task as hosts have it (TaskDTO). It has no execution if the task only depends on others, or
	// has the type of an extension.
	DTO json.RawMessage
	// Type is the type of an extension; "" for a task of the types shell and process, and for one that
	// only depends on others.
	Type       string
	DependsOn  []Dependency
	Sequence   bool              // the tasks of DependsOn run one after the other
	Background bool              // it does not end by itself
	Matchers   []json.RawMessage // of problems: names such as "$tsc", or objects; nil if the task says nothing of them

	fields  map[string]json.RawMessage
	options map[string]any // of the execution; nil if the task says nothing of them
	folder  string
}

// Dependency names a task that another one depends on: by its label, or by the properties of a task of an extension.
type Dependency struct {
	Label      string
	Properties map[string]json.RawMessage // nil for a label
}

// String returns the label, or the properties as JSON.
func (d Dependency) String() string {
	if d.Properties == nil {
		return d.Label
	}
	text, err := json.Marshal(d.Properties)
	if err != nil {
		return "task"
	}
	return string(text)
}

// Input is what a variable such as ${input:ID} asks for.
type Input struct {
	ID          string
	Type        string // promptString, pickString or command
	Description string
	Password    bool
	Options     []Choice        // of a pickString
	Command     string          // the id of a command, whose result is the value
	Args        json.RawMessage // of the command
}

// check returns what is wrong with an input.
func (i *Input) check() error {
	switch {
	case i.ID == "":
		return errors.New("an id expected")
	case i.Type == "command" && i.Command == "":
		return errors.New("command: the id of a command expected")
	case i.Type == "pickString" && len(i.Options) == 0:
		return errors.New("options: a list with one text or more expected")
	case i.Type != "promptString" && i.Type != "pickString" && i.Type != "command":
		return fmt.Errorf("type: promptString, pickString or command expected, not %q", i.Type)
	}
	return nil
}

// Choice is an option of an input.
type Choice struct{ Label, Value string }

// UnmarshalJSON implements [json.Unmarshaler]: a text, or an object with a value, and a label or not.
func (c *Choice) UnmarshalJSON(raw []byte) error {
	if json.Unmarshal(raw, &c.Value) == nil {
		c.Label = c.Value
		return nil
	}
	type plain Choice
	if err := json.Unmarshal(raw, (*plain)(c)); err != nil {
		return err
	}
	if c.Label == "" {
		c.Label = c.Value
	}
	return nil
}

// Find returns the task with a label, nil without one.
func (f *File) Find(label string) *Task {
	if i := slices.IndexFunc(f.Tasks, func(t *Task) bool { return t.Label == label }); i >= 0 {
		return f.Tasks[i]
	}
	return nil
}

// Path returns the path of the file of a folder.
func Path(folder string) string { return filepath.Join(folder, ".vscode", "tasks.json") }

// properties are what a task, or the part of a system in it, says.
type properties struct {
	Type           string
	Label          string
	TaskName       string
	Command        json.RawMessage // a text, or an object of a text and how it is quoted
	Args           []json.RawMessage
	Options        map[string]json.RawMessage
	Group          json.RawMessage
	IsBackground   bool
	Detail         string
	DependsOn      json.RawMessage
	DependsOrder   string
	ProblemMatcher json.RawMessage
	Windows        *properties
	OSX            *properties
	Linux          *properties
	Tasks          []json.RawMessage // in the part of a system for a whole file
}

// system returns the settings for one system, by its name in runtime.GOOS.
func (p *properties) system(goos string) *properties {
	return map[string]*properties{"windows": p.Windows, "darwin": p.OSX, "linux": p.Linux}[goos]
}

// over returns the settings of a task, with those for one system in the place of those for all.
func (p *properties) over(s *properties) {
	if s == nil {
		return
	}
	if s.Type != "" {
		p.Type = s.Type
	}
	if s.Command != nil {
		p.Command = s.Command
	}
	if s.Args != nil {
		p.Args = s.Args
	}
	if s.ProblemMatcher != nil {
		p.ProblemMatcher = s.ProblemMatcher
	}
	if s.Options != nil {
		p.Options = merged(p.Options, s.Options)
	}
}

// isOwn reports whether the task is a process or a command of a shell.
func (p *properties) isOwn() bool { return p.Type == "" || p.Type == "shell" || p.Type == "process" }

// task returns the task of an object of a file. common are the options of all tasks.
func task(folder, goos string, common map[string]json.RawMessage, raw json.RawMessage) (*Task, error) {
	var p properties
	if err := decode(raw, &p); err != nil {
		return nil, err
	}
	t := &Task{folder: folder, Label: p.Label}
	if t.Label == "" {
		t.Label = p.TaskName
	}
	hasOptions := p.Options != nil || p.system(goos) != nil && p.system(goos).Options != nil
	p.Options = merged(common, p.Options)
	p.over(p.system(goos))
	t.Background = p.IsBackground
	if err := decode(raw, &t.fields); err != nil {
		return nil, err
	}
	if t.Label == "" && p.isOwn() {
		return nil, errors.New("a label expected")
	}
	named := func(field string, err error) error { return fmt.Errorf("task %q: %s: %w", t.Label, field, err) }
	switch p.DependsOrder {
	case "sequence":
		t.Sequence = true
	case "", "parallel":
	default:
		return nil, named("dependsOrder", fmt.Errorf("sequence or parallel expected, not %q", p.DependsOrder))
	}
	var err error
	if t.DependsOn, err = dependencies(p.DependsOn); err != nil {
		return nil, named("dependsOn", err)
	}
	if t.Matchers, err = matchers(p.ProblemMatcher); err != nil {
		return nil, named("problemMatcher", err)
	}
	dto := map[string]any{
		"name": t.Label, "source": map[string]any{"label": "Workspace", "scope": workbench.File(folder)}, "isBackground": t.Background,
		"runOptions": map[string]any{"reevaluateOnRerun": true}, "hasDefinedMatchers": false, "problemMatchers": t.names(),
	}
	switch command, _, err := wordOf(p.Command); {
	case err != nil:
		return nil, named("command", err)
	case !p.isOwn():
		t.Type = p.Type
		if hasOptions {
			if t.options, err = p.options(folder); err != nil {
				return nil, named("options", err)
			}
		}
		dto["definition"] = map[string]any{"type": p.Type}
	case command == "" && len(t.DependsOn) == 0:
		return nil, fmt.Errorf("task %q: a command or dependsOn expected", t.Label)
	case command == "":
		dto["definition"] = map[string]any{"type": "$composite"}
	default:
		kind := "process"
		if p.Type == "shell" {
			kind = "shell"
		}
		dto["definition"] = map[string]any{"type": kind}
		if dto["execution"], err = p.execution(folder, command); err != nil {
			return nil, fmt.Errorf("task %q: %w", t.Label, err)
		}
	}
	if p.Detail != "" {
		dto["detail"] = p.Detail
	}
	group, err := groupOf(p.Group)
	if err != nil {
		return nil, named("group", err)
	}
	if group != nil { // hosts take null for a group
		dto["group"] = group
	}
	t.DTO, err = json.Marshal(dto)
	return t, err
}

// names returns the problem matchers that have names: hosts know no others.
func (t *Task) names() []string {
	out := []string{}
	for _, raw := range t.Matchers {
		var name string
		if json.Unmarshal(raw, &name) == nil {
			out = append(out, name)
		}
	}
	return out
}

// list returns the elements of a list, or the only one.
func list(raw json.RawMessage) (out []json.RawMessage) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	if json.Unmarshal(raw, &out) != nil {
		return []json.RawMessage{raw}
	}
	return out
}

// dependencies returns the tasks that a task depends on: one, or several.
func dependencies(raw json.RawMessage) (out []Dependency, err error) {
	for _, raw := range list(raw) {
		var d Dependency
		if json.Unmarshal(raw, &d.Label) != nil && json.Unmarshal(raw, &d.Properties) != nil || d.Label == "" && d.Properties["type"] == nil {
			return nil, fmt.Errorf("the label of a task expected, an object with its type, or a list of them, not %.80s", raw)
		}
		out = append(out, d)
	}
	return out, nil
}

// matchers returns the problem matchers of a task: one, or several.
func matchers(raw json.RawMessage) ([]json.RawMessage, error) {
	if raw == nil {
		return nil, nil
	}
	out := []json.RawMessage{}
	for _, raw := range list(raw) {
		var name string
		var object map[string]json.RawMessage
		if json.Unmarshal(raw, &name) != nil && json.Unmarshal(raw, &object) != nil {
			return nil, fmt.Errorf("the name of a problem matcher expected, an object, or a list of them, not %.80s", raw)
		}
		if string(raw) != `""` {
			out = append(out, raw)
		}
	}
	return out, nil
}

// groupOf returns the group as hosts have it (TaskGroupDTO), nil for a task without one.
func groupOf(raw json.RawMessage) (any, error) {
	var g struct {
		Kind      string
		IsDefault json.RawMessage // a boolean, or a pattern of files
	}
	if len(raw) == 0 {
		return nil, nil
	}
	if json.Unmarshal(raw, &g.Kind) != nil {
		if err := json.Unmarshal(raw, &g); err != nil || g.Kind == "" {
			return nil, fmt.Errorf("build, test or none expected, or an object with such a kind, not %.80s", raw)
		}
	}
	if g.Kind == "" || g.Kind == "none" {
		return nil, nil
	}
	out := map[string]any{"_id": g.Kind, "isDefault": false}
	if len(g.IsDefault) > 0 {
		out["isDefault"] = g.IsDefault
	}
	return out, nil
}
