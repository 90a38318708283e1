//go:build !hostsup_posix

package process

import (
	"os"
	"strconv"
	"syscall"

	"github.com/hostsup/hostsup/internal/helper"
	"github.com/hostsup/hostsup/internal/sys"
)

// What the process is recognised by: argv[0], and an environment variable that is set to helper.FD.
const (
	Name = "hostsup-shim"
	Var  = "HOSTSUP_SHIM"
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
	set, err := readSettings()
	if err != nil {
		return helper.Fail(helper.ReportBroken, err)
	}
	r := sys.Relay{Sock: helper.FD, Lock: helper.FD + 1, Window: Window, Most: set.Most}
	if err := prepare(&r, set.Folder); err != nil {
		return helper.Fail(helper.ReportBroken, err)
	}
	if err := command(&r, &o, &set); err != nil {
		kind := byte(helper.ReportFailed)
		if what, _ := helper.StepOf(err); what == "cgroup" || what == "limits" {
			kind = helper.ReportBroken // not an error of the command
		}
		return helper.Fail(kind, err)
	}
	helper.Calm() // after the start: the command would inherit it
	r.Wake = []string{helper.Name, set.Folder}
	r.Env = append([]string{helper.Var + "=" + strconv.Itoa(helper.FD), helper.HuntVar + "=" + strconv.Itoa(r.Child)}, Env...)
	err = r.Begin()
	_ = syscall.Kill(r.Child, syscall.SIGKILL)
	sys.Reap(r.Child)
	return helper.Fail(helper.ReportBroken, err)
}

// prepare listens in the folder of this shim.
func prepare(r *sys.Relay, folder string) error {
	// The path of a socket must be short.
	err := os.Chdir(folder)
	if err != nil {
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
func command(r *sys.Relay, o *helper.Order, set *Settings) error {
	ours := []*int{&r.Input, &r.Output, &r.Errors}
	var files []int
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
		files = append(files, int(theirs.Fd()))
	}
	p := helper.Plan{Mode: helper.PlanSelf, Path: o.Path, Args: o.Args, Env: o.Env, Dir: o.Dir, UID: -1, GID: -1, Limits: set.rlimits()}
	var script sys.Script
	born, enter := set.groups()
	if err := p.Direct(&script, files, enter, -1, -1); err != nil {
		return err
	}
	pid, pidfd, err := script.Spawn(born)
	if err != nil {
		return err
	}
	for _, fd := range append(enter, pidfd) {
		sys.Close(fd)
	}
	if born != 0 {
		sys.Close(born)
	}
	r.Child = pid
	return nil
}
