package tasks

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
)

// parse reads the tasks of a file of the folder /w.
func parse(t *testing.T, text, goos string) *File {
	t.Helper()
	f, err := Parse("/w", []byte(text), goos)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// same compares JSON.
func same(t *testing.T, got json.RawMessage, want string) {
	t.Helper()
	var a, b any
	if err := json.Unmarshal(got, &a); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(want), &b); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(a, b) {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// member returns a member of the task as hosts have it.
func member(t *testing.T, dto json.RawMessage, name string) json.RawMessage {
	t.Helper()
	var all map[string]json.RawMessage
	if err := json.Unmarshal(dto, &all); err != nil {
		t.Fatal(err)
	}
	if all[name] == nil {
		return json.RawMessage("null")
	}
	return all[name]
}

func TestExecutions(t *testing.T) {
	f := parse(t, `{
		"version": "2.0.0", // a comment
		"options": {"cwd": "${workspaceFolder}/all", "env": {"A": "all", "B": "all"}},
		"linux": {"options": {"env": {"B": "linux"}}, "tasks": [{"label": "line", "type": "shell", "command": "for linux"}, {"label": "only", "command": "x"}]},
		"tasks": [
			{"label": "line", "type": "shell", "command": "for all"},
			{"label": "words", "type": "shell", "command": {"value": ["a", "b"], "quoting": "strong"}, "args": ["c", ["d", "e"], {"value": "f", "quoting": "escape"}]},
			{"label": "process", "type": "process", "command": "p", "args": [{"value": "q", "quoting": "weak"}], "options": {"cwd": "sub"}},
			{"taskName": "old name", "command": "o", "options": {"shell": {"executable": "zsh", "args": []}}},
			{"label": "system", "type": "shell", "command": "a", "linux": {"type": "process", "command": "l", "args": ["m"], "options": {"env": {"A": "own"}}}, "osx": {"command": "x"}},
		],
	}`, "linux")
	if len(f.Left) > 0 || len(f.Tasks) != 6 {
		t.Fatalf("%q, %d tasks", f.Left, len(f.Tasks))
	}
	const common = `"cwd": "${workspaceFolder}/all", "env": {"A": "all", "B": "linux"}`
	for label, want := range map[string]string{
		"line":     `{"commandLine": "for linux", "options": {` + common + `}}`,
		"only":     `{"process": "x", "args": [], "options": {` + common + `}}`,
		"words":    `{"command": {"value": "a b", "quoting": 2}, "args": ["c", "d e", {"value": "f", "quoting": 1}], "options": {` + common + `}}`,
		"process":  `{"process": "p", "args": ["q"], "options": {"cwd": "/w/sub", "env": {"A": "all", "B": "linux"}}}`,
		"old name": `{"process": "o", "args": [], "options": {` + common + `, "executable": "zsh", "shellArgs": []}}`,
		"system":   `{"process": "l", "args": ["m"], "options": {"cwd": "${workspaceFolder}/all", "env": {"A": "own", "B": "linux"}}}`,
	} {
		task := f.Find(label)
		if task == nil {
			t.Fatalf("%s is missing", label)
		}
		same(t, member(t, task.DTO, "execution"), want)
	}
	if f := parse(t, `{"version": "2.0.0", "tasks": [{"label": "a", "command": "a", "osx": {"command": "b"}}]}`, "darwin"); !strings.Contains(string(f.Tasks[0].DTO), `"process":"b"`) {
		t.Errorf("%s", f.Tasks[0].DTO)
	}
}

func TestPropertiesOfTasks(t *testing.T) {
	f := parse(t, `{"version": "2.0.0", "inputs": [{"id": "i", "type": "pickString", "options": ["a", {"value": "b"}, {"label": "C", "value": "c"}]}], "tasks": [
		{"label": "all", "dependsOn": ["a", {"type": "npm", "script": "b"}], "dependsOrder": "sequence", "group": {"kind": "build", "isDefault": true}, "detail": "what it does"},
		{"label": "watch", "command": "w", "isBackground": true, "problemMatcher": ["$a", {"base": "$b"}], "group": "none"},
		{"label": "one", "command": "o", "dependsOn": "all", "problemMatcher": "$a", "group": "test", "presentation": {"reveal": "never"}, "runOptions": {}},
		{"label": "quiet", "command": "q", "problemMatcher": []},
	]}`, "linux")
	if len(f.Left) > 0 {
		t.Fatal(f.Left)
	}
	all, watch, one := f.Find("all"), f.Find("watch"), f.Find("one")
	if len(all.DependsOn) != 2 || all.DependsOn[0].String() != "a" || all.DependsOn[1].String() != `{"script":"b","type":"npm"}` || !all.Sequence || one.Sequence || all.Background {
		t.Errorf("%+v", all)
	}
	same(t, member(t, all.DTO, "definition"), `{"type": "$composite"}`)
	same(t, member(t, all.DTO, "group"), `{"_id": "build", "isDefault": true}`)
	same(t, member(t, all.DTO, "detail"), `"what it does"`)
	same(t, member(t, one.DTO, "group"), `{"_id": "test", "isDefault": false}`)
	same(t, member(t, watch.DTO, "group"), `null`)
	same(t, member(t, watch.DTO, "problemMatchers"), `["$a"]`)
	if !watch.Background || len(watch.Matchers) != 2 || len(one.Matchers) != 1 || all.Matchers != nil || f.Find("quiet").Matchers == nil {
		t.Errorf("%+v", watch)
	}
	if want := []Choice{{"a", "a"}, {"b", "b"}, {"C", "c"}}; !reflect.DeepEqual(f.Inputs["i"].Options, want) {
		t.Errorf("%+v", f.Inputs["i"])
	}
}

// A file that cannot be used has an error with the line and what was expected; so has a task.
func TestMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"{\n\"version\": \"0.1.0\"}": `/w/.vscode/tasks.json:2: "version": "2.0.0" expected`,
		"{\n}":                       `/w/.vscode/tasks.json:1: "version": "2.0.0" expected`,
		"{\n\n\"version\": 2}":       `/w/.vscode/tasks.json:3: version: a text expected, not number`,
		"{\n\"tasks\": [\n{]}":       `/w/.vscode/tasks.json:3: invalid character ']'`,
		"{\n\"tasks\": \n{}}":        `/w/.vscode/tasks.json:3: tasks: a list expected, not object`,
	} {
		if _, err := Parse("/w", []byte(text), "linux"); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	if _, err := Parse("/w", []byte(`{"version": "1"}`), "linux"); !errors.Is(err, ErrVersion) {
		t.Errorf("%v", err)
	}
	if f := parse(t, " // nothing yet\n", "linux"); len(f.Tasks) > 0 {
		t.Errorf("%+v", f)
	}
	for task, want := range map[string]string{
		`{"command": "a"}`:                                                                `2: a task is not used: a label expected`,
		`{"label": "a"}`:                                                                  `2: a task is not used: task "a": a command or dependsOn expected`,
		`{"label": 7}`:                                                                    `2: a task is not used: label: a text expected, not number`,
		"{\"label\": \"a\",\n\"args\": 7}":                                                `3: a task is not used: args: a list expected, not number`,
		`{"label": "a", "command": 7}`:                                                    `2: a task is not used: task "a": command: a text expected, or one with the quoting escape, strong or weak, not 7`,
		`{"label": "a", "command": "a", "args": [7]}`:                                     `2: a task is not used: task "a": args: a text expected, or one with the quoting escape, strong or weak, not 7`,
		`{"label": "a", "command": "a", "dependsOn": 7}`:                                  `2: a task is not used: task "a": dependsOn: the label of a task expected, an object with its type, or a list of them, not 7`,
		`{"label": "a", "command": "a", "dependsOrder": "x"}`:                             `2: a task is not used: task "a": dependsOrder: sequence or parallel expected, not "x"`,
		`{"label": "a", "command": "a", "group": 7}`:                                      `2: a task is not used: task "a": group: build, test or none expected, or an object with such a kind, not 7`,
		`{"label": "a", "command": "a", "problemMatcher": 7}`:                             `2: a task is not used: task "a": problemMatcher: the name of a problem matcher expected, an object, or a list of them, not 7`,
		`{"label": "a", "command": "a", "options": {"env": 7}}`:                           `2: a task is not used: task "a": options: env: an object expected, not number`,
		`{"label": "b", "command": "a"},{"label":"b","command":1}`:                        `2: a task is not used: task "b": command: a text expected, or one with the quoting escape, strong or weak, not 1`,
		"{\"label\": \"b\", \"command\": \"a\"},\n{\"label\": \"b\", \"command\": \"c\"}": `3: a task is not used: a label of its own expected, and /w/.vscode/tasks.json:2 has "b" too`,
		`{"label": "a", "type": "shell", "command": "a", "options": {"shell": {"quoting": {"strong": "\""}}}}`: `2: a task is not used: task "a": options: shell: an executable and args expected: quoting is that of a POSIX shell here and cannot be set`,
	} {
		f := parse(t, "{\"version\": \"2.0.0\", \"tasks\": [\n"+task+"]}", "linux")
		if len(f.Left) != 1 || f.Left[0] != "/w/.vscode/tasks.json:"+want {
			t.Errorf("%s: %q, want %s", task, f.Left, want)
		}
	}
	f := parse(t, `{"version": "2.0.0", "inputs": [{"id": "a"}, {"type": "promptString"}, {"id": "b", "type": "command"}, {"id": "c", "type": "pickString"}, {"id": "d", "type": "promptString"}]}`, "linux")
	if len(f.Left) != 4 || len(f.Inputs) != 1 {
		t.Errorf("%q, %v", f.Left, f.Inputs)
	}
}

// What an extension provides and what the file says about it make one task.
func TestTasksOfExtensions(t *testing.T) {
	definitions := Definitions([]json.RawMessage{
		[]byte(`{"contributes": {"taskDefinitions": [{"type": "npm", "required": ["script"], "properties": {"script": {}, "path": {}}}, {"type": ""}]}}`),
		[]byte(`{"contributes": 7}`), []byte(`{"contributes": {"taskDefinitions": [{"type": "npm"}]}}`), []byte(`{}`),
	})
	if len(definitions) != 1 {
		t.Fatalf("%v", definitions)
	}
	f := parse(t, `{"version": "2.0.0", "tasks": [
		{"type": "npm", "script": "build", "path": null, "other": 1},
		{"type": "npm", "script": "build", "label": "own", "group": "none", "isBackground": true, "problemMatcher": "$own", "options": {"env": {"A": "own"}}},
		{"type": "npm", "label": "wrong"},
	]}`, "linux")
	if len(f.Left) > 0 || len(f.Tasks) != 3 {
		t.Fatal(f.Left)
	}
	plain, own := f.Tasks[0], f.Tasks[1]
	properties, err := plain.Identify(definitions["npm"])
	if err != nil || !Same(properties, map[string]json.RawMessage{"type": []byte(`"npm"`), "script": []byte(` "build"`)}) {
		t.Errorf("%s, %v", properties, err)
	}
	if _, err := f.Tasks[2].Identify(definitions["npm"]); err == nil || err.Error() != `script expected, which tasks of type "npm" have` {
		t.Errorf("%v", err)
	}
	if !own.Has(map[string]json.RawMessage{"script": []byte(`"build"`)}) || own.Has(map[string]json.RawMessage{"script": []byte(`"test"`)}) {
		t.Error("a task does not know its properties")
	}
	const provided = `{"_id": "7", "name": "build", "definition": {"type": "npm"}, "source": {"label": "npm", "scope": 2}, "group": {"_id": "build"}, "isBackground": false,
		"problemMatchers": ["$theirs"], "execution": {"process": "npm", "options": {"cwd": "/w/pkg", "env": {"A": "npm", "B": "npm"}}}}`
	got, err := plain.Customize(json.RawMessage(provided))
	if err != nil || got.Label != "build" || got.Background {
		t.Fatalf("%+v, %v", got, err)
	}
	same(t, member(t, got.DTO, "group"), `{"_id": "build"}`)
	same(t, member(t, got.DTO, "problemMatchers"), `["$theirs"]`)
	if got, err = own.Customize(json.RawMessage(provided)); err != nil || got.Label != "own" || !got.Background {
		t.Fatalf("%+v, %v", got, err)
	}
	same(t, member(t, got.DTO, "group"), `null`)
	same(t, member(t, got.DTO, "_id"), `"7"`)
	same(t, member(t, got.DTO, "problemMatchers"), `["$own"]`)
	same(t, member(t, got.DTO, "execution"), `{"process": "npm", "options": {"cwd": "/w/pkg", "env": {"A": "own", "B": "npm"}}}`)
	if _, err := plain.Customize([]byte(`[]`)); err == nil {
		t.Error("a list was taken for a task")
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"version": "2.0.0", "inputs": [{}], "tasks": [{"label": "a", "command": {"value": "a"}, "args": [{}], "dependsOn": {}}], "linux": {"tasks": [{}]}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		file, err := Parse("/w", text, "linux")
		if (file == nil) == (err == nil) {
			t.Fatalf("%v, %v", file, err)
		}
		if file == nil {
			return
		}
		for _, task := range file.Tasks {
			if !json.Valid(task.DTO) {
				t.Errorf("%s", task.DTO)
			}
		}
	})
}
