package sys

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

type unixStat = syscall.Stat_t

// The changes that a [Notices] can report of a path.
const (
	NoticeMade    = unix.IN_CREATE | unix.IN_MOVED_TO                     // a file was made in or moved into the folder
	NoticeChanged = unix.IN_MODIFY | unix.IN_ATTRIB | unix.IN_CLOSE_WRITE // the file itself
	NoticeState   = unix.IN_ATTRIB                                        // owner, mode, times
	NoticeGone    = unix.IN_DELETE_SELF | unix.IN_MOVE_SELF               // the path was removed or renamed
)

// Notice is one change. Watch is -1 if some were lost.
type Notice struct {
	Watch int32
	Name  string // the new file in a folder; "": the watched path itself
}

// Notices reports changes to paths.
type Notices struct {
	f   *os.File
	buf []byte
}

// NewNotices returns one that watches nothing yet. A user may have few of them (128 by
// default); beyond that NewNotices fails with EMFILE.
func NewNotices() (*Notices, error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, err
	}
	// The longest event fits; the next read takes the rest.
	return &Notices{f: os.NewFile(uintptr(fd), "inotify"), buf: make([]byte, 4096)}, nil
}

// Add watches path for the changes what, one or more of the Notice constants. If
// path is a link, the link is watched. A path that is watched already is watched for
// both.
func (n *Notices) Add(path string, what uint32) (watch int32, err error) {
	conn, err := n.f.SyscallConn()
	if err != nil {
		return -1, err
	}
	ctl := conn.Control(func(fd uintptr) {
		var w int
		w, err = unix.InotifyAddWatch(int(fd), path, what|unix.IN_DONT_FOLLOW|unix.IN_MASK_ADD)
		watch = int32(w)
	})
	return watch, errors.Join(err, ctl)
}

// Read waits for the next changes. Close ends the wait.
func (n *Notices) Read() ([]Notice, error) {
	got, err := n.f.Read(n.buf)
	if err != nil {
		return nil, err
	}
	return parseNotices(n.buf[:got]), nil
}

// Close ends all watches and a Read.
func (n *Notices) Close() error { return n.f.Close() }

// parseNotices parses what the kernel wrote, except for an incomplete part at the end.
func parseNotices(b []byte) []Notice {
	var out []Notice
	for len(b) >= unix.SizeofInotifyEvent {
		size := uint64(binary.NativeEndian.Uint32(b[12:]))
		if size > uint64(len(b)-unix.SizeofInotifyEvent) {
			break
		}
		name := b[unix.SizeofInotifyEvent:][:size]
		if i := bytes.IndexByte(name, 0); i >= 0 {
			name = name[:i]
		}
		n := Notice{Watch: int32(binary.NativeEndian.Uint32(b)), Name: string(name)}
		if mask := binary.NativeEndian.Uint32(b[4:]); mask&unix.IN_Q_OVERFLOW != 0 {
			n = Notice{Watch: -1}
		}
		out = append(out, n)
		b = b[unix.SizeofInotifyEvent+size:]
	}
	return out
}

// TellsChanges reports whether the file system at path reports changes. Those whose
// files change on another machine, or are made up by the kernel, do not.
func TellsChanges(path string) bool {
	var s unix.Statfs_t
	if unix.Statfs(path, &s) != nil {
		return false
	}
	switch uint32(s.Type) {
	case unix.PROC_SUPER_MAGIC, unix.SYSFS_MAGIC, unix.NFS_SUPER_MAGIC, unix.CIFS_SUPER_MAGIC, unix.SMB_SUPER_MAGIC,
		unix.SMB2_SUPER_MAGIC, unix.FUSE_SUPER_MAGIC, unix.V9FS_MAGIC, unix.CEPH_SUPER_MAGIC, unix.AFS_SUPER_MAGIC, unix.CODA_SUPER_MAGIC:
		return false
	}
	return true
}
