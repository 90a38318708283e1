//go:build !hostsup_posix

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/hostsup/hostsup/internal/helper"
	"github.com/hostsup/hostsup/internal/sys"
)

// startNurse starts the process that carries out a plan with the descriptors in d; it
// fills in those that all nurses have. The caller must free the nurse after the
// process has reported the result.
func (b *base) startNurse(p *helper.Plan, d *helper.Descriptors, cgroup int, note string) (*helperProc, *sys.Nurse, error) {
	ours, theirs, err := sys.SocketPair()
	if err != nil {
		return nil, nil, helper.Failed("socket", err)
	}
	defer theirs.Close()
	d.Null, d.Sock, d.Env = int(b.null.Fd()), int(theirs.Fd()), helperEnv
	var namespaces uintptr
	if p.Mode != helper.PlanReaper {
		namespaces |= sys.NewPID
		if p.Unshare&sys.NewMount == 0 {
			namespaces |= sys.NewMount
		}
	}
	mapped := namespaces != 0 && os.Geteuid() != 0
	if mapped {
		namespaces |= sys.NewUser
	}
	nurse, err := p.Nurse(d, note, mapped)
	if err != nil {
		ours.Close()
		return nil, nil, err
	}
	pid, pidfd, err := b.spawner.do(&spawn{by: func() (int, int, error) { return nurse.Start(namespaces, cgroup) }})
	if err != nil {
		nurse.Free()
		ours.Close()
		if !errors.Is(err, syscall.EAGAIN) && !errors.Is(err, syscall.ENOMEM) { // not a temporary shortage
			err = helper.Failed("make namespaces", err)
		}
		return nil, nil, err
	}
	h := &helperProc{watch: newWatch(pid, pidfd), sock: ours}
	_ = ours.SetDeadline(time.Now().Add(helperWait))
	if mapped {
		if err := h.mapSelf(); err != nil {
			h.end()
			nurse.Free()
			return nil, nil, helper.Failed("map ids", err)
		}
	}
	return h, nurse, nil
}

// mapSelf maps our own ids in the user namespace of a nurse, and lets it continue.
func (h *helperProc) mapSelf() error {
	proc, err := sys.OpenDir("/proc")
	if err != nil {
		return err
	}
	defer sys.Close(proc)
	if err := sys.NoSetgroups(proc, h.pid); err != nil {
		return err
	}
	uid, gid := os.Getuid(), os.Getgid()
	if err := sys.MapIDs(proc, h.pid, sys.IDs{InsideUID: uid, InsideGID: gid, OutsideUID: uid, OutsideGID: gid}); err != nil {
		return err
	}
	_, err = h.sock.Write([]byte{helper.SayGo})
	return err
}

// try makes a nurse carry out a plan up to the command.
func (b *base) try(p helper.Plan) error {
	p.Mode = helper.PlanTry
	d := helper.Descriptors{}
	defer closeOwners(&d)
	if what, err := makeOwners(&p, &d); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	h, nurse, err := b.startNurse(&p, &d, 0, "probe")
	if err != nil {
		return err
	}
	defer nurse.Free()
	defer h.end()
	r, fd, err := h.read()
	closeFD(fd)
	switch {
	case err != nil:
		return err
	case r.Kind == helper.ReportReady:
		return nil
	}
	return nurse.Failure(r.Errno, r.Exit)
}
