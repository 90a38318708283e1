package sys

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// File access rights of Landlock. A kernel knows those of its version.
const (
	LandlockExecute  = unix.LANDLOCK_ACCESS_FS_EXECUTE
	LandlockReadFile = unix.LANDLOCK_ACCESS_FS_READ_FILE
	LandlockReadDir  = unix.LANDLOCK_ACCESS_FS_READ_DIR
	LandlockWrite    = unix.LANDLOCK_ACCESS_FS_WRITE_FILE
	LandlockTruncate = unix.LANDLOCK_ACCESS_FS_TRUNCATE  // version 3
	LandlockIoctl    = unix.LANDLOCK_ACCESS_FS_IOCTL_DEV // version 5
	LandlockRefer    = unix.LANDLOCK_ACCESS_FS_REFER     // version 2
	// LandlockMake covers making and removing everything but device files.
	LandlockMake = unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_REG |
		unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_SYM |
		unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE

	landlockFiles = LandlockExecute | LandlockReadFile | LandlockWrite | LandlockTruncate | LandlockIoctl // what a rule for a file may have
	landlockAll   = landlockFiles | LandlockReadDir | LandlockRefer | LandlockMake |
		unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK | unix.LANDLOCK_ACCESS_FS_MAKE_CHAR
	landlockUnix = unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX // version 9
)

// Versions of Landlock that introduced what is used here.
const (
	LandlockTruncateVersion = 3
	LandlockNetVersion      = 4 // TCP ports
	LandlockScopeVersion    = 6 // signals and abstract sockets
	LandlockAuditVersion    = 7
	LandlockUnixVersion     = 9 // sockets in the file system
)

// LandlockVersion returns the kernel's version; 0 if it has no Landlock or it is
// disabled.
func LandlockVersion() int {
	v, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(v)
}

// Ruleset makes a Landlock ruleset that handles, and so refuses, all that the
// kernel's version knows: files, with network also TCP ports, and signals and
// abstract sockets to processes outside.
func (s *Script) Ruleset(version int, network bool) Opened {
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
	return s.opens(s.add(unix.SYS_LANDLOCK_CREATE_RULESET, hold(s, attr), size, 0))
}

func landlockFS(version int) uint64 {
	fs := uint64(landlockAll)
	if version < 2 {
		fs &^= LandlockRefer
	}
	if version < LandlockTruncateVersion {
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

// AllowPath adds rights to path, and to what is below it, to a ruleset. It leaves
// out rights that the version does not know, or that a file cannot have. It opens
// path as OpenPlain does, including the check of id.
func (s *Script) AllowPath(ruleset Opened, version int, path string, id FileID, rights uint64) error {
	rights &= landlockFS(version)
	if id == (FileID{}) {
		return s.allow(ruleset, path, unix.O_NOFOLLOW, rights)
	}
	fd, err := s.OpenPlain(path, id)
	if err == nil {
		s.allowOpen(ruleset, fd, rights)
	}
	return err
}

// AllowOpen adds rights to the file that is open as fd, which stays open.
func (s *Script) AllowOpen(ruleset Opened, version, fd int, rights uint64) {
	rule := place[landlockPath](s)
	rule.rights, rule.fd = rights&landlockFiles&landlockFS(version), int32(fd)
	s.add(unix.SYS_LANDLOCK_ADD_RULE, 0, unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(rule)), 0).given(0, ruleset)
}

// AllowProgram adds the right to run this program to a ruleset, by the running file
// and not by its path.
func (s *Script) AllowProgram(ruleset Opened) error {
	return s.allow(ruleset, Program, 0, LandlockReadFile|LandlockExecute)
}

func (s *Script) allow(ruleset Opened, path string, flags uintptr, rights uint64) error {
	p, err := s.str(path)
	if err != nil {
		return err
	}
	s.allowOpen(ruleset, s.opens(s.add(unix.SYS_OPENAT, atCWD, p, unix.O_PATH|unix.O_CLOEXEC|flags)), rights)
	return nil
}

// allowOpen adds rights to the file that is open as fd, and closes fd.
func (s *Script) allowOpen(ruleset, fd Opened, rights uint64) {
	add := func(rights uint64) *call {
		rule := place[landlockPath](s)
		rule.rights = rights
		c := s.add(unix.SYS_LANDLOCK_ADD_RULE, 0, unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(rule)), 0).given(0, ruleset)
		c.from, c.to = fd.fd, &rule.fd
		return c
	}
	if c := add(rights); rights&^landlockFiles != 0 && rights&landlockFiles != 0 {
		c.pass, c.skip = unix.EINVAL, 1 // not a folder
		add(rights & landlockFiles)
	}
	s.Close(fd)
}

// Program is this program, even if its file was replaced since.
const Program = "/proc/self/exe"

// landlockPath is packed in the kernel, which does not read the bytes after its last
// field.
type landlockPath struct {
	rights uint64
	fd     int32
}

// LandlockAudited returns the flag that makes refusals be recorded also after an
// execve; 0 if the version has no records.
func LandlockAudited(version int) uint32 {
	if version < LandlockAuditVersion {
		return 0
	}
	return unix.LANDLOCK_RESTRICT_SELF_LOG_NEW_EXEC_ON
}

// Restrict puts the thread under a ruleset.
func (s *Script) Restrict(ruleset int, flags uint32) {
	s.add(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(ruleset), uintptr(flags))
}
