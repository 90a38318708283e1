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

// helperWait bounds how long a helper may take to answer. It is a Go runtime
// starting up, some milliseconds; only a machine in trouble comes near this.
const helperWait = 20 * time.Second

// helperEnv keeps the runtime of a helper small: one processor, no collector
// below a limit it never gets near, and no look at the limits of cgroups.
var helperEnv = []string{
	helper.Var + "=" + strconv.Itoa(helper.FD),
	"GOMAXPROCS=1", "GOGC=off", "GOMEMLIMIT=16MiB", "GODEBUG=containermaxprocs=0,updatemaxprocs=0",
	"GORACE=atexit_sleep_ms=0", // in a program built with the race detector: no second of sleep at the end
}

// helperProc is a running helper process, seen from the Launcher.
type helperProc struct {
	*watch
	sock *os.File
}

// spawnHelper starts this program once more in the given role. p says where
// to put it; files become its descriptors from 4 on; note is shown by ps.
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
		return nil, fmt.Errorf("tell the helper: %w", err)
	}
	return h, nil
}

// end kills a helper and forgets it.
func (h *helperProc) end() sys.Exit {
	_ = h.watch.signal(syscall.SIGKILL)
	e, _ := h.wait(true)
	h.close()
	h.sock.Close()
	return e
}

// read returns the next report and the descriptor that came with it, or -1.
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

// ready waits for the helper's first report. The error is a plain
// syscall.Errno when it is about the command and not about the helper.
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
		return -1, fmt.Errorf("the helper said %q", r.Kind)
	}
	_ = h.sock.SetDeadline(time.Time{})
	return fd, nil
}

// meet makes the acquaintance of the command behind pidfd and lets the helper
// go on.
func (h *helperProc) meet(pidfd int) (*watch, error) {
	if pidfd < 0 {
		return nil, errors.New("the helper passed no pidfd")
	}
	pid, err := sys.PidfdPid(pidfd)
	if err == nil && pid <= 0 {
		err = errors.New("the helper's child cannot be seen from here")
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

// tryHelper finds out whether helpers work in this placement.
func (b *base) tryHelper(p sys.Process) error {
	h, err := b.spawnHelper(helper.RoleTest, p, nil, nil, "test")
	if err != nil {
		return err
	}
	defer h.end()
	_, err = h.ready(helper.ReportReady)
	return err
}
