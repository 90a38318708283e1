//go:build !hostsup_posix

package sandbox

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"syscall"
	"time"

	"github.com/hostsup/hostsup/internal/helper"
	"github.com/hostsup/hostsup/internal/sys"
)

// helperWait bounds how long a helper may take to answer. A helper starts a Go
// runtime, which takes some milliseconds; only an overloaded machine comes near this.
const helperWait = 20 * time.Second

// helperEnv keeps the runtime of a helper small: one processor, no garbage collection
// below a limit that it never reaches, and no reading of cgroup limits.
var helperEnv = []string{
	helper.Var + "=" + strconv.Itoa(helper.FD),
	"GOMAXPROCS=1", "GOGC=off", "GOMEMLIMIT=16MiB", "GODEBUG=containermaxprocs=0,updatemaxprocs=0",
	"GORACE=atexit_sleep_ms=0", // with the race detector: no sleep of a second at the end
}

// helperProc is the Launcher's handle of a helper process.
type helperProc struct {
	*watch
	sock *os.File
}

// spawnHelper starts this program again in the given role. p has its placement; files
// become its descriptors from 4 on; ps shows note.
func (b *base) spawnHelper(r helper.Role, p sys.Process, files []int, payload []byte, note string) (*helperProc, error) {
	if len(payload) > helper.MaxPayload {
		return nil, syscall.E2BIG
	}
	ours, theirs, err := sys.SocketPair()
	if err != nil {
		return nil, err
	}
	null := int(b.null.Fd())
	p.Path, p.Args = sys.Program, []string{helper.Name, note}
	p.Env = helperEnv
	p.Files = b.padded(append([]int{null, null, null, int(theirs.Fd())}, files...))
	p.Session = true
	pid, pidfd, err := b.spawner.start(p)
	theirs.Close()
	if err != nil {
		ours.Close()
		return nil, fmt.Errorf("start %s: %w", sys.Program, err)
	}
	h := &helperProc{watch: newWatch(pid, pidfd), sock: ours}
	_ = ours.SetDeadline(time.Now().Add(helperWait))
	if _, err := ours.Write(helper.Hello(r, payload)); err != nil {
		h.end()
		return nil, fmt.Errorf("send to the helper: %w", err)
	}
	return h, nil
}

// end kills a helper, reaps it and closes its socket.
func (h *helperProc) end() sys.Exit {
	_ = h.watch.signal(syscall.SIGKILL)
	e, _ := h.wait(true)
	h.close()
	h.sock.Close()
	return e
}

// read returns the next report and its descriptor, or -1.
func (h *helperProc) read() (helper.Report, int, error) {
	var b [helper.ReportSize]byte
	n, fd, err := sys.RecvFD(h.sock, b[:])
	if err == nil && n == 0 {
		err = io.EOF
	}
	if err == nil && n < len(b) {
		_, err = io.ReadFull(h.sock, b[n:])
	}
	if err != nil {
		if fd >= 0 {
			sys.Close(fd)
		}
		return helper.Report{}, -1, err
	}
	return helper.DecodeReport(b[:]), fd, nil
}

// ready waits for the helper's first report. The error is a plain syscall.Errno if it
// is about the command, not about the helper.
func (h *helperProc) ready(want byte) (fd int, err error) {
	r, fd, err := h.read()
	switch {
	case errors.Is(err, io.EOF):
		return -1, errors.New("the helper ended at once: is package sandbox initialised in this program?")
	case err != nil:
		return -1, err
	case r.Kind == helper.ReportFailed:
		return -1, syscall.Errno(r.Errno)
	case r.Kind == helper.ReportBroken:
		return -1, fmt.Errorf("the helper cannot work: %w", syscall.Errno(r.Errno))
	case r.Kind != want:
		return -1, fmt.Errorf("the helper sent an unexpected report %q", r.Kind)
	}
	_ = h.sock.SetDeadline(time.Time{})
	return fd, nil
}

// identify identifies the command behind pidfd and lets the helper continue.
func (h *helperProc) identify(pidfd int) (*watch, error) {
	if pidfd < 0 {
		return nil, errors.New("the helper passed no pidfd")
	}
	pid, err := sys.PidfdPid(pidfd)
	if err == nil && pid <= 0 {
		err = errors.New("the helper's child is not visible in this pid namespace")
	}
	if err != nil {
		sys.Close(pidfd)
		return nil, err
	}
	w := newWatch(pid, pidfd)
	if _, err := h.sock.Write([]byte{helper.SayGo}); err != nil && !errors.Is(err, syscall.EPIPE) {
		w.close()
		return nil, err
	}
	return w, nil
}

// tryHelper tests whether helpers work in this placement.
func (b *base) tryHelper(p sys.Process) error {
	h, err := b.spawnHelper(helper.RoleTest, p, nil, nil, "test")
	if err != nil {
		return err
	}
	defer h.end()
	_, err = h.ready(helper.ReportReady)
	return err
}
