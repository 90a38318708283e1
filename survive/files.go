package survive

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/hostspec"
	"github.com/hostsup/hostsup/sandbox"
	"github.com/hostsup/hostsup/sandbox/policy"
)

const (
	folder   = "survive"   // in the state folder; a folder for each host
	pastFile = "past.json" // in that folder
	suffix   = ".json"     // of the file of a life
)

// Files are the files of a state folder. Their errors are those of package os.
type Files interface {
	ReadFile(path string) ([]byte, error)
	// ReadFolder returns the names of what is in a folder, in order.
	ReadFolder(path string) ([]string, error)
	// WriteFile writes a file that only its user may read. A reader may see a part of it.
	WriteFile(path string, b []byte) error
	// Rename has a file take the place of another one. A reader sees one or the other.
	Rename(from, to string) error
	// MakeFolder makes a folder, with those that it is in.
	MakeFolder(path string) error
	// RemoveFile removes a file, or a folder that is empty.
	RemoveFile(path string) error
}

// disk is the Files of this machine.
type disk struct{}

func (disk) ReadFile(path string) ([]byte, error)  { return os.ReadFile(path) }
func (disk) WriteFile(path string, b []byte) error { return os.WriteFile(path, b, 0o600) }
func (disk) Rename(from, to string) error          { return os.Rename(from, to) }
func (disk) MakeFolder(path string) error          { return os.MkdirAll(path, 0o700) }
func (disk) RemoveFile(path string) error          { return os.Remove(path) }

func (disk) ReadFolder(path string) ([]string, error) {
	entries, err := os.ReadDir(path)
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names, err
}

// life is what is kept of a life besides the record of its shim.
type life struct {
	Version int       `json:"version"`
	Life    uint64    `json:"life"`
	Digest  string    `json:"digest"` // of the configuration, see digest
	Started time.Time `json:"started"`

	// Signal and Grace are how the process is asked to end if its host is not configured any more.
	Signal syscall.Signal `json:"signal"`
	Grace  time.Duration  `json:"grace"`

	// Epoch counts the supervisors that have taken the life back.
	Epoch uint32 `json:"epoch"`
	// Open tells that the handshake is done; Opening are the messages of the host in it.
	Open    bool            `json:"open"`
	Opening []codec.Message `json:"opening,omitempty"`

	// Cgroups are those that the process was born in, which are in the file before they are made; nil without any.
	// Limits are those that they, and the kernel for each process, enforce.
	Cgroups *sandbox.LastingCgroups `json:"cgroups,omitempty"`
	Limits  policy.Limits           `json:"limits,omitzero"`

	on   Files
	path string // of this file; the folder of the shim is beside it
}

// shim returns the folder of the shim.
func (l *life) shim() string { return strings.TrimSuffix(l.path, suffix) }

// save writes the file.
func (l *life) save() error { return writeJSON(l.on, l.path, l) }

// hostDir returns the folder of a host in a state folder.
func hostDir(stateDir, host string) string { return filepath.Join(stateDir, folder, host) }

// Errors of check.
var (
	errChanged = errors.New("the host is configured otherwise now")
	errNotOpen = errors.New("it was starting when the supervisor ended")
)

// check returns why the life cannot go on with a configuration.
func (l *life) check(spec *hostspec.Spec) error {
	want, err := digest(*spec)
	if err != nil {
		return err
	}
	if _, err := Fit(spec); err != nil {
		return err
	}
	switch {
	case l.Digest != want:
		return errChanged
	case spec.Protocol != nil && !l.Open:
		return errNotOpen
	}
	return nil
}

// digest returns a checksum of all settings of a host whose change restarts it.
func digest(s hostspec.Spec) (string, error) {
	protocol := ""
	if s.Protocol != nil {
		protocol = s.Protocol.Name()
	}
	b, err := json.Marshal([]any{protocol, s.TransportInForce(), s.Command, s.Dir, s.Env, s.InheritEnv, s.Init, s.Limits})
	if err != nil {
		return "", fmt.Errorf("%w: init: %w", ErrUnfit, err)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:]), nil
}

// lives returns the lives with a file or a folder in the folder of a host, the latest one first.
// One without a file that can be read has only its number.
func lives(on Files, dir string) []*life {
	names, err := on.ReadFolder(dir)
	if err != nil {
		return nil // without a folder no life is left
	}
	var out []*life
	for _, name := range names {
		number, err := strconv.ParseUint(strings.TrimSuffix(name, suffix), 10, 64)
		if err != nil || slices.ContainsFunc(out, func(l *life) bool { return l.Life == number }) {
			continue
		}
		l := &life{on: on, path: filepath.Join(dir, strconv.FormatUint(number, 10)+suffix)}
		if err := readJSON(on, l.path, l); err != nil || !readable(l.Version) || l.Life != number {
			*l = life{Life: number, on: on, path: l.path}
		}
		out = append(out, l)
	}
	slices.SortFunc(out, func(a, b *life) int { return cmp.Compare(b.Life, a.Life) })
	return out
}

// past is the file of what is remembered of the crashes of a host.
type past struct {
	Version int `json:"version"`
	lifecycle.Past
}

func readPast(on Files, dir string) (p lifecycle.Past, err error) {
	var f past
	err = readJSON(on, filepath.Join(dir, pastFile), &f)
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	if err == nil && !readable(f.Version) {
		err = fmt.Errorf("%s has version %d, expected 1 to %d", pastFile, f.Version, version)
	}
	if err != nil {
		return p, err
	}
	return f.Past, nil
}

func writePast(on Files, dir string, p lifecycle.Past) error {
	return writeJSON(on, filepath.Join(dir, pastFile), past{version, p})
}

// forget removes what is remembered of the crashes of a host.
func forget(on Files, dir string) { _ = on.RemoveFile(filepath.Join(dir, pastFile)) }

func readJSON(on Files, path string, v any) error {
	b, err := on.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// writeJSON writes a file as a whole: a reader sees all of it, or what was there before.
func writeJSON(on Files, path string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if err := on.MakeFolder(filepath.Dir(path)); err != nil {
		return err
	}
	if err := on.WriteFile(path+".next", b); err != nil {
		return err
	}
	return on.Rename(path+".next", path)
}
