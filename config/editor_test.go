package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/extensions/vscode"
)

// The settings of an editor must reach its host.
func TestEditor(t *testing.T) {
	t.Parallel()
	src, err := os.ReadFile("testdata/good/extensions.hcl")
	if err != nil {
		t.Fatal(err)
	}
	f, diags := Parse(src, "extensions.hcl", testOptions())
	if diags.HasErrors() {
		t.Fatal(print(t, diags))
	}
	var got []string
	for _, g := range f.Spec.Groups {
		p, ok := g.Hosts[0].Protocol.(*vscode.Protocol)
		if !ok {
			t.Fatal(g.Name)
		}
		o := p.Options()
		text := fmt.Sprint(o.Root, " ", o.State, " ", o.Name, " ", o.Reconnect, " ", o.Grace, " ", o.SettingsFile, " ", o.Settings, " ", o.Accounts, " ", o.Questions)
		if o.Workspace != nil {
			text += fmt.Sprintf(" %+v", *o.Workspace)
		}
		got = append(got, text)
	}
	want := "/opt/code /var/lib/code code true 1h0m0s /etc/hostsup/missing.json map[[go]:map[editor.tabSize:8] hello.greeting:hi] map[github:[acme.pulls]] {[{Install * now? golang.go Yes false} {name   false} {*   true}] true 1m0s}" +
		" {Name: Folders:[/srv/projects] Untrusted:true}\n" +
		"/opt/code  early false 3h0m0s  map[] map[] {[] false 5m0s}"
	if text := strings.Join(got, "\n"); text != want {
		t.Errorf("got:\n%s", text)
	}
}

func TestEditorConfined(t *testing.T) {
	t.Parallel()
	src, err := os.ReadFile("testdata/good/vscode_confined.hcl")
	if err != nil {
		t.Fatal(err)
	}
	f, diags := Parse(src, "vscode_confined.hcl", testOptions())
	if diags.HasErrors() {
		t.Fatal(print(t, diags))
	}
	if p, ok := f.Spec.Groups[0].Hosts[0].Protocol.(*vscode.Protocol); !ok || !p.Inherits() {
		t.Error("it is not handed its sockets")
	}
}

// A settings file must be checked when the file that names it is read.
func TestSettingsFile(t *testing.T) {
	t.Parallel()
	opts := testOptions()
	opts.Dir, opts.Stat = t.TempDir(), os.Stat
	for text, want := range map[string]string{"{} // fine\n": "", "{\n\"a\":\n}": "settings.json:3: invalid character"} {
		if err := os.WriteFile(filepath.Join(opts.Dir, "settings.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, diags := Parse([]byte(`host "code" {
			command  = ["sh", "/opt/code/out/bootstrap-fork.js", "--type=extensionHost"]
			protocol = "vscode"
			extensions {
				user          = ["/"]
				settings_file = "settings.json"
			}
		}`), "hostsup.hcl", opts)
		switch got := print(t, diags); {
		case diags.HasErrors(), want == "" && len(diags) > 0, !strings.Contains(got, want):
			t.Errorf("%q: %s", text, got)
		}
	}
}
