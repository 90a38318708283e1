package files

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/hostsup/hostsup/execserver/wire"
)

// CreateDirectory makes a folder, with those above it unless Recursive is
// false.
func (f *Files) CreateDirectory(_ context.Context, p wire.FSCreateDirectoryParams) *wire.Error {
	path, bad := native(p.Sandbox, p.Path)
	if bad != nil {
		return bad
	}
	var err error
	if yes(p.Recursive) {
		err = makeAll(path)
	} else {
		err = os.Mkdir(path, 0o777)
	}
	if err != nil {
		return failure(err)
	}
	return nil
}

// makeAll makes what is missing of path from the top down. A folder that is
// there needs no right to write.
func makeAll(path string) error {
	var missing []string
	for dir := path; ; dir = filepath.Dir(dir) {
		ok, err := isFolder(dir)
		if ok {
			break
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		missing = append(missing, dir)
		if dir == filepath.Dir(dir) {
			return err
		}
	}
	for _, dir := range slices.Backward(missing) {
		if err := os.Mkdir(dir, 0o777); err != nil {
			// Somebody else may have made it meanwhile.
			if ok, _ := isFolder(dir); !ok {
				return err
			}
		}
	}
	return nil
}

// isFolder reports whether path leads to a folder. What is there and is no
// folder is EEXIST.
func isFolder(path string) (bool, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return false, err
	case !info.IsDir():
		return false, syscall.EEXIST
	}
	return true, nil
}

// dirBatch is how many entries of a folder are looked at at a time.
const dirBatch = 512

// ReadDirectory answers with the entries of a folder in no order. Links show
// what they lead to; those that lead nowhere are left out.
func (f *Files) ReadDirectory(ctx context.Context, p wire.FSReadDirectoryParams) (wire.FSReadDirectoryResult, *wire.Error) {
	var none wire.FSReadDirectoryResult
	path, bad := native(p.Sandbox, p.Path)
	if bad != nil {
		return none, bad
	}
	dir, err := os.OpenFile(path, openFolder, 0)
	if err != nil {
		return none, failure(err)
	}
	defer dir.Close()
	out := wire.FSReadDirectoryResult{Entries: []wire.FSDirEntry{}}
	err = eachEntry(ctx, dir, func(e fs.DirEntry) error {
		if len(out.Entries) >= f.limits.DirEntries {
			return wire.InvalidRequest("path `%s` has more than %d entries", path, f.limits.DirEntries)
		}
		mode, ok := target(path, e)
		if ok {
			out.Entries = append(out.Entries, wire.FSDirEntry{FileName: legible(e.Name()), IsDirectory: mode.IsDir(), IsFile: mode.IsRegular()})
		}
		return nil
	})
	if err != nil {
		return none, failure(err)
	}
	return out, nil
}

// eachEntry calls visit for every entry, and looks at ctx before each; memory does
// not grow with their number.
func eachEntry(ctx context.Context, dir *os.File, visit func(fs.DirEntry) error) error {
	for {
		entries, err := dir.ReadDir(dirBatch)
		for _, e := range entries {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err := visit(e); err != nil {
				return err
			}
		}
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		}
	}
}

// target is the kind of what an entry of the folder dir is or leads to. It is
// not ok when that is nothing.
func target(dir string, e fs.DirEntry) (fs.FileMode, bool) {
	if e.Type()&fs.ModeSymlink == 0 {
		return e.Type(), true
	}
	info, err := os.Stat(join(dir, e.Name()))
	if err != nil {
		return 0, false
	}
	return info.Mode(), true
}

// legible is a name as JSON can have it.
func legible(name string) string { return string([]rune(name)) }
