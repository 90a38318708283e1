//go:build !hostsup_posix

package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/hostsup/hostsup/internal/helper"
	"github.com/hostsup/hostsup/internal/sys"
	"github.com/hostsup/hostsup/sandbox/policy"
)

// placeholder is an empty folder that stands where something is denied that does
// not exist: nothing else can hold a name in a real folder. Each life that needs
// it has a shared lock on it, and the last one removes it; see sys.HoldPlaceholder.
type placeholder struct {
	parent *os.File // the folder around it
	name   string
	lock   int // the placeholder itself, locked; -1: not yet
}

// holdMissing puts placeholders where denied paths are missing, and makes the
// bounded work folder where that is.
func (s *starting) holdMissing() error {
	for i := range s.r.Denied {
		if d := &s.r.Denied[i]; d.Missing {
			if err := s.hold(d); err != nil {
				return s.confineError(stepHold+d.Anchor, bare(err))
			}
		}
	}
	w := s.r.Policy.Work.Path
	for _, g := range s.r.Grants {
		if w == "" || !g.Dir || !within(w, g.Path) {
			continue
		}
		if err := sys.MakeBeneath(g.Path, strings.TrimPrefix(w, g.Path), 0o755); err != nil {
			return s.confineError("make "+w, bare(err))
		}
		break
	}
	return nil
}

// hold makes or shares the placeholder at an anchor. Everything goes by the
// descriptor of the folder around it, which no link leads to: whatever becomes of
// the path meanwhile, no other folder is touched.
func (s *starting) hold(d *policy.Denied) error {
	h := s.child.held
	parent, err := sys.PinPlain(filepath.Dir(d.Anchor))
	if err != nil {
		return err
	}
	if h.sweep == nil {
		h.sweep = &sweep{by: &s.confine.sweeper, base: s.base}
		h.onFree(h.sweep.done)
	}
	p := &placeholder{parent: parent, name: filepath.Base(d.Anchor), lock: -1}
	// Told of before it is made, so that it is removed whatever happens.
	if err := h.sweep.add(p); err != nil {
		return err
	}
	lock, id, err := sys.HoldPlaceholder(int(parent.Fd()), p.name)
	if err == syscall.EEXIST {
		return cameToBe(d)
	}
	if err != nil {
		return err
	}
	if s.held == nil {
		s.held = map[string]sys.FileID{}
	}
	s.held[d.Anchor] = id
	return h.sweep.locked(lock)
}

// cameToBe has something covered that was to stay absent, and has been made since
// the policy was resolved. For what else is denied that is to be done again.
func cameToBe(d *policy.Denied) error {
	info, err := os.Lstat(d.Anchor)
	if err != nil || !d.Absent || info.Mode()&fs.ModeSymlink != 0 || sys.Placeholder(d.Anchor, info) {
		return syscall.ESTALE
	}
	d.Missing, d.Absent, d.Dir = false, false, info.IsDir()
	return nil
}

// onto has what covers a placeholder come onto that and nothing else.
func (s *starting) onto(ops []helper.MountOp) {
	for i := range ops {
		if id, ok := s.held["/"+ops[i].Path]; ok && ops[i].Kind == helper.OpCover {
			ops[i].ID = id
		}
	}
}

// The steps of a start about paths that are denied begin so.
const (
	stepHold  = "hold the place of "
	stepPin   = "pin "
	stepCover = "deny "
)

// replacedMeanwhile reports whether a start has failed because somebody has
// renamed or replaced something around a denied path while it went on.
func replacedMeanwhile(err error) bool {
	var se *StartError
	if !errors.As(err, &se) || se.Step != StepConfine {
		return false
	}
	var errno syscall.Errno
	about := strings.HasPrefix(se.Path, stepHold) || strings.HasPrefix(se.Path, stepPin) || strings.HasPrefix(se.Path, stepCover)
	if !about || !errors.As(err, &errno) {
		return false
	}
	switch errno {
	case syscall.ENOENT, syscall.ENOTDIR, syscall.ELOOP, syscall.ESTALE, syscall.EXDEV:
		return true
	}
	return false
}

// within reports whether path is dir or below it. Both are clean.
func within(path, dir string) bool {
	return path == dir || dir == "/" || len(path) > len(dir) && path[:len(dir)] == dir && path[len(dir)] == '/'
}
