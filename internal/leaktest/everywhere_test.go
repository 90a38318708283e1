package leaktest

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestEveryPackageLooksForLeaks fails for a folder with tests whose TestMain does
// not call this package.
func TestEveryPackageLooksForLeaks(t *testing.T) {
	root := filepath.Join("..", "..")
	checked := map[string]bool{} // folders with tests, and whether they are checked
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := e.Name(); e.IsDir() && path != root && (strings.HasPrefix(name, ".") || name == "testdata" || name == "leaktest" || name == "node_modules") {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		dir := filepath.Dir(path)
		checked[dir] = checked[dir] || strings.Contains(string(text), "leaktest.Main(") || strings.Contains(string(text), "leaktest.Run(")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(checked) < 40 {
		t.Errorf("only %d folders with tests were found", len(checked))
	}
	for dir, is := range checked {
		if !is {
			t.Errorf("%s: the tests are not checked for leaks; add a TestMain that calls leaktest.Main", strings.TrimPrefix(dir, root+"/"))
		}
	}
}
