//go:build !hostsup_posix

package helper

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/hostsup/hostsup/internal/sys"
)

// A keeper or an init of this program never returns from this function. It runs on the
// main thread, which the runtime keeps locked during initialisation: the parent-death
// signal of the processes that it starts depends on that.
func init() {
	if len(os.Args) == 0 || os.Args[0] != Name ||
		os.Getenv(Var) != strconv.Itoa(FD) || !sys.IsSocket(FD) {
		return
	}
	os.Exit(helper())
}

// Exit codes of a helper, visible with strace.
const (
	helperDone  = 0
	helperWrong = 2 // it received no valid order
)

func helper() int {
	if err := sys.CloseOnExecFrom(FD); err != nil {
		return helperWrong
	}
	_ = sys.SetName(Name)
	if pid, err := strconv.Atoi(os.Getenv(HuntVar)); err == nil {
		return resume(pid)
	}
	r, payload, err := ReadHello()
	if err != nil {
		return helperWrong
	}
	switch r {
	case RoleTest:
		return test()
	case RoleKeeper:
		return keep(string(payload))
	case RoleSweeper:
		return sweep()
	case RoleInit, RoleReaper:
		o, err := DecodeOrder(payload)
		if err != nil {
			return helperWrong
		}
		return nurse(r, &o)
	}
	return helperWrong
}

// ReadHello reads the first message to this process, which is a Hello. The error is ErrOrder
// if it is not.
func ReadHello() (Role, []byte, error) {
	head := make([]byte, len(magic)+5)
	if err := readFull(head); err != nil {
		return 0, nil, err
	}
	n := binary.LittleEndian.Uint32(head[len(magic)+1:])
	if string(head[:len(magic)]) != magic || n > MaxPayload {
		return 0, nil, ErrOrder
	}
	payload := make([]byte, n)
	return Role(head[len(magic)]), payload, readFull(payload)
}

// readFull reads from the socket by blocking calls: a helper does not need the network
// poller.
func readFull(b []byte) error {
	for len(b) > 0 {
		n, err := readSome(b)
		if err != nil {
			return err
		}
		if n == 0 {
			return ErrOrder
		}
		b = b[n:]
	}
	return nil
}

func readSome(b []byte) (int, error) {
	for {
		n, err := syscall.Read(FD, b)
		if err != syscall.EINTR {
			return n, err
		}
	}
}

func say(r Report, fd int) error { return sys.SendFD(FD, r.Encode(), fd) }

// Calm makes a helper survive signals for its neighbours: those of a terminal, and those
// of a shutdown that signals every process. It must be called after a command is
// started, because the command would inherit it.
func Calm() {
	sys.IgnoreSignals(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGPIPE)
	_ = os.Chdir("/")
}

// test is what a Launcher tries before it uses helpers.
func test() int {
	if err := sys.SetSubreaper(); err != nil {
		return Fail(ReportBroken, err)
	}
	if _, err := sys.Children(os.Getpid()); err != nil {
		return Fail(ReportBroken, syscall.ENOSYS)
	}
	_ = say(Report{Kind: ReportReady}, -1)
	return helperDone
}

// Fail reports an error, as the errno in it or as EIO, and returns the exit code for that.
func Fail(kind byte, err error) int {
	r := Report{Kind: kind, Errno: int32(syscall.EIO)}
	var errno syscall.Errno
	if errors.As(err, &errno) {
		r.Errno = int32(errno)
	}
	_ = say(r, -1)
	return helperDone
}

// KeepFor bounds how long a keeper tries to empty a cgroup whose processes the kernel
// does not end.
const KeepFor = time.Minute

// keep waits for the end of the Launcher, for whatever reason, and then ends
// everything in its cgroup. Until then it receives paths, each with a line end, of
// cgroups that hold no other processes and are removed too.
func keep(path string) int {
	const dir = FD + 1
	Calm()
	if err := say(Report{Kind: ReportReady}, -1); err != nil {
		return helperWrong
	}
	_ = sys.ShedCleanPages() // not needed any more; a failure does no harm
	var b [4096]byte
	var told []byte
	for {
		n, err := readSome(b[:])
		if n == 0 || err != nil {
			break
		}
		told = append(told, b[:n]...)
	}
	folders := []string{path}
	for line := range bytes.Lines(told) {
		if name, whole := bytes.CutSuffix(line, []byte("\n")); whole {
			folders = append(folders, string(name))
		}
	}
	delay := time.Millisecond
	for start := time.Now(); time.Since(start) < KeepFor; {
		_ = sys.KillCgroup(dir, ".")
		folders = slices.DeleteFunc(folders, func(path string) bool { return sys.RemoveCgroup(sys.AtCWD, path) == nil })
		if len(folders) == 0 {
			return helperDone
		}
		time.Sleep(delay)
		delay = min(2*delay, 100*time.Millisecond)
	}
	return helperDone
}

// nurse starts one command, reaps it and its orphans, and reports its end.
func nurse(r Role, o *Order) int {
	if r == RoleInit {
		// The Launcher's thread is the parent; the socket reports its end too, later.
		_ = sys.SetParentDeath()
		// Where a fresh /proc is not allowed, the outer one stays.
		_ = sys.MountProc()
		if os.Getuid() != 0 {
			if err := sys.DropCapabilities(); err != nil {
				return Fail(ReportBroken, err)
			}
		}
	} else if err := sys.SetSubreaper(); err != nil {
		return Fail(ReportBroken, err)
	}

	p := sys.Process{Path: o.Path, Args: o.Args, Env: o.Env, Dir: o.Dir, Session: true, Terminal: o.Terminal, DieWithUs: true}
	for i := range o.Files {
		p.Files = append(p.Files, FD+1+i)
	}
	pid, pidfd, err := p.Start()
	for _, fd := range p.Files {
		sys.Close(fd) // a reader of the command's output must see its end
	}
	if err != nil {
		return Fail(ReportFailed, err)
	}
	Calm()
	_ = say(Report{Kind: ReportStarted}, pidfd) // obey notices a closed other end
	sys.Close(pidfd)
	return attend(r, pid)
}

// attend reaps ended processes, including the command, until no child is left.
func attend(r Role, pid int) int {
	// attend reaps the command only after the Launcher has looked up its number.
	var b [1]byte
	_, _ = readSome(b[:])
	rest := sys.Rest{Sock: FD, Child: pid, Kind: ReportExit}
	if r == RoleReaper {
		rest.Wake, rest.Env = os.Args, append(os.Environ(), HuntVar+"="+strconv.Itoa(pid))
	}
	_ = rest.Begin() // otherwise this program continues, with more memory
	go obey(r)
	return bury(pid)
}

// resume continues a reaper that wakes up from its rest: the order to kill has come, or
// the Launcher has ended.
func resume(pid int) int {
	go hunt()
	return bury(pid)
}

// bury reaps until no child and no orphan is left, and reports the command's end.
func bury(pid int) int {
	for {
		got, e, err := sys.WaitAny()
		if err != nil {
			return helperDone
		}
		if got == pid {
			_ = say(Report{Kind: ReportExit, Exit: e, Alone: !sys.HaveChild()}, -1)
		}
	}
}

// obey waits for the order to kill, or for the end of the Launcher.
func obey(r Role) {
	var b [1]byte
	_, _ = readSome(b[:]) // SayKill, or the end: both mean the same
	if r == RoleInit {
		os.Exit(helperDone) // the kernel kills what is in our namespace
	}
	hunt()
}
