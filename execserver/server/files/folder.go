package files

import (
	"cmp"
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

// createDirectory makes a folder, with those above it unless Recursive is
// false.
func (f *Files) createDirectory(_ context.Context, p *wire.FSCreateDirectoryParams) (any, error) {
	path, bad := p.Path.Native()
	if bad != nil {
		return nil, bad
	}
	if yes(p.Recursive) {
		return nil, makeAll(path)
	}
	return nil, os.Mkdir(path, 0o777)
}

// makeAll makes the missing folders of path from the top down. It does not try to
// make existing ones, for which the right to write may be missing.
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

// isFolder reports whether path leads to a folder. The error is EEXIST when it
// leads to something else.
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

// readDirectory answers with the entries of a folder in no order. Links show
// what they lead to; those that lead nowhere are left out.
func (f *Files) readDirectory(ctx context.Context, p *wire.FSReadDirectoryParams) (any, error) {
	path, bad := p.Path.Native()
	if bad != nil {
		return nil, bad
	}
	dir, err := os.OpenFile(path, openFolder, 0)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	out := &wire.FSReadDirectoryResult{Entries: []wire.FSDirEntry{}}
	err = eachEntry(ctx, dir, func(e fs.DirEntry) error {
		if len(out.Entries) >= f.limits.DirEntries {
			return wire.InvalidRequest("path `%s` has more than %d entries", path, f.limits.DirEntries)
		}
		if mode, ok := target(path, e); ok { // FileName in UTF-8, as JSON needs it
			out.Entries = append(out.Entries, wire.FSDirEntry{FileName: string([]rune(e.Name())), IsDirectory: mode.IsDir(), IsFile: mode.IsRegular()})
		}
		return nil
	})
	return out, err
}

// eachEntry calls visit for every entry of dir. It looks at ctx before each one,
// and takes memory for dirBatch of them.
func eachEntry(ctx context.Context, dir *os.File, visit func(fs.DirEntry) error) error {
	return batches(ctx, dir.ReadDir, dirBatch, visit)
}

// batches calls visit for every item that read returns, in batches of n, until
// the end. It looks at ctx before each one.
func batches[T any](ctx context.Context, read func(n int) ([]T, error), n int, visit func(T) error) error {
	for {
		items, err := read(n)
		for _, item := range items {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := visit(item); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return err
		}
	}
}

// target returns the kind of an entry of the folder dir, or of what it leads to.
// ok is false when it leads nowhere.
func target(dir string, e fs.DirEntry) (kind fs.FileMode, ok bool) {
	if e.Type()&fs.ModeSymlink == 0 {
		return e.Type(), true
	}
	info, err := os.Stat(join(dir, e.Name()))
	if err != nil {
		return 0, false
	}
	return info.Mode(), true
}
