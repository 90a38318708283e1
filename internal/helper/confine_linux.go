//go:build !hostsup_posix

package helper

import (
	"errors"
	"strconv"
	"syscall"

	"github.com/hostsup/hostsup/internal/sys"
)

// confine carries out a plan. It runs on the main thread, to which everything
// that holds for a thread belongs, and whose copy becomes the command.
func confine(payload []byte) int {
	var p Plan
	if err := unpack(payload, &p); err != nil {
		return helperWrong
	}
	if p.Mode == PlanInit {
		_ = sys.SetParentDeath()
	}
	c := confining{Plan: &p, proc: -1}
	if err := c.prepare(); err != nil {
		return problem(FD, err)
	}
	if p.Mode == PlanTry {
		return c.try()
	}
	return c.nurse()
}

// try goes as far as the user namespace of a command.
func (c *confining) try() int {
	if c.UserNS {
		fd, err := sys.TryUserNS()
		if err != nil {
			return problem(FD, Failed("make a user namespace", err))
		}
		sys.Close(fd)
	}
	_ = say(Report{Kind: ReportReady}, -1)
	return helperDone
}

// confining is a plan under way.
type confining struct {
	*Plan
	root    int // the new root, before it is one
	proc    int // a /proc that shows our own pid namespace and can be written
	ruleset int
	script  sys.Script
	spaces  map[[2]int]int // user namespaces by the owner they map
}

// step names what Failed.
type step struct {
	what string
	err  error
}

func (s *step) Error() string { return s.what + ": " + s.err.Error() }
func (s *step) Unwrap() error { return s.err }

// Failed names what an error is about; nil stays nil.
func Failed(what string, err error) error {
	if err == nil {
		return nil
	}
	return &step{what, err}
}

// StepOf is what Failed, and the reason; "" for a fork.
func StepOf(err error) (string, syscall.Errno) {
	var st *step
	var se *sys.ScriptError
	errno := syscall.EIO
	errors.As(err, &errno)
	switch {
	case errors.As(err, &st):
		return st.what, errno
	case errors.As(err, &se):
		return se.Step, errno
	}
	return "", errno
}

// problem tells the Launcher what Failed.
func problem(sock int, err error) int {
	what, errno := StepOf(err)
	r := Report{Kind: ReportProblem, Errno: int32(errno)}
	r.Exit.Code = len(what)
	_ = sys.SendFD(sock, append(r.Encode(), what...), -1)
	return helperDone
}

// prepare does what has to be done outside of the command's process.
func (c *confining) prepare() error {
	if c.Memfd {
		if err := sys.RefuseMemfdExec(); err != nil {
			return Failed("switch executable memory files off", err)
		}
	}
	if c.Unshare != 0 {
		if err := sys.Unshare(uintptr(c.Unshare)); err != nil {
			return Failed("make namespaces", err)
		}
	}
	if c.Unshare&sys.NewMount != 0 {
		if err := c.mounts(); err != nil {
			return err
		}
	} else if c.Proc {
		_ = sys.MountProc() // where a fresh one is not allowed, the outer one stays
	}
	if c.Unshare&sys.NewUTS != 0 {
		if err := sys.SetHostname("sandbox"); err != nil {
			return Failed("name the machine", err)
		}
	}
	if c.Loopback {
		if err := sys.LoopbackUp(); err != nil {
			return Failed("loopback", err)
		}
	}
	for _, addr := range c.Listen {
		fd, err := sys.ListenTCP([]byte(addr.IP), addr.Port)
		if err != nil {
			return Failed("listen on "+addr.Name, err)
		}
		err = say(Report{Kind: ReportListener}, fd)
		sys.Close(fd)
		if err != nil {
			return Failed("hand a listener out", err)
		}
	}
	return c.landlock()
}

func (c *confining) landlock() (err error) {
	c.ruleset, err = c.Plan.Ruleset()
	return err
}

// write makes the script of the command's process. sync, if not -1, is where
// it waits until its ids are mapped.
func (c *confining) write(sync int) error {
	if sync >= 0 {
		c.script.Step("user namespace")
		c.script.AwaitByte(sync)
	}
	var fds, groups []int
	for i := range c.Files {
		fds = append(fds, FD+1+i)
	}
	for i := range c.Groups {
		groups = append(groups, FD+1+c.Files+i)
	}
	sock, err := sys.HighFD(FD, c.Files)
	if err != nil {
		return Failed("descriptors", err)
	}
	return c.Plan.Write(&c.script, fds, groups, c.ruleset, sock)
}

// nurse runs the command in a process of its own, reaps it and its orphans,
// and reports its end.
func (c *confining) nurse() int {
	r := RoleInit
	if c.Mode == PlanReaper {
		r = RoleReaper
		if err := sys.SetSubreaper(); err != nil {
			return problem(FD, Failed("reap orphans", err))
		}
	}
	f, err := c.fork()
	if err == nil {
		err = f.Await()
	}
	if err != nil {
		return problem(FD, err)
	}
	_ = say(Report{Kind: ReportStarted}, f.Pidfd) // if nobody is there any more, obey will see it
	sys.Close(f.Pidfd)
	// Nothing is left here that is not needed to wait: a reader of the
	// command's output must see its end.
	_ = sys.CloseFrom(FD + 1)
	calm()
	if c.UID >= 0 {
		_ = sys.BecomeNobody(NobodyKnown, NobodyKnown) // whom the command can do nothing to
		if r == RoleInit {
			_ = sys.SetParentDeath()
		}
	} else if c.Caps {
		_ = sys.DropCapabilities()
	}
	// Until the Launcher has looked up the command's number it is not reaped.
	var b [1]byte
	_, _ = readSome(b[:])
	go obey(r)
	for {
		got, e, err := sys.WaitAny()
		if err != nil { // no child left, and no orphan
			return helperDone
		}
		if got == f.Pid {
			_ = say(Report{Kind: ReportExit, Exit: e}, -1)
		}
	}
}

// fork starts the command's process and gives it its ids.
func (c *confining) fork() (*sys.Forked, error) {
	if !c.UserNS {
		if err := c.write(-1); err != nil {
			return nil, err
		}
		return c.script.Fork(0, 0)
	}
	r, w, err := sys.PlainPipe()
	if err != nil {
		return nil, Failed("user namespace", err)
	}
	if err := c.write(r); err != nil {
		return nil, err
	}
	f, err := c.script.Fork(sys.NewUser, 0)
	if err != nil {
		return nil, Failed("user namespace", err)
	}
	err = sys.MapIDs(c.proc, f.Pid, sys.IDs{InsideUID: c.UID, InsideGID: c.GID, OutsideUID: c.UID, OutsideGID: c.GID})
	if err == nil {
		err = sys.WriteByte(w)
	}
	if err != nil {
		f.Kill()
		return nil, Failed("map user "+strconv.Itoa(c.UID), err)
	}
	return f, nil
}
