//go:build !unix

package stores

import (
	"fmt"
	"os"
	"time"

	"github.com/hostsup/hostsup/intercept/secret"
)

// private: access lists say who can read a file here, and those of a user's own
// folders name nobody else.
func private(info os.FileInfo, _ bool) error {
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%w: it is not a file", secret.ErrIdentity)
	}
	return nil
}

// lock keeps other processes away from a file that is about to be written.
func lock(path string) (unlock func(), err error) {
	for give := time.Now().Add(lockWithin); ; time.Sleep(5 * time.Millisecond) {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		switch {
		case err == nil:
			return func() { _ = f.Close(); _ = os.Remove(path) }, nil
		case !os.IsExist(err):
			return nil, err
		case time.Now().After(give):
			return nil, fmt.Errorf("%w: somebody else holds %s; remove it if nobody does", secret.ErrTimeout, path)
		}
	}
}

func syncDir(string) error { return nil }
