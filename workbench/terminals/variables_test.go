package terminals

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/workbench/tasks"
)

// Variables have values, or a reason why not; what is not of VS Code stays.
func TestVariables(t *testing.T) {
	asked, executed := 0, 0
	open := true
	s := New(Options{
		Folders: func() []string { return []string{"/w/one", "/w/two"} },
		Config: func(name, folder string) any {
			return map[string]any{"a.text": folder, "a.number": 2.5, "a.list": []any{}}[name]
		},
		Ask: func(_ context.Context, _ string, in tasks.Input) (string, bool) {
			asked++
			return "answer to " + in.Description, in.ID == "asked"
		},
		Execute: func(_ context.Context, id string, args json.RawMessage) (any, error) {
			executed++
			return map[string]any{"text": id + string(args)}[id], map[string]error{"fails": errors.New("it failed")}[id]
		},
		Active: func() (Active, bool) { return Active{"/w/two/sub/file.test.js", 3, 4, "chosen"}, open },
	})
	file, err := tasks.Parse("/w/one", []byte(`{"version": "2.0.0", "inputs": [
		{"id": "asked", "type": "promptString", "description": "it"}, {"id": "dismissed", "type": "promptString"}, {"id": "computed", "type": "command", "command": "text", "args": [1]}]}`), "linux")
	if err != nil {
		t.Fatal(err)
	}
	v := &values{s: s, ctx: t.Context(), file: file, folder: "/w/one", inputs: map[string]string{}}
	for text, want := range map[string]string{
		"${workspaceFolder} ${workspaceFolder:two} ${workspaceFolderBasename}":                 "/w/one /w/two one",
		"${file} ${relativeFile} ${relativeFileDirname} ${fileDirname} ${fileDirnameBasename}": "/w/two/sub/file.test.js sub/file.test.js sub /w/two/sub sub",
		"${fileBasename} ${fileBasenameNoExtension} ${fileExtname} ${fileWorkspaceFolder}":     "file.test.js file.test .js /w/two",
		"${lineNumber}:${columnNumber} ${selectedText}":                                        "3:4 chosen",
		"${config:a.text} ${config:a.number}":                                                  "/w/one 2.5",
		"${input:asked} ${input:asked}":                                                        "answer to it answer to it",
		"${input:computed} ${command:text} ${command:text}":                                    "text[1] text text",
		"${HOME} $HOME ${unknown:x}":                                                           "${HOME} $HOME ${unknown:x}",
	} {
		if got, err := v.replace(text); got != want || err != nil {
			t.Errorf("%s: %q, %v, want %q", text, got, err, want)
		}
	}
	if asked != 1 || executed != 2 {
		t.Errorf("%d questions and %d commands", asked, executed)
	}
	for text, want := range map[string]string{
		"${workspaceFolder:three}": "names no folder of the workspace",
		"${config:a.list}":         "no setting with a text, a number or a boolean has this name",
		"${env}":                   "names no variable of the environment",
		"${input:missing}":         `has no input in /w/one/.vscode/tasks.json, which has ["asked" "computed" "dismissed"]`,
		"${input:dismissed}":       `the input "dismissed" was not answered`,
		"${command:fails}":         "the variable ${command:fails}: it failed",
		"${command:nothing}":       "a text expected as the result of the command nothing, not <nil>",
		"${defaultBuildTask}":      "has no value here",
	} {
		if _, err := v.replace(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	open, v.folder, v.file = false, "", nil
	for text, want := range map[string]string{
		"${file}": "no editor is open", "${workspaceFolder}": "no folder is open", "${input:asked2}": "the task is not of a tasks.json",
	} {
		if _, err := v.replace(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
