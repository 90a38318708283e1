//go:build linux

package integration

import (
	"archive/zip"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/extensions/manifest"
)

// vsixOf packs an unpacked extension, as publishers do, and returns the path.
func vsixOf(t testing.TB, dir string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "package.json"))
	if err != nil {
		t.Fatal(err)
	}
	m, problems := manifest.Parse(text, manifest.Source{}, nil)
	if m == nil {
		t.Fatal(problems)
	}
	file, err := os.Create(filepath.Join(t.TempDir(), "package.vsix"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	w := zip.NewWriter(file)
	outer, err := w.Create("extension.vsixmanifest")
	if err == nil {
		_, err = fmt.Fprintf(outer, `<PackageManifest><Metadata><Identity Id=%q Version=%q Publisher=%q/></Metadata></PackageManifest>`, m.Shortname, m.Version, m.Publisher)
	}
	if err == nil {
		err = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			name, _ := filepath.Rel(dir, path)
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			to, err := w.Create("extension/" + filepath.ToSlash(name))
			if err == nil {
				_, err = to.Write(content)
			}
			return err
		})
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return file.Name()
}

// verb runs a verb of the program against a daemon and returns its exit code and output.
func (d *daemon) verb(args ...string) (code int, out string) {
	d.t.Helper()
	cmd := exec.CommandContext(d.t.Context(), hostsupBinary(d.t), args...)
	cmd.Env = append(os.Environ(), "HOSTSUP_CONFIG="+d.dir+"/config.hcl")
	text, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		d.t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(text)
}

// Extensions that others have published are installed, replaced, rolled back and removed by the
// verbs of the program, while the real host of each release runs.
func TestExtensionsAreInstalledIntoARunningHost(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		command, err := json.Marshal(vscodeHost(t, version).Command)
		if err != nil {
			t.Fatal(err)
		}
		d := daemonOf(t, "")
		dir := filepath.Join(d.dir, "installed")
		d.write("config.hcl", fmt.Sprintf(`host "code" {
  command     = %s
  protocol    = "vscode"
  inherit_env = ["PATH"]
  env         = { MARK }
  start { eager = true }
  extensions {
    user    = [%q]
    storage = %q
  }
}
`, command, dir, d.dir+"/storage"))
		d.run()
		expect := func(code int, want string, args ...string) {
			t.Helper()
			if got, out := d.verb(args...); got != code || !strings.Contains(out, want) {
				t.Fatalf("hostsup %s: exit %d, %s; want %d, %q", strings.Join(args, " "), got, out, code, want)
			}
		}

		// The manifest, the package and the version that an extension answers with.
		src := t.TempDir()
		put(t, src, "words", "1.0.0", "")
		first := vsixOf(t, filepath.Join(src, "words"))
		put(t, src, "words", "1.1.0", "")
		second := vsixOf(t, filepath.Join(src, "words"))
		expect(0, "code: hostsup.words 1.0.0 was added", "extension", "install", first)
		expect(0, `"1.0.0"`, "call", "code", "words.run")
		pid := d.hosts()["code"].PID
		expect(0, "code: hostsup.words 1.0.0 has become 1.1.0", "extension", "install", second)
		expect(0, `"1.1.0"`, "call", "code", "words.run")
		expect(0, "code: hostsup.words 1.1.0 has become 1.0.0", "extension", "rollback", "hostsup.words")
		expect(0, `"1.0.0"`, "call", "code", "words.run")
		if now := d.hosts()["code"].PID; now == nil || pid == nil || *now == *pid {
			t.Errorf("an active extension was replaced in process %v, and %v runs", pid, now)
		}

		// Only one of the releases fits.
		text := strings.Replace(readText(t, filepath.Join(src, "words/package.json")), "^1.60.0", "^1.139.0", 1)
		text = strings.Replace(text, "1.1.0", "1.2.0", 1)
		written(t, filepath.Join(src, "words"), "package.json", text)
		if version == "1.100.3" {
			expect(1, "made for another editor version", "extension", "install", filepath.Join(src, "words"))
			expect(0, `"1.0.0"`, "call", "code", "words.run")
		} else {
			expect(0, "code: hostsup.words 1.0.0 has become 1.2.0", "extension", "install", filepath.Join(src, "words"))
		}

		// What ships with the editor and what is on npm.
		for _, dir := range []string{
			published(t, "code-server/lib/vscode/extensions/emmet"), published(t, "code-server/lib/vscode/extensions/references-view"),
			published(t, "code-server/lib/vscode/extensions/npm"), published(t, "code-server/lib/vscode/extensions/json-language-features"),
			published(t, "@theia/vscode-builtin-git"), published(t, "code-server/lib/vscode/extensions/git-base"),
		} {
			expect(0, "was added", "extension", "install", vsixOf(t, dir))
		}
		expect(0, "vscode.references-view: active", "activate", "onCommand:references-view.find")
		expect(0, "vscode.json-language-features: active", "activate", "onLanguage:json")
		eventually(t, func() bool { // emmet and git are activated by the startup, which they have missed
			list, err := d.client.Extensions(ctx(t), "code")
			active := 0
			for _, e := range list {
				if strings.EqualFold(e.ID, "vscode.emmet") || strings.HasSuffix(e.ID, "/vscode-builtin-git") {
					if e.State == "active" {
						active++
					}
				}
			}
			return err == nil && len(list) == 7 && active == 2
		}, "the extensions of the startup")
		expect(0, "code: vscode.emmet 1.0.0 was removed", "extension", "uninstall", "vscode.emmet")
		expect(1, "vscode.emmet", "extension", "enable", "vscode.emmet")
		if left, err := filepath.Glob(filepath.Join(dir, ".hostsup", "vscode.emmet*")); err != nil || len(left) > 0 {
			t.Errorf("left are %q, %v", left, err)
		}
		if code := d.end(os.Interrupt); code != 0 {
			t.Errorf("the supervisor ended with %d", code)
		}
	})
}

func readText(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
