package config

import (
	"os"
	"path/filepath"
	"testing"
)

// No text may make the reader panic, hang, or report a wrong diagnostic.
func FuzzParse(f *testing.F) {
	for _, pattern := range []string{"testdata/*/*.hcl", shipped} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			f.Fatalf("no files for %s: %v", pattern, err)
		}
		for _, file := range files {
			src, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(src)
		}
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		opts := testOptions()
		got, diags := Parse(src, "x.hcl", opts)
		if (got == nil) != diags.HasErrors() {
			t.Fatalf("a file: %v, errors: %v", got != nil, diags)
		}
		text := print(t, diags)
		if (text == "") != (len(diags) == 0) {
			t.Fatalf("%d diagnostics, printed %q", len(diags), text)
		}
		last := -1
		for _, d := range diags {
			if d.Subject != nil {
				if d.Subject.Start.Byte < last {
					t.Fatalf("out of order: %v", diags)
				}
				last = d.Subject.Start.Byte
			}
		}
		if got == nil {
			return
		}
		for _, g := range got.Spec.Groups {
			for _, h := range g.Hosts {
				if err := h.Validate(); err != nil {
					t.Fatalf("the reader takes what the library refuses: %v", err)
				}
			}
		}
	})
}
