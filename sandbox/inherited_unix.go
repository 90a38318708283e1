//go:build unix

package sandbox

import (
	"syscall"

	"github.com/hostsup/hostsup/internal/sys"
)

// CloseInheritedOnExec marks the inherited descriptors above 2 of this process
// close-on-exec. A Launcher never passes them on, but must close them in every child,
// which is slow if one has a high number. Call it in main before NewLauncher, in a
// program that does not pass these descriptors to programs that it starts by other
// means; a library must not call it. It does nothing if the descriptors cannot be
// listed.
func CloseInheritedOnExec() {
	fds, err := sys.Inheritable()
	if err != nil {
		return
	}
	for _, fd := range fds {
		syscall.CloseOnExec(fd)
	}
}
