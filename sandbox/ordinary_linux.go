//go:build !hostsup_posix

package sandbox

import (
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/hostsup/hostsup/internal/helper"
	"github.com/hostsup/hostsup/internal/sys"
	"github.com/hostsup/hostsup/sandbox/policy"
)

// What a policy with Ordinary shows in addition.

const (
	terminalCount = 256     // of one command; the machine has some thousands
	sharedSize    = 1 << 30 // of /dev/shm, in bytes
	sharedNodes   = 65536
)

// machineFiles lists the files of /proc that are shown besides the folders of
// processes: any user may read them, and programs use them to choose the number of
// threads and the amount of memory, or display them. Other files describe kernel
// internals, devices and other users.
var machineFiles = []string{
	"cgroups", "cpuinfo", "diskstats", "filesystems", "loadavg", "meminfo", "mounts", "net", "partitions", "pressure",
	"self", "stat", "swaps", "sys", "sysvipc", "thread-self", "tty", "uptime", "version", "vmstat",
}

// ordinary runs the command as the user of this process. As root the command has its
// own user id, which appears as root on the confined side and has no rights on the
// host side. If the policy names a user, the command is that user with its rights.
func (s *starting) ordinary(root bool) {
	p := &s.plan
	p.KeepName = true
	f, _ := probe().Feature(featureMachine)
	p.WholeProc = f.Have
	if !f.Have {
		s.child.held.confinement.Missing = append(s.child.held.confinement.Missing, f.Name+": "+f.Detail)
	}
	if s.unmapped {
		s.child.held.confinement.Missing = append(s.child.held.confinement.Missing,
			"mapped owners: the file system cannot map the owners of files, so that the command runs as root, without capabilities and without unix sockets")
	}
	if root && s.r.UID < 0 {
		p.Inner = helper.Inner{Shown: true, UID: os.Geteuid(), GID: os.Getegid()}
	}
}

// shown reports whether the command is shown as the user of this process.
func (p *rootPlan) shown() bool { return p.root && p.r.Policy.Ordinary && p.r.UID < 0 }

// ordinary adds terminals and shared memory.
func (p *rootPlan) ordinary() {
	p.dir("/dev/pts", 0o755)
	p.op(helper.MountOp{Kind: helper.OpTerminals, Path: "/dev/pts", Attrs: sys.MountNoSuid | sys.MountNoExec, Nodes: terminalCount, UID: -1, What: "mount /dev/pts"})
	p.op(helper.MountOp{Kind: helper.OpLink, Path: "/dev/ptmx", From: "pts/ptmx"})
	p.rules = append(p.rules, helper.LandlockRule{Path: "/dev/pts", Rights: sys.LandlockReadFile | sys.LandlockReadDir | sys.LandlockWrite | sys.LandlockIoctl | sys.LandlockTruncate})
	p.dir("/dev/shm", 0o755)
	size := int64(sharedSize)
	if limit := p.r.Limits.Memory; limit > 0 {
		size = min(size, limit/2) // its memory belongs to no process, so that sampling does not see it
	}
	p.op(helper.MountOp{Kind: helper.OpTmpfs, Path: "/dev/shm", Attrs: p.data(), Size: size, Nodes: sharedNodes, Mode: 0o1777, UID: -1, What: "mount /dev/shm"})
	p.rules = append(p.rules, helper.LandlockRule{Path: "/dev/shm", Rights: p.rights(policy.Write)})
	p.made["/dev/ptmx"] = true
}

// terminal gives the terminal of a command, which is in /dev/pts on the host side, the
// name of a console, as in containers. As root it makes the command its owner, as a
// login does.
func (p *rootPlan) terminal(f *os.File, fd int) {
	from, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
	if err != nil {
		return // a terminal without a name works too
	}
	info, err := os.Lstat(from)
	if open, e := f.Stat(); err != nil || e != nil || !os.SameFile(info, open) {
		return
	}
	if p.root && p.uid != os.Geteuid() {
		_ = f.Chown(p.uid, -1) // on failure it cannot be opened by its name, but it is already open
	}
	const name = "/dev/console"
	p.op(helper.MountOp{Kind: helper.OpFile, Path: name, Mode: 0o600})
	p.op(helper.MountOp{Kind: helper.OpBind, Path: name, From: from, ID: sys.IDOf(info), Attrs: sys.MountNoSuid | sys.MountNoExec, UID: -1, What: "mount " + name})
	p.rules = append(p.rules, helper.LandlockRule{Path: name, Rights: sys.LandlockReadFile | sys.LandlockWrite | sys.LandlockIoctl | sys.LandlockTruncate})
	p.made[name] = true
}

// rootMaps is set after owners of the root file system were mapped once.
var rootMaps atomic.Bool

// mapsRoot reports whether the root file system can map owners. That of most containers
// cannot. Only that error counts: after another one, such as lack of memory, the start
// reports it. Each start repeats a failed test.
func mapsRoot() bool {
	if rootMaps.Load() {
		return true
	}
	owners, err := newSpace(helper.Owner{All: true}.IDs(firstUser, firstUser), 0)
	if err != nil {
		return true
	}
	defer sys.Close(owners)
	err = sys.TryMap("/", owners)
	rootMaps.Store(err == nil)
	return !errors.Is(err, sys.ErrOwners)
}

// cannotMap reports whether a start has failed because a file system cannot map owners,
// and can be repeated without mapping.
func (s *starting) cannotMap(err error) bool {
	var se *StartError
	return s.plan.Inner.Shown && !s.unmapped && errors.As(err, &se) && se.Step == StepConfine && strings.HasSuffix(se.Path, helper.AsAnothers) && errors.Is(err, syscall.EINVAL)
}

// mustMap makes mapping mandatory for the mounts that contain dir: the command must be
// able to enter its working folder.
func (p *rootPlan) mustMap(dir string) {
	for i := range p.ops {
		o := &p.ops[i]
		o.Must = o.All && around([]string{"/" + o.Path}, dir) != ""
	}
}

// coverProc covers the hidden files of /proc. Files that other users may not read need
// no cover, unless the command runs as root.
func (p *rootPlan) coverProc(all bool) error {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return err
	}
	p.covers()
	for _, e := range entries {
		name := e.Name()
		if _, err := strconv.Atoi(name); err == nil || slices.Contains(machineFiles, name) {
			continue
		}
		from := coverFile
		if e.IsDir() {
			from = coverDir
		} else if info, err := e.Info(); errors.Is(err, os.ErrNotExist) {
			continue
		} else if err != nil {
			return err
		} else if !all && info.Mode().Perm()&0o007 == 0 {
			continue
		}
		p.op(helper.MountOp{Kind: helper.OpCover, Path: "/proc/" + name, From: from[1:], Attrs: onlyData | sys.MountReadOnly, What: "cover /proc/" + name})
	}
	return nil
}
