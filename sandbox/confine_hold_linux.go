//go:build !hostsup_posix

package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"sync"
	"syscall"
)

// placeholders are the empty files and folders that stand where something is
// denied that does not exist: nothing else can hold a place in a real folder.
// They go with the last life that needs them.
type placeholders struct {
	mu   sync.Mutex
	used map[string]int
}

// hold makes sure that there is something at path. made is what release takes.
func (p *placeholders) hold(path string, dir bool) (err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.used[path] == 0 {
		if dir {
			err = os.Mkdir(path, 0)
		} else {
			var f *os.File
			if f, err = os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0); err == nil {
				err = f.Close()
			}
		}
		if errors.Is(err, fs.ErrExist) {
			return nil // somebody was faster: it is there, and will be covered
		}
		if err != nil {
			return err
		}
	}
	if p.used == nil {
		p.used = map[string]int{}
	}
	p.used[path]++
	return nil
}

// share counts one more user of a placeholder; false when path is none.
func (p *placeholders) share(path string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.used[path] == 0 {
		return false
	}
	p.used[path]++
	return true
}

// release removes a placeholder with its last user, if it still is one.
func (p *placeholders) release(path string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.used[path]--; p.used[path] > 0 {
		return
	}
	delete(p.used, path)
	st, err := os.Lstat(path)
	if err != nil || st.Mode().Perm() != 0 {
		return
	}
	if st.IsDir() {
		_ = syscall.Rmdir(path) // not when there is something in it
	} else if st.Mode().IsRegular() && st.Size() == 0 {
		_ = os.Remove(path)
	}
}

// holdMissing puts placeholders where denied paths are missing, and the
// folder of the bounded work folder where that one is.
func (s *starting) holdMissing() error {
	h, holds := s.child.held, &s.confine.holds
	for i := range s.r.Denied {
		d := &s.r.Denied[i]
		path := d.Anchor
		if d.Missing {
			if err := holds.hold(path, d.Anchor != d.Path); err != nil {
				return s.confineError("hold the place of "+path, bare(err))
			}
		} else if !holds.share(path) {
			continue
		}
		h.onFree(func() { holds.release(path) })
	}
	for _, g := range s.r.Grants { // what another life holds the place of
		if path := g.Path; g.ReadOnly && holds.share(path) {
			h.onFree(func() { holds.release(path) })
		}
	}
	w := s.r.Policy.Work.Path
	for _, g := range s.r.Grants {
		if w == "" || !g.Dir || !within(w, g.Path) {
			continue
		}
		if err := os.MkdirAll(w, 0o755); err != nil {
			return s.confineError("make "+w, bare(err))
		}
		break
	}
	return nil
}

// within reports whether path is dir or below it. Both are clean.
func within(path, dir string) bool {
	return path == dir || dir == "/" || len(path) > len(dir) && path[:len(dir)] == dir && path[len(dir)] == '/'
}
