package sys

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Resources of Script.Limit.
const (
	LimitCore         = unix.RLIMIT_CORE
	LimitFiles        = unix.RLIMIT_NOFILE
	LimitFileSize     = unix.RLIMIT_FSIZE
	LimitAddressSpace = unix.RLIMIT_AS
	LimitTasks        = unix.RLIMIT_NPROC
	LimitSignals      = unix.RLIMIT_SIGPENDING
)

// HardLimit returns the hard limit of this process for a resource.
func HardLimit(resource int) (uint64, error) {
	var l unix.Rlimit
	err := unix.Getrlimit(resource, &l)
	return l.Max, err
}

// ErrNoHierarchy means that a controller is in no v1 hierarchy, as on all machines
// with only v2.
var ErrNoHierarchy = errors.New("no v1 hierarchy")

// OwnCgroup1 returns the folder of this process's own cgroup in the v1 hierarchy of a
// controller.
func OwnCgroup1(controller string) (string, error) {
	self, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", err
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return "", err
	}
	return ownCgroup1(controller, string(self), string(mounts))
}

func ownCgroup1(controller, self, mounts string) (string, error) {
	own := ""
	for line := range strings.Lines(self) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(f) == 3 && slices.Contains(strings.Split(f[1], ","), controller) {
			own = f[2]
		}
	}
	if own == "" || strings.HasPrefix(own, "/../") {
		return "", fmt.Errorf("%w has the controller %s for us", ErrNoHierarchy, controller)
	}
	for line := range strings.Lines(mounts) {
		head, tail, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " - ")
		f, t := strings.Fields(head), strings.Fields(tail)
		if !ok || len(f) < 6 || len(t) < 3 || t[0] != "cgroup" || !slices.Contains(strings.Split(t[2], ","), controller) {
			continue
		}
		rel, ok := below(unescapeMount(f[3]), own)
		if !ok {
			continue
		}
		return path.Join(unescapeMount(f[4]), rel), nil
	}
	return "", fmt.Errorf("the v1 hierarchy of the controller %s is not mounted", controller)
}

// DelegatedCgroup returns the folder to make cgroups in: beside own, if the parent
// has put this process into a subfolder of a delegated cgroup, as systemd does with
// DelegateSubgroup; else own itself. A cgroup with processes in it cannot distribute
// limits.
func DelegatedCgroup(own string) string {
	parent := path.Dir(own)
	if marked(parent) || path.Base(own) == subgroup && owned(parent) {
		return parent
	}
	return own
}

// subgroup is the cgroup that EnterSubgroup moves to.
const subgroup = "supervisor"

// marked reports whether systemd has marked a cgroup as delegated. Older versions do
// not mark a user's.
func marked(cgroup string) bool {
	var b [8]byte
	for _, name := range []string{"user.delegate", "trusted.delegate"} {
		n, err := unix.Getxattr(cgroup, name, b[:])
		if err == nil && n == 1 && b[0] == '1' && unix.Access(cgroup, unix.W_OK) == nil {
			return true
		}
	}
	return false
}

// owned reports whether an ordinary user may divide a cgroup.
func owned(cgroup string) bool {
	return os.Geteuid() != 0 && unix.Access(cgroup, unix.W_OK) == nil &&
		unix.Access(cgroup+"/cgroup.subtree_control", unix.W_OK) == nil && unix.Access(cgroup+"/cgroup.procs", unix.W_OK) == nil
}

// EnterSubgroup moves this process to a cgroup named supervisor below its own, if
// its own is delegated to it and has no other process: a cgroup with processes
// cannot distribute limits. Else it does nothing.
func EnterSubgroup() error {
	own, err := OwnCgroup()
	if err != nil || !marked(own) && !owned(own) {
		return nil // there is nothing to move in
	}
	dir, err := OpenDir(own)
	if err != nil {
		return err
	}
	defer Close(dir)
	self := strconv.Itoa(os.Getpid())
	if all, err := CgroupText(dir, "cgroup.procs"); err != nil || all != self {
		return err
	}
	if err := MakeCgroup(dir, subgroup); err != nil && err != unix.EEXIST {
		return err
	}
	return SetCgroup(dir, subgroup+"/cgroup.procs", self)
}

// SetCgroup writes a value to a file of the cgroup below the open folder dir.
func SetCgroup(dir int, file, value string) error { return writeAt(dir, file, value) }

func writeAt(dir int, file, value string) error {
	fd, err := unix.Openat(dir, file, unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	for err = unix.EINTR; err == unix.EINTR; { // the kernel may take long to free memory within a limit
		_, err = unix.Write(fd, []byte(value))
	}
	unix.Close(fd)
	return err
}

// CgroupText reads a file of the cgroup below the open folder dir, without the
// newline at its end.
func CgroupText(dir int, file string) (string, error) {
	b, err := readAt(dir, file)
	return strings.TrimSuffix(string(b), "\n"), err
}

// CgroupNumber reads a file that holds one number, or with key the number that
// follows key in a file of keys and numbers.
func CgroupNumber(dir int, file, key string) (int64, error) {
	b, err := readAt(dir, file)
	if err != nil {
		return 0, err
	}
	if key == "" {
		return strconv.ParseInt(string(bytes.TrimSpace(b)), 10, 64)
	}
	for line := range bytes.Lines(b) {
		if v, ok := bytes.CutPrefix(line, []byte(key+" ")); ok {
			return strconv.ParseInt(string(bytes.TrimSpace(v)), 10, 64)
		}
	}
	return 0, errors.ErrUnsupported
}

// OpenCgroupTasks opens the file of the cgroup below the open folder dir to which a
// process with one thread writes itself. The kernel checks the rights of the opener.
// In v1 it is the file of threads, so that the kernel need not wait for all forks
// and exits of the machine.
func OpenCgroupTasks(dir int, v2 bool) (int, error) {
	name := "tasks"
	if v2 {
		name = "cgroup.procs"
	}
	return unix.Openat(dir, name, unix.O_WRONLY|unix.O_CLOEXEC, 0)
}

// OOMEvents returns a descriptor that can be read when a process of the v1 memory
// cgroup whose folder is open found no memory, and when the cgroup is removed. It is
// non-blocking and close-on-exec; the caller must close it.
func OOMEvents(dir int) (int, error) {
	control, err := unix.Openat(dir, "memory.oom_control", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	defer unix.Close(control)
	events, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return -1, err
	}
	if err := writeAt(dir, "cgroup.event_control", strconv.Itoa(events)+" "+strconv.Itoa(control)); err != nil {
		unix.Close(events)
		return -1, err
	}
	return events, nil
}
