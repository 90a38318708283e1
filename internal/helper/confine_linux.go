//go:build !hostsup_posix

package helper

import (
	"errors"
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

// fork starts the command's process. It shares our memory until its execve,
// where the processor lets it: what it changes there holds for us as well, and
// may.
func (c *confining) fork() (pid, pidfd int, err error) {
	var fds, groups []int
	for i := range c.Files {
		fds = append(fds, FD+1+i)
	}
	for i := range c.Groups {
		groups = append(groups, FD+1+c.Files+i)
	}
	sock, err := sys.HighFD(FD, c.Files)
	if err != nil {
		return 0, -1, Failed("descriptors", err)
	}
	if c.UserNS {
		c.script.Step("user namespace")
		c.script.JoinUser(c.extra(ownSpace))
	}
	if err := c.Plan.Write(&c.script, fds, groups, c.ruleset, sock); err != nil {
		return 0, -1, err
	}
	if sys.HaveSpawn {
		return c.script.Spawn(0)
	}
	f, err := c.script.Fork(0, 0)
	if err == nil {
		err = f.Await()
	}
	if err != nil {
		return 0, -1, err
	}
	return f.Pid, f.Pidfd, nil
}

// Descriptors that follow those of the groups when a plan has UserNS.
const (
	strangersSpace = iota // a user namespace that maps nobody's ids
	ownSpace              // one that maps those of the command
	keptMount             // a file system to be shown by OpKept
)

func (c *confining) extra(which int) int { return FD + 1 + c.Files + c.Groups + which }

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
	pid, pidfd, err := c.fork()
	if err != nil {
		return problem(FD, err)
	}
	_ = say(Report{Kind: ReportStarted}, pidfd) // if nobody is there any more, obey will see it
	sys.Close(pidfd)
	// Nothing is left here that is not needed to wait: a reader of the
	// command's output must see its end.
	_ = sys.CloseFrom(FD + 1)
	calm()
	if c.UID >= 0 {
		// One that hunts needs the right to kill what belongs to another user; the
		// command, which has no rights, can do nothing to it either way.
		if r == RoleInit {
			_ = sys.BecomeNobody(NobodyKnown, NobodyKnown) // whom the command can do nothing to
			_ = sys.SetParentDeath()
		}
	} else if c.Caps {
		_ = sys.DropCapabilities()
	}
	return attend(r, pid)
}
