package disk

import (
	"bytes"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/hostsup/hostsup/workbench"
)

// Type is a vscode.FileType: File or Directory, or neither, plus SymbolicLink.
type Type int

// The types of files.
const (
	TypeUnknown      Type = 0
	TypeFile         Type = 1
	TypeDirectory    Type = 2
	TypeSymbolicLink Type = 64
)

// Stat is a vscode.FileStat. Its times are in milliseconds since 1970.
type Stat struct {
	Type        Type  `json:"type"`
	Created     int64 `json:"ctime"`
	Modified    int64 `json:"mtime"`
	Size        int64 `json:"size"` // in bytes
	Permissions int   `json:"permissions,omitempty"`
}

// ReadOnly is the permission of a file that cannot be written.
const ReadOnly = 1

func typeOf(mode fs.FileMode) Type {
	switch {
	case mode.IsRegular():
		return TypeFile
	case mode.IsDir():
		return TypeDirectory
	}
	return TypeUnknown
}

// Stat returns what is known of a file or folder. A link to nothing has the type
// [TypeSymbolicLink] alone.
func (f FS) Stat(path string) (Stat, error) {
	s, err := f.stat(path)
	return s, failed("look at", path, err)
}

func (f FS) stat(path string) (s Stat, err error) {
	real, err := f.check(path, workbench.Read)
	if err != nil {
		return s, err
	}
	link := TypeUnknown
	if named, err := os.Lstat(path); err == nil && named.Mode().Type() == fs.ModeSymlink {
		link = TypeSymbolicLink
		s = Stat{Modified: named.ModTime().UnixMilli(), Created: named.ModTime().UnixMilli(), Size: named.Size()}
	}
	var info fs.FileInfo
	if filepath.Dir(real) == real {
		info, err = os.Lstat(real)
	} else {
		var dir *os.Root
		if dir, err = f.open(filepath.Dir(real), false, false); err == nil {
			info, err = dir.Lstat(filepath.Base(real))
			_ = dir.Close()
		}
	}
	if err != nil {
		if s.Type = link; link != TypeUnknown {
			return s, nil
		}
		return s, err
	}
	return Stat{Type: typeOf(info.Mode()) | link, Modified: info.ModTime().UnixMilli(), Created: info.ModTime().UnixMilli(), Size: info.Size()}, nil
}

// Entry is a name in a folder.
type Entry struct {
	Name string
	Type Type
}

// ReadDir returns the entries of a folder, sorted by name. Types of symbolic links are those of
// their targets with [TypeSymbolicLink].
func (f FS) ReadDir(path string) ([]Entry, error) {
	out, err := f.readDir(path)
	return out, failed("list", path, err)
}

func (f FS) readDir(path string) ([]Entry, error) {
	real, err := f.check(path, workbench.Read)
	if err != nil {
		return nil, err
	}
	if info, err := os.Lstat(real); err == nil && !info.IsDir() {
		return nil, Fail(NameNotDirectory, "%s is not a folder", path)
	}
	dir, err := f.open(real, false, false)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	if !f.admitsDir(dir, mayList) {
		return nil, workbench.NoPermissions(path)
	}
	list, err := fs.ReadDir(dir.FS(), ".")
	out := make([]Entry, 0, len(list))
	for _, e := range list {
		t := typeOf(e.Type())
		if e.Type() == fs.ModeSymlink {
			t = TypeSymbolicLink
			if s, err := f.stat(filepath.Join(real, e.Name())); err == nil {
				t |= s.Type
			}
		}
		out = append(out, Entry{e.Name(), t})
	}
	return out, err
}

// Open opens a regular file for reading. It does not block on a fifo or a device: these are errors.
// The caller must close it.
func (f FS) Open(path string) (*os.File, error) {
	file, _, err := f.openFile(path)
	return file, failed("read", path, err)
}

func (f FS) openFile(path string) (*os.File, fs.FileInfo, error) {
	p, err := f.at(path, workbench.Read, false)
	if err != nil {
		return nil, nil, err
	}
	defer p.close()
	return f.file(p, os.O_RDONLY)
}

// ReadFile returns the content of a file of at most max bytes.
func (f FS) ReadFile(path string, max int64) ([]byte, error) {
	file, info, err := f.openFile(path)
	if err != nil {
		return nil, failed("read", path, err)
	}
	defer file.Close()
	if info.Size() <= max {
		var data bytes.Buffer
		data.Grow(int(info.Size()) + bytes.MinRead) // io.ReadAll takes several times the size
		if _, err = data.ReadFrom(io.LimitReader(file, max+1)); err == nil && int64(data.Len()) <= max {
			return data.Bytes(), nil
		}
	}
	if err == nil {
		err = Fail(NameTooLarge, "%s is larger than %d bytes, which is the limit of a message", path, max)
	}
	return nil, failed("read", path, err)
}
