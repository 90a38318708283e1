package supervisor

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/hostsup/hostsup/internal/sys"
)

// StateInUseError means that another supervisor, in this program or another one,
// keeps its log files and crash reports in the state folder.
type StateInUseError struct {
	Dir string
	PID int // 0 when it is not known
}

// Error returns `the state folder /var/lib/hostsup is in use by another
// supervisor (pid 4711): …`.
func (e *StateInUseError) Error() string {
	who := "another supervisor"
	if e.PID != 0 {
		who += fmt.Sprintf(" (pid %d)", e.PID)
	}
	return fmt.Sprintf("the state folder %s is in use by %s: give each supervisor its own with supervisor.state_dir", e.Dir, who)
}

// lockName is the file that is locked on file systems that cannot lock a folder.
const lockName = ".lock"

// lockTries is how often a lock is tried again. A supervisor that was killed while it started a
// process leaves the lock to that process for the moment until its program runs.
const lockTries = 50

// lockState makes the state folder and takes it for one tree, until sys.Unlock of the
// file. What is locked is the folder itself: nobody can remove the lock and
// leave the folder. A folder that cannot be made is nobody's, and the file nil:
// the tree keeps its state in memory then.
func lockState(dir string) (*os.File, error) {
	for tries := lockTries; ; tries-- {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, nil //nolint:nilerr // logs and reports say so when they write
		}
		f, err := os.Open(dir)
		if err != nil {
			return nil, fmt.Errorf("open the state folder: %w", err)
		}
		path := dir
		if err = sys.Lock(f); err != nil && !errors.Is(err, sys.ErrLocked) {
			_ = f.Close()
			path = filepath.Join(dir, lockName)
			if f, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600); err == nil {
				err = sys.Lock(f)
			}
		}
		switch {
		case errors.Is(err, sys.ErrLocked) && tries > 0:
			_ = f.Close()
			<-time.After(10 * time.Millisecond)
			continue
		case errors.Is(err, sys.ErrLocked):
			err = &StateInUseError{dir, sys.LockOwner(f)}
			return nil, errors.Join(err, f.Close())
		case err != nil:
			return nil, errors.Join(fmt.Errorf("lock the state folder: %w", err), f.Close())
		}
		if isAt(f, path) {
			return f, nil
		}
		_ = f.Close() // somebody has put another folder in its place
	}
}

// isAt reports whether path is the open file f.
func isAt(f *os.File, path string) bool {
	mine, err := f.Stat()
	if err != nil {
		return false
	}
	now, err := os.Stat(path)
	return err == nil && os.SameFile(mine, now)
}
