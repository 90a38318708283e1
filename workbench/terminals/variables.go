package terminals

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/hostsup/hostsup/workbench"
	"github.com/hostsup/hostsup/workbench/tasks"
)

// variable is a variable of a task.
var variable = regexp.MustCompile(`\$\{([^}]*)\}`)

// values has the values of the variables of a task.
type values struct {
	s      *Service
	ctx    context.Context
	host   string
	env    map[string]string // of the host
	file   *tasks.File       // the file of the task; nil if it is not of one
	folder string            // "" without a folder
	cwd    string            // that of the task, which problem matchers mean; "": the folder
	inputs map[string]string // those that have been asked for
}

// replace replaces the variables of VS Code in a text of a task. Variables of a shell, such as
// ${HOME}, have no colon and other names, and stay.
func (v *values) replace(text string) (string, error) {
	var failed error
	out := variable.ReplaceAllStringFunc(text, func(whole string) string {
		if failed != nil {
			return whole
		}
		value, known, err := v.value(whole)
		if failed = err; !known || err != nil {
			return whole
		}
		return value
	})
	return out, failed
}

// valueless returns the error for a variable that has no value.
func valueless(whole, why string) (string, bool, error) {
	return "", true, workbench.NotSupported("tasks.executeTask", "the variable "+whole+" "+why)
}

// value returns the value of a variable; known is false for one that is not of VS Code.
func (v *values) value(whole string) (value string, known bool, err error) {
	name, arg, hasArg := strings.Cut(whole[2:len(whole)-1], ":")
	switch name {
	case "workspaceFolder", "workspaceRoot", "cwd", "workspaceFolderBasename":
		folder := v.folder
		if name == "cwd" && v.cwd != "" {
			folder = v.cwd
		}
		if hasArg {
			folder = v.named(arg)
		}
		switch {
		case folder == "" && hasArg:
			return valueless(whole, "names no folder of the workspace")
		case folder == "":
			return valueless(whole, "has no value here: no folder is open")
		case name == "workspaceFolderBasename":
			return filepath.Base(folder), true, nil
		}
		return folder, true, nil
	case "userHome":
		return v.env["HOME"], true, nil
	case "pathSeparator", "/":
		return string(os.PathSeparator), true, nil
	case "env":
		if !hasArg {
			return valueless(whole, "names no variable of the environment")
		}
		return v.env[arg], true, nil
	case "config":
		switch value := v.s.opt.Config(arg, v.folder).(type) {
		case string:
			return value, true, nil
		case float64, bool, json.Number:
			return fmt.Sprint(value), true, nil
		}
		return valueless(whole, "has no value here: no setting with a text, a number or a boolean has this name")
	case "input":
		return v.input(whole, arg)
	case "command":
		value, err := v.command(whole, arg, nil)
		return value, true, err
	case "execPath", "extensionInstallFolder", "defaultBuildTask":
		return valueless(whole, "has no value here")
	}
	if value, known := fileValues[name]; known {
		return v.ofFile(whole, arg, value)
	}
	return "", false, nil
}

// named returns the folder of the workspace with a name, "" without one.
func (v *values) named(name string) string {
	for _, folder := range append(v.s.opt.Folders(), v.folder) {
		if filepath.Base(folder) == name {
			return folder
		}
	}
	return ""
}

// fileValues are the values of variables about the active editor; "" means that it has none.
var fileValues = map[string]func(a Active, folder string) string{
	"file":                        func(a Active, _ string) string { return a.Path },
	"fileWorkspaceFolder":         func(_ Active, folder string) string { return folder },
	"fileWorkspaceFolderBasename": func(_ Active, folder string) string { return base(folder) },
	"relativeFile":                func(a Active, folder string) string { return relative(folder, a.Path) },
	"relativeFileDirname":         func(a Active, folder string) string { return filepath.Dir(relative(folder, a.Path)) },
	"fileDirname":                 func(a Active, _ string) string { return filepath.Dir(a.Path) },
	"fileDirnameBasename":         func(a Active, _ string) string { return base(filepath.Dir(a.Path)) },
	"fileBasename":                func(a Active, _ string) string { return base(a.Path) },
	"fileBasenameNoExtension":     func(a Active, _ string) string { return strings.TrimSuffix(base(a.Path), filepath.Ext(a.Path)) },
	"fileExtname":                 func(a Active, _ string) string { return filepath.Ext(a.Path) },
	"lineNumber":                  func(a Active, _ string) string { return fmt.Sprint(a.Line) },
	"columnNumber":                func(a Active, _ string) string { return fmt.Sprint(a.Column) },
	"selectedText":                func(a Active, _ string) string { return a.Selected },
}

// base is [filepath.Base], with "" for "".
func base(path string) string {
	if path == "" {
		return ""
	}
	return filepath.Base(path)
}

// relative returns a path below a folder, and another one as it is.
func relative(folder, path string) string {
	if rel, err := filepath.Rel(folder, path); err == nil && folder != "" && filepath.IsLocal(rel) {
		return rel
	}
	return path
}

// ofFile returns the value of a variable about the active editor.
func (v *values) ofFile(whole, arg string, value func(Active, string) string) (string, bool, error) {
	a, ok := v.s.opt.Active()
	if !ok {
		return valueless(whole, "has no value here: no editor is open")
	}
	folder := ""
	for _, f := range append(v.s.opt.Folders(), v.folder) {
		if f != "" && relative(f, a.Path) != a.Path && len(f) > len(folder) {
			folder = f
		}
	}
	if arg != "" {
		if folder = v.named(arg); folder == "" {
			return valueless(whole, "names no folder of the workspace")
		}
	}
	out := value(a, folder)
	if out == "" && !strings.HasPrefix(whole, "${fileExtname") {
		return valueless(whole, "has no value for the active editor")
	}
	return out, true, nil
}

// input asks for the value of ${input:ID}, once for each task.
func (v *values) input(whole, id string) (value string, known bool, err error) {
	if value, ok := v.inputs[id]; ok {
		return value, true, nil
	}
	if v.file == nil {
		return valueless(whole, "has no value here: the task is not of a tasks.json")
	}
	in, ok := v.file.Inputs[id]
	if !ok {
		return valueless(whole, fmt.Sprintf("has no input in %s, which has %q", tasks.Path(v.file.Folder), slices.Sorted(maps.Keys(v.file.Inputs))))
	}
	if in.Type == "command" {
		value, err = v.command(whole, in.Command, in.Args)
	} else if value, ok = v.s.opt.Ask(v.ctx, v.host, in); !ok {
		err = workbench.Invalid("tasks.executeTask: the input %q was not answered", id)
	}
	if err != nil {
		return "", true, err
	}
	v.inputs[id] = value
	return value, true, nil
}

// command returns the result of a command, which must be a text.
func (v *values) command(whole, id string, args json.RawMessage) (string, error) {
	if value, ok := v.inputs[whole]; ok {
		return value, nil
	}
	result, err := v.s.opt.Execute(v.ctx, id, args)
	if err != nil {
		return "", workbench.Invalid("tasks.executeTask: the variable %s: %v", whole, err)
	}
	value, ok := result.(string)
	if !ok {
		return "", workbench.Invalid("tasks.executeTask: the variable %s: a text expected as the result of the command %s, not %v", whole, id, result)
	}
	v.inputs[whole] = value
	return value, nil
}

// replaced returns a JSON value with all its texts replaced, but not the names of members.
func replaced(raw json.RawMessage, replace func(string) (string, error)) (json.RawMessage, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var whole any
	if err := d.Decode(&whole); err != nil {
		return nil, err
	}
	var failed error
	var walk func(v any) any
	walk = func(v any) any {
		switch v := v.(type) {
		case string:
			out, err := replace(v)
			if failed == nil {
				failed = err
			}
			return out
		case []any:
			for i := range v {
				v[i] = walk(v[i])
			}
		case map[string]any:
			for _, name := range slices.Sorted(maps.Keys(v)) { // inputs are asked for in the same order
				v[name] = walk(v[name])
			}
		}
		return v
	}
	whole = walk(whole)
	if failed != nil {
		return nil, failed
	}
	return json.Marshal(whole)
}
