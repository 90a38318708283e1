//go:build unix

package stores

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/hostsup/hostsup/intercept/secret"
	"github.com/hostsup/hostsup/internal/sys"
)

// private says whether only the owner can read a file, who has to be this user
// or root. Credentials of systemd are readable for the user of the service by an
// access list, of which the mode shows the mask in place of the group.
func private(info os.FileInfo, managed bool) error {
	open := info.Mode().Perm() & 0o077
	if managed {
		open &= 0o007
	}
	if open != 0 {
		return fmt.Errorf("%w: its mode is %#o; expected 0600 (chmod 600)", secret.ErrExposed, info.Mode().Perm())
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Uid != 0 && int(st.Uid) != os.Geteuid() {
		return fmt.Errorf("%w: it belongs to uid %d", secret.ErrExposed, st.Uid)
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%w: it is not a file", secret.ErrIdentity)
	}
	return nil
}

// lock keeps other processes away from a file that is about to be written. The
// lock's own file stays: taking it away would let two have it at once.
func lock(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	for give := time.Now().Add(lockWithin); ; time.Sleep(5 * time.Millisecond) {
		err = sys.Lock(f)
		switch {
		case err == nil:
			return func() { _ = f.Close() }, nil // its end is the lock's
		case !errors.Is(err, sys.ErrLocked):
			_ = f.Close()
			return nil, err
		case time.Now().After(give):
			_ = f.Close()
			return nil, fmt.Errorf("%w: somebody else holds %s", secret.ErrTimeout, path)
		}
	}
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) { // some file systems cannot
		return err
	}
	return nil
}
