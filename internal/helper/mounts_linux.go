//go:build !hostsup_posix

package helper

import (
	"path"
	"strconv"

	"github.com/hostsup/hostsup/internal/sys"
)

// mounts writes the steps that make and enter the new root.
func (c *confining) mounts(d *Descriptors) error {
	s := c.s
	s.Step("make mounts private")
	s.PrivateMounts()
	if c.Inner.Shown && c.UID != c.Inner.UID {
		// A folder that is shown as the command's may be closed to other users, and the
		// rule that forbids writing to sockets takes the capability to open it.
		s.Step("act as the command's user")
		if err := s.ActAs(c.UID, c.GID); err != nil {
			return Failed("act as the command's user", err)
		}
		s.Step("parent")
		s.ParentDeath() // a change of user takes it away
		s.OtherEnd(FD)
	}
	s.Step("make /proc")
	options := []string{"hidepid", "invisible"}
	if !c.WholeProc {
		options = append(options, "subset", "pid")
	}
	if c.Inner.Shown && c.UID == c.Inner.UID {
		options = append(options, "gid", strconv.Itoa(NobodyKnown)) // root's group would see all processes
	}
	c.proc = s.Filesystem("proc", onlyData, options...)
	s.Step("make a root")
	c.root = s.Filesystem("tmpfs", c.RootAttrs, "mode", "0755", "size", "1m", "nr_inodes", "8192")
	s.Step("mount the new root")
	s.AttachRoot(c.root)
	for i := range c.Mounts {
		op := &c.Mounts[i]
		what := op.What
		if what == "" {
			what = "make /" + op.Path
		}
		s.Step(what)
		if err := c.mount(op, d); err != nil {
			return Failed(what, err)
		}
	}
	c.leaveDir()
	s.Step("make the new root read-only")
	s.RestrictMount(c.root, sys.MountReadOnly)
	s.Step("enter the new root")
	s.EnterRoot(c.root)
	return nil
}

const onlyData = sys.MountNoSuid | sys.MountNoDev | sys.MountNoExec

func (c *confining) mount(op *MountOp, d *Descriptors) error {
	switch op.Kind {
	case OpDir, OpFile, OpLink, OpDevice, OpText:
		return c.make(op)
	}
	at, err := c.s.OpenIn(c.root, op.Path)
	if err != nil {
		return err
	}
	if op.Kind == OpCover && op.ID != (sys.FileID{}) {
		c.s.Same(at, op.ID)
	}
	fd, err := c.source(op, d, at)
	if err != nil {
		return err
	}
	c.s.Attach(fd, at)
	c.leaveDir()
	return nil
}

// make makes files that are not mounts. The path may lead through folders of the host
// side, which other users may change: it follows no link.
func (c *confining) make(op *MountOp) error {
	s, name := c.s, path.Base(op.Path)
	dir, err := c.enterDir(path.Dir(op.Path))
	if err != nil {
		return err
	}
	switch op.Kind {
	case OpDir:
		return s.MakeDir(dir, name, uint32(op.Mode))
	case OpFile:
		return s.MakeFile(dir, name, uint32(op.Mode))
	case OpLink:
		return s.MakeLink(op.From, dir, name)
	case OpDevice:
		return s.MakeDevice(dir, name, uint32(op.Mode), uint64(op.Size))
	}
	return s.MakeText(dir, name, uint32(op.Mode), op.From)
}

// enterDir opens a folder of the new root, which stays open until enterDir opens another
// one or something is mounted.
func (c *confining) enterDir(name string) (sys.Opened, error) {
	if name == "." {
		return c.root, nil
	}
	if name == c.dirName {
		return c.dir, nil
	}
	c.leaveDir()
	dir, err := c.s.OpenIn(c.root, name)
	if err == nil {
		c.dir, c.dirName = dir, name
	}
	return dir, err
}

func (c *confining) leaveDir() {
	if c.dirName != "" {
		c.s.Close(c.dir)
		c.dirName = ""
	}
}

// AsAnothers ends the name of the step that asks a file system to show its files as
// those of another owner.
const AsAnothers = " as another owner's"

// source makes the mount that an op attaches at the open file at.
func (c *confining) source(op *MountOp, d *Descriptors, at sys.Opened) (fd sys.Opened, err error) {
	s := c.s
	switch op.Kind {
	case OpTmpfs:
		options := []string{"mode", "0" + strconv.FormatInt(int64(op.Mode), 8), "size", strconv.FormatInt(op.Size, 10),
			"nr_inodes", strconv.FormatInt(op.Nodes, 10)}
		if op.UID >= 0 {
			options = append(options, "uid", strconv.Itoa(op.UID), "gid", strconv.Itoa(op.GID))
		}
		return s.Filesystem("tmpfs", op.Attrs, options...), nil
	case OpTerminals:
		return s.Filesystem("devpts", op.Attrs, "mode", "0620", "ptmxmode", "0666", "max", strconv.FormatInt(op.Nodes, 10)), nil
	case OpProc:
		// It is not a clone: what is not attached can be cloned since Linux 6.15 only.
		s.RestrictTree(c.proc, op.Attrs)
		return c.proc, nil
	case OpPin:
		return s.CloneOpen(at), nil
	case OpCover:
		var from sys.Opened
		if from, err = s.OpenIn(c.root, op.From); err == nil {
			fd = s.CloneOpen(from)
			s.Close(from)
		}
	case OpKept:
		fd = s.Known(c.at[d.Kept])
	default:
		fd, err = s.CloneTree(op.From, op.ID)
	}
	if err != nil {
		return fd, err
	}
	if ns := c.owner(op, d); ns < 0 {
		s.RestrictTree(fd, op.Attrs)
	} else {
		// Loose: a file system of the kernel, or one without support, is shown unchanged.
		s.Step(op.What + AsAnothers)
		s.MapTree(fd, op.Attrs, ns, op.Loose && !op.Must)
		s.Step(op.What)
	}
	return fd, nil
}

// owner returns the number of the user namespace whose mapping an op's files are shown
// by, or -1 to show them unchanged.
func (c *confining) owner(op *MountOp, d *Descriptors) int {
	if o, ok := op.Owner(); ok {
		return c.at[d.Owners[o]]
	}
	if op.Kind == OpBind && op.Loose && c.UserNS {
		return c.at[d.Strangers]
	}
	return -1
}

// Owner is the owner whose files are shown as the command's.
type Owner struct {
	UID, GID int
	Loose    bool
	All      bool // files of all others are shown with their numbers
}

// Owner returns false if the files are shown unchanged. For a read-only op it maps only
// the owner and no group: that permits reading and prevents every user from writing.
func (op *MountOp) Owner() (Owner, bool) {
	if op.Kind != OpBind && op.Kind != OpKept || op.UID < 0 {
		return Owner{}, false
	}
	if op.Loose {
		return Owner{UID: op.UID, GID: -1, Loose: true, All: op.All}, true
	}
	return Owner{UID: op.UID, GID: op.GID, All: op.All}, true
}

// IDs returns the mapping that shows the owner's files as those of uid and gid.
func (o Owner) IDs(uid, gid int) sys.IDs {
	if o.Loose {
		return sys.IDs{InsideUID: o.UID, InsideGID: NobodyKnown, OutsideUID: uid, OutsideGID: NobodyKnown, OtherUsers: o.All}
	}
	if o.All {
		return sys.IDs{InsideUID: o.UID, InsideGID: o.GID, OutsideUID: uid, OutsideGID: gid, OtherUsers: true, OtherGroups: true}
	}
	// An owner may write to files of other groups, which must be mapped for that.
	return sys.IDs{InsideUID: o.UID, InsideGID: o.GID, OutsideUID: uid, OutsideGID: gid, AllGroups: true}
}
