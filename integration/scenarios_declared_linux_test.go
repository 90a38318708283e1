//go:build linux

package integration

import (
	"testing"

	bench "github.com/hostsup/hostsup/workbench"
	"github.com/hostsup/hostsup/workbench/documents"
)

// Published extensions without code give documents their languages, and run nowhere.
func TestPublishedDeclarations(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		const theia = "@theia/vscode-builtin-"
		sup, w, work := publishedHost(t, version, theia+"java", theia+"groovy", theia+"coffeescript", theia+"csharp", theia+"powershell", theia+"html",
			"vscode-scenetest", "solarflare-theme", "vscode-webhint")
		request(t, sup, "onLanguage:css")
		all, err := sup.Extensions(w.host.Name())
		if err != nil || len(all) != 9 {
			t.Fatal(all, err)
		}
		for _, e := range all {
			want := "declarative"
			if e.ID == "webhint.vscode-webhint" {
				want = "active"
			}
			if e.State != want {
				t.Errorf("%s: %s, want %s", e.ID, e.State, want)
			}
		}
		for name, want := range map[string]string{
			"a.java": "java", "a.groovy": "groovy", "a.coffee": "coffeescript", "a.cs": "csharp", "a.ps1": "powershell", "a.html": "html", "a.spec.md": "scenetest-spec", "a.none": "plaintext",
		} {
			d, err := serviceOf[*documents.Service](t, w.host).Open(ctx(t), bench.File(written(t, work, name, "x")))
			if err != nil {
				t.Fatal(err)
			}
			same(t, d.Language(), want)
			d.Close()
		}
	})
}
