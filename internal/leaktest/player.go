package leaktest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// WithoutRace returns the path of the test program that runs, whose package is in the working
// folder, built once more without the race detector, with which a start costs several times as
// much. Without the detector it is the program itself. remove removes what was built, and is
// never nil.
func WithoutRace() (path string, remove func(), err error) {
	remove = func() {}
	if path, err = os.Executable(); err != nil || !Race {
		return path, remove, err
	}
	dir, err := os.MkdirTemp("", "player-")
	if err != nil {
		return "", remove, err
	}
	remove = func() { _ = os.RemoveAll(dir) }
	path = filepath.Join(dir, filepath.Base(path))
	cmd := exec.Command("go", "test", "-c", "-race=false", "-vet=off", "-ldflags=-w", "-o", path, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", remove, fmt.Errorf("%w: %s", err, out)
	}
	return path, remove, os.Chmod(dir, 0o755) // other users start it, too
}
