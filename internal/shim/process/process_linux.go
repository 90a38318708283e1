//go:build !hostsup_posix

package process

import (
	"os"
	"strconv"
	"syscall"

	"github.com/hostsup/hostsup/internal/helper"
	"github.com/hostsup/hostsup/internal/sys"
)

// What the process is recognised by, and its settings: environment variables. It gets the
// command as a helper.Order, on descriptor helper.FD, and its lock on the next one.
const (
	Name      = "hostsup-shim"        // in argv[0]
	Var       = "HOSTSUP_SHIM"        // set to helper.FD
	FolderVar = "HOSTSUP_SHIM_FOLDER" // its folder
	MostVar   = "HOSTSUP_SHIM_MOST"   // the longest message, in bytes
)

// SocketFile is the socket in the folder of a shim.
const SocketFile = "socket"

// Window is how many bytes a shim holds of stdin, stdout and stderr while each message of
// stdout fits into its part.
var Window = [3]int{64 << 10, 128 << 10, 32 << 10}

// Env keeps the Go runtime of the process small until it is not needed any more.
var Env = []string{"GOMAXPROCS=1", "GOGC=off", "GOMEMLIMIT=16MiB", "GODEBUG=containermaxprocs=0,updatemaxprocs=0", "GORACE=atexit_sleep_ms=0"}

// A shim never returns from this function. It runs on the main thread, which the runtime
// keeps locked during initialisation.
func init() {
	if len(os.Args) == 0 || os.Args[0] != Name ||
		os.Getenv(Var) != strconv.Itoa(helper.FD) || !sys.IsSocket(helper.FD) {
		return
	}
	os.Exit(run())
}

func run() int {
	if err := sys.CloseOnExecFrom(helper.FD); err != nil {
		return helper.Fail(helper.ReportBroken, err)
	}
	_ = sys.SetName(Name)
	_, payload, err := helper.ReadHello()
	if err != nil {
		return helper.Fail(helper.ReportBroken, err)
	}
	o, err := helper.DecodeOrder(payload)
	if err != nil {
		return helper.Fail(helper.ReportBroken, err)
	}
	r := sys.Relay{Sock: helper.FD, Lock: helper.FD + 1, Window: Window}
	if err := prepare(&r); err != nil {
		return helper.Fail(helper.ReportBroken, err)
	}
	if err := command(&r, &o); err != nil {
		return helper.Fail(helper.ReportFailed, err)
	}
	helper.Calm() // after the start: the command would inherit it
	r.Wake = []string{helper.Name, os.Getenv(FolderVar)}
	r.Env = append([]string{helper.Var + "=" + strconv.Itoa(helper.FD), helper.HuntVar + "=" + strconv.Itoa(r.Child)}, Env...)
	err = r.Begin()
	_ = syscall.Kill(r.Child, syscall.SIGKILL)
	sys.Reap(r.Child)
	return helper.Fail(helper.ReportBroken, err)
}

// prepare listens in the folder of this shim.
func prepare(r *sys.Relay) error {
	var err error
	if r.Most, err = strconv.Atoi(os.Getenv(MostVar)); err != nil {
		return err
	}
	// The path of a socket must be short.
	if err := os.Chdir(os.Getenv(FolderVar)); err != nil {
		return err
	}
	if r.Listen, err = syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0); err != nil {
		return err
	}
	if err := syscall.Bind(r.Listen, &syscall.SockaddrUnix{Name: SocketFile}); err != nil {
		return err
	}
	if err := syscall.Listen(r.Listen, 64); err != nil {
		return err
	}
	return sys.SetSubreaper()
}

// command starts the command.
func command(r *sys.Relay, o *helper.Order) error {
	ours := []*int{&r.Input, &r.Output, &r.Errors}
	p := sys.Process{Path: o.Path, Args: o.Args, Env: o.Env, Dir: o.Dir, Session: true, DieWithUs: true}
	for i, our := range ours {
		mine, theirs, err := sys.ChildPipe(i > 0)
		if err != nil {
			return err
		}
		defer theirs.Close()
		// The descriptor is used after this file is garbage.
		if *our, err = sys.Dup(mine); err != nil {
			return err
		}
		mine.Close()
		p.Files = append(p.Files, int(theirs.Fd()))
	}
	pid, pidfd, err := p.Start()
	if err != nil {
		return err
	}
	sys.Close(pidfd)
	r.Child = pid
	return nil
}
