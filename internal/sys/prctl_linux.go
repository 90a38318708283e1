package sys

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// SetName sets the name that ps and top show for the calling thread; the kernel
// keeps 15 bytes. On the main thread it is the process's name.
func SetName(name string) error {
	b := append([]byte(name), 0)
	return unix.Prctl(unix.PR_SET_NAME, uintptr(unsafe.Pointer(&b[0])), 0, 0, 0)
}

// SetSubreaper makes the calling process the new parent of every descendant
// whose own parent ends.
func SetSubreaper() error { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// SetParentDeath makes the kernel kill the calling process when the thread that
// started it ends.
func SetParentDeath() error {
	return unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(syscall.SIGKILL), 0, 0, 0)
}

// DropCapabilities gives up every capability of the calling thread, including the
// ambient ones, so that programs it starts have only their user's rights.
func DropCapabilities() error {
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return err
	}
	var data [2]unix.CapUserData
	return unix.Capset(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &data[0])
}

// MountProc mounts a fresh /proc, which shows the caller's pid namespace, over the
// present one. The caller must be in a mount namespace of its own; its mounts are
// not seen outside, while mounts made outside still appear.
func MountProc() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, ""); err != nil {
		return err
	}
	return unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
}

// IgnoreSignals makes the process ignore signals, unknown to the Go runtime. It is
// for helper processes: package os/signal makes them start later.
func IgnoreSignals(signals ...syscall.Signal) {
	action := [8]uint64{1} // SIG_IGN
	for _, sig := range signals {
		_, _, _ = unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(&action)), 0, 8, 0, 0)
	}
}
