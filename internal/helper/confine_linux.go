//go:build !hostsup_posix

package helper

import (
	"errors"
	"syscall"

	"github.com/hostsup/hostsup/internal/sys"
)

// Descriptors are the descriptors of the Launcher that a nurse and its command have.
type Descriptors struct {
	Null   int
	Sock   int   // the nurse's end; as FD
	Files  []int // the command's
	Groups []int // open cgroup.procs files that the command enters

	// With Plan.UserNS: user namespaces that map nobody's ids, and those of the
	// command.
	Strangers, Own int
	Owners         map[Owner]int // user namespaces that show files as those of the command
	Kept           int           // a file system to be shown by OpKept

	Env []string // of the hunting helper that the nurse becomes
}

// confining writes a plan down as scripts.
type confining struct {
	*Plan
	*sys.Nurse
	s       *sys.Script // Nurse.First
	note    string
	all     []int       // descriptors of the nurse, by number
	at      map[int]int // numbers of descriptors of the Launcher that mounts need
	root    sys.Opened  // the new root, before it is entered
	dir     sys.Opened  // a folder of it, of the path dirName: see enterDir
	dirName string
	proc    sys.Opened // a /proc that shows the nurse's pid namespace
}

// Nurse writes the plan down as the scripts of a nurse, which ps shows with the note.
// With awaits the nurse is in a user namespace of its own, and first waits for a byte.
func (p *Plan) Nurse(d *Descriptors, note string, awaits bool) (*sys.Nurse, error) {
	c := confining{Plan: p, Nurse: sys.NewNurse(), note: note, at: map[int]int{}}
	c.s, c.Sock, c.Failed, c.Ended = c.First, FD, ReportProblem, ReportExit
	if err := c.write(d, awaits); err != nil {
		c.Free()
		return nil, err
	}
	return c.Nurse, nil
}

func (c *confining) write(d *Descriptors, awaits bool) error {
	if c.Mode != PlanReaper {
		c.s.Step("parent")
		c.s.ParentDeath()
	}
	c.s.Step("descriptors")
	c.all = append([]int{d.Null, d.Null, d.Null, d.Sock}, d.Files...)
	c.all = append(c.all, d.Groups...)
	for _, fd := range []int{d.Strangers, d.Own, d.Kept} {
		c.hold(fd)
	}
	for _, fd := range d.Owners {
		c.hold(fd)
	}
	c.s.Replace(c.all)
	c.s.Step("name")
	if err := c.Show(Name, c.note); err != nil {
		return Failed("name", err)
	}
	c.s.Step("session")
	c.s.Session()
	// In a pid namespace of its own the nurse cannot see its parent, which may have ended
	// before all this.
	c.s.Step("parent")
	c.s.OtherEnd(FD)
	if awaits {
		c.s.AwaitByte(FD)
		if c.Inotify > 0 {
			c.s.BoundInotify(c.Inotify)
		}
	}
	if err := c.prepare(d); err != nil {
		return err
	}
	if c.Mode == PlanTry {
		c.s.Step("report")
		c.s.Write(FD, string(Report{Kind: ReportReady}.Encode()))
		return nil
	}
	return c.nurse(d)
}

// hold makes the nurse keep a descriptor. A number below 1 stands for no descriptor.
func (c *confining) hold(fd int) {
	if fd > 0 {
		c.at[fd] = len(c.all)
		c.all = append(c.all, fd)
	}
}

// prepare writes the steps outside of the command's process.
func (c *confining) prepare(d *Descriptors) error {
	s := c.s
	if c.Memfd {
		s.Step("switch executable memory files off")
		s.RefuseMemfdExec()
	}
	own := uintptr(c.Unshare)
	if c.Mode != PlanTry {
		own &^= sys.NewCgroup // the command makes that, of the cgroups that it enters
	}
	if own != 0 {
		s.Step("make namespaces")
		s.Unshare(own)
	}
	if c.Unshare&sys.NewMount != 0 {
		if err := c.mounts(d); err != nil {
			return err
		}
	} else if c.Proc {
		s.FreshProc()
	}
	if c.Unshare&sys.NewUTS != 0 && !c.KeepName {
		s.Step("name the machine")
		s.Hostname("sandbox")
	}
	if c.Loopback {
		s.Step("loopback")
		s.Loopback()
	}
	for _, addr := range c.Listen {
		s.Step("listen on " + addr.Name)
		fd, err := s.Listen([]byte(addr.IP), addr.Port)
		if err != nil {
			return Failed("listen on "+addr.Name, err)
		}
		s.Step("hand a listener out")
		s.Send(FD, Report{Kind: ReportListener}.Encode(), fd)
		s.Close(fd)
	}
	if c.Mode == PlanTry && c.UserNS {
		s.Step("make a user namespace")
		s.Unshare(sys.NewUser)
	}
	return nil
}

// nurse writes the steps that run the command in a separate process, reap it and its
// orphans, and report its end.
func (c *confining) nurse(d *Descriptors) error {
	var parent sys.Number // of the command; it ends with an init in any case
	if c.Mode == PlanReaper {
		c.s.Step("reap orphans")
		parent = c.s.Self()
		c.s.Subreaper()
		if err := c.Wake([]string{Name, c.note}, d.Env, HuntVar); err != nil {
			return Failed("reap orphans", err)
		}
	}
	var fds, groups []int
	for i := range d.Files {
		fds = append(fds, FD+1+i)
	}
	for i := range d.Groups {
		groups = append(groups, FD+1+len(d.Files)+i)
	}
	// Numbers that are free in the nurse, and above those of the command.
	ruleset, sock := len(c.all), len(c.all)+1
	c.s.Step("descriptors")
	c.s.Copy(FD, sock)
	has, err := c.rules(c.s, ruleset, 0) // 0 is d.Null
	if err != nil {
		return err
	}
	if !has {
		ruleset = -1
	}
	if c.UserNS {
		c.Command.Step("user namespace")
		c.Command.JoinUser(c.at[d.Own])
	}
	if err := c.Plan.Write(c.Command, fds, groups, ruleset, sock, parent); err != nil {
		return err
	}
	c.rest()
	return nil
}

// rest writes the steps of the nurse after the command has started: the nurse drops
// everything that it does not need to wait.
func (c *confining) rest() {
	s := c.Then
	switch {
	case c.UID < 0 && c.Caps:
		s.Step("give up capabilities")
		s.NoCapabilities()
	case c.UID >= 0 && c.Mode == PlanInit:
		// A nurse that hunts needs the right to kill another user's processes; the
		// command has no rights and cannot harm the nurse either way.
		s.Step("become nobody")
		s.Groups()
		s.IDs(NobodyKnown, NobodyKnown) // the command has no rights over that user
		s.ParentDeath()
	}
	s.Step("tell of the command")
	s.Attempt(func() { _ = s.Chdir("/") })
	s.Send(FD, Report{Kind: ReportStarted}.Encode(), c.Pidfd()).Unless(syscall.EPIPE) // the following wait notices a closed other end
	// A reader of the command's output must see its end.
	s.Attempt(func() { s.CloseFrom(FD + 1) })
	// The nurse reaps the command only after the Launcher has looked up its number.
	s.Attempt(func() { s.AwaitByte(FD) })
}

// step is an error with the name of what failed.
type step struct {
	what string
	err  error
}

func (s *step) Error() string { return s.what + ": " + s.err.Error() }
func (s *step) Unwrap() error { return s.err }

// Failed names what an error is about; it returns nil for nil.
func Failed(what string, err error) error {
	if err == nil {
		return nil
	}
	return &step{what, err}
}

// StepOf returns what Failed named, and the reason; "" for a fork.
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
