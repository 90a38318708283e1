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
	path, bad := p.Path.Native()
	if bad != nil {
		return bad
	}
	rules, bad := f.rules(p.Sandbox)
	if bad != nil {
		return bad
	}
	var err error
	if yes(p.Recursive) {
		err = makeAll(rules, path)
	} else {
		err = makeOne(rules, path)
	}
	if err != nil {
		return failure(err)
	}
	return nil
}

func makeOne(rules Rules, path string) error {
	p, err := placeOf(rules, path, false)
	if err != nil {
		return err
	}
	defer p.leave()
	if err := p.mayWrite(); err != nil {
		if _, there := os.Lstat(p.at); there == nil && p.mayRead() == nil {
			return syscall.EEXIST
		}
		return err
	}
	return os.Mkdir(p.at, 0o777)
}

// makeAll makes what is missing of path from the top down. A folder that is
// there needs no right to write.
func makeAll(rules Rules, path string) error {
	var missing []string
	for dir := path; ; dir = filepath.Dir(dir) {
		ok, err := isFolder(rules, dir)
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
		if err := makeOne(rules, dir); err != nil {
			// Somebody else may have made it meanwhile.
			if ok, _ := isFolder(rules, dir); !ok {
				return err
			}
		}
	}
	return nil
}

// isFolder reports whether path leads to a folder that may be seen. What is
// there and is no folder is EEXIST.
func isFolder(rules Rules, path string) (bool, error) {
	p, err := placeOf(rules, path, true)
	if err != nil {
		return false, err
	}
	defer p.leave()
	if rules != nil && !rules.Sees(p.real) && rules.Write(p.real) != nil {
		return false, rules.Read(p.real)
	}
	info, err := p.stat()
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
	at, bad := f.enter(p.Sandbox, p.Path, true)
	if bad != nil {
		return none, bad
	}
	defer at.leave()
	if err := at.mayRead(); err != nil {
		return none, failure(err)
	}
	dir, err := os.OpenFile(at.at, at.flags(openFolder), 0)
	if err != nil {
		return none, failure(err)
	}
	defer dir.Close()
	out := wire.FSReadDirectoryResult{Entries: []wire.FSDirEntry{}}
	err = eachEntry(ctx, dir, func(e fs.DirEntry) error {
		if len(out.Entries) >= f.limits.DirEntries {
			return wire.InvalidRequest("path `%s` has more than %d entries", at.shown, f.limits.DirEntries)
		}
		mode, ok := target(at.child(e.Name()), e)
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

// eachEntry calls visit for every entry; memory does not grow with their
// number.
func eachEntry(ctx context.Context, dir *os.File, visit func(fs.DirEntry) error) error {
	for {
		entries, err := dir.ReadDir(dirBatch)
		for _, e := range entries {
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

// target is the kind of what an entry is or leads to. It is not ok when that
// is nothing, or nothing that may be read.
func target(p *place, e fs.DirEntry) (fs.FileMode, bool) {
	if e.Type()&fs.ModeSymlink == 0 {
		return e.Type(), true
	}
	if p.rules != nil {
		to, err := placeOf(p.rules, p.real, true)
		if err != nil {
			return 0, false
		}
		defer to.leave()
		if to.mayRead() != nil {
			return 0, false
		}
		p = to
	}
	info, err := p.stat()
	if err != nil {
		return 0, false
	}
	return info.Mode(), true
}

// legible is a name as JSON can have it.
func legible(name string) string { return string([]rune(name)) }
