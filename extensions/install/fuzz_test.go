package install_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/hostsup/hostsup/extensions/install"
)

// FuzzPackage opens and installs any bytes. A package is refused or unpacked whole, and nothing
// is written outside of the folder.
func FuzzPackage(f *testing.F) {
	f.Add(archive(f, whole("1.0.0", file{name: "extension/bin/tool", text: "x", mode: 0o755})...))
	f.Add(archive(f, whole("1.0.0", file{name: "extension/../../x", text: "x"})...))
	f.Add(archive(f, whole("1.0.0", file{name: "extension/l", text: "/etc", mode: os.ModeSymlink})...))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<16 {
			return
		}
		outside := t.TempDir()
		path := filepath.Join(outside, "p.vsix")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		limits := install.Limits{Size: 1 << 20, Entries: 100}
		p, err := install.Open(t.Context(), path, limits)
		if err != nil {
			for _, known := range []error{install.ErrPackage, install.ErrEntry, install.ErrLimit, install.ErrManifest} {
				if errors.Is(err, known) {
					return
				}
			}
			t.Fatalf("an unknown error: %v", err)
		}
		defer p.Close()
		in := &install.Installer{Dir: filepath.Join(outside, "extensions"), Target: p.Target}
		r, err := in.Install(t.Context(), p)
		if err == nil {
			text, err := os.ReadFile(filepath.Join(r.Folder, "package.json"))
			if err != nil || !bytes.Contains(text, []byte("name")) {
				t.Errorf("installed %+v with the manifest %q, %v", r, text, err)
			}
		}
		entries, err := os.ReadDir(outside)
		if err != nil || len(entries) > 2 {
			t.Errorf("beside the package and the folder are %v, %v", entries, err)
		}
	})
}

// FuzzNameRule holds that a good name stays below a folder on this system.
func FuzzNameRule(f *testing.F) {
	for _, name := range []string{"a/b.js", "../x", "/x", `a\b`, "con", "a//b", "ﾊ/ü", "x."} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if install.NameRule(name) == "" && (!filepath.IsLocal(name) || filepath.Clean(name) != filepath.FromSlash(name)) {
			t.Errorf("%q is good", name)
		}
	})
}
