package require

import (
	"os"
	"path/filepath"
	"testing"
)

// Codex returns the absolute path of the real Codex, without links: what the
// variable HOSTSUP_CODEX names, or what ./test peers has installed. The test ends
// as with Missing when there is neither.
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
			t.Fatalf("there is no go.mod above the folder of the test: %v", err)
		}
	}
	path, err := filepath.Abs(path)
	if err == nil {
		path, err = filepath.EvalSymlinks(path) // the program names its own folder so
	}
	if err != nil {
		t.Fatalf("codex: %v", err)
	}
	return path
}
