//go:build linux

package integration

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	lang "github.com/hostsup/hostsup/workbench/language"
)

// ownExtension returns the folder of an extension below testdata.
func ownExtension(t testing.TB, name string) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("testdata", "vscode", name))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// builtinExtension returns the folder of an extension that ships with a release. The package of 1.139.1
// from npm lacks a native module, with which git copies files of worktrees: git gets an empty one.
func builtinExtension(t testing.TB, version, name string) string {
	t.Helper()
	dir := published(t, strings.TrimPrefix(releases[version].root, peerDir+"/"), "extensions", name)
	if name != "git" {
		return dir
	}
	peer(t, "git")
	git := filepath.Join(t.TempDir(), "git")
	if err := os.CopyFS(git, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	lacking := filepath.Join(git, "node_modules", "@vscode", "fs-copyfile")
	if err := os.MkdirAll(lacking, 0o700); err != nil {
		t.Fatal(err)
	}
	written(t, lacking, "index.js", "")
	return git
}

// gitRuns runs git in a repository.
func gitRuns(t testing.TB, dir string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(ctx(t), "git", append([]string{"-C", dir, "-c", "user.name=A", "-c", "user.email=a@example.com"}, args...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %s, %v", args, out, err)
	}
}

// repository makes a repository with one commit.
func repository(t testing.TB, work string) {
	t.Helper()
	peer(t, "git")
	gitRuns(t, work, "init", "-q", "-b", "main")
	gitRuns(t, work, "config", "user.name", "A")
	gitRuns(t, work, "config", "user.email", "a@example.com")
	gitRuns(t, work, "add", ".")
	gitRuns(t, work, "commit", "-q", "-m", "first")
	gitRuns(t, work, "tag", "begin")
	gitRuns(t, work, "branch", "other")
}

// changedRepository takes a repository back to its first commit, with a changed and a new file.
func changedRepository(t testing.TB, work string) {
	t.Helper()
	gitRuns(t, work, "checkout", "-q", "-f", "main")
	gitRuns(t, work, "reset", "-q", "--hard", "begin")
	gitRuns(t, work, "clean", "-q", "-f")
	written(t, work, "a.txt", "one\ntwo\n")
	written(t, work, "new.txt", "new\n")
}

// cleanRepository takes a repository back to its first commit.
func cleanRepository(t testing.TB, work string) {
	t.Helper()
	changedRepository(t, work)
	gitRuns(t, work, "reset", "-q", "--hard", "begin")
	gitRuns(t, work, "clean", "-q", "-f")
}

// acts is a step that executes a command of the extension of testdata/vscode/scenes.
func acts(command string, want []string, args ...any) scenarioStep {
	return scenarioStep{Command: "scenes." + command, Arguments: args, Want: want}
}

// beginning has a step start from a state of its workspace.
func (s scenarioStep) beginning(before func(testing.TB, string)) scenarioStep {
	s.Before = before
	return s
}

// nothing is the answer of doors if a command returns none.
var nothing = map[string][]string{doorGo: {"null"}, doorVerb: {"null"}, doorLSP: {"null"}, doorMCP: {"has returned nothing"}}

// lacks is a step with a command of the editor or of an extension that is not supported, with the name of
// what is not.
func lacks(command, api string, args ...any) scenarioStep {
	return acts("try", []string{`"error":"NotSupported: ` + api + ` is not supported: there is no window"`}, append([]any{command}, args...)...)
}

// fails is a step with a function of the API, or of the exports of an extension, that fails.
func fails(want string, path []any, args ...any) scenarioStep {
	return acts("call", []string{`"error":"` + want}, append([]any{path}, args...)...)
}

// edits is a step that executes a command of an extension where a text is selected.
func edits(want []string, file, command string, selection []int, args ...any) scenarioStep {
	return acts("edit", want, dict{"file": file, "select": selection, "command": command, "args": append(list{}, args...)})
}

// moves is a step with a command that changes the selection, which is wanted.
func moves(file, command string, selection []int, want string) scenarioStep {
	return acts("edit", []string{want}, dict{"file": file, "select": selection, "command": command, "moves": true})
}

const (
	conflicted = "start\n<<<<<<< HEAD\nours\n=======\ntheirs\n>>>>>>> other\nend\n"
	markup     = "<html>\n<body>\nul>li.item*2\n</body>\n</html>\n"
	taskRunner = "#!/bin/sh\ncase $0 in\n*gulp) printf 'build\\ntest\\n' ;;\n*grunt) printf 'Available tasks\\n   build  Makes it *\\n\\n' ;;\n*jake) printf 'jake build  # Makes it\\n' ;;\nesac\n"
)

// executable makes the programs of the folder node_modules/.bin executable.
func executable(t testing.TB, work string) {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(work, "node_modules", ".bin", "*"))
	if err != nil || len(all) == 0 {
		t.Fatalf("%v, %v", all, err)
	}
	for _, path := range all {
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

// runner is the scenario of an extension that finds the tasks of a program.
func runner(name, file string) scenario {
	return scenario{
		ID: "vscode." + name, Extensions: []string{name, "own:scenes"}, Settings: map[string]any{name + ".autoDetect": "on"},
		Files: map[string]string{file: "// tasks\n", "node_modules/.bin/" + name: taskRunner}, Before: executable,
		Steps: []scenarioStep{
			acts("tasks", []string{name + " | build | node_modules/.bin/" + name}, name),
			acts("tasks", []string{name + " | build | "}),
			acts("task", []string{"0"}, name, "build"),
		},
	}
}

// builtinScenarios are those of the extensions that ship with VS Code and are not language servers.
var builtinScenarios = []scenario{
	{
		ID: "vscode.git", Extensions: []string{"git", "git-base", "own:scenes"}, Files: map[string]string{"a.txt": "one\n"}, Before: repository,
		Questions: map[string]string{"Select a branch or tag to checkout": "other", "*discard changes in*": "Discard File", "*create an empty commit*": "Yes"},
		Steps: []scenarioStep{
			acts("git", []string{"a.txt 5", "new.txt 7", `"index":""`, `"head":"main"`, `"log":"first"`}, dict{}).beginning(changedRepository),
			acts("git", []string{"a.txt 0", "new.txt 1", `"changes":""`}, dict{"command": "git.stageAll"}).beginning(changedRepository),
			acts("git", []string{"a.txt 0", "new.txt 7", `"text":"one\n"`}, dict{"command": "git.stage", "show": "a.txt"}).beginning(changedRepository),
			acts("git", []string{"second, first", `"changes":"a.txt 5, new.txt 7"`}, dict{"command": "git.commitEmpty", "message": "second"}).beginning(changedRepository),
			acts("git", []string{"third, first", `"changes":""`}, dict{"command": "git.commitAll", "message": "third"}).beginning(changedRepository),
			acts("git", []string{`"head":"other"`}, dict{"command": "git.checkout"}).beginning(cleanRepository),
			acts("git", []string{`"result":"diff --git`, "+two"}, dict{"method": "diffWithHEAD", "args": list{"$WORK/a.txt"}}).beginning(changedRepository),
			acts("git", []string{"A", "one"}, dict{"method": "blame", "args": list{"$WORK/a.txt"}}).beginning(cleanRepository),
			lacks("_workbench.diff", "the command _workbench.diff"),
			{Command: "git.refresh", Wants: nothing},
		},
	},
	{
		ID: "vscode.git-base", Extensions: []string{"git-base", "own:scenes"}, Files: map[string]string{"a.txt": ""},
		Steps: []scenarioStep{
			acts("call", []string{`"result":{`}, list{"vscode.git-base", "getAPI"}, 1),
			fails("Error: No API version 9 found", list{"vscode.git-base", "getAPI"}, 9),
		},
	},
	{
		ID: "vscode.emmet", Extensions: []string{"emmet", "html", "css", "own:scenes"},
		Files: map[string]string{"page.html": markup, "a.html": markup, "a.css": "a {\n  m10\n}\n", "b.css": "a {\n  width: 2*3;\n}\n"},
		Steps: []scenarioStep{
			{Feature: lang.FeatureCompletion, At: "a.html:3:13", Want: []string{"ul>li.item*2", "Emmet Abbreviation"}},
			{Feature: lang.FeatureCompletion, At: "a.css:2:6", Want: []string{"margin: 10px;"}},
			edits([]string{`<ul>\n    <li class=\"item\"></li>\n    <li class=\"item\"></li>\n</ul>`}, "page.html", "emmet.expandAbbreviation", []int{2, 12}),
			edits([]string{`<div class=\"x\">`}, "page.html", "editor.emmet.action.wrapWithAbbreviation", []int{2, 0, 2, 12}, dict{"abbreviation": "div.x"}),
			edits([]string{`<html>\nul>li.item*2`}, "page.html", "editor.emmet.action.removeTag", []int{1, 2}),
			edits([]string{"width: 6;"}, "b.css", "editor.emmet.action.evaluateMathExpression", []int{1, 12}),
			moves("page.html", "editor.emmet.action.matchTag", []int{1, 2}, `"selection":"3 2 3 2"`),
			moves("page.html", "editor.emmet.action.balanceOut", []int{2, 3}, `"selection":"1 6 3 0"`),
		},
	},
	{
		ID: "vscode.npm", Extensions: []string{"npm", "json", "own:scenes"},
		Files: map[string]string{"package.json": `{"name": "w", "scripts": {"build": "true", "broken": "exit 3"}}` + "\n"},
		Steps: []scenarioStep{
			{Feature: lang.FeatureHover, At: "package.json:1:30", Want: []string{"Run Script", "npm.runScriptFromHover"}, Varies: true},
			acts("tasks", []string{"npm | build | ", "npm | broken | "}, "npm"),
			acts("task", []string{"0"}, "npm", "build"),
			acts("task", []string{"3"}, "npm", "broken"),
			{Command: "npm.packageManager", Arguments: []any{dict{"$mid": 1, "scheme": "file", "path": "$WORK"}}, Want: []string{"npm"}},
		},
	},
	{
		ID: "vscode.references-view", Extensions: []string{"references-view", "typescript-basics", "typescript-language-features", "own:scenes"},
		Files: map[string]string{"tsconfig.json": "{}\n", "x.ts": "export function add(a: number) { return a }\nexport const two = add(add(1))\n"},
		Steps: []scenarioStep{
			exported("vscode.references-view", "object"),
			{Feature: lang.FeatureReferences, At: "x.ts:1:18", Want: []string{"x.ts:1:17", "x.ts:2:20", "x.ts:2:24"}},
			acts("try", []string{`"result":null`}, "references-view.findReferences"),
			acts("try", []string{`"result":null`}, "references-view.showCallHierarchy"),
			acts("try", []string{`"result":null`}, "references-view.clear"),
		},
	},
	{
		ID: "vscode.merge-conflict", Extensions: []string{"merge-conflict", "own:scenes"},
		Files: map[string]string{"a.txt": conflicted, "lens.txt": conflicted, "b.txt": conflicted + conflicted},
		Steps: []scenarioStep{
			{Feature: lang.FeatureLenses, At: "lens.txt", Want: []string{"Accept Current Change", "Accept Incoming Change", "Accept Both Changes"}, Varies: true},
			edits([]string{`"text":"start\nours\nend\n"`}, "a.txt", "merge-conflict.accept.current", []int{2, 0}),
			edits([]string{`"text":"start\ntheirs\nend\n"`}, "a.txt", "merge-conflict.accept.incoming", []int{2, 0}),
			edits([]string{`"text":"start\nours\ntheirs\nend\n"`}, "a.txt", "merge-conflict.accept.both", []int{2, 0}),
			edits([]string{`"text":"start\nours\nend\n"`}, "a.txt", "merge-conflict.accept.selection", []int{2, 0}),
			edits([]string{`"text":"start\ntheirs\nend\nstart\ntheirs\nend\n"`}, "b.txt", "merge-conflict.accept.all-incoming", []int{0, 0}),
			moves("b.txt", "merge-conflict.next", []int{2, 0}, `"selection":"8 0 8 0"`),
		},
	},
	runner("gulp", "gulpfile.js"),
	runner("grunt", "Gruntfile.js"),
	runner("jake", "Jakefile"),
	{
		ID: "vscode.search-result", Extensions: []string{"search-result"},
		Files: map[string]string{"s.code-search": "# Query: add\n\nx.ts:\n  1: export const add = 1\n", "x.ts": "export const add = 1\n"},
		Steps: []scenarioStep{
			{Feature: lang.FeatureSymbols, At: "s.code-search", Want: []string{"x.ts"}},
			{Feature: lang.FeatureDefinition, At: "s.code-search:4:15", Want: []string{"x.ts:1:"}},
			{Feature: lang.FeatureLinks, At: "s.code-search", Want: []string{"x.ts"}},
		},
	},
}
