//go:build !hostsup_posix

package helper

import (
	"errors"
	"strconv"
	"syscall"

	"github.com/hostsup/hostsup/internal/sys"
)

// mounts makes the new root and enters it.
func (c *confining) mounts() error {
	if err := sys.PrivateMounts(); err != nil {
		return Failed("make mounts private", err)
	}
	if err := c.owners(); err != nil {
		return err
	}
	var err error
	c.root, err = sys.NewFilesystem("tmpfs", int(c.RootAttrs), "mode", "0755", "size", "1m", "nr_inodes", "8192")
	if err != nil {
		return Failed("make a root", err)
	}
	// It lies over the root, which nobody who is there already sees: what is to
	// be shown in it can still be found.
	if err := sys.AttachTree(c.root, sys.AtCWD, "/"); err != nil {
		return Failed("mount the new root", err)
	}
	for i := range c.Mounts {
		op := &c.Mounts[i]
		if err := c.mount(op); err != nil {
			what := op.What
			if what == "" {
				what = "make /" + op.Path
			}
			return Failed(what, err)
		}
	}
	for _, fd := range c.spaces {
		sys.Close(fd)
	}
	if err := sys.RestrictMount(c.root, sys.MountReadOnly); err != nil {
		return Failed("make the new root read-only", err)
	}
	if err := sys.EnterRoot(c.root); err != nil {
		return Failed("enter the new root", err)
	}
	sys.Close(c.root)
	return nil
}

func (c *confining) mount(op *MountOp) error {
	switch op.Kind {
	case OpDir:
		return sys.MakeDirAt(c.root, op.Path, uint32(op.Mode))
	case OpFile:
		return sys.MakeFileAt(c.root, op.Path, uint32(op.Mode))
	case OpLink:
		return sys.MakeLinkAt(op.From, c.root, op.Path)
	case OpDevice:
		return sys.MakeDeviceAt(c.root, op.Path, uint32(op.Mode), uint64(op.Size))
	case OpText:
		return sys.MakeTextAt(c.root, op.Path, uint32(op.Mode), op.From)
	}
	fd, err := c.source(op)
	if err != nil {
		return err
	}
	err = sys.AttachTree(fd, c.root, op.Path)
	sys.Close(fd)
	return err
}

// source makes the mount that an op attaches.
func (c *confining) source(op *MountOp) (int, error) {
	switch op.Kind {
	case OpTmpfs:
		options := []string{"mode", "0" + strconv.FormatInt(int64(op.Mode), 8), "size", strconv.FormatInt(op.Size, 10),
			"nr_inodes", strconv.FormatInt(op.Nodes, 10)}
		if op.UID >= 0 {
			options = append(options, "uid", strconv.Itoa(op.UID), "gid", strconv.Itoa(op.GID))
		}
		return sys.NewFilesystem("tmpfs", int(op.Attrs), options...)
	case OpProc:
		return c.showProc(op.Attrs)
	case OpPin:
		return sys.CloneTreeAt(c.root, op.Path)
	}
	var fd int
	var err error
	switch op.Kind {
	case OpCover:
		fd, err = sys.CloneTreeAt(c.root, op.From)
	case OpKept:
		fd = c.extra(keptMount)
	default:
		fd, err = sys.CloneTree(op.From)
	}
	if err != nil {
		return -1, err
	}
	if ns := c.owner(op); ns < 0 {
		err = sys.RestrictTree(fd, op.Attrs)
	} else if err = sys.MapTree(fd, op.Attrs, ns); errors.Is(err, syscall.EINVAL) && op.Loose {
		err = sys.RestrictTree(fd, op.Attrs) // a file system of the kernel's own, or one that cannot
	}
	if err != nil {
		sys.Close(fd)
		return -1, err
	}
	return fd, nil
}

// owners makes the /proc of our pid namespace, and the user namespaces that
// say whose files are shown as whose. It comes before the new root lies over
// the old one: who is in a root that is not his namespace's makes none.
func (c *confining) owners() (err error) {
	c.proc, err = sys.NewFilesystem("proc", sys.MountNoSuid|sys.MountNoDev|sys.MountNoExec, "hidepid", "invisible", "subset", "pid")
	if err != nil {
		return Failed("make /proc", err)
	}
	c.spaces = map[[2]int]int{}
	for i := range c.Mounts {
		op := &c.Mounts[i]
		owner := op.owner()
		if _, ok := c.spaces[owner]; ok || op.Kind != OpBind && op.Kind != OpKept || op.UID < 0 {
			continue
		}
		ids := sys.IDs{InsideUID: op.UID, InsideGID: op.GID, OutsideUID: c.UID, OutsideGID: c.GID}
		if op.Loose {
			ids.InsideGID, ids.OutsideGID = NobodyKnown, NobodyKnown
		}
		if c.spaces[owner], err = sys.NewUserNS(c.proc, ids); err != nil {
			return Failed("map the owner of "+op.From, err)
		}
	}
	return nil
}

// showProc makes the mount of /proc that the command sees; the other one can
// be written, to map ids.
func (c *confining) showProc(attrs uint64) (int, error) {
	fd, err := sys.CloneTreeAt(c.proc, ".")
	if err != nil {
		return -1, err
	}
	if err := sys.RestrictTree(fd, attrs); err != nil {
		sys.Close(fd)
		return -1, err
	}
	return fd, nil
}

// owner is the user namespace whose mapping an op's files are shown by; -1:
// as they are.
func (c *confining) owner(op *MountOp) int {
	switch {
	case op.Kind != OpBind && op.Kind != OpKept:
		return -1
	case op.UID >= 0:
		return c.spaces[op.owner()]
	case op.Loose && c.UserNS:
		return c.extra(strangersSpace)
	}
	return -1
}

// owner is whose files are shown as the command's. What is only to be read has
// its owner alone mapped and no group: that makes reading possible and keeps
// everybody from writing.
func (op *MountOp) owner() [2]int {
	if op.Loose {
		return [2]int{op.UID, -1}
	}
	return [2]int{op.UID, op.GID}
}
