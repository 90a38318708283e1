//go:build linux

package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/control"
	bench "github.com/hostsup/hostsup/workbench"
)

// Git of both releases decorates changed files, has their commits, and the content that they are compared with.
func TestWhatGitSaysOfFiles(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		sc := openScenario(t, version, scenario{
			ID: "vscode.git", Extensions: []string{"git", "git-base", "own:scenes"},
			Files: map[string]string{"a.txt": "one\n", "b.txt": "two\n"}, Before: repository,
		})
		c := control.Over(sc.sup)
		file := func(name string) bench.URI { return bench.File(filepath.Join(sc.work, name)) }
		for name, content := range map[string]string{"a.txt": "three\n", "c.txt": "new\n"} {
			if err := os.WriteFile(filepath.Join(sc.work, name), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := executes(t, sc.code, nil, "scenes.git", dict{}); err != nil {
			t.Fatal(err)
		}
		want := []string{"a.txt M Modified", "c.txt U Untracked"}
		eventually(t, func() bool {
			list, err := c.Decorations(ctx(t), "", []bench.URI{file("a.txt"), file("b.txt"), file("c.txt")})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, d := range list {
				if d.Extension == "vscode.git" {
					got = append(got, fmt.Sprintf("%s %s %s", filepath.Base(d.URI), d.Badge, d.Tooltip))
				}
			}
			return slices.Equal(got, want)
		}, strings.Join(want, "; "))
		list, err := c.Originals(ctx(t), sc.code.Name(), file("a.txt"))
		if err != nil || len(list) != 1 || list[0].Text == nil || *list[0].Text != "one\n" || !strings.HasPrefix(list[0].URI, "git:") {
			t.Errorf("%+v, %v", list, err)
		}
		if list, err := c.Originals(ctx(t), "", bench.File("/elsewhere")); err != nil || len(list) != 0 {
			t.Errorf("%+v, %v", list, err)
		}
		moments, err := c.Timeline(ctx(t), "", file("b.txt"), 10)
		if err != nil || len(moments) != 1 || moments[0].Label != "first" || moments[0].Time.IsZero() {
			t.Errorf("%+v, %v", moments, err)
		}
		if none, err := c.Timeline(ctx(t), "", file("c.txt"), 10); err != nil || len(none) != 0 {
			t.Errorf("%+v, %v", none, err)
		}
	})
}
