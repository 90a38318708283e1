//go:build !hostsup_posix

package sandbox

import (
	"fmt"

	"github.com/hostsup/hostsup/internal/sys"
)

// refuseFolders refuses descriptors of folders for a confined command: what is
// reached through one is no path of the policy's, and no mount of the
// command's holds what may be done there.
func (s *starting) refuseFolders() error {
	for i, fd := range s.files {
		if fd >= 0 && sys.IsFolder(fd) {
			return fmt.Errorf("descriptor %d is a folder, and no policy holds what is done through it: hand over a file, and grant the folder by its path", i)
		}
	}
	return nil
}
