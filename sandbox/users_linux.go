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

// users gives out user ids, each to one living tree. Two Launchers that share
// /run never give out the same one: each locks the byte of the id in a file that
// only root can open. The kernel ends the lock with the process that has it.
type users struct {
	Range

	mu     sync.Mutex
	locks  *os.File // nil: no id was needed yet
	locked []int    // ids, in the order in which they were locked
	taken  map[int]bool
}

var errNoUser = errors.New("all user ids of the range are in use")

// take gives out an id. One that served before comes first: what is kept for it
// serves again.
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

// lock locks the lowest id that no Launcher has. The caller holds mu.
func (u *users) lock() (int, error) {
	if err := u.open(); err != nil {
		return 0, fmt.Errorf("user ids are locked in a file of root's: %w; make /run writable for root (systemd: RuntimeDirectory=hostsup), or name a user in the policy", err)
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
	return 0, fmt.Errorf("%w (%d to %d)", errNoUser, first, first+count-1)
}

// open opens the file of the locks, and again when somebody has removed it: what
// was locked in the old one is locked in the new one, as far as no other Launcher
// was faster.
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

// openUserLocks opens the file, and makes it where it is missing. Who can open it
// can lock what is in it: that must be root alone.
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
		err = fmt.Errorf("%s: others can open it (%s): %w; remove it", f.Name(), st.Mode(), os.ErrPermission)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// close gives the ids back, after the last tree is gone.
func (u *users) close() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.locks != nil {
		_ = sys.UnlockBytes(u.locks) // a process that is being started may have a copy until it runs its program
		u.locks.Close()
	}
	u.locks, u.locked, u.taken = nil, nil, nil
}
