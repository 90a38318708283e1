//go:build !hostsup_posix

package sandbox

import (
	"fmt"

	"github.com/hostsup/hostsup/internal/sys"
)

// refuseFolders refuses descriptors of folders for a confined command: neither the
// policy nor the command's mounts restrict access through them.
func (s *starting) refuseFolders() error {
	for i, fd := range s.files {
		if fd >= 0 && sys.IsFolder(fd) {
			return fmt.Errorf("descriptor %d is a folder, and a policy cannot restrict access through it: pass a file, and grant the folder by its path", i)
		}
	}
	return nil
}
