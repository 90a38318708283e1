package transport

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/hostsup/hostsup/internal/sys"
)

// foldersPrefix is how the temporary folder of a tree begins.
const foldersPrefix = "hostsup-run-"

// Folders makes the folders in which lives meet their hosts, all within one
// temporary folder of the tree, which is made when it is first needed. That
// folder is locked for as long as the tree lives, so that the next tree of the
// user can tell and remove what a supervisor that was killed has left. Safe for
// concurrent use.
type Folders struct {
	mu     sync.Mutex
	parent string
	lock   *os.File
	last   int
}

// Make makes a new folder with mode 0700.
func (f *Folders) Make() (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for {
		if f.parent == "" {
			if err := f.begin(); err != nil {
				return "", err
			}
		}
		f.last++
		dir := filepath.Join(f.parent, strconv.Itoa(f.last))
		err := os.Mkdir(dir, 0o700)
		if !errors.Is(err, fs.ErrNotExist) {
			return dir, err
		}
		_ = f.lock.Close() // somebody has cleaned up the temporary folder
		f.parent, f.lock = "", nil
	}
}

// begin makes the folder of the tree and removes those of trees that are no
// more. The caller must hold mu.
func (f *Folders) begin() error {
	removeStale(os.TempDir())
	for {
		dir, err := os.MkdirTemp("", foldersPrefix) // 0700
		if err != nil {
			return err
		}
		lock, err := os.Open(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue // until it is locked it looks stale to others
		}
		if err != nil {
			return errors.Join(err, os.Remove(dir))
		}
		// Where folders cannot be locked, those of others cannot either, and
		// are left alone.
		_ = sys.Lock(lock)
		if isFolder(lock, dir) {
			f.parent, f.lock = dir, lock
			return nil
		}
		_ = lock.Close()
	}
}

// Close removes what is left.
func (f *Folders) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.parent == "" {
		return nil
	}
	err := errors.Join(os.RemoveAll(f.parent), f.lock.Close())
	f.parent, f.lock = "", nil
	return err
}

// removeStale removes the folders of trees whose program was killed.
func removeStale(temp string) {
	list, err := os.ReadDir(temp)
	if err != nil {
		return // whoever makes a folder there says why
	}
	for _, e := range list {
		random, ok := strings.CutPrefix(e.Name(), foldersPrefix)
		if _, err := strconv.ParseUint(random, 10, 64); !ok || err != nil || !e.IsDir() {
			continue
		}
		dir := filepath.Join(temp, e.Name())
		lock, err := os.Open(dir)
		if err != nil {
			continue // another user's, or just removed
		}
		if isFolder(lock, dir) && sys.Lock(lock) == nil {
			_ = os.RemoveAll(dir) // what cannot be removed is found again
		}
		_ = lock.Close()
	}
}

// isFolder reports whether dir is the open folder f, and no link to one.
func isFolder(f *os.File, dir string) bool {
	mine, err := f.Stat()
	if err != nil {
		return false
	}
	now, err := os.Lstat(dir)
	return err == nil && now.IsDir() && os.SameFile(mine, now)
}
