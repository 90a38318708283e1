package disk

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/hostsup/hostsup/workbench"
)

// maxEntries bounds the files and folders of a [Snapshot].
const maxEntries = 1000

// Snapshot is a file, or a folder with all that is in it, in memory: contents, modes and owners.
type Snapshot struct {
	entries []kept // a folder before what is in it
	size    int64
	sum     [sha256.Size]byte
}

// kept is a file or folder of a snapshot.
type kept struct {
	name string // below the path of the snapshot; "." is the path itself
	info fs.FileInfo
	data []byte
}

// Size returns how many bytes the contents have.
func (s *Snapshot) Size() int64 { return s.size }

// Sum returns a hash of the names and contents. It is equal for snapshots of equal trees.
func (s *Snapshot) Sum() [sha256.Size]byte { return s.sum }

// Data returns the content of a file; false for a folder. It must not be changed.
func (s *Snapshot) Data() ([]byte, bool) {
	top := s.entries[0]
	return top.data, !top.info.IsDir()
}

// Snapshot returns a snapshot of a file or folder. The error has the name [NameTooLarge] if the files
// have more than max bytes or there are more than 1000, and [NameUnknown] if there is a symbolic link
// or something else that is neither a file nor a folder. Paths in a folder for which skip returns true
// are left out; skip may be nil.
func (f FS) Snapshot(path string, max int64, skip func(path string) bool) (*Snapshot, error) {
	t := &taking{&Snapshot{}, sha256.New(), max, skip}
	if err := f.keep(t, path, "."); err != nil {
		return nil, failed("keep", path, err)
	}
	t.sum.Sum(t.s.sum[:0])
	return t.s, nil
}

// taking is a snapshot that is being taken.
type taking struct {
	s    *Snapshot
	sum  hash.Hash
	max  int64
	skip func(path string) bool
}

func (f FS) keep(t *taking, path, name string) error {
	s, max := t.s, t.max
	about, err := f.stat(path)
	switch {
	case err != nil:
		return err
	case about.Type&TypeSymbolicLink != 0:
		return Fail(NameUnknown, "%s is a symbolic link, which is not kept", path)
	case s.size+about.Size > max && about.Type != TypeDirectory || len(s.entries) == maxEntries:
		return Fail(NameTooLarge, "%s: more than %d bytes or %d files are not kept", path, max, maxEntries)
	case about.Type == TypeDirectory:
		return f.keepFolder(t, path, name)
	}
	file, info, err := f.openFile(path)
	if err != nil {
		return err
	}
	defer file.Close()
	var data bytes.Buffer
	if _, err := data.ReadFrom(io.LimitReader(file, max-s.size+1)); err != nil {
		return err
	}
	if s.size += int64(data.Len()); s.size > max {
		return Fail(NameTooLarge, "%s: more than %d bytes are not kept", path, max)
	}
	s.entries = append(s.entries, kept{name, info, data.Bytes()})
	note(t.sum, name, data.Bytes())
	return nil
}

func (f FS) keepFolder(t *taking, path, name string) error {
	list, err := f.readDir(path)
	if err != nil {
		return err
	}
	real, err := f.check(path, workbench.Read)
	if err != nil {
		return err
	}
	dir, err := f.open(real, false, false)
	if err != nil {
		return err
	}
	info, err := dir.Stat(".")
	if err = errors.Join(err, dir.Close()); err != nil {
		return err
	}
	t.s.entries = append(t.s.entries, kept{name, info, nil})
	note(t.sum, name+"/", nil)
	for _, e := range list {
		at := filepath.Join(path, e.Name)
		if t.skip != nil && t.skip(at) {
			continue
		}
		if err := f.keep(t, at, filepath.Join(name, e.Name)); err != nil {
			return err
		}
	}
	return nil
}

// note adds a file to a hash. Lengths are before texts, so that different trees differ.
func note(sum hash.Hash, name string, data []byte) {
	for _, b := range [][]byte{[]byte(name), data} {
		_, _ = sum.Write(binary.BigEndian.AppendUint64(nil, uint64(len(b)))) // a hash does not fail
		_, _ = sum.Write(b)
	}
}

// Restore makes the file or folder of a snapshot, with its modes and owners. Missing folders above it
// are made. The error has the name [NameExists] if something has the path. What was made before an
// error is removed.
func (f FS) Restore(path string, s *Snapshot) error {
	return failed("restore", path, f.restore(path, s))
}

func (f FS) restore(path string, s *Snapshot) (err error) {
	made := 0
	defer func() {
		if err != nil && made > 0 {
			err = errors.Join(err, f.remove(path, true))
		}
	}()
	for _, e := range s.entries {
		if err = f.restoreEntry(filepath.Join(path, e.name), e); err != nil {
			return err
		}
		made++
	}
	for i := len(s.entries) - 1; i >= 0; i-- { // a folder that must not be written after what is in it
		if e := s.entries[i]; e.info.IsDir() {
			if err = f.chmod(filepath.Join(path, e.name), e.info); err != nil {
				return err
			}
		}
	}
	return nil
}

func (f FS) restoreEntry(path string, e kept) error {
	p, err := f.at(path, workbench.Replace, e.name == ".")
	if err != nil {
		return err
	}
	defer p.close()
	switch _, err := p.lstat(); {
	case err == nil:
		return fs.ErrExist
	case !errors.Is(err, fs.ErrNotExist):
		return err
	case e.info.IsDir():
		dir, err := f.enter(p.dir, p.name, making{made: true})
		if err != nil {
			return err
		}
		return errors.Join(dir.Chmod(".", 0o700), dir.Close())
	}
	return f.replace(p, e.data, e.info)
}

// chmod gives a folder the mode that it had.
func (f FS) chmod(path string, was fs.FileInfo) error {
	p, err := f.at(path, workbench.Replace, false)
	if err != nil {
		return err
	}
	defer p.close()
	dir, err := f.enter(p.dir, p.name, making{})
	if err != nil {
		return err
	}
	return errors.Join(restoreOwner(dir, was), dir.Chmod(".", was.Mode().Perm()), dir.Close())
}

// restoreOwner gives a folder the owner that it had.
func restoreOwner(dir *os.Root, was fs.FileInfo) error {
	file, err := dir.Open(".")
	if err != nil {
		return err
	}
	return errors.Join(give(file, was), file.Close())
}
