//go:build unix

package sandbox

import (
	"syscall"

	"github.com/hostsup/hostsup/internal/sys"
)

// CloseInheritedOnExec marks the descriptors above 2 that this process was started
// with close-on-exec. A Launcher hands none of them on in any case, but has to
// close them in every child it starts, which a stray descriptor with a high
// number makes slow. It is for a program's main, before it has made a Launcher
// and while it means to pass none of them to programs it starts by other means;
// a library must not call it. Where the descriptors cannot be listed nothing
// happens.
func CloseInheritedOnExec() {
	fds, err := sys.Inheritable()
	if err != nil {
		return
	}
	for _, fd := range fds {
		syscall.CloseOnExec(fd)
	}
}
