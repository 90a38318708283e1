package settings

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/hostsup/hostsup/internal/sys"
	"github.com/hostsup/hostsup/workbench"
	"github.com/hostsup/hostsup/workbench/disk"
	"github.com/hostsup/hostsup/workbench/settings/model"
)

// file is a settings file and the last settings that were read from it. [Service.mu] guards it.
type file struct {
	path     string
	required bool           // that it is missing is a mistake
	folder   string         // of the workspace, to which links are confined; "": they are followed
	settings map[string]any // nil: none could be read yet
	broken   string         // what was reported
}

// open returns the folder of the file that is open for its changes, and its name there. If make is
// set, missing folders are made.
func (f *file) open(create bool) (*os.Root, string, error) {
	var name string
	dir := f.folder
	if dir == "" {
		path := f.path
		if real, err := filepath.EvalSymlinks(path); err == nil {
			path = real
		}
		dir, name = filepath.Split(path)
		if create {
			if err := os.MkdirAll(dir, 0o700); err != nil {
				return nil, "", err
			}
		}
	} else {
		var err error
		if name, err = filepath.Rel(dir, f.path); err != nil {
			return nil, "", err
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, "", err
	}
	if create && f.folder != "" {
		if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return nil, "", errors.Join(err, root.Close())
		}
	}
	return root, name, nil
}

// errDenied is within the error for a file of a folder that a confined host must not read.
var errDenied = errors.New("the sandbox of a host does not allow it to be read")

// openGuarded opens the file of a folder for hosts that are confined, all of which get what is in it:
// each must be allowed to read the file. Links that a host makes lead no further than itself.
func (f *file) openGuarded(guards []workbench.Guard) (in *os.File, err error) {
	for _, g := range guards {
		if err := workbench.Allowed(g, f.path, workbench.Read); err != nil {
			return nil, fmt.Errorf("%s: %w", f.path, errDenied)
		}
	}
	in, err = disk.FS{Guard: guards[0]}.Open(f.path)
	switch {
	case disk.Named(err, disk.NameNotFound):
		return nil, fmt.Errorf("%s: %w", f.path, fs.ErrNotExist)
	case disk.Named(err, workbench.NameNoPermissions):
		return nil, fmt.Errorf("%s: %w", f.path, errDenied)
	}
	return in, err
}

// openFile opens the file for reading; see openGuarded.
func (f *file) openFile(guards []workbench.Guard) (*os.File, error) {
	if f.folder != "" && len(guards) > 0 {
		return f.openGuarded(guards)
	}
	root, name, err := f.open(false)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }() // it has been read only
	in, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.path, err)
	}
	return in, nil
}

// read returns the text of the file, and its mode. A file that is missing has none. guards are those of
// all confined hosts that get the settings.
func (f *file) read(guards []workbench.Guard) (text []byte, mode fs.FileMode, err error) {
	in, err := f.openFile(guards)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = in.Close() }()
	info, err := in.Stat()
	switch {
	case err != nil:
		return nil, 0, err
	case !info.Mode().IsRegular():
		return nil, 0, fmt.Errorf("%s is not a file", f.path)
	}
	text, err = io.ReadAll(io.LimitReader(in, model.MaxFile+1))
	if err == nil && len(text) > model.MaxFile {
		err = fmt.Errorf("%s: more than %d bytes", f.path, model.MaxFile)
	}
	return text, info.Mode().Perm(), err
}

// parsed returns the settings of the file as they are now; those of a missing file are empty.
func (f *file) parsed(guards []workbench.Guard) (map[string]any, error) {
	text, _, err := f.read(guards)
	if errors.Is(err, fs.ErrNotExist) && !f.required {
		return map[string]any{}, nil
	}
	if err != nil {
		return nil, err
	}
	return model.Parse(f.path, text)
}

// writeFor is write for a host. guard is nil if it is not confined.
func (f *file) writeFor(guard workbench.Guard, text []byte, mode fs.FileMode) error {
	if f.folder != "" && guard != nil {
		return disk.FS{Guard: guard}.WriteFile(f.path, text)
	}
	return f.write(text, mode)
}

// write puts another text in the place of the file, in one step.
func (f *file) write(text []byte, mode fs.FileMode) (err error) {
	root, name, err := f.open(true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	owner := filepath.Dir(name)
	if _, err := root.Lstat(name); err == nil {
		owner = name
	}
	fresh := filepath.Join(filepath.Dir(name), "."+filepath.Base(name)+"."+rand.Text())
	out, err := root.OpenFile(fresh, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = out.Write(text)
	if info, e := root.Stat(owner); e == nil && os.Geteuid() == 0 {
		if uid, gid, _ := sys.OwnersOf(info); uid >= 0 {
			err = errors.Join(err, out.Chown(uid, gid))
		}
	}
	if err == nil {
		err = out.Sync()
	}
	if e := out.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = root.Rename(fresh, name)
	}
	if err != nil {
		return errors.Join(err, root.Remove(fresh))
	}
	return nil
}
