package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/hostsup/hostsup/internal/sys"
	"github.com/hostsup/hostsup/workbench"
)

// FS reads and changes files on behalf of one host. The zero value is not confined.
type FS struct {
	// Guard says which files may be used; nil: all.
	Guard workbench.Guard
}

// maxLinks is how many links one path may pass, as in the kernel.
const maxLinks = 40

var errChanged = errors.New("it was changed meanwhile")

// check returns where a path leads; see [workbench.Use].
func (f FS) check(path string, use workbench.Use) (string, error) {
	if !filepath.IsAbs(path) {
		return "", Fail(NameUnknown, "%s: an absolute path expected", path)
	}
	path = filepath.Clean(path)
	if f.Guard != nil {
		return f.Guard.Check(path, use)
	}
	return follow(path, use)
}

// follow returns where a path leads on this machine.
func follow(path string, use workbench.Use) (string, error) {
	if use == workbench.Take || use == workbench.Replace {
		dir := filepath.Dir(path)
		real, err := filepath.EvalSymlinks(dir)
		if err != nil {
			real = dir // what is done with it fails in the same way
		}
		return filepath.Join(real, filepath.Base(path)), nil
	}
	for range maxLinks { // of links to nothing, each
		if real, err := filepath.EvalSymlinks(path); err == nil {
			return real, nil
		}
		text, err := os.Readlink(path)
		if err != nil { // no link, or nothing is there
			return path, nil //nolint:nilerr // what is done with it fails in the same way
		}
		if !filepath.IsAbs(text) {
			text = filepath.Join(filepath.Dir(path), text)
		}
		path = text
	}
	return path, nil // what is done with it fails if there are too many links
}

// place is an entry of a folder that is open.
type place struct {
	dir  *os.Root
	name string
	path string // of the entry, without links
}

func (p *place) close() { _ = p.dir.Close() }

func (p *place) lstat() (fs.FileInfo, error) { return p.dir.Lstat(p.name) }

// at checks a path and opens its folder. With make, missing folders are made.
func (f FS) at(path string, use workbench.Use, make bool) (*place, error) {
	real, err := f.check(path, use)
	if err != nil {
		return nil, err
	}
	if filepath.Dir(real) == real {
		return nil, Fail(workbench.NameNoPermissions, "%s is the root folder", path)
	}
	dir, err := f.open(filepath.Dir(real), make, true)
	if err != nil {
		return nil, err
	}
	if use == workbench.Replace && !f.admitsDir(dir, mayChange) {
		return nil, errors.Join(workbench.NoPermissions(path), dir.Close())
	}
	return &place{dir, filepath.Base(real), real}, nil
}

// open opens a folder, whose path has no links. With make, missing folders are made; with filled, also the
// last one is to have entries.
func (f FS) open(path string, make, filled bool) (*os.Root, error) {
	if f.Guard == nil {
		dir, err := os.OpenRoot(path)
		if make && errors.Is(err, fs.ErrNotExist) {
			if err = os.MkdirAll(path, 0o777); err == nil {
				return os.OpenRoot(path)
			}
		}
		if info, look := os.Stat(path); err != nil && look == nil && !info.IsDir() {
			err = syscall.ENOTDIR // of OpenRoot it has no number
		}
		return dir, err
	}
	top := filepath.VolumeName(path) + string(filepath.Separator)
	dir, err := os.OpenRoot(top)
	if err != nil {
		return nil, err
	}
	parts := strings.Split(strings.TrimPrefix(path, top), string(filepath.Separator))
	for i, part := range parts {
		if part == "" {
			continue
		}
		next, err := f.enter(dir, part, making{make && f.admitsDir(dir, mayChange), filled || i < len(parts)-1})
		_ = dir.Close()
		if err == nil && !f.admitsDir(next, maySearch) {
			err = errors.Join(workbench.NoPermissions(path), next.Close())
		}
		if err != nil {
			return nil, err
		}
		dir = next
	}
	return dir, nil
}

// What a user may do with a file, by the bits of its mode.
const (
	mayRead   fs.FileMode = 4
	mayWrite  fs.FileMode = 2
	maySearch fs.FileMode = 1
	mayList               = mayRead | maySearch
	mayChange             = mayWrite | maySearch
)

// inspector is a guard that knows what the user of the host may do with a file that is open. The host
// can have put another file of its folders, which it must not read, at a path that was checked.
type inspector interface {
	admits(info fs.FileInfo, mode fs.FileMode) bool
}

// admits reports whether owner and mode of a file that is open allow the user of the host a use.
func (f FS) admits(info fs.FileInfo, mode fs.FileMode) bool {
	g, ok := f.Guard.(inspector)
	return !ok || g.admits(info, mode)
}

func (f FS) admitsDir(dir *os.Root, mode fs.FileMode) bool {
	if f.Guard == nil {
		return true
	}
	info, err := dir.Stat(".")
	return err == nil && f.admits(info, mode)
}

// file is place.file for a host, which must be allowed to use the file so.
func (f FS) file(p *place, flag int) (*os.File, fs.FileInfo, error) {
	file, info, err := p.file(flag)
	if err != nil {
		return nil, nil, err
	}
	mode := mayRead
	if flag == os.O_WRONLY {
		mode = mayWrite
	}
	if !f.admits(info, mode) {
		return nil, nil, errors.Join(workbench.NoPermissions(p.path), file.Close())
	}
	return file, info, nil
}

// making is what happens to a folder that is missing.
type making struct {
	made   bool
	filled bool // it is to have entries, which a host must be allowed to make
}

// enter opens a folder within another one, and no link.
func (f FS) enter(dir *os.Root, name string, missing making) (*os.Root, error) {
	before, err := dir.Lstat(name)
	made := false
	if missing.made && errors.Is(err, fs.ErrNotExist) {
		if err = dir.Mkdir(name, 0o777); err == nil || errors.Is(err, fs.ErrExist) {
			made = err == nil
			before, err = dir.Lstat(name)
		}
	}
	if err != nil {
		return nil, err
	}
	if !before.IsDir() {
		return nil, &fs.PathError{Op: "open", Path: name, Err: syscall.ENOTDIR}
	}
	next, err := dir.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	after, err := next.Stat(".")
	if err == nil && !os.SameFile(before, after) {
		err = &fs.PathError{Op: "open", Path: name, Err: errChanged}
	}
	if err == nil && made {
		err = f.adopt(dir, next)
		if err == nil && missing.filled && !f.admitsDir(next, mayChange) {
			// It would stay empty. If the host has put something there, it is not removed.
			_ = dir.Remove(name)
			err = Fail(workbench.NameNoPermissions, "%s: the folder is missing, and one that is made would belong to the owner of the folder above it, not to the user of the host", next.Name())
		}
	}
	if err != nil {
		_ = next.Close()
		return nil, err
	}
	return next, nil
}

// owning is a guard that knows which user the host is.
type owning interface {
	// owner returns the owner of what the host makes in a folder; uid is -1 if the host gets a user id of
	// its own.
	owner(dir fs.FileInfo) (uid, gid int)
}

// adopt gives a folder that was made for a confined host to the user of the host: the host, which has
// less rights than a supervisor that runs as root, could not use it otherwise. A folder that has entries
// is another one, which the host has put there.
func (f FS) adopt(in, made *os.Root) error {
	uid, gid, ok := f.ownerOf(in)
	if !ok {
		return nil
	}
	list, err := fs.ReadDir(made.FS(), ".")
	if err != nil || len(list) > 0 {
		return err
	}
	return made.Chown(".", uid, gid)
}

// adoptFile is adopt for a file.
func (f FS) adoptFile(in *os.Root, made *os.File) error {
	uid, gid, ok := f.ownerOf(in)
	if !ok {
		return nil
	}
	return made.Chown(uid, gid)
}

// ownerOf returns the owner that new entries of a folder get: the user of the host, or, if the host gets
// a user id of its own, the owner of the folder: the host sees its own user there as that owner. ok is false if they
// keep the user of the supervisor as their owner.
func (f FS) ownerOf(dir *os.Root) (uid, gid int, ok bool) {
	if f.Guard == nil || os.Geteuid() != 0 {
		return 0, 0, false
	}
	info, err := dir.Stat(".")
	if err != nil {
		return 0, 0, false
	}
	if g, named := f.Guard.(owning); named {
		if uid, gid = g.owner(info); uid >= 0 {
			return uid, gid, true
		}
	}
	uid, gid, _ = sys.OwnersOf(info)
	return uid, gid, uid > 0
}

// file opens a regular file for reading or writing, and no link.
func (p *place) file(flag int) (*os.File, fs.FileInfo, error) {
	before, err := p.lstat()
	if err != nil {
		return nil, nil, err
	}
	switch {
	case before.IsDir():
		return nil, nil, Fail(NameIsDirectory, "%s is a folder", p.path)
	case !before.Mode().IsRegular():
		return nil, nil, Fail(NameUnknown, "%s is not a regular file", p.path)
	}
	f, err := p.dir.OpenFile(p.name, flag|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !os.SameFile(before, info) {
		err = &fs.PathError{Op: "open", Path: p.name, Err: errChanged}
	}
	if err != nil {
		_ = f.Close()
		return nil, nil, err
	}
	return f, info, nil
}
