package require

import (
	"os"
	"path/filepath"
	"testing"
)

// Codex returns the absolute path of the real Codex, with links resolved: the path in
// the variable HOSTSUP_CODEX, or the one that ./test peers installed. Without either
// the test ends as with Missing.
func Codex(t testing.TB) string {
	t.Helper()
	path := os.Getenv("HOSTSUP_CODEX")
	for dir := "."; path == ""; dir = filepath.Join(dir, "..") {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			found, _ := filepath.Glob(filepath.Join(dir, ".cache/peers/node_modules/@openai/codex-linux-*/vendor/*/bin/codex")) // the pattern is valid
			if len(found) == 0 {
				Missing(t, "codex; ./test peers installs it, and HOSTSUP_CODEX names another one")
			}
			path = found[0]
		} else if abs, err := filepath.Abs(dir); err != nil || abs == filepath.Dir(abs) {
			t.Fatalf("no go.mod above the folder of the test: %v", err)
		}
	}
	path, err := filepath.Abs(path)
	if err == nil {
		path, err = filepath.EvalSymlinks(path) // the program uses the resolved path for its own folder
	}
	if err != nil {
		t.Fatalf("codex: %v", err)
	}
	return path
}
