//go:build linux

package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	bench "github.com/hostsup/hostsup/workbench"
	"github.com/hostsup/hostsup/workbench/diagnostics"
)

// matcherFile is the tasks.json of a workspace whose tasks have problem matchers.
const matcherFile = `{
  "version": "2.0.0",
  "tasks": [
    { "label": "lint", "type": "shell", "command": "cat ${workspaceFolder}/output", "problemMatcher": ["$eslint-stylish",
        { "owner": "own", "severity": "warning", "fileLocation": ["relative", "${workspaceFolder}/sub"], "pattern": { "regexp": "^(\\S+)@(\\d+): (.*)$", "file": 1, "line": 2, "message": 3 } }] },
    { "label": "of an extension", "type": "shell", "command": "echo 'src x.acme 4 bad'", "problemMatcher": "$acme" },
    { "label": "unknown", "type": "shell", "command": "true", "problemMatcher": ["$nothing", { "pattern": { "regexp": "(?=a)" } }] },
    { "label": "watch", "type": "shell", "command": "echo begin; echo 'src x.acme 1 first'; echo end; read go; echo begin; echo 'src x.acme 2 second'; echo end; exec sleep 1000", "isBackground": true,
      "problemMatcher": { "base": "$acme", "owner": "watch", "background": { "beginsPattern": "^begin", "endsPattern": "^end" } } },
    { "label": "after", "type": "shell", "command": "echo after > after", "dependsOn": "watch" },
  ],
}`

// reportedBy returns the problems of a file, as a program that embeds hostsup sees them.
func reportedBy(t testing.TB, all *diagnostics.Service, path string) (out []string) {
	t.Helper()
	for _, d := range all.Diagnostics(bench.File(path)) {
		out = append(out, fmt.Sprintf("%s %d:%d %v %s %s", d.Owner, d.StartLine, d.StartColumn, d.Severity, d.Code, d.Message))
	}
	return out
}

// Problem matchers of tasks report what tasks write as problems, for extensions and others, until the next run.
func TestProblemMatchers(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		h, work := extensionHost(t, version, "taskfile")
		if err := os.MkdirAll(filepath.Join(work, ".vscode"), 0o700); err != nil {
			t.Fatal(err)
		}
		written(t, filepath.Join(work, ".vscode"), "tasks.json", matcherFile)
		bad, rel := filepath.Join(work, "bad.js"), filepath.Join(work, "sub", "rel.txt")
		written(t, work, "output", bad+"\n  1:2  error  Bad thing  no-bad\n  3:4  \x1b[33mwarning\x1b[0m  Other\n\nrel.txt@7: relative\n")
		ready(t, h)
		all := bench.Find[*diagnostics.Service](h.Ref().Interceptor("workbench").(*bench.Workbench))
		runs := func(name string, want ...string) {
			t.Helper()
			var got []string
			if err := executes(t, h, &got, "taskfile.run", name); err != nil || !slices.Equal(got, want) {
				t.Errorf("%s: %q, %v, want %q", name, got, err, want)
			}
		}
		has := func(path string, want ...string) {
			t.Helper()
			if got := reportedBy(t, all, path); !slices.Equal(got, want) {
				t.Errorf("%s: %q, want %q", path, got, want)
			}
		}
		runs("lint", "start lint", "exit lint 0")
		has(bad, "eslint 1:2 error no-bad Bad thing", "eslint 3:4 warning  Other")
		has(rel, "own 7:1 warning  relative")
		var seen []string // by an extension
		if err := executes(t, h, &seen, "taskfile.problems", bad); err != nil || !slices.Equal(seen, []string{"0:1 0 Bad thing eslint no-bad", "2:3 1 Other eslint "}) {
			t.Errorf("%q, %v", seen, err)
		}
		written(t, work, "output", bad+"\n  5:6  error  Third  no-third\n")
		runs("lint", "start lint", "exit lint 0")
		has(bad, "eslint 5:6 error no-third Third")
		has(rel)

		acme := filepath.Join(work, "src", "x.acme")
		runs("of an extension", "start of an extension", "exit of an extension 0")
		has(acme, "acme 4:1 error  bad")
		runs("unknown", "start unknown", "exit unknown 0")
		want := `problem matcher 1 is not used: the name of a problem matcher of the editor or of an extension expected, with a $ before it, not "$nothing"`
		file := filepath.Join(work, ".vscode", "tasks.json")
		eventually(t, func() bool {
			return slices.Contains(channelLines(t, h, "Tasks"), "0 stderr "+file+`:7: task "unknown": `+want)
		}, "line of the channel Tasks", want)

		// A task that does not end has done its work when its matcher says so.
		var events []string
		if err := executes(t, h, &events, "taskfile.run", "after"); err != nil || !slices.Contains(events, "exit after 0") {
			t.Errorf("%q, %v", events, err)
		}
		has(acme, "watch 1:1 error  first", "acme 4:1 error  bad")
		if _, err := os.Stat(filepath.Join(work, "after")); err != nil {
			t.Error(err)
		}
		if err := executes(t, h, nil, "taskfile.send", "watch", "go"); err != nil {
			t.Fatal(err)
		}
		eventually(t, func() bool {
			return slices.Equal(reportedBy(t, all, acme), []string{"watch 2:1 error  second", "acme 4:1 error  bad"})
		}, "problems of the second time")
	})
}
