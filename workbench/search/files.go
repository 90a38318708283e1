package search

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/hostsup/hostsup/workbench"
	"github.com/hostsup/hostsup/workbench/disk"
)

// maxSize is the size of the largest file that the engine of this package reads, in bytes.
const maxSize = 256 << 20

var errTooLarge = errors.New("the file is too large to be searched")

// files reads files for a search. The zero value is not confined.
type files struct {
	guard workbench.Guard // nil: the host is not confined
}

// entry is a name in a folder.
type entry struct {
	name                string
	isDir, isFile, link bool
}

// list returns the entries of a folder in any order.
func (f files) list(dir string) (out []entry, err error) {
	if f.guard != nil {
		all, err := disk.FS{Guard: f.guard}.ReadDir(dir)
		for _, e := range all {
			out = append(out, entry{e.Name, e.Type == disk.TypeDirectory, e.Type == disk.TypeFile, e.Type&disk.TypeSymbolicLink != 0})
		}
		return out, err
	}
	opened, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer opened.Close()
	all, err := opened.ReadDir(-1)
	out = make([]entry, 0, len(all))
	for _, e := range all {
		out = append(out, entry{e.Name(), e.IsDir(), e.Type().IsRegular(), e.Type()&fs.ModeSymlink != 0})
	}
	return out, err
}

// read returns the content of a file.
func (f files) read(path string) ([]byte, error) {
	if f.guard != nil {
		return disk.FS{Guard: f.guard}.ReadFile(path, maxSize)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	b, err := io.ReadAll(io.LimitReader(file, maxSize+1))
	if len(b) > maxSize {
		return nil, errTooLarge
	}
	return b, err
}

func (f files) exists(path string) bool {
	if f.guard != nil {
		_, err := disk.FS{Guard: f.guard}.Stat(path)
		return err == nil
	}
	_, err := os.Lstat(path)
	return err == nil
}

// isAllowed reports whether the content of a file may be read.
func (f files) isAllowed(path string) bool {
	return workbench.Allowed(f.guard, path, workbench.Read) == nil
}
