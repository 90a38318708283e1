package survive

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/hostsup/hostsup/internal/shim"
)

// version is that of the files of this package. A version reads those of all versions before it; docs/operations.md
// tells of which releases.
const version = 1

// readable reports whether a file of a version can be read.
func readable(v int) bool { return v >= 1 && v <= version }

// ErrVersion means that a newer version of hostsup has written a file of the state folder, and that this
// version does not know what it means. The message names the file and both versions.
var ErrVersion = errors.New("the state folder is of a newer version of hostsup")

// Check returns an error that wraps [ErrVersion] if the files of hosts that survive, in a state folder, are of a
// newer version than this one reads. It changes nothing, and takes no lock. A folder without such files is in
// order. So is one with a file that cannot be read: its host is started anew.
func Check(stateDir string) error {
	files, err := filepath.Glob(filepath.Join(globbed(stateDir), folder, "*", "*"+suffix))
	if err != nil {
		return err
	}
	for _, f := range files {
		if err := checkFile(f, version); err != nil {
			return err
		}
	}
	records, err := filepath.Glob(filepath.Join(globbed(stateDir), folder, "*", "*", shim.RecordFile))
	if err != nil {
		return err
	}
	for _, f := range records {
		if err := checkFile(f, shim.RecordVersion); err != nil {
			return err
		}
	}
	return nil
}

// checkFile returns an error if the version in a file is above the one that is known.
func checkFile(path string, known int) error {
	var f struct {
		Version int `json:"version"`
	}
	b, err := os.ReadFile(path)
	if err != nil || json.Unmarshal(b, &f) != nil || f.Version <= known {
		return nil //nolint:nilerr // its host is started anew, which tells why
	}
	return fmt.Errorf("%w: %s has version %d, expected up to %d: run that version, or another state_dir", ErrVersion, path, f.Version, known)
}

// globbed returns a path as a pattern that matches only itself.
func globbed(path string) string {
	var out []byte
	for i := range len(path) {
		switch path[i] {
		case '*', '?', '[', '\\':
			out = append(out, '\\')
		}
		out = append(out, path[i])
	}
	return string(out)
}
