package sys

import (
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// Attributes of a mount.
const (
	MountReadOnly = unix.MOUNT_ATTR_RDONLY
	MountNoSuid   = unix.MOUNT_ATTR_NOSUID
	MountNoDev    = unix.MOUNT_ATTR_NODEV
	MountNoExec   = unix.MOUNT_ATTR_NOEXEC
)

// Unshare gives the calling thread namespaces of its own. It takes long, for a
// system call, and does not let the Go runtime go on meanwhile: it is for
// helper processes, which have nothing else to do.
func Unshare(namespaces uintptr) error {
	if _, _, errno := unix.RawSyscall(unix.SYS_UNSHARE, namespaces, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// PrivateMounts cuts the mount namespace off from the one it was copied from.
func PrivateMounts() error { return unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "") }

// CloneTree makes a mount of path, with what is mounted below it, that is not
// attached anywhere. No part of path may be a symbolic link.
func CloneTree(path string) (int, error) {
	how := &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC | unix.O_NOFOLLOW, Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS}
	fd, err := unix.Openat2(unix.AT_FDCWD, path, how)
	if err != nil {
		return -1, err
	}
	defer unix.Close(fd)
	return unix.OpenTree(fd, "", unix.AT_EMPTY_PATH|unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
}

// CloneTreeAt is CloneTree for name below the folder dir.
func CloneTreeAt(dir int, name string) (int, error) {
	return unix.OpenTree(dir, name, unix.AT_SYMLINK_NOFOLLOW|unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
}

// RestrictTree sets attributes on a mount and on those below it.
func RestrictTree(mount int, attrs uint64) error {
	return unix.MountSetattr(mount, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: attrs})
}

// RestrictMount sets attributes on one mount.
func RestrictMount(mount int, attrs uint64) error {
	return unix.MountSetattr(mount, "", unix.AT_EMPTY_PATH, &unix.MountAttr{Attr_set: attrs})
}

// MapTree sets attributes on a mount that is not attached yet, and on those
// below it, and shows their files as owned by other ids: those that userns, a
// descriptor of a user namespace, maps. EINVAL: a file system that cannot.
func MapTree(mount int, attrs uint64, userns int) error {
	return unix.MountSetattr(mount, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE,
		&unix.MountAttr{Attr_set: attrs | unix.MOUNT_ATTR_IDMAP, Userns_fd: uint64(userns)})
}

// AttachTree puts a mount on name below the folder dir.
func AttachTree(mount, dir int, name string) error {
	return unix.MoveMount(mount, "", dir, name, unix.MOVE_MOUNT_F_EMPTY_PATH)
}

// NewFilesystem makes a mount of a new file system that is not attached
// anywhere; options are KEY, VALUE, KEY, VALUE ….
func NewFilesystem(kind string, attrs int, options ...string) (int, error) {
	fs, err := unix.Fsopen(kind, unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, err
	}
	defer unix.Close(fs)
	for i := 0; i+1 < len(options); i += 2 {
		if options[i+1] == "" {
			err = unix.FsconfigSetFlag(fs, options[i])
		} else {
			err = unix.FsconfigSetString(fs, options[i], options[i+1])
		}
		if err != nil {
			return -1, err
		}
	}
	if err := unix.FsconfigCreate(fs); err != nil {
		return -1, err
	}
	return unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, attrs)
}

// EnterRoot makes an attached mount the root of the calling thread's mount
// namespace, and of every process in it, and lets go of what was the root.
func EnterRoot(mount int) error {
	if err := unix.Fchdir(mount); err != nil {
		return err
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return err
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return err
	}
	return unix.Chdir("/")
}

// MakeDirAt, MakeFileAt and MakeLinkAt make an empty folder, an empty file and
// a symbolic link below the folder dir. One that is there already is no error.
func MakeDirAt(dir int, name string, mode uint32) error {
	return ignoreExist(unix.Mkdirat(dir, name, mode))
}

// MakeFileAt is described at MakeDirAt.
func MakeFileAt(dir int, name string, mode uint32) error {
	return ignoreExist(unix.Mknodat(dir, name, unix.S_IFREG|mode, 0))
}

// MakeLinkAt is described at MakeDirAt.
func MakeLinkAt(text string, dir int, name string) error {
	return ignoreExist(unix.Symlinkat(text, dir, name))
}

// MakeDeviceAt makes a character device with the number and mode of another.
func MakeDeviceAt(dir int, name string, mode uint32, number uint64) error {
	if err := unix.Mknodat(dir, name, unix.S_IFCHR|mode, int(number)); err != nil {
		return ignoreExist(err)
	}
	return unix.Fchmodat(dir, name, mode, 0) // whatever the umask
}

// Device is the mode and number of a character device.
func Device(path string) (mode uint32, number uint64, err error) {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return 0, 0, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFCHR {
		return 0, 0, unix.ENODEV
	}
	return st.Mode & 0o777, uint64(st.Rdev), nil
}

func ignoreExist(err error) error {
	if err == unix.EEXIST {
		return nil
	}
	return err
}

// SetHostname names the machine in the calling thread's UTS namespace.
func SetHostname(name string) error { return unix.Sethostname([]byte(name)) }

// LoopbackUp switches the loopback interface of the calling thread's network
// namespace on.
func LoopbackUp() error {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(s)
	r, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	r.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(s, unix.SIOCSIFFLAGS, r)
}

// RefuseMemfdExec has the kernel refuse executable memory files in the
// caller's pid namespace and those below. It takes real root.
func RefuseMemfdExec() error {
	return writeAt(unix.AT_FDCWD, "/proc/sys/vm/memfd_noexec", "2")
}

// IDs is one mapping of a user namespace: a user and a group.
type IDs struct{ InsideUID, InsideGID, OutsideUID, OutsideGID int }

// MapIDs writes the mapping of the user namespace of process pid, as seen in
// the open /proc.
func MapIDs(proc, pid int, ids IDs) error {
	one := func(file string, inside, outside int) error {
		fd, err := unix.Openat(proc, strconv.Itoa(pid)+"/"+file, unix.O_WRONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		_, err = unix.Write(fd, []byte(strconv.Itoa(inside)+" "+strconv.Itoa(outside)+" 1"))
		unix.Close(fd)
		return err
	}
	if err := one("gid_map", ids.InsideGID, ids.OutsideGID); err != nil {
		return err
	}
	return one("uid_map", ids.InsideUID, ids.OutsideUID)
}

// NewUserNS makes a user namespace without a process in it and returns a
// descriptor of it. The caller is locked to its thread; proc is an open /proc
// that shows the caller's own pid namespace.
func NewUserNS(proc int, ids IDs) (int, error) {
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
		return -1, err
	}
	defer unix.Close(p[0])
	defer unix.Close(p[1])
	var s Script
	s.Step("wait")
	s.AwaitByte(p[0])
	s.Exit()
	f, err := s.Fork(NewUser, 0)
	if err != nil {
		return -1, err
	}
	defer f.Kill()
	if err := MapIDs(proc, f.Pid, ids); err != nil {
		return -1, err
	}
	return unix.Openat(proc, strconv.Itoa(f.Pid)+"/ns/user", unix.O_RDONLY|unix.O_CLOEXEC, 0)
}

// TryUserNS makes a user namespace that maps nothing, and returns the pidfd of
// a process in it that has ended.
func TryUserNS() (int, error) {
	var s Script
	s.Step("exit")
	s.Exit()
	f, err := s.Fork(NewUser, 0)
	if err != nil {
		return -1, err
	}
	unix.Close(f.errs)
	Reap(f.Pid)
	return f.Pidfd, nil
}

// HaveMemfdSwitch reports whether RefuseMemfdExec has something to switch.
func HaveMemfdSwitch() bool {
	return unix.Access("/proc/sys/vm/memfd_noexec", unix.W_OK) == nil
}

// HaveMDWE reports whether the kernel knows what Script.NoWrittenCode asks for.
func HaveMDWE() bool {
	_, err := unix.PrctlRetInt(unix.PR_GET_MDWE, 0, 0, 0, 0)
	return err == nil
}

// Owner is who owns a file, which is not followed when it is a symbolic link.
func Owner(path string) (uid, gid int, err error) {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return 0, 0, err
	}
	return int(st.Uid), int(st.Gid), nil
}

// BecomeNobody changes the user and group of all threads of this process and
// gives up their supplementary groups and capabilities.
func BecomeNobody(uid, gid int) error {
	if err := syscall.Setgroups(nil); err != nil {
		return err
	}
	if err := syscall.Setresgid(gid, gid, gid); err != nil {
		return err
	}
	return syscall.Setresuid(uid, uid, uid)
}
