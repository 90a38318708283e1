package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// maxSeed bounds a committed seed: a corpus is only a start, and every run of the
// tests reads it.
const maxSeed = 64 << 10

// TestFuzzTargetsHaveCorpora holds that each fuzz target of the tree has a
// committed corpus that is not empty, and each corpus a target. The targets are
// those of the sources, so that a new one without a corpus fails here.
func TestFuzzTargetsHaveCorpora(t *testing.T) {
	targets := map[string]bool{} // folder of the corpus → it exists
	corpora := map[string]bool{}
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() != "../.." && strings.HasPrefix(d.Name(), ".") && len(d.Name()) > 2:
			return filepath.SkipDir
		case d.IsDir() && filepath.Base(filepath.Dir(path)) == "fuzz" && filepath.Base(filepath.Dir(filepath.Dir(path))) == "testdata":
			corpora[path] = true
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		for _, name := range fuzzTargets(t, path) {
			targets[filepath.Join(filepath.Dir(path), "testdata", "fuzz", name)] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(targets) < 50 {
		t.Errorf("only %d targets are found", len(targets))
	}
	for dir := range targets {
		seeds, err := os.ReadDir(dir)
		if err != nil || len(seeds) == 0 {
			t.Errorf("%s: no corpus: %v", dir, err)
		}
		for _, seed := range seeds {
			text, err := os.ReadFile(filepath.Join(dir, seed.Name()))
			if err != nil || !strings.HasPrefix(string(text), "go test fuzz v1\n") || len(text) > maxSeed {
				t.Errorf("%s: %d bytes, not a seed of at most %d: %v", filepath.Join(dir, seed.Name()), len(text), maxSeed, err)
			}
		}
	}
	for dir := range corpora {
		if !targets[dir] {
			t.Errorf("%s: no target has this corpus", dir)
		}
	}
}

// fuzzTargets returns the names of the fuzz targets in a file.
func fuzzTargets(t *testing.T, path string) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Recv != nil || !strings.HasPrefix(f.Name.Name, "Fuzz") || len(f.Type.Params.List) != 1 {
			continue
		}
		if p, ok := f.Type.Params.List[0].Type.(*ast.StarExpr); ok {
			if s, ok := p.X.(*ast.SelectorExpr); ok && s.Sel.Name == "F" {
				out = append(out, f.Name.Name)
			}
		}
	}
	return out
}
