package install

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"github.com/hostsup/hostsup/extensions/install/index"
	"github.com/hostsup/hostsup/extensions/manifest"
	"github.com/hostsup/hostsup/internal/sys"
)

const (
	lockFile  = "lock"
	temporary = "tmp-" // begins the names of what is not whole yet
	retry     = 20 * time.Millisecond
)

// state is a folder while it is locked for one operation.
type state struct {
	in    *Installer
	dir   string   // absolute
	root  *os.Root // index.Folder
	index *index.Index
}

// change calls do with the folder locked, after removing what is not listed. A folder that
// does not exist is made if create is set.
func (in *Installer) change(ctx context.Context, create bool, do func(*state) error) (err error) {
	dir, err := filepath.Abs(in.Dir)
	if err != nil || in.Dir == "" {
		return errors.Join(fmt.Errorf("%w: a path expected, found %q", ErrFolder, in.Dir), err)
	}
	root, err := open(dir, create)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	lock, err := in.lock(ctx, root)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, sys.Unlock(lock)) }()
	in.at("locked")
	s := &state{in: in, dir: dir, root: root}
	if s.index, err = index.Read(dir); err != nil {
		return err
	}
	if err := s.clean(); err != nil {
		return err
	}
	in.at("cleaned")
	return do(s)
}

// open opens index.Folder below a folder of extensions.
func open(dir string, create bool) (*os.Root, error) {
	// A folder that is itself an extension is not scanned for others.
	if text, err := os.ReadFile(filepath.Join(dir, "package.json")); err == nil {
		if m, _ := manifest.Parse(text, manifest.Source{}, nil); m != nil {
			return nil, fmt.Errorf("%w: %s is the extension %s itself", ErrFolder, dir, m.Value)
		}
	}
	if create {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, err
		}
	}
	outer, err := os.OpenRoot(dir)
	if err != nil {
		return nil, nothing(dir, err)
	}
	defer outer.Close()
	if create {
		if err := makeFolder(outer, index.Folder); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
	}
	root, err := outer.OpenRoot(index.Folder) // follows no link out of the folder
	return root, nothing(dir, err)
}

// nothing is the error of opening a folder; a missing one means that nothing is installed.
func nothing(dir string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %s: nothing is", ErrNotInstalled, dir)
	}
	return err
}

// lock locks the folder.
func (in *Installer) lock(ctx context.Context, root *os.Root) (*os.File, error) {
	file, err := root.OpenFile(lockFile, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	for end := time.Now().Add(in.Wait); ; {
		if err = sys.Lock(file); !errors.Is(err, sys.ErrLocked) {
			break
		}
		if time.Now().After(end) {
			err = fmt.Errorf("%w: %s", ErrBusy, in.Dir)
			break
		}
		// A lock of a file has no event.
		select {
		case <-time.After(retry):
		case <-ctx.Done():
		}
		if err = ctx.Err(); err != nil {
			break
		}
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// at calls the hook of tests.
func (in *Installer) at(name string) {
	if in.step != nil {
		in.step(name)
	}
}

func (s *state) path(folder string) string { return filepath.Join(s.dir, index.Folder, folder) }

// clean removes what is not listed.
func (s *state) clean() error {
	listed := s.index.Folders()
	entries, err := fs.ReadDir(s.root.FS(), ".")
	if err != nil {
		return err
	}
	for _, e := range entries {
		if name := e.Name(); name != index.File && name != lockFile && !listed[name] {
			if err := s.root.RemoveAll(name); err != nil {
				return err
			}
			s.in.at("removed")
		}
	}
	return nil
}

// isFolder reports whether a version has its folder.
func (s *state) isFolder(folder string) bool {
	info, err := s.root.Lstat(folder)
	return err == nil && info.IsDir()
}

// commit replaces the list.
func (s *state) commit() error {
	s.in.at("commit")
	if err := index.Write(s.root, s.index); err != nil {
		return err
	}
	s.in.at("committed")
	return nil
}

// result describes the version in use of an extension.
func (s *state) result(e *index.Extension, before string, changed bool) Result {
	v := e.InUse()
	return Result{ID: e.ID, Version: v.Version, Before: before, Digest: v.Digest, Folder: s.path(v.Folder), Engine: v.Engine, Source: v.Source, Changed: changed}
}

// unpack makes the folder of a version. It has its name once it is whole and on the disk.
func (s *state) unpack(ctx context.Context, p *Package, folder string) (err error) {
	name := temporary + rand.Text()
	if err := makeFolder(s.root, name); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.root.RemoveAll(name))
		}
	}()
	to, err := s.root.OpenRoot(name)
	if err != nil {
		return err
	}
	err = s.write(ctx, p, to)
	if err = errors.Join(err, to.Close()); err != nil {
		return err
	}
	s.in.at("unpacked")
	if err := s.root.RemoveAll(folder); err != nil { // one that is listed but no folder
		return err
	}
	if err := s.root.Rename(name, folder); err != nil {
		return err
	}
	s.in.at("renamed")
	return index.Sync(s.root, ".")
}

// write writes all files, then waits until they are on the disk: the system then writes most
// of them together.
func (s *state) write(ctx context.Context, p *Package, to *os.Root) error {
	made := []string{"."}
	have := map[string]bool{".": true}
	folder := func(name string) error {
		var missing []string
		for ; !have[name]; name = path.Dir(name) {
			missing = append(missing, name)
			have[name] = true
		}
		for _, name := range slices.Backward(missing) {
			if err := makeFolder(to, name); err != nil {
				return err
			}
			made = append(made, name)
		}
		return nil
	}
	for i := range p.entries {
		e := &p.entries[i]
		if err := ctx.Err(); err != nil {
			return err
		}
		s.in.at("file")
		if e.dir {
			if err := folder(e.name); err != nil {
				return err
			}
			continue
		}
		if err := folder(path.Dir(e.name)); err != nil {
			return err
		}
		if err := writeFile(to, e); err != nil {
			return fmt.Errorf("%s: %s: %w", p.Source, e.name, err)
		}
		made = append(made, e.name)
	}
	s.in.at("written")
	for _, name := range made {
		if err := errors.Join(ctx.Err(), index.Sync(to, name)); err != nil {
			return err
		}
	}
	return nil
}

// makeFolder makes a folder that all can read, whatever the umask is: hosts may run as other
// users.
func makeFolder(root *os.Root, name string) error {
	if err := root.Mkdir(name, 0o755); err != nil {
		return err
	}
	return root.Chmod(name, 0o755)
}

// writeFile copies one file. It can be read by all and written by its owner.
func writeFile(to *os.Root, e *entry) error {
	mode := fs.FileMode(0o644)
	if e.exec {
		mode = 0o755
	}
	file, err := to.OpenFile(e.name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	return errors.Join(e.copy(file), file.Chmod(mode), file.Close())
}
