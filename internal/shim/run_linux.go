//go:build !hostsup_posix

package shim

import (
	"errors"
	"os"
	"strconv"
	"syscall"

	"github.com/hostsup/hostsup/internal/helper"
	"github.com/hostsup/hostsup/internal/sys"
)

// A shim is this program, recognised like a helper of package helper: by its name in
// argv[0], a variable in the environment and a socket on descriptor helper.FD.
const (
	processName = "hostsup-shim"
	variable    = "HOSTSUP_SHIM"        // set to helper.FD
	folderVar   = "HOSTSUP_SHIM_FOLDER" // its folder
	mostVar     = "HOSTSUP_SHIM_MOST"   // Options.Most
)

// Files in the folder of a shim.
const (
	socketFile = "socket"
	lockFile   = "lock"
	recordFile = "record.json"
)

// smallRuntime keeps the Go runtime of a process small until it is not needed any more.
var smallRuntime = []string{"GOMAXPROCS=1", "GOGC=off", "GOMEMLIMIT=16MiB", "GODEBUG=containermaxprocs=0,updatemaxprocs=0", "GORACE=atexit_sleep_ms=0"}

// A shim never returns from this function. It runs on the main thread, which the runtime
// keeps locked during initialisation.
func init() {
	if len(os.Args) == 0 || os.Args[0] != processName ||
		os.Getenv(variable) != strconv.Itoa(helper.FD) || !sys.IsSocket(helper.FD) {
		return
	}
	os.Exit(run())
}

func run() int {
	if err := sys.CloseOnExecFrom(helper.FD); err != nil {
		return helper.Fail(helper.ReportBroken, err)
	}
	_ = sys.SetName(processName)
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
	r.Wake = []string{helper.Name, os.Getenv(folderVar)}
	r.Env = append([]string{helper.Var + "=" + strconv.Itoa(helper.FD), helper.HuntVar + "=" + strconv.Itoa(r.Child)}, smallRuntime...)
	err = r.Begin()
	_ = syscall.Kill(r.Child, syscall.SIGKILL)
	sys.Reap(r.Child)
	return helper.Fail(helper.ReportBroken, err)
}

// prepare listens in the folder of this shim.
func prepare(r *sys.Relay) error {
	var err error
	if r.Most, err = strconv.Atoi(os.Getenv(mostVar)); err != nil {
		return err
	}
	// The path of a socket must be short.
	if err := os.Chdir(os.Getenv(folderVar)); err != nil {
		return err
	}
	if r.Listen, err = syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0); err != nil {
		return err
	}
	if err := syscall.Bind(r.Listen, &syscall.SockaddrUnix{Name: socketFile}); err != nil {
		return err
	}
	if err := syscall.Listen(r.Listen, 4); err != nil {
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

// failure returns the error in a report of a shim that has not started its command.
func failure(r *helper.Report) error {
	err := syscall.Errno(r.Errno)
	if r.Kind == helper.ReportFailed {
		return err
	}
	return errors.Join(errors.New("the shim could not begin"), err)
}
