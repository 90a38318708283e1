//go:build !hostsup_posix

package sandbox

import (
	"runtime"
	"sync"

	"github.com/hostsup/hostsup/internal/sys"
)

// spaces are user namespaces that map one user and one group to themselves,
// kept for lives to come: to make one takes longer than to enter it. That of
// an id which nobody has serves mounts: files shown by its mapping belong to
// nobody that is known, and so nobody may write to them, not to sockets either,
// which a read-only mount does not keep from.
type spaces struct {
	mu   sync.Mutex
	made map[[2]int]int
}

// of returns the descriptor of one. It stays open until close.
func (s *spaces) of(uid, gid int) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := [2]int{uid, gid}
	if fd, ok := s.made[key]; ok {
		return fd, nil
	}
	proc, err := sys.OpenDir("/proc")
	if err != nil {
		return -1, err
	}
	defer sys.Close(proc)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	fd, err := sys.NewUserNS(proc, sys.IDs{InsideUID: uid, InsideGID: gid, OutsideUID: uid, OutsideGID: gid})
	if err != nil {
		return -1, err
	}
	if s.made == nil {
		s.made = map[[2]int]int{}
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
