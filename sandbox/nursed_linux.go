//go:build !hostsup_posix

package sandbox

import (
	"errors"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/hostsup/hostsup/internal/helper"
	"github.com/hostsup/hostsup/internal/sys"
)

// nursed is a child with its own helper: the pidns and keeper methods.
type nursed struct {
	child  *Child
	base   *base
	helper *helperProc
	host   *watch // the command itself, which is not our child
	role   helper.Role

	mu   sync.Mutex
	over bool // the helper is reaped, and its whole tree has ended
}

// nursing starts every command with a helper in the role.
type nursing struct {
	*base
	role  helper.Role
	place sys.Process
}

func (n *nursing) trouble() []string { return nil }
func (n *nursing) stop() error       { return nil }

func (n *nursing) start(cmd *Command, files []int) (*Child, error) {
	c := newChild(cmd, time.Now())
	o := helper.Order{Path: cmd.Path, Dir: cmd.Dir, Args: cmd.Args, Env: cmd.Env, Files: len(files), Terminal: cmd.Terminal}
	if hasZero(cmd) {
		return nil, syscall.EINVAL
	}
	tree := func(err error) error { return &StartError{Name: cmd.Name, Step: StepTree, Err: err} }
	h, err := n.spawnHelper(n.role, n.place, files, o.Encode(), cmd.Name)
	if err != nil {
		return nil, tree(err)
	}
	fd, err := h.ready(helper.ReportStarted)
	if err != nil {
		h.end()
		if errno := syscall.Errno(0); errors.As(err, &errno) {
			return nil, err
		}
		return nil, tree(err)
	}
	w, err := h.identify(fd)
	if err != nil {
		h.end()
		return nil, tree(err)
	}
	d := &nursed{child: c, base: n.base, helper: h, host: w, role: n.role}
	c.pid, c.tree = w.pid, d
	go d.run()
	return c, nil
}

func (d *nursed) run() {
	d.await(d.child.vanish)
	<-d.child.released
	d.base.leave(d.child)
}

// await waits for the end of the helper, and publishes the end of the command. It calls
// ended when the helper and all processes that it knows have ended.
func (d *nursed) await(ended func()) {
	reported := false
	for {
		r, fd, err := d.helper.read()
		if fd >= 0 {
			sys.Close(fd)
		}
		if err != nil {
			break
		}
		if r.Kind == helper.ReportExit && !reported {
			reported = true
			if r.Alone {
				d.child.vanish()
			}
			d.child.end(exitOf(r.Exit))
		}
	}
	// The helper has ended or is ending. If it was killed, its command was too, and
	// the resource use of the helper includes that of the command.
	e, _ := d.helper.wait(true)
	if !reported {
		d.host.gone()
	}
	d.mu.Lock()
	d.over = true
	d.helper.close()
	d.helper.sock.Close()
	d.host.close()
	d.mu.Unlock()
	ended()
	if !reported {
		d.child.end(exitOf(sys.Exit{Code: -1, Signal: int(syscall.SIGKILL), Usage: e.Usage}))
	}
}

func (d *nursed) signal(sig os.Signal) error {
	n, err := number(sig)
	if err != nil {
		return err
	}
	return done(d.host.signal(n))
}

func (d *nursed) kill() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.over {
		return nil
	}
	var err error
	if d.role == helper.RoleInit {
		err = d.helper.signal(syscall.SIGKILL)
	} else {
		// The command may have stopped its keeper.
		_ = d.helper.signal(syscall.SIGCONT)
		_ = d.host.signal(syscall.SIGKILL)
		_ = d.helper.sock.SetWriteDeadline(time.Now().Add(time.Second))
		if _, err = d.helper.sock.Write([]byte{helper.SayKill}); errors.Is(err, syscall.EPIPE) {
			err = nil // it has ended already
		}
	}
	if err == syscall.ESRCH {
		err = nil
	}
	return err
}

func (d *nursed) pids() ([]int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.over {
		return nil, os.ErrProcessDone
	}
	return withDescendants(d.helper.pid)[1:], nil
}

func (d *nursed) account() (int, string, int) { return -1, "", d.helper.pid }
