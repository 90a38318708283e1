package install_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/extensions/install"
)

// file is an entry of a .vsix for tests.
type file struct {
	name, text string
	mode       fs.FileMode
	alter      func(*zip.FileHeader)
}

// archive returns an archive with these entries.
func archive(t testing.TB, files ...file) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, f := range files {
		h := &zip.FileHeader{Name: f.name, Method: zip.Deflate}
		if f.mode != 0 {
			h.SetMode(f.mode)
		}
		if f.alter != nil {
			f.alter(h)
		}
		to, err := w.CreateHeader(h)
		if err == nil && f.text != "" {
			_, err = to.Write([]byte(f.text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// packageJSON returns a manifest of acme.words.
func packageJSON(version string) string {
	return fmt.Sprintf(`{"name": "words", "publisher": "acme", "version": %q, "engines": {"vscode": "^1.90.0"}, "main": "./main.js"}`, version)
}

// outer returns the other manifest; more are attributes of its Identity.
func outer(version, more string) string {
	return fmt.Sprintf(`<?xml version="1.0" encoding="utf-8"?>
<PackageManifest Version="2.0.0" xmlns="http://schemas.microsoft.com/developer/vsx-schema/2011">
  <Metadata><Identity Language="en-US" Id="words" Version=%q Publisher="Acme" %s/></Metadata>
</PackageManifest>`, version, more)
}

// whole returns the entries of a good package, then more.
func whole(version string, more ...file) []file {
	return append([]file{
		{name: "extension.vsixmanifest", text: outer(version, "")},
		{name: "[Content_Types].xml", text: "<Types/>"},
		{name: "extension/package.json", text: packageJSON(version)},
		{name: "extension/main.js", text: "exports.version = " + version},
	}, more...)
}

// write writes a file and returns its path.
func write(t testing.TB, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "package.vsix")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// open opens a package that is good, for the length of the test.
func open(t testing.TB, path string) *install.Package {
	t.Helper()
	p, err := install.Open(t.Context(), path, install.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// vsix opens a good package of a version.
func vsix(t testing.TB, version string, more ...file) *install.Package {
	t.Helper()
	return open(t, write(t, archive(t, whole(version, more...)...)))
}

// put writes files below a folder.
func put(t testing.TB, dir string, files ...file) {
	t.Helper()
	for _, f := range files {
		path := filepath.Join(dir, f.name)
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		if err == nil {
			err = os.WriteFile(path, []byte(f.text), max(f.mode, 0o644))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// tree returns the files below a folder, a line each with mode, path and content.
func tree(t testing.TB, dir string) string {
	t.Helper()
	var out strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		fmt.Fprintf(&out, "%v %s", info.Mode(), name)
		if !d.IsDir() {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			fmt.Fprintf(&out, " %s", text)
		}
		out.WriteByte('\n')
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}
