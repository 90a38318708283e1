//go:build linux

package integration

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/workbench/scm"
)

// Git of both releases shows changed and staged files, and commits them with the message of the input box.
func TestSourceControlOfGit(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		sc := openScenario(t, version, scenario{
			ID: "vscode.git", Extensions: []string{"git", "git-base", "own:scenes"},
			Files: map[string]string{"a.txt": "one\n", "b.txt": "two\n"}, Before: repository,
		})
		if err := executes(t, sc.code, nil, "scenes.git", dict{}); err != nil {
			t.Fatal(err)
		}
		svc, err := scm.Of(sc.code.Ref())
		if err != nil {
			t.Fatal(err)
		}
		text := func() string {
			list := svc.State("code")
			if len(list) != 1 {
				return ""
			}
			var out []string
			for _, g := range list[0].Groups {
				var files []string
				for _, r := range g.Resources {
					files = append(files, filepath.Base(r.URI)+" "+r.State)
				}
				out = append(out, g.ID+" "+strings.Join(files, ", "))
			}
			return strings.Join(out, "; ")
		}
		until := func(want string) {
			t.Helper()
			eventually(t, func() bool { return text() == want }, want)
		}
		until("workingTree ")
		if c := svc.State("")[0]; c.Kind != "git" || c.Root != "file://"+sc.work || c.Accept == "" || !strings.Contains(c.Input.Placeholder, "Message") {
			t.Errorf("%+v", c)
		}
		for name, content := range map[string]string{"a.txt": "three\n", "c.txt": "new\n"} {
			if err := os.WriteFile(filepath.Join(sc.work, name), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := executes(t, sc.code, nil, "scenes.git", dict{}); err != nil {
			t.Fatal(err)
		}
		until("workingTree a.txt Modified, c.txt Untracked")
		if err := executes(t, sc.code, nil, "scenes.git", dict{"method": "add", "args": list{list{filepath.Join(sc.work, "a.txt")}}}); err != nil {
			t.Fatal(err)
		}
		until("index a.txt Index Modified; workingTree c.txt Untracked")
		id := svc.State("")[0].ID
		if err := svc.SetInput(id, "the third"); err != nil {
			t.Fatal(err)
		}
		if err := svc.Accept(ctx(t), id); err != nil {
			t.Fatal(err)
		}
		until("workingTree c.txt Untracked")
		var out struct{ Log string }
		if err := executes(t, sc.code, &out, "scenes.git", dict{}); err != nil || !strings.HasPrefix(out.Log, "the third, ") {
			t.Errorf("%+v, %v", out, err)
		}
		if value := svc.State("")[0].Input.Value; value != "" {
			t.Errorf("the message %q is left", value)
		}
	})
}
