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

// placeholder is an empty folder in the position of a missing denied path: nothing
// else can reserve a name in a real folder. Each life that needs it has a shared lock
// on it, and the last one removes it; see sys.HoldPlaceholder.
type placeholder struct {
	parent *os.File // its folder
	name   string
	lock   int // the placeholder itself, locked; -1: not yet
}

// holdMissing creates placeholders for missing denied paths, and the bounded work
// folder if it is missing.
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

// hold creates or shares the placeholder at an anchor. It uses the descriptor of the
// folder, opened without links: even if the path changes meanwhile, it does not touch
// another folder.
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
	// The sweeper must know it before it exists, so that it is removed in any case.
	if err := h.sweep.add(p); err != nil {
		return err
	}
	lock, id, err := sys.HoldPlaceholder(int(parent.Fd()), p.name)
	if err == syscall.EEXIST {
		return wasCreated(d)
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

// wasCreated handles a missing path that was created after the policy was resolved. An
// absent path is left alone; for a denied one the start is repeated.
func wasCreated(d *policy.Denied) error {
	info, err := os.Lstat(d.Anchor)
	if err != nil || !d.Absent || info.Mode()&fs.ModeSymlink != 0 || sys.Placeholder(d.Anchor, info) {
		return syscall.ESTALE
	}
	d.Missing, d.Absent, d.Dir = false, false, info.IsDir()
	return nil
}

// pinCovers restricts the mounts that cover placeholders to these very folders.
func (s *starting) pinCovers(ops []helper.MountOp) {
	for i := range ops {
		if id, ok := s.held["/"+ops[i].Path]; ok && ops[i].Kind == helper.OpCover {
			ops[i].ID = id
		}
	}
}

// Prefixes of the steps of a start that concern denied paths.
const (
	stepHold  = "hold the place of "
	stepPin   = "pin "
	stepCover = "deny "
)

// replacedMeanwhile reports whether a start has failed because another process renamed
// or replaced a folder of a denied path meanwhile.
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
