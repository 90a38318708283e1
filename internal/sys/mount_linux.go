package sys

import (
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Attributes of a mount.
const (
	MountReadOnly = unix.MOUNT_ATTR_RDONLY
	MountNoSuid   = unix.MOUNT_ATTR_NOSUID
	MountNoDev    = unix.MOUNT_ATTR_NODEV
	MountNoExec   = unix.MOUNT_ATTR_NOEXEC
)

const (
	atCWD = ^uintptr(-unix.AT_FDCWD - 1)
	tree  = uintptr(unix.AT_EMPTY_PATH | unix.AT_RECURSIVE) // of an open mount and those below it
)

// Unshare puts the thread into new namespaces.
func (s *Script) Unshare(namespaces uintptr) { s.add(unix.SYS_UNSHARE, namespaces) }

// PrivateMounts separates the mount namespace from the one it was copied from.
func (s *Script) PrivateMounts() { s.remount(unix.MS_REC | unix.MS_PRIVATE) }

func (s *Script) remount(flags uintptr) *call {
	return s.add(unix.SYS_MOUNT, s.text(""), s.text("/"), s.text(""), flags, 0)
}

// FreshProc mounts a fresh /proc, which shows the thread's pid namespace, over the
// present one. The thread must be in a mount namespace of its own; its mounts are
// not seen outside, while mounts made outside still appear. Where a fresh /proc is
// not allowed, the present one stays.
func (s *Script) FreshProc() {
	c := s.remount(unix.MS_REC | unix.MS_SLAVE)
	c.ignore, c.missed = true, 1
	s.add(unix.SYS_MOUNT, s.text("proc"), s.text("/proc"), s.text("proc"), unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, 0).ignore = true
}

// text is str for strings without a zero byte.
func (s *Script) text(v string) uintptr { return s.bytes(append([]byte(v), 0)) }

// CloneTree makes an unattached mount of path, including the mounts below it. It
// opens path as OpenPlain does.
func (s *Script) CloneTree(path string, id FileID) (Opened, error) {
	at, err := s.OpenPlain(path, id)
	if err != nil {
		return Opened{}, err
	}
	fd := s.CloneOpen(at)
	s.Close(at)
	return fd, nil
}

// OpenIn opens path below the folder dir as O_PATH. Nothing in path may be a
// symbolic link (ELOOP). It needs openat2 (ENOSYS) and has no fallback: other users
// may change what is below dir meanwhile.
func (s *Script) OpenIn(dir Opened, path string) (Opened, error) {
	p, err := s.str(path)
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_BENEATH}
	return s.opens(s.add(unix.SYS_OPENAT2, 0, p, hold(s, how), unix.SizeofOpenHow).given(0, dir)), err
}

// CloneOpen makes a mount of an open file, as CloneTree does of a path.
func (s *Script) CloneOpen(at Opened) Opened {
	return s.opens(s.add(unix.SYS_OPEN_TREE, 0, s.text(""), tree|unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC).given(0, at))
}

func (s *Script) setAttr(mount Opened, flags uintptr, attr unix.MountAttr) *call {
	return s.add(unix.SYS_MOUNT_SETATTR, 0, s.text(""), flags, hold(s, attr), unsafe.Sizeof(attr)).given(0, mount)
}

// RestrictTree sets attributes on a mount and on those below it.
func (s *Script) RestrictTree(mount Opened, attrs uint64) {
	s.setAttr(mount, tree, unix.MountAttr{Attr_set: attrs})
}

// RestrictMount sets attributes on one mount.
func (s *Script) RestrictMount(mount Opened, attrs uint64) {
	s.setAttr(mount, unix.AT_EMPTY_PATH, unix.MountAttr{Attr_set: attrs})
}

// MapTree sets attributes on a mount that is not attached yet, and on those below
// it, and shows their files as owned by other ids: those that userns, a descriptor
// of a user namespace, maps. EINVAL means that a file system cannot. With loose,
// such a file system is shown unchanged.
func (s *Script) MapTree(mount Opened, attrs uint64, userns int, loose bool) {
	c := s.setAttr(mount, tree, unix.MountAttr{Attr_set: attrs | unix.MOUNT_ATTR_IDMAP, Userns_fd: uint64(userns)})
	if loose {
		c.pass, c.skip = unix.EINVAL, 1
		s.RestrictTree(mount, attrs)
	}
}

// ErrOwners means that a file system can show its files only as those of their own
// owners.
var ErrOwners = errors.New("the file system cannot show files as those of another owner")

// TryMap shows the folder dir, in a mount that no process sees, as owned by the ids
// that userns maps, and so checks whether that works. ErrOwners is the answer of the
// file system; any other error means nothing about it.
func TryMap(dir string, userns int) error {
	fd, err := unix.OpenTree(AtCWD, dir, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
	if err != nil {
		return os.NewSyscallError("open_tree", err)
	}
	defer unix.Close(fd)
	err = unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_IDMAP, Userns_fd: uint64(userns)})
	if err == unix.EINVAL {
		return fmt.Errorf("%w: %w", ErrOwners, err)
	}
	return os.NewSyscallError("mount_setattr", err)
}

// Attach puts a mount on the file that is open as at, and closes both.
func (s *Script) Attach(mount, at Opened) {
	const flags = unix.MOVE_MOUNT_F_EMPTY_PATH | unix.MOVE_MOUNT_T_EMPTY_PATH
	s.add(unix.SYS_MOVE_MOUNT, 0, s.text(""), 0, s.text(""), flags).given(0, mount).given(2, at)
	s.Close(mount)
	s.Close(at)
}

// AttachRoot puts a mount over the root. Existing references do not see it: sources
// of later mounts can still be found.
func (s *Script) AttachRoot(mount Opened) {
	s.add(unix.SYS_MOVE_MOUNT, 0, s.text(""), atCWD, s.text("/"), unix.MOVE_MOUNT_F_EMPTY_PATH).given(0, mount)
}

// Filesystem makes an unattached mount of a new file system; options are KEY, VALUE,
// KEY, VALUE ….
func (s *Script) Filesystem(kind string, attrs uint64, options ...string) Opened {
	fs := s.opens(s.add(unix.SYS_FSOPEN, s.text(kind), unix.FSOPEN_CLOEXEC))
	for i := 0; i+1 < len(options); i += 2 {
		s.add(unix.SYS_FSCONFIG, 0, unix.FSCONFIG_SET_STRING, s.text(options[i]), s.text(options[i+1]), 0).given(0, fs)
	}
	s.add(unix.SYS_FSCONFIG, 0, unix.FSCONFIG_CMD_CREATE, 0, 0, 0).given(0, fs)
	fd := s.opens(s.add(unix.SYS_FSMOUNT, 0, unix.FSMOUNT_CLOEXEC, uintptr(attrs)).given(0, fs))
	s.Close(fs)
	return fd
}

// NewFilesystem makes an unattached mount of a new file system; options are KEY,
// VALUE, KEY, VALUE ….
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

// EnterRoot makes an attached mount the root of the thread's mount namespace, and of
// every process in it, and detaches the old root.
func (s *Script) EnterRoot(mount Opened) {
	s.add(unix.SYS_FCHDIR).given(0, mount)
	s.add(unix.SYS_PIVOT_ROOT, s.text("."), s.text("."))
	s.add(unix.SYS_UMOUNT2, s.text("."), unix.MNT_DETACH)
	s.add(unix.SYS_CHDIR, s.text("/"))
	s.Close(mount)
}

// MakeDir, MakeFile, MakeLink and MakeDevice make an empty folder, an empty file, a
// symbolic link, and a character device with the number and mode of another, in the
// folder dir. name must have no slash. A file that exists already is not an error.
func (s *Script) MakeDir(dir Opened, name string, mode uint32) error {
	p, err := s.str(name)
	s.add(unix.SYS_MKDIRAT, 0, p, uintptr(mode)).given(0, dir).pass = unix.EEXIST
	return err
}

// MakeFile is described at MakeDir.
func (s *Script) MakeFile(dir Opened, name string, mode uint32) error {
	p, err := s.str(name)
	s.add(unix.SYS_MKNODAT, 0, p, uintptr(unix.S_IFREG|mode), 0).given(0, dir).pass = unix.EEXIST
	return err
}

// MakeLink is described at MakeDir.
func (s *Script) MakeLink(text string, dir Opened, name string) error {
	t, err := s.str(text)
	if err != nil {
		return err
	}
	p, err := s.str(name)
	s.add(unix.SYS_SYMLINKAT, t, 0, p).given(1, dir).pass = unix.EEXIST
	return err
}

// MakeDevice is described at MakeDir.
func (s *Script) MakeDevice(dir Opened, name string, mode uint32, number uint64) error {
	p, err := s.str(name)
	c := s.add(unix.SYS_MKNODAT, 0, p, uintptr(unix.S_IFCHR|mode), uintptr(number)).given(0, dir)
	c.pass, c.missed = unix.EEXIST, 1
	s.add(unix.SYS_FCHMODAT, 0, p, uintptr(mode)).given(0, dir) // whatever the umask
	return err
}

// MakeText makes a file with text in it, in the folder dir. name must have no slash.
func (s *Script) MakeText(dir Opened, name string, mode uint32, text string) error {
	p, err := s.str(name)
	fd := s.opens(s.add(unix.SYS_OPENAT, 0, p, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, uintptr(mode)).given(0, dir))
	if text != "" {
		s.add(unix.SYS_WRITE, 0, s.bytes([]byte(text)), uintptr(len(text))).given(0, fd).least = uintptr(len(text))
	}
	s.Close(fd)
	return err
}

// Device returns the mode and number of a character device.
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

// Hostname sets the host name in the thread's UTS namespace.
func (s *Script) Hostname(name string) {
	s.add(unix.SYS_SETHOSTNAME, s.bytes([]byte(name)), uintptr(len(name)))
}

// RefuseMemfdExec makes the kernel refuse executable memory files in the thread's
// pid namespace and those below. It needs real root.
func (s *Script) RefuseMemfdExec() {
	fd := s.opens(s.add(unix.SYS_OPENAT, atCWD, s.text(memfdSwitch), unix.O_WRONLY|unix.O_CLOEXEC))
	s.add(unix.SYS_WRITE, 0, s.bytes([]byte("2")), 1).given(0, fd)
	s.Close(fd)
}

const memfdSwitch = "/proc/sys/vm/memfd_noexec"

// InotifyShare returns how many inotify instances a user namespace may have so that
// most of those that the kernel grants its creator are left for others; 0 if that is
// unknown.
func InotifyShare() int {
	const share = 4
	b, err := os.ReadFile(inotifyLimit)
	if err != nil {
		return 0
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		return 0
	}
	return max(n/share, 1)
}

const inotifyLimit = "/proc/sys/user/max_inotify_instances" // of the opener's user namespace

// BoundInotify limits the inotify instances of the thread's user namespace, if /proc
// can be written.
func (s *Script) BoundInotify(n int) {
	text := strconv.Itoa(n)
	open := s.add(unix.SYS_OPENAT, atCWD, s.text(inotifyLimit), unix.O_WRONLY|unix.O_CLOEXEC)
	open.ignore = true
	fd := s.opens(open)
	s.add(unix.SYS_WRITE, 0, s.bytes([]byte(text)), uintptr(len(text))).given(0, fd).ignore = true
	s.add(unix.SYS_CLOSE, 0).given(0, fd).ignore = true
}

// IDs is the mapping of a user namespace: a user and a group, and other groups
// that have the same number on both sides.
type IDs struct {
	InsideUID, InsideGID, OutsideUID, OutsideGID int

	Groups    []int // at most 300, none of them InsideGID or OutsideGID; without AllGroups
	AllGroups bool  // all groups; InsideGID and OutsideGID are swapped

	// OtherUsers and OtherGroups map every other number to itself. The number
	// OutsideUID has no meaning inside then, nor has InsideUID outside.
	OtherUsers, OtherGroups bool
}

// users returns the lines of a uid_map.
func (ids *IDs) users() string {
	if ids.OtherUsers {
		return others(ids.InsideUID, ids.OutsideUID)
	}
	return fmt.Sprintf("%d %d 1", ids.InsideUID, ids.OutsideUID)
}

// groups returns the lines of a gid_map.
func (ids *IDs) groups() string {
	if ids.OtherGroups {
		return others(ids.InsideGID, ids.OutsideGID)
	}
	var b idMap
	in, out := ids.InsideGID, ids.OutsideGID
	if !ids.AllGroups {
		b.line(in, out, 1)
		for _, g := range ids.Groups {
			b.line(g, g, 1)
		}
		return b.String()
	}
	low, high := min(in, out), max(in, out)
	b.line(0, 0, low)
	b.line(low, in+out-low, 1)
	if low != high {
		b.line(low+1, low+1, high-low-1)
		b.line(high, in+out-high, 1)
	}
	b.line(high+1, high+1, lastID-high)
	return b.String()
}

// lastID is the highest id: the number above it stands for no id.
const lastID = math.MaxUint32 - 1

// others maps the number in to the number out, and all other numbers to themselves.
func others(in, out int) string {
	var b idMap
	low, high := min(in, out), max(in, out)
	b.line(0, 0, low)
	b.line(in, out, 1)
	b.line(low+1, low+1, high-low-1)
	b.line(high+1, high+1, lastID-high)
	return b.String()
}

// idMap is the text of a uid_map or gid_map.
type idMap struct{ strings.Builder }

func (m *idMap) line(inside, outside, count int) {
	if count > 0 {
		fmt.Fprintf(m, "%d %d %d\n", inside, outside, count)
	}
}

// MapIDs writes the mapping of the user namespace of process pid, as seen in the
// open /proc.
func MapIDs(proc, pid int, ids IDs) error {
	one := func(file, text string) error {
		fd, err := unix.Openat(proc, strconv.Itoa(pid)+"/"+file, unix.O_WRONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		_, err = unix.Write(fd, []byte(text))
		unix.Close(fd)
		return err
	}
	if err := one("gid_map", ids.groups()); err != nil {
		return err
	}
	return one("uid_map", ids.users())
}

// NoSetgroups forbids the processes in the user namespace of process pid to change
// their supplementary groups; only then may an ordinary user map a group. It must be
// called before MapIDs.
func NoSetgroups(proc, pid int) error {
	return writeAt(proc, strconv.Itoa(pid)+"/setgroups", "deny")
}

// NewUserNS makes a user namespace without a process in it and returns a descriptor
// of it. inotify bounds its inotify instances; 0: as many as its user may have. proc
// is an open /proc that shows the caller's own pid namespace.
func NewUserNS(proc int, ids IDs, inotify int) (int, error) {
	var s Script
	if inotify > 0 {
		s.Step("inotify")
		s.BoundInotify(inotify)
	}
	s.Exit()
	ns := -1
	err := s.runEnded(NewUser, func(pid int) (err error) {
		// The namespace exists until its first process is reaped.
		if err = MapIDs(proc, pid, ids); err == nil {
			ns, err = unix.Openat(proc, strconv.Itoa(pid)+"/ns/user", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		}
		return err
	})
	return ns, err
}

// HaveMemfdSwitch reports whether RefuseMemfdExec has something to switch.
func HaveMemfdSwitch() bool {
	return unix.Access(memfdSwitch, unix.W_OK) == nil
}

// HaveMDWE reports whether the kernel supports Script.NoWrittenCode.
func HaveMDWE() bool {
	_, err := unix.PrctlRetInt(unix.PR_GET_MDWE, 0, 0, 0, 0)
	return err == nil
}
