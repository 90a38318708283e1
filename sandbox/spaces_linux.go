//go:build !hostsup_posix

package sandbox

import (
	"fmt"
	"sync"

	"github.com/hostsup/hostsup/internal/helper"
	"github.com/hostsup/hostsup/internal/sys"
)

// spaces are user namespaces that map one user and its groups to themselves,
// kept for lives to come: to make one takes longer than to enter it. That of
// an id which nobody has serves mounts: files shown by its mapping belong to
// nobody that is known, and so nobody may write to them, not to sockets either,
// which a read-only mount does not keep from.
type spaces struct {
	mu   sync.Mutex
	made map[string]int // by what they map
}

// of returns the descriptor of one, which may have so many inotify instances
// (0: as many as its user). It stays open until close.
func (s *spaces) of(uid, gid int, groups []int, inotify int) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ofIDs(sys.IDs{InsideUID: uid, InsideGID: gid, OutsideUID: uid, OutsideGID: gid, Groups: groups}, inotify)
}

// shown is of for a user that is shown inside as another, beside all others.
func (s *spaces) shown(inner helper.Inner, uid, gid, inotify int) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ofIDs(sys.IDs{InsideUID: inner.UID, InsideGID: inner.GID, OutsideUID: uid, OutsideGID: gid, OtherUsers: true, OtherGroups: true}, inotify)
}

// ofIDs is called with the lock.
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

// newSpace makes a user namespace that maps ids.
func newSpace(ids sys.IDs, inotify int) (int, error) {
	proc, err := sys.OpenDir("/proc")
	if err != nil {
		return -1, err
	}
	defer sys.Close(proc)
	return sys.NewUserNS(proc, ids, inotify)
}
