//go:build !hostsup_posix

package sandbox

import (
	"fmt"
	"sync"

	"github.com/hostsup/hostsup/internal/helper"
	"github.com/hostsup/hostsup/internal/sys"
)

// spaces caches user namespaces that map one user and its groups to themselves,
// because creating one takes longer than entering it. The namespace of an unused id
// serves mounts: files mapped by it belong to an unknown user, so that no process may
// write to them, nor to sockets, which a read-only mount does not protect.
type spaces struct {
	mu   sync.Mutex
	made map[string]int // by mapping
}

// of returns the descriptor of a namespace with at most so many inotify instances (0:
// as many as its user). The descriptor stays open until close.
func (s *spaces) of(uid, gid int, groups []int, inotify int) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ofIDs(sys.IDs{InsideUID: uid, InsideGID: gid, OutsideUID: uid, OutsideGID: gid, Groups: groups}, inotify)
}

// shown is like of, for a user that appears as another on the confined side, besides
// all others.
func (s *spaces) shown(inner helper.Inner, uid, gid, inotify int) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ofIDs(sys.IDs{InsideUID: inner.UID, InsideGID: inner.GID, OutsideUID: uid, OutsideGID: gid, OtherUsers: true, OtherGroups: true}, inotify)
}

// ofIDs returns the namespace of ids. The caller must hold mu.
func (s *spaces) ofIDs(ids sys.IDs, inotify int) (int, error) {
	key := fmt.Sprint(ids)
	if fd, ok := s.made[key]; ok {
		return fd, nil
	}
	fd, err := newSpace(ids, inotify)
	if err != nil {
		return -1, err
	}
	if s.made == nil {
		s.made = map[string]int{}
	}
	s.made[key] = fd
	return fd, nil
}

func (s *spaces) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, fd := range s.made {
		sys.Close(fd)
	}
	s.made = nil
}

// newSpace creates a user namespace that maps ids.
func newSpace(ids sys.IDs, inotify int) (int, error) {
	proc, err := sys.OpenDir("/proc")
	if err != nil {
		return -1, err
	}
	defer sys.Close(proc)
	return sys.NewUserNS(proc, ids, inotify)
}
