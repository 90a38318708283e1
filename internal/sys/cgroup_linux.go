package sys

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// OwnCgroup returns the folder of this process's own v2 cgroup, the only one below
// which it can expect to make others.
func OwnCgroup() (string, error) {
	self, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", err
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return "", err
	}
	return ownCgroup(string(self), string(mounts))
}

func ownCgroup(self, mounts string) (string, error) {
	own := ""
	for line := range strings.Lines(self) {
		if p, ok := strings.CutPrefix(line, "0::"); ok {
			own = strings.TrimSuffix(p, "\n")
		}
	}
	if own == "" {
		return "", errors.New("the kernel has no v2 cgroups")
	}
	if strings.HasPrefix(own, "/../") { // how a cgroup namespace shows one outside
		return "", fmt.Errorf("our own cgroup %s is outside of our cgroup namespace", own)
	}
	found := errors.New("no cgroup2 file system is mounted")
	for line := range strings.Lines(mounts) {
		// ID PARENT DEVICE ROOT MOUNTPOINT OPTIONS … - TYPE SOURCE SUPEROPTIONS
		head, tail, ok := strings.Cut(line, " - ")
		f := strings.Fields(head)
		if !ok || len(f) < 6 || !strings.HasPrefix(tail, "cgroup2 ") {
			continue
		}
		root, point := unescapeMount(f[3]), unescapeMount(f[4])
		rel, ok := below(root, own)
		if !ok {
			found = fmt.Errorf("our own cgroup %s is outside of what is mounted at %s", own, point)
			continue
		}
		return path.Join(point, rel), nil
	}
	return "", found
}

// below returns the part of name that is below root.
func below(root, name string) (string, bool) {
	if root == "/" || name == root {
		return strings.TrimPrefix(name, root), true
	}
	return strings.CutPrefix(name, root+"/")
}

// unescapeMount undoes the octal escapes of mountinfo.
func unescapeMount(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}

// MakeCgroup makes the cgroup name below the open folder dir. Other users cannot
// open it, and so cannot lock it.
func MakeCgroup(dir int, name string) error { return unix.Mkdirat(dir, name, 0o700) }

// KillCgroup sends SIGKILL to every process in the cgroup name below the open folder dir
// ("." is dir itself) and in the cgroups below it, including processes that are being
// forked. A cgroup that does not exist is not an error.
//
// NOTE: The kernel's cgroup.kill signals only the first thread of each process,
// which does nothing if that thread has ended while others run (seen with Linux
// 6.18). So each process that is still listed afterwards is signalled once more, as
// a whole.
func KillCgroup(dir int, name string) error {
	signalled := map[int]bool{}
	for {
		if err := killCgroup(dir, name); err != nil {
			return ignoreGone(err)
		}
		if !killListed(dir, name, signalled) {
			return nil
		}
	}
}

// killListed signals the processes that the cgroup lists and that were not signalled
// yet, and reports whether there were any. Processes that cannot be listed are left
// to the kernel's own kill.
func killListed(dir int, name string, signalled map[int]bool) bool {
	listed, _ := CgroupProcs(dir, name)
	fds := map[int]int{}
	for _, pid := range listed {
		if signalled[pid] {
			continue
		}
		signalled[pid] = true
		if fd, err := PidfdOpen(pid); err == nil { // else it has ended, or only the kernel's own kill reaches it
			fds[pid] = fd
		}
	}
	if len(fds) == 0 {
		return false
	}
	// A number that is still listed while a pidfd for it is open belongs to that
	// process; before, another process could have got it.
	listed, _ = CgroupProcs(dir, name)
	for _, pid := range listed {
		if fd, ok := fds[pid]; ok {
			_ = PidfdSignal(fd, unix.SIGKILL) // it may have ended
		}
	}
	for _, fd := range fds {
		_ = unix.Close(fd)
	}
	return true
}

func killCgroup(dir int, name string) error {
	fd, err := unix.Openat(dir, name+"/cgroup.kill", unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	_, err = unix.Write(fd, []byte{'1'})
	_ = unix.Close(fd)
	return err
}

func ignoreGone(err error) error {
	if err == unix.ENOENT || err == unix.ENODEV {
		return nil
	}
	return err
}

// OpenCgroupEvents opens the file that CgroupPopulated reads, of the cgroup dir.
func OpenCgroupEvents(dir int) (int, error) {
	return unix.Openat(dir, "cgroup.events", unix.O_RDONLY|unix.O_CLOEXEC, 0)
}

// CgroupPopulated reports whether there is a process in the cgroup whose events file is
// open, or in one below it. A removed cgroup has none.
func CgroupPopulated(events int) (bool, error) {
	var b [128]byte // "populated 0\nfrozen 0\n"
	n, err := unix.Pread(events, b[:], 0)
	if err != nil {
		return false, ignoreGone(err)
	}
	return !bytes.HasPrefix(b[:n], []byte("populated 0")), nil
}

// RemoveCgroup removes the cgroup name below the open folder dir, including cgroups
// that its processes made below it. EBUSY means that processes are left. A cgroup
// that does not exist is not an error.
func RemoveCgroup(dir int, name string) error {
	err := unix.Unlinkat(dir, name, unix.AT_REMOVEDIR)
	if err != unix.EBUSY && err != unix.ENOTEMPTY {
		return ignoreGone(err)
	}
	below, lerr := cgroupsBelow(dir, name)
	if lerr != nil {
		return ignoreGone(lerr)
	}
	if len(below) == 0 {
		return unix.EBUSY
	}
	for _, sub := range below {
		if err := RemoveCgroup(dir, name+"/"+sub); err != nil {
			return err
		}
	}
	return ignoreGone(unix.Unlinkat(dir, name, unix.AT_REMOVEDIR))
}

// cgroupsBelow returns the names of the cgroups directly below one.
func cgroupsBelow(dir int, name string) ([]string, error) {
	var st unix.Stat_t
	if err := unix.Fstatat(dir, name, &st, 0); err != nil {
		return nil, err
	}
	if st.Nlink == 2 { // the kernel counts a link for each folder below; to list the files takes ten times as long
		return nil, nil
	}
	fd, err := OpenDirAt(dir, name)
	if err != nil {
		return nil, err
	}
	d := os.NewFile(uintptr(fd), name)
	defer d.Close()
	entries, err := d.ReadDir(-1)
	if err != nil {
		return nil, err
	}
	var subs []string
	for _, e := range entries {
		if e.IsDir() {
			subs = append(subs, e.Name())
		}
	}
	return subs, nil
}

// CgroupProcs lists the processes in the cgroup name below the open folder dir, and
// in the cgroups below it. A removed cgroup has none.
func CgroupProcs(dir int, name string) ([]int, error) {
	b, err := readAt(dir, name+"/cgroup.procs")
	if err != nil {
		return nil, ignoreGone(err)
	}
	var pids []int
	for _, f := range bytes.Fields(b) {
		if n, err := strconv.Atoi(string(f)); err == nil && n > 0 {
			pids = append(pids, n)
		}
	}
	below, err := cgroupsBelow(dir, name)
	if err != nil {
		return pids, ignoreGone(err)
	}
	for _, sub := range below {
		more, err := CgroupProcs(dir, name+"/"+sub)
		if err != nil {
			return pids, err
		}
		pids = append(pids, more...)
	}
	return pids, nil
}

// CgroupCPU returns the processor time that all processes of the cgroup have used,
// including ended ones.
func CgroupCPU(dir int, name string) (time.Duration, error) {
	n, err := cgroupValue(dir, name+"/cpu.stat", "usage_usec ")
	return time.Duration(n) * time.Microsecond, err
}

// CgroupMemory returns the memory of the cgroup name below the open folder dir and of
// those below it, without the cached parts of files that the kernel can take back at any
// time. It is an error if the cgroup has no memory controller.
func CgroupMemory(dir int, name string) (int64, error) {
	cached := "inactive_file "
	n, err := cgroupValue(dir, name+"/memory.current", "")
	if err == unix.ENOENT {
		cached = "total_inactive_file "
		n, err = cgroupValue(dir, name+"/memory.usage_in_bytes", "")
	}
	if err != nil {
		return 0, err
	}
	c, err := cgroupValue(dir, name+"/memory.stat", cached)
	return max(0, n-c), err
}

// cgroupValue returns the number that follows key in a line of a file.
func cgroupValue(dir int, name, key string) (int64, error) {
	b, err := readAt(dir, name)
	if err != nil {
		return 0, err
	}
	for line := range bytes.Lines(b) {
		if v, ok := bytes.CutPrefix(line, []byte(key)); ok {
			return strconv.ParseInt(string(bytes.TrimSpace(v)), 10, 64)
		}
	}
	return 0, ErrUnsupported
}

// readAt reads a small kernel file to its end.
func readAt(dir int, name string) ([]byte, error) {
	fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	b := make([]byte, 0, 512)
	for {
		n, err := unix.Read(fd, b[len(b):cap(b)])
		if err == unix.EINTR {
			continue
		}
		if err != nil || n == 0 {
			return b, err
		}
		if b = b[:len(b)+n]; len(b) == cap(b) {
			b = append(b, make([]byte, len(b))...)[:len(b)]
		}
	}
}
