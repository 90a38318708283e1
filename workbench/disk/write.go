package disk

import (
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/hostsup/hostsup/workbench"
)

// temporary returns a name for what is not whole yet.
func temporary() string { return ".hostsup-" + rand.Text() + ".tmp" }

// WriteFile makes a file with a content, or replaces that of an existing one, whose mode and owner
// it keeps. Missing folders are made. A file with several names, or one in a folder that must not
// be written, is overwritten in place.
func (f FS) WriteFile(path string, data []byte) error {
	return failed("write", path, f.writeFile(path, data))
}

func (f FS) writeFile(path string, data []byte) error {
	p, err := f.at(path, workbench.Write, true)
	if err != nil {
		return err
	}
	defer p.close()
	file, info, err := f.file(p, os.O_WRONLY) // also tells whether the file itself may be written
	if errors.Is(err, fs.ErrNotExist) {
		if !f.admitsDir(p.dir, mayChange) {
			return workbench.NoPermissions(path)
		}
		return f.replace(p, data, nil)
	}
	if err != nil {
		return err
	}
	defer file.Close()
	if !linked(info) {
		if err = f.replace(p, data, info); err == nil || !errors.Is(err, fs.ErrPermission) {
			return err
		}
	}
	if err = file.Truncate(0); err == nil {
		_, err = file.Write(data)
	}
	return errors.Join(err, file.Close())
}

// replace writes a file beside its place and renames it. like is the file before, whose owner and mode
// the new one gets. It is nil if there was none: then the file belongs to the user of the host.
func (f FS) replace(p *place, data []byte, like fs.FileInfo) (err error) {
	flags, mode, name := os.O_WRONLY|os.O_CREATE|os.O_EXCL, fs.FileMode(0o666), temporary()
	if like != nil {
		mode = 0o600
	}
	file, err := p.dir.OpenFile(name, flags, mode)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = p.dir.Remove(name)
		}
	}()
	_, err = file.Write(data)
	if like != nil && err == nil {
		if err = give(file, like); err == nil {
			err = file.Chmod(like.Mode().Perm())
		}
	} else if err == nil {
		err = f.adoptFile(p.dir, file)
	}
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	return p.dir.Rename(name, p.name)
}

// Mkdir makes a folder with the folders above it. An existing folder is no error.
func (f FS) Mkdir(path string) error { return failed("make folder", path, f.mkdir(path)) }

func (f FS) mkdir(path string) error {
	real, err := f.check(path, workbench.Write)
	if err != nil {
		return err
	}
	if info, err := os.Lstat(real); err == nil && !info.IsDir() {
		return Fail(NameExists, "cannot make folder %s: a file has this name", path)
	}
	dir, err := f.open(real, true, false)
	if err != nil {
		return err
	}
	return dir.Close()
}

// Remove removes a file, a link, or a folder; one that is not empty only if recursive is set.
func (f FS) Remove(path string, recursive bool) error {
	return failed("remove", path, f.remove(path, recursive))
}

func (f FS) remove(path string, recursive bool) error {
	p, err := f.at(path, workbench.Replace, false)
	if err != nil {
		return err
	}
	defer p.close()
	info, err := p.lstat()
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return p.dir.Remove(p.name)
	}
	if recursive {
		if err := f.mayEmpty(p.path); err != nil {
			return err
		}
		if f.Guard == nil {
			return p.dir.RemoveAll(p.name)
		}
		return f.removeTree(p.dir, p.name, p.path, maxDepth)
	}
	err = p.dir.Remove(p.name)
	if list, _ := os.ReadDir(p.path); err != nil && len(list) > 0 {
		return Fail(NameUnknown, "cannot remove %s: the folder is not empty, and recursive is not set", path)
	}
	return err
}

// mayEmpty checks the folders below one that is to be removed.
func (f FS) mayEmpty(path string) error {
	if f.Guard == nil {
		return nil
	}
	return filepath.WalkDir(path, func(at string, e fs.DirEntry, err error) error {
		if err == nil && at != path {
			_, err = f.check(at, workbench.Replace)
		}
		return err
	})
}

// removeTree removes an entry of a folder for a confined host, with all that is below it. Folders are
// entered without following links and checked when they are open, because the host can put another
// one in their place.
func (f FS) removeTree(dir *os.Root, name, path string, depth int) error {
	if _, err := f.check(path, workbench.Replace); err != nil {
		return err
	}
	info, err := dir.Lstat(name)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return dir.Remove(name)
	}
	if depth == 0 {
		return Fail(NameUnknown, "%s: more than %d folders within each other", path, maxDepth)
	}
	next, err := f.enter(dir, name, making{})
	if err != nil {
		return err
	}
	defer next.Close()
	if !f.admitsDir(next, mayList|mayChange) {
		return workbench.NoPermissions(path)
	}
	list, err := fs.ReadDir(next.FS(), ".")
	if err != nil {
		return err
	}
	for _, e := range list {
		if err := f.removeTree(next, e.Name(), filepath.Join(path, e.Name()), depth-1); err != nil {
			return err
		}
	}
	return dir.Remove(name)
}

// copyFile copies a regular file to a new one.
func (f FS) copyFile(from, to *place) (err error) {
	in, info, err := f.file(from, os.O_RDONLY)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := to.dir.OpenFile(to.name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if err = f.adoptFile(to.dir, out); err == nil {
		_, err = io.Copy(out, in)
	}
	return errors.Join(err, out.Chmod(info.Mode().Perm()), out.Close())
}
