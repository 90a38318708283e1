package sys

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// Rights to files that Landlock knows. A kernel knows those of its version.
const (
	LandlockExecute  = unix.LANDLOCK_ACCESS_FS_EXECUTE
	LandlockReadFile = unix.LANDLOCK_ACCESS_FS_READ_FILE
	LandlockReadDir  = unix.LANDLOCK_ACCESS_FS_READ_DIR
	LandlockWrite    = unix.LANDLOCK_ACCESS_FS_WRITE_FILE
	LandlockTruncate = unix.LANDLOCK_ACCESS_FS_TRUNCATE  // version 3
	LandlockIoctl    = unix.LANDLOCK_ACCESS_FS_IOCTL_DEV // version 5
	LandlockRefer    = unix.LANDLOCK_ACCESS_FS_REFER     // version 2
	// LandlockMake is making and removing everything but device files.
	LandlockMake = unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_REG |
		unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_SYM |
		unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE

	landlockFiles = LandlockExecute | LandlockReadFile | LandlockWrite | LandlockTruncate | LandlockIoctl // what a rule for a file may have
	landlockAll   = landlockFiles | LandlockReadDir | LandlockRefer | LandlockMake |
		unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK | unix.LANDLOCK_ACCESS_FS_MAKE_CHAR
	landlockUnix = unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX // version 9
)

// Versions of Landlock that brought what is asked for here.
const (
	LandlockNetVersion   = 4 // TCP ports
	LandlockScopeVersion = 6 // signals and abstract sockets
	LandlockAuditVersion = 7
	LandlockUnixVersion  = 9 // sockets in the file system
)

// LandlockVersion is the kernel's; 0 when it has none or it is switched off.
func LandlockVersion() int {
	v, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(v)
}

// NewLandlock makes a ruleset that handles, which is to say refuses, all that
// the kernel's version knows: files, with network also TCP ports, and signals
// and abstract sockets to processes outside.
func NewLandlock(version int, network bool) (int, error) {
	attr := struct{ fs, net, scoped uint64 }{fs: landlockFS(version)}
	size := unsafe.Sizeof(attr.fs)
	if version >= LandlockNetVersion {
		size += unsafe.Sizeof(attr.net)
		if network {
			attr.net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
		}
	}
	if version >= LandlockScopeVersion {
		size += unsafe.Sizeof(attr.scoped)
		attr.scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), size, 0)
	if errno != 0 {
		return -1, errno
	}
	return int(fd), nil
}

func landlockFS(version int) uint64 {
	fs := uint64(landlockAll)
	if version < 2 {
		fs &^= LandlockRefer
	}
	if version < 3 {
		fs &^= LandlockTruncate
	}
	if version < 5 {
		fs &^= LandlockIoctl
	}
	if version >= LandlockUnixVersion {
		fs |= landlockUnix
	}
	return fs
}

// AllowPath adds rights to path, and to what is below it, to a ruleset. Rights
// that the version does not know, or that a file cannot have, are left out.
func AllowPath(ruleset, version int, path string, rights uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	rights &= landlockFS(version)
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= landlockFiles
	}
	rule := landlockPath{rights, int32(fd)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// landlockPath is packed in the kernel; what follows its last field here is
// not looked at.
type landlockPath struct {
	rights uint64
	fd     int32
}

// LandlockAudited is the flag that has refusals recorded also after an execve;
// 0 where the version knows no records.
func LandlockAudited(version int) uint32 {
	if version < LandlockAuditVersion {
		return 0
	}
	return unix.LANDLOCK_RESTRICT_SELF_LOG_NEW_EXEC_ON
}
