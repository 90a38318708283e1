//go:build !hostsup_posix

package sandbox

import (
	"strconv"
	"syscall"

	"github.com/hostsup/hostsup/internal/sys"
)

// mounts makes the new root and enters it.
func (c *confining) mounts() error {
	if err := sys.PrivateMounts(); err != nil {
		return failed("make mounts private", err)
	}
	var err error
	c.root, err = sys.NewFilesystem("tmpfs", sys.MountNoSuid|sys.MountNoDev|sys.MountNoExec, "mode", "0755", "size", "1m", "nr_inodes", "8192")
	if err != nil {
		return failed("make a root", err)
	}
	// It lies over the root, which nobody who is there already sees: what is to
	// be shown in it can still be found.
	if err := sys.AttachTree(c.root, sys.AtCWD, "/"); err != nil {
		return failed("mount the new root", err)
	}
	for i := range c.Mounts {
		op := &c.Mounts[i]
		if err := c.mount(op); err != nil {
			what := op.What
			if what == "" {
				what = "make /" + op.Path
			}
			return failed(what, err)
		}
	}
	for _, fd := range c.spaces {
		sys.Close(fd)
	}
	if err := sys.RestrictMount(c.root, sys.MountReadOnly); err != nil {
		return failed("make the new root read-only", err)
	}
	if err := sys.EnterRoot(c.root); err != nil {
		return failed("enter the new root", err)
	}
	sys.Close(c.root)
	return nil
}

func (c *confining) mount(op *mountOp) error {
	switch op.Kind {
	case opDir:
		return sys.MakeDirAt(c.root, op.Path, uint32(op.Mode))
	case opFile:
		return sys.MakeFileAt(c.root, op.Path, uint32(op.Mode))
	case opLink:
		return sys.MakeLinkAt(op.From, c.root, op.Path)
	case opText:
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
func (c *confining) source(op *mountOp) (int, error) {
	switch op.Kind {
	case opTmpfs:
		options := []string{"mode", "0" + strconv.FormatInt(int64(op.Mode), 8), "size", strconv.FormatInt(op.Size, 10),
			"nr_inodes", strconv.FormatInt(op.Nodes, 10)}
		if op.UID >= 0 {
			options = append(options, "uid", strconv.Itoa(op.UID), "gid", strconv.Itoa(op.GID))
		}
		return sys.NewFilesystem("tmpfs", int(op.Attrs), options...)
	case opProc:
		return c.mountProc(op.Attrs)
	case opPin:
		return sys.CloneTreeAt(c.root, op.Path)
	}
	var fd int
	var err error
	if op.Kind == opCover {
		fd, err = sys.CloneTreeAt(c.root, op.From)
	} else {
		fd, err = sys.CloneTree(op.From)
	}
	if err != nil {
		return -1, err
	}
	if err = sys.RestrictTree(fd, op.Attrs); err == nil && op.UID >= 0 && op.Kind == opBind {
		if err = c.mapOwner(fd, op); err != nil && op.Loose {
			err = nil
		}
	}
	if err != nil {
		sys.Close(fd)
		return -1, err
	}
	return fd, nil
}

// mountProc makes the /proc of our pid namespace, and keeps a second mount of
// it that can be written.
func (c *confining) mountProc(attrs uint64) (int, error) {
	fd, err := sys.NewFilesystem("proc", sys.MountNoSuid|sys.MountNoDev|sys.MountNoExec, "hidepid", "invisible", "subset", "pid")
	if err != nil {
		return -1, err
	}
	shown, err := sys.CloneTreeAt(fd, ".")
	if err == nil {
		if err = sys.RestrictTree(shown, attrs); err != nil {
			sys.Close(shown)
		}
	}
	if err != nil {
		sys.Close(fd)
		return -1, err
	}
	c.proc = fd
	return shown, nil
}

// mapOwner shows what op.UID owns as the command's user's.
func (c *confining) mapOwner(fd int, op *mountOp) error {
	if c.proc < 0 {
		return syscall.ENOSYS
	}
	owner := [2]int{op.UID, op.GID}
	ns, ok := c.spaces[owner]
	if !ok {
		var err error
		ids := sys.IDs{InsideUID: op.UID, InsideGID: op.GID, OutsideUID: c.UID, OutsideGID: c.GID}
		if ns, err = sys.NewUserNS(c.proc, ids); err != nil {
			return err
		}
		if c.spaces == nil {
			c.spaces = map[[2]int]int{}
		}
		c.spaces[owner] = ns
	}
	return sys.MapTree(fd, ns)
}
