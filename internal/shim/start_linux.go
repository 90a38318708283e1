//go:build !hostsup_posix

package shim

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"github.com/hostsup/hostsup/internal/helper"
	"github.com/hostsup/hostsup/internal/shim/process"
	"github.com/hostsup/hostsup/internal/sys"
)

// Options says what a shim is to run.
type Options struct {
	Folder string // of this shim alone: an absolute path that Start makes, with its parents, mode 0700
	Name   string // of the command, for people; ps shows it

	Path string   // of the program: absolute
	Args []string // with Args[0]
	Env  []string // "K=V"; the whole environment
	Dir  string   // where the command runs: an absolute path; "" stands for "/"

	// Cgroup is the open folder of a cgroup of version 2 in which the command begins; nil: that of this process. The
	// shim is not in it.
	Cgroup *os.File
	// Enter are files to which the command writes "0" before it runs: those of the tasks of cgroups.
	Enter []*os.File
	// Limits are the command's limits of setrlimit, hard and soft, by the number of the resource.
	Limits map[int]uint64

	// Survive keeps the command when its client has ended; otherwise all its processes are
	// killed then. It is in force once Start has returned.
	Survive bool
	// Most bounds one message to the command, and one of its output that is not
	// acknowledged in parts, in bytes; 0 is 64 MiB, and less than 128 KiB is 128 KiB.
	Most int
}

const defaultMost = 64 << 20

// Start starts a shim with its command and returns after the command's execve has
// succeeded. A syscall.Errno in the error is why the command could not be started. After
// an error no process is left, and the folder is removed.
func Start(o Options) (*Conn, error) {
	if o.Most = max(o.Most, 0); o.Most == 0 {
		o.Most = defaultMost
	}
	o.Most = max(o.Most, process.Window[0], process.Window[1], process.Window[2])
	if o.Dir == "" {
		o.Dir = "/"
	}
	for _, path := range []string{o.Folder, o.Path, o.Dir} {
		if !filepath.IsAbs(path) {
			return nil, fmt.Errorf("start %s: %q is not an absolute path: %w", o.Name, path, syscall.EINVAL)
		}
	}
	order := helper.Order{Path: o.Path, Dir: o.Dir, Args: o.Args, Env: o.Env}
	payload := order.Encode()
	if len(payload) > helper.MaxPayload {
		return nil, fmt.Errorf("start %s: %w", o.Name, syscall.E2BIG)
	}
	if err := os.MkdirAll(filepath.Dir(o.Folder), 0o700); err != nil {
		return nil, fmt.Errorf("start %s: %w", o.Name, err)
	}
	if err := os.Mkdir(o.Folder, 0o700); err != nil {
		return nil, fmt.Errorf("start %s: %w", o.Name, err)
	}
	c, err := o.start(payload)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", o.Name, err), os.RemoveAll(o.Folder))
	}
	return c, nil
}

// start is Start in a folder that is there.
func (o *Options) start(payload []byte) (*Conn, error) {
	// The lock belongs to the open file, so that the shim has it from its first moment on.
	lock, err := os.OpenFile(filepath.Join(o.Folder, lockFile), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	if err := sys.Lock(lock); err != nil {
		return nil, err
	}
	ours, pid, reaped, err := o.spawn(lock)
	if err != nil {
		return nil, err
	}
	undo := func(err error) error {
		ours.Close() // the shim ends then, after its processes
		<-reaped
		return err
	}
	if _, err := ours.Write(helper.Hello(0, payload)); err != nil {
		return nil, undo(err)
	}
	r := &Record{Version: RecordVersion, Name: o.Name}
	c, err := newConn(ours, o.Folder, r)
	if err != nil {
		return nil, undo(err)
	}
	undo = func(err error) error {
		c.Close()
		<-reaped
		return err
	}
	c.reaped = reaped
	if r.Shim, err = processOf(pid); err != nil {
		return nil, undo(err)
	}
	command := int(c.state.PID)
	if r.Command, err = processOf(command); err != nil { // it has ended already
		r.Command = Process{PID: command}
	}
	r.Cgroup = cgroupOf(command)
	if err := r.write(o.Folder); err != nil {
		return nil, undo(err)
	}
	if o.Survive {
		if err := c.Survive(true); err != nil {
			return nil, undo(err)
		}
	}
	return c, nil
}

// spawn runs this program as a shim, which holds the lock. reaped is closed when the shim
// has ended.
func (o *Options) spawn(lock *os.File) (ours *os.File, pid int, reaped chan struct{}, err error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, 0, nil, err
	}
	defer null.Close()
	ours, theirs, err := sys.SocketPair()
	if err != nil {
		return nil, 0, nil, err
	}
	defer theirs.Close()
	fd := int(null.Fd())
	files := []int{fd, fd, fd, int(theirs.Fd()), int(lock.Fd())}
	settings := process.Settings{Folder: o.Folder, Most: o.Most, Born: o.Cgroup != nil, Enter: len(o.Enter), Limits: o.Limits}
	if o.Cgroup != nil {
		files = append(files, int(o.Cgroup.Fd()))
	}
	for _, f := range o.Enter {
		files = append(files, int(f.Fd()))
	}
	p := sys.Process{
		Path: sys.Program, Args: []string{process.Name, strings.ReplaceAll(o.Name, "\x00", "")}, Session: true,
		Env: settings.Environ(), Files: files,
	}
	pid, pidfd, err := p.Start()
	runtime.KeepAlive(o) // files has the numbers
	if err != nil {
		ours.Close()
		return nil, 0, nil, fmt.Errorf("run %s: %w", sys.Program, err)
	}
	reaped = make(chan struct{})
	go func() { // ends with the shim
		defer close(reaped)
		defer sys.Close(pidfd)
		for {
			if _, ended, err := sys.PidfdWait(pidfd, true); ended || err != nil {
				return
			}
			sys.AwaitReadable(pidfd)
		}
	}()
	return ours, pid, reaped, nil
}
