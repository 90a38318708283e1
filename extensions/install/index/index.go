// Package index reads and writes the list of the extensions that are installed in a
// folder, with their versions and the one of each that is in use.
//
// The list is the file .hostsup/index.json of the folder; the versions are folders beside
// it. A version is in use if the list says so, so that replacing this one file is all that
// makes an installation, a rollback or a removal happen. All functions are safe for
// concurrent use; [Write] must be called by one process at a time, which is for the caller
// to ensure.
package index

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Names below a folder of extensions.
const (
	Folder = ".hostsup"   // has the list and the versions
	File   = "index.json" // in Folder
)

const (
	format  = 1
	maxSize = 16 << 20 // bytes of the file
)

// ErrInvalid means that the file is not a list of this package: its JSON is broken, it is
// larger than 16 MiB, or it was written by a newer version of hostsup.
var ErrInvalid = errors.New("not a list of installed extensions")

// Index is the list. The zero value is an empty one.
type Index struct {
	Format     int         `json:"format"`
	Extensions []Extension `json:"extensions"` // by their ids in lower case, ascending
}

// Extension is one extension with its versions.
type Extension struct {
	ID       string    `json:"id"`       // as its package.json writes it
	Use      string    `json:"use"`      // folder of the version in use
	Versions []Version `json:"versions"` // in the order in which they were last made the one in use
}

// Version is one unpacked version of an extension.
type Version struct {
	Version   string    `json:"version"`
	Folder    string    `json:"folder"` // a name in Folder
	Digest    string    `json:"digest"` // "sha256:…" of the package
	Target    string    `json:"target"` // platform of the package, "" for all
	Engine    string    `json:"engine"` // engines.vscode
	Source    string    `json:"source"` // where the package came from, for people
	Installed time.Time `json:"installed"`
}

// Find returns the extension with an id, which is compared without case; nil if there is
// none. It points into x.
func (x *Index) Find(id string) *Extension {
	for i := range x.Extensions {
		if strings.EqualFold(x.Extensions[i].ID, id) {
			return &x.Extensions[i]
		}
	}
	return nil
}

// At returns the position of the version with a folder; -1 if no version has it.
func (e *Extension) At(folder string) int {
	return slices.IndexFunc(e.Versions, func(v Version) bool { return v.Folder == folder })
}

// InUse returns the version in use.
func (e *Extension) InUse() Version { return e.Versions[e.At(e.Use)] }

// InUse returns the folders of the versions in use, as names in Folder.
func (x *Index) InUse() []string {
	out := make([]string, len(x.Extensions))
	for i, e := range x.Extensions {
		out[i] = e.Use
	}
	return out
}

// Folders returns the folders of all versions, as names in Folder.
func (x *Index) Folders() map[string]bool {
	out := map[string]bool{}
	for _, e := range x.Extensions {
		for _, v := range e.Versions {
			out[v.Folder] = true
		}
	}
	return out
}

// Path returns the path of the list of a folder of extensions.
func Path(dir string) string { return filepath.Join(dir, Folder, File) }

// Read returns the list of a folder of extensions, an empty one if nothing was installed
// there. Errors wrap [ErrInvalid] or come from reading the file.
func Read(dir string) (*Index, error) {
	// Without O_NONBLOCK, opening a pipe would wait for a writer.
	file, err := os.OpenFile(Path(dir), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return &Index{Format: format}, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, fmt.Errorf("%w: %s: a regular file expected", ErrInvalid, file.Name()))
	}
	data, err := io.ReadAll(io.LimitReader(file, maxSize+1))
	if err != nil {
		return nil, err
	}
	x, err := parse(data)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrInvalid, file.Name(), err)
	}
	return x, nil
}

func parse(data []byte) (*Index, error) {
	if len(data) > maxSize {
		return nil, fmt.Errorf("at most %d MiB expected", maxSize>>20)
	}
	var x Index
	if err := json.Unmarshal(data, &x); err != nil {
		return nil, err
	}
	if x.Format != format {
		return nil, fmt.Errorf("format %d expected, found %d", format, x.Format)
	}
	for i := range x.Extensions {
		e := &x.Extensions[i]
		if e.At(e.Use) < 0 {
			return nil, fmt.Errorf("%q: no version has the folder in use, %q", e.ID, e.Use)
		}
		for _, v := range e.Versions {
			if v.Folder == "" || v.Folder[0] == '.' || strings.ContainsAny(v.Folder, `/\`) {
				return nil, fmt.Errorf("%q: %q is not the name of a folder", e.ID, v.Folder)
			}
		}
	}
	return &x, nil
}

// Write replaces the list in a folder; root is Folder itself. Afterwards a crash of the
// machine does not bring the list before back. A process that is killed leaves the old or
// the new list, and perhaps a file with a name that begins with "tmp-".
func Write(root *os.Root, x *Index) (err error) {
	slices.SortFunc(x.Extensions, func(a, b Extension) int {
		return strings.Compare(strings.ToLower(a.ID), strings.ToLower(b.ID))
	})
	x.Format = format
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(x); err != nil {
		return err
	}
	if text.Len() > maxSize {
		return fmt.Errorf("%w: it would exceed %d MiB", ErrInvalid, maxSize>>20)
	}
	const name = "tmp-" + File // one process writes
	file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = root.Remove(name)
		}
	}()
	_, err = file.Write(text.Bytes())
	// Hosts may run as other users, whatever the umask is.
	if err = errors.Join(err, file.Chmod(0o644), file.Sync(), file.Close()); err != nil {
		return err
	}
	if err = root.Rename(name, File); err != nil {
		return err
	}
	return Sync(root, ".")
}

// Sync writes a file or folder to the disk, with the names that a folder has. On Windows the
// names of a folder are left to the journal of the file system, and a file must be open for
// writing.
func Sync(root *os.Root, name string) error {
	flag := os.O_RDONLY
	if runtime.GOOS == "windows" {
		if info, err := root.Stat(name); err != nil || info.IsDir() {
			return err
		}
		flag = os.O_RDWR
	}
	f, err := root.OpenFile(name, flag, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
