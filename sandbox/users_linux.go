//go:build !hostsup_posix

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/hostsup/hostsup/internal/sys"
)

// Defaults of Options.Users.
const (
	firstUser = 2_000_000_000
	userCount = 65536
)

// users allocates user ids, each to one living tree. Two Launchers that share /run never
// allocate the same id: each locks the byte of the id in a file that only root can
// open. The kernel releases the lock when its process ends.
type users struct {
	Range

	mu     sync.Mutex
	locks  *os.File // nil before the first id
	locked []int    // ids, in the order of locking
	taken  map[int]bool
}

// ErrNoUser means that no user id of [Options].Users is free for another process.
var ErrNoUser = errors.New("all user ids of the range are in use")

// take allocates an id. It prefers ids that were used before, because resources are
// cached for them.
func (u *users) take() (int, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.taken == nil {
		u.taken = map[int]bool{}
	}
	for _, id := range u.locked {
		if !u.taken[id] {
			u.taken[id] = true
			return id, nil
		}
	}
	id, err := u.lock()
	if err == nil {
		u.taken[id] = true
	}
	return id, err
}

func (u *users) give(id int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.taken, id)
}

// lock locks the lowest id that no Launcher has. The caller must hold mu.
func (u *users) lock() (int, error) {
	if err := u.open(); err != nil {
		return 0, fmt.Errorf("user ids are locked in a file of root: %w; make /run writable for root (systemd: RuntimeDirectory=hostsup), or name a user in the policy", err)
	}
	first, count := u.First, u.Count
	if first == 0 {
		first = firstUser
	}
	if count == 0 {
		count = userCount
	}
	for id := first; id < first+count; id++ {
		if slices.Contains(u.locked, id) {
			continue
		}
		err := sys.LockByte(u.locks, int64(id))
		if errors.Is(err, sys.ErrLocked) {
			continue
		}
		if err != nil {
			return 0, err
		}
		u.locked = append(u.locked, id)
		return id, nil
	}
	return 0, fmt.Errorf("%w (%d to %d)", ErrNoUser, first, first+count-1)
}

// open opens the file of the locks. If the file was removed, it opens the new one and
// locks the same ids there, unless another Launcher was faster.
func (u *users) open() error {
	if u.locks != nil {
		mine, err := u.locks.Stat()
		if err != nil {
			return err
		}
		if now, err := os.Lstat(u.locks.Name()); err == nil && os.SameFile(mine, now) {
			return nil
		}
	}
	f, err := openUserLocks()
	if err != nil {
		return err
	}
	for _, id := range u.locked {
		if err := sys.LockByte(f, int64(id)); err != nil && !errors.Is(err, sys.ErrLocked) {
			return errors.Join(err, f.Close())
		}
	}
	if u.locks != nil {
		u.locks.Close()
	}
	u.locks = f
	return nil
}

// openUserLocks opens the file, and creates it if it is missing. It fails if others than
// root can open the file, because they could lock its bytes.
func openUserLocks() (*os.File, error) {
	dir, err := privateFolder()
	if err != nil {
		return nil, err
	}
	f, err := sys.OpenPlain(filepath.Join(dir, "users"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: filepath.Join(dir, "users"), Err: err}
	}
	st, err := f.Stat()
	if err == nil && (!st.Mode().IsRegular() || !isOwn(st) || st.Mode().Perm()&0o077 != 0) {
		err = fmt.Errorf("%s: other users can open it (%s): %w; remove it", f.Name(), st.Mode(), os.ErrPermission)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// close releases the ids, after the last tree is gone.
func (u *users) close() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.locks != nil {
		_ = sys.UnlockBytes(u.locks) // a starting process may have a copy until its execve
		u.locks.Close()
	}
	u.locks, u.locked, u.taken = nil, nil, nil
}
