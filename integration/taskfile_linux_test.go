//go:build linux

package integration

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/extensions/vscode"
	"github.com/hostsup/hostsup/supervisor"
)

// taskFile is the tasks.json of a workspace.
const taskFile = `{
  // as VS Code has it
  "version": "2.0.0",
  "options": { "env": { "TONE": "common", "OTHER": "o" } },
  "inputs": [
    { "id": "who", "type": "promptString", "description": "the name to greet" },
    { "id": "level", "type": "pickString", "description": "how loud", "options": ["low", { "label": "Loud", "value": "high" }] },
    { "id": "computed", "type": "command", "command": "taskfile.value", "args": ["computed"] },
    { "id": "never", "type": "promptString", "description": "not answered" },
  ],
  "tasks": [
    { "label": "line", "type": "shell", "command": "echo \"$TONE $OTHER\" > line && exit 3", "options": { "env": { "TONE": "own" } }, "group": { "kind": "build", "isDefault": true },
      "problemMatcher": ["$eslint-stylish"], "detail": "a line" },
    { "label": "words", "type": "shell", "command": "printf '%s/'", "args": ["a b", { "value": "$HOME", "quoting": "strong" }, ">", { "value": "words", "quoting": "escape" }] },
    { "label": "process", "type": "process", "command": "/bin/sh", "args": ["-c", "pwd > $0; exit 5", "${workspaceFolder}/process"], "options": { "cwd": "${workspaceFolder}/sub" }, "group": "test" },
    { "label": "here", "type": "shell", "command": "exit 1", "windows": { "command": "exit 2" }, "linux": { "command": "exit 7" } },
    { "label": "values", "type": "shell", "command": "echo ${config:acme.level} ${input:who} ${input:level} ${input:who} ${workspaceFolderBasename} ${env:MARKED} ${UNSET} > values" },
    { "label": "unanswered", "type": "shell", "command": "echo ${input:never}" },
    { "label": "selection", "type": "shell", "command": "echo ${selectedText}" },
    { "label": "all", "dependsOn": ["first", "second"], "dependsOrder": "sequence" },
    { "label": "first", "type": "shell", "command": "echo first >> order" },
    { "label": "second", "type": "shell", "command": "echo second >> order", "dependsOn": "first" },
    { "label": "fails", "type": "shell", "command": "echo never >> order", "dependsOn": ["here", "first"] },
    { "label": "round", "type": "shell", "command": "true", "dependsOn": "trip" },
    { "label": "trip", "type": "shell", "command": "true", "dependsOn": "round" },
    { "label": "watch", "type": "shell", "command": "sleep 1000", "isBackground": true },
    { "label": "after", "type": "shell", "command": "true", "dependsOn": "watch" },
    { "label": "two of the file", "type": "acme", "part": "two", "group": "build", "dependsOn": "first" },
    { "label": "resolved", "type": "acme", "part": "later", "options": { "env": { "TONE": "file" } } },
    { "label": "after resolved", "dependsOn": [{ "type": "acme", "part": "three" }, "acme: one"] },
    { "label": "a played one", "type": "acme", "part": "played" },
    { "label": "after nothing", "dependsOn": "gone" },
    { "label": "missing type", "type": "nothing-has-it" },
    { "label": "missing property", "type": "acme" },
    { "label": "slow", "type": "shell", "command": "exec sleep 1000" },
    { "label": "waits", "type": "shell", "command": "echo never >> order", "dependsOn": "slow" },
    { "label": "of a command", "type": "shell", "command": "echo ${command:taskfile.value} ${input:computed} ${relativeFile} ${lineNumber} ${selectedText} > command" },
  ],
}`

// Tasks of tasks.json are fetched and run as VS Code does; what cannot be done has a reason.
func TestTasksOfTheWorkspace(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		h, work := extensionHost(t, version, "taskfile", func(s *supervisor.HostSpec) {
			opt := s.Protocol.(*vscode.Protocol).Options()
			opt.Settings = map[string]any{"acme.level": 4}
			opt.Questions = vscode.Questions{Rules: []vscode.QuestionRule{{Text: "the name to greet", Answer: "you"}, {Text: "how loud", Answer: "Loud"}}}
			s.Protocol = vscode.New(opt)
			s.Env = map[string]string{"MARKED": "marked", "PATH": os.Getenv("PATH")}
		})
		for _, dir := range []string{".vscode", "sub"} {
			if err := os.Mkdir(filepath.Join(work, dir), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		written(t, filepath.Join(work, ".vscode"), "tasks.json", taskFile)
		ready(t, h)
		var list []string
		if err := executes(t, h, &list, "taskfile.list", map[string]any{"type": "process"}); err != nil {
			t.Fatal(err)
		}
		folder := filepath.Base(work)
		if want := []string{"process|process|Workspace|" + folder + "|test||false||"}; !slices.Equal(list, want) {
			t.Errorf("%q", list)
		}
		if err := executes(t, h, &list, "taskfile.list"); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{
			"line|shell|Workspace|" + folder + "|build|true|false|a line|$eslint-stylish", "two of the file|acme|Workspace|" + folder + "|build||false||",
			"resolved|acme|Workspace|" + folder + "|||false||", "all|$composite|Workspace|" + folder + "|||false||", "one|acme|acme|2|||false||",
		} {
			if !slices.Contains(list, want) {
				t.Errorf("%q is not in %q", want, list)
			}
		}
		if slices.ContainsFunc(list, func(l string) bool { return strings.HasPrefix(l, "two|") || strings.HasPrefix(l, "missing ") }) {
			t.Errorf("%q", list)
		}
		tells := func(name string, want ...string) {
			t.Helper()
			var got []string
			if err := executes(t, h, &got, "taskfile.run", name); err != nil || !slices.Equal(got, want) {
				t.Errorf("%s: %q, %v, want %q", name, got, err, want)
			}
		}
		tells("line", "start line", "exit line 3")
		tells("words", "start words", "exit words 0")
		tells("process", "start process", "exit process 5")
		tells("here", "start here", "exit here 7")
		tells("values", "start values", "exit values 0")
		all := func(name string, others []string, want ...string) {
			t.Helper()
			var got []string
			if err := executes(t, h, &got, append([]any{"taskfile.run", name}, anys(others)...)...); err != nil {
				t.Fatal(name, err)
			}
			slices.Sort(got)
			if slices.Sort(want); !slices.Equal(got, want) {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
		}
		all("all", []string{"first", "second"}, "start first", "exit first 0", "start second", "exit second 0", "start all")
		all("two of the file", []string{"first"}, "start first", "exit first 0", "start two of the file", "exit two of the file 2")
		all("after resolved", []string{"three", "one"}, "start three", "exit three 0", "start one", "exit one 0", "start after resolved")
		all("fails", []string{"here", "first"}, "start here", "exit here 7", "start first", "exit first 0")
		tells("resolved", "start resolved", "exit resolved 0")
		tells("a played one", "start a played one", "exit a played one 6")
		tells("unanswered", `tasks.executeTask: the input "never" was not answered`)
		tells("selection", "tasks.executeTask is not supported: the variable ${selectedText} has no value here: no editor is open")
		tells("round", `tasks.executeTask: the task "round" depends on itself`)
		tells("after", `tasks.executeTask is not supported: the task "after" depends on "watch", which runs in the background: only a problem matcher with background patterns knows when it is ready`)
		tells("after nothing", `tasks.executeTask: the task "after nothing" depends on gone: a task with this label expected in `+filepath.Join(work, ".vscode", "tasks.json")+" or of an extension")
		running := -1
		if err := executes(t, h, &running, "taskfile.cancel", "waits", "slow"); err != nil || running != 0 {
			t.Errorf("%d tasks run, %v", running, err)
		}
		file := filepath.Join(work, ".vscode", "tasks.json")
		want := []string{
			"0 stderr " + file + `:33: task "missing type" is not used: the type of an extension that is installed expected, or shell or process, not "nothing-has-it"`,
			"0 stderr " + file + `:34: task "missing property" is not used: part expected, which tasks of type "acme" have`,
			`0 stderr task "fails" was not run: a task that it depends on, "here", has failed`,
			`0 stderr task "waits" was not run: it was terminated while it waited for others`,
		}
		eventually(t, func() bool { return slices.Equal(channelLines(t, h, "Tasks"), want) }, "lines of the channel Tasks", want)
		written(t, work, "file.txt", "first\nsecond\n")
		if err := executes(t, h, nil, "taskfile.show", filepath.Join(work, "file.txt")); err != nil {
			t.Fatal(err)
		}
		tells("of a command", "start of a command", "exit of a command 0")
		for name, want := range map[string]string{
			"line": "own o\n", "words": "a b/$HOME/", "process": filepath.Join(work, "sub") + "\n", "values": "4 you high you " + folder + " marked\n",
			"command": "value value computed file.txt 2 sec\n", "later": "file own\n", "order": "first\nsecond\nfirst\nfirst\n", "three": "three\n",
		} {
			text, err := os.ReadFile(filepath.Join(work, name))
			if string(text) != want || err != nil {
				t.Errorf("%s: %q, %v", name, text, err)
			}
		}
	})
}

// anys returns texts as arguments.
func anys(texts []string) (out []any) {
	for _, text := range texts {
		out = append(out, text)
	}
	return out
}
