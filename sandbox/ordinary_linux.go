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

// What a policy with Ordinary shows beyond others.

const (
	terminalCount = 256     // of one command; the machine has some thousands
	sharedSize    = 1 << 30 // of /dev/shm, in bytes
	sharedNodes   = 65536
)

// machineFiles are what is shown of /proc beside the folders of processes: what
// any user of the machine may read, and programs look at to choose how many
// threads and how much memory they use, or to show it. What else there is tells
// of the kernel's insides, of devices, and of others.
var machineFiles = []string{
	"cgroups", "cpuinfo", "diskstats", "filesystems", "loadavg", "meminfo", "mounts", "net", "partitions", "pressure",
	"self", "stat", "swaps", "sys", "sysvipc", "thread-self", "tty", "uptime", "version", "vmstat",
}

// ordinary has the command be shown as the user of this process. Root's have a
// user id of their own that is shown to them as root: outside it has no rights.
// One whose policy names a user is that user, with its rights.
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
			"mapped owners: the file system cannot show files as those of another owner, so that the command is root's, without capabilities and without unix sockets")
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
		size = min(size, limit/2) // what is in it is in no process, and not seen where the limit is sampled
	}
	p.op(helper.MountOp{Kind: helper.OpTmpfs, Path: "/dev/shm", Attrs: p.data(), Size: size, Nodes: sharedNodes, Mode: 0o1777, UID: -1, What: "mount /dev/shm"})
	p.rules = append(p.rules, helper.LandlockRule{Path: "/dev/shm", Rights: p.rights(policy.Write)})
	p.made["/dev/ptmx"] = true
}

// terminal gives the terminal of a command, which lies in a /dev/pts outside, a name:
// that of a console, as the terminals of containers have it. As root the command
// becomes the owner, as after a login.
func (p *rootPlan) terminal(f *os.File, fd int) {
	from, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
	if err != nil {
		return // it works without a name too
	}
	info, err := os.Lstat(from)
	if open, e := f.Stat(); err != nil || e != nil || !os.SameFile(info, open) {
		return
	}
	if p.root && p.uid != os.Geteuid() {
		_ = f.Chown(p.uid, -1) // what cannot be opened by its name is open
	}
	const name = "/dev/console"
	p.op(helper.MountOp{Kind: helper.OpFile, Path: name, Mode: 0o600})
	p.op(helper.MountOp{Kind: helper.OpBind, Path: name, From: from, ID: sys.IDOf(info), Attrs: sys.MountNoSuid | sys.MountNoExec, UID: -1, What: "mount " + name})
	p.rules = append(p.rules, helper.LandlockRule{Path: name, Rights: sys.LandlockReadFile | sys.LandlockWrite | sys.LandlockIoctl | sys.LandlockTruncate})
	p.made[name] = true
}

// rootMaps is set once files of the root have been shown as those of another owner.
var rootMaps atomic.Bool

// mapsRoot reports whether the file system of the root can show files as those of
// another owner. That of most containers cannot. Only its own answer counts:
// where the trial fails otherwise, by want of memory say, the start tells. What
// fails is tried again by each start.
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

// cannotMap reports whether a start has failed because a file system cannot show
// files as those of another owner, and can be made without that.
func (s *starting) cannotMap(err error) bool {
	var se *StartError
	return s.plan.Inner.Shown && !s.unmapped && errors.As(err, &se) && se.Step == StepConfine && strings.HasSuffix(se.Path, helper.AsAnothers) && errors.Is(err, syscall.EINVAL)
}

// mustMap has the mounts that dir lies in be shown as the command's, or fail: the
// command has to come to the folder that it begins in.
func (p *rootPlan) mustMap(dir string) {
	for i := range p.ops {
		o := &p.ops[i]
		o.Must = o.All && around([]string{"/" + o.Path}, dir) != ""
	}
}

// coverProc covers what of /proc is not to be seen. What others may not read
// needs no cover, unless the command is root's.
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
