//go:build !hostsup_posix

package survive

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/internal/shim"
	"github.com/hostsup/hostsup/internal/sys"
	"github.com/hostsup/hostsup/lifecycle/record"
	"github.com/hostsup/hostsup/link"
	"github.com/hostsup/hostsup/sandbox"
)

// starter starts one life, or takes it back.
type starter struct {
	host    *host
	life    *life
	wire    *wire
	resumed bool // the process runs, and wire is connected

	tree    bool             // there is to be a cgroup for the tree
	lasting *sandbox.Lasting // the open cgroups; nil without any
}

// give has a life be started by s.
func (s *starter) give(to *actors.Start) {
	to.Launcher, to.Resumed = s, s.resumed
	to.Wire = func() link.Wire { return s.wire }
	to.Opening = s.opening
}

// Kill implements actors.Launcher. A shim reaches all its descendants. When it is killed, only the process
// group can be reached without a cgroup.
func (s *starter) Kill() sandbox.Kill {
	if s.tree {
		return sandbox.KillCgroup
	}
	return sandbox.KillGroup
}

// Start implements actors.Launcher.
func (s *starter) Start(cmd *sandbox.Command) (*sandbox.Child, error) {
	if !s.host.begun(s) {
		return nil, &sandbox.StartError{Name: cmd.Name, Step: sandbox.StepClosed, Err: sandbox.ErrClosed}
	}
	if !s.resumed {
		if err := s.start(cmd); err != nil {
			s.lasting.Close()
			s.host.dispose(s.life)
			return nil, err
		}
	}
	child, err := s.child(cmd)
	if err != nil {
		s.abandon()
		return nil, err
	}
	if s.resumed {
		pid, number := child.Pid(), s.life.Life
		reason := fmt.Sprintf("taken back: process %d outlived its supervisor", pid)
		s.host.ref.Log().Info("taken back", "life", number, "pid", pid)
		actors.Record(s.host.ref, record.Event{Kind: record.KindTakenBack, Life: &number, PID: &pid, Reason: reason})
	}
	return child, nil
}

// start starts the shim.
func (s *starter) start(cmd *sandbox.Command) error {
	fail := func(path string, err error) error {
		step := sandbox.StepExec
		if errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.ENOMEM) {
			step = sandbox.StepFork
		}
		return &sandbox.StartError{Name: cmd.Name, Step: step, Path: path, Err: err}
	}
	dir, err := filepath.Abs(cmd.Dir)
	if err != nil {
		return fail(cmd.Dir, err)
	}
	path := cmd.Path
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	entry, err := s.enclose(cmd)
	if err != nil {
		return err
	}
	defer entry.Close()
	o := shim.Options{
		Folder: s.life.shim(), Name: cmd.Name, Path: path, Args: cmd.Args, Env: cmd.Env, Dir: dir, Survive: true,
		Most:   s.host.ref.Spec().Limits.WithDefaults().Frame + 4*link.Limit,
		Cgroup: entry.Tree, Enter: entry.Write, Limits: entry.Most,
	}
	if s.wire.conn, err = s.host.on.Start(o); err != nil {
		return fail(path, err)
	}
	return nil
}

// enclose makes the cgroups of a life, after their paths are in its file. The caller must close the entry.
func (s *starter) enclose(cmd *sandbox.Command) (*sandbox.Entry, error) {
	fail := func(step sandbox.Step, path string, err error) (*sandbox.Entry, error) {
		return nil, &sandbox.StartError{Name: cmd.Name, Step: step, Path: path, Err: err}
	}
	if s.tree || cmd.Limits.Any() {
		cgroups, err := sandbox.ChooseLasting(s.tree, cmd.Limits)
		if err != nil {
			return fail(sandbox.StepPolicy, "", err)
		}
		s.life.Cgroups, s.life.Limits = cgroups, cmd.Limits
	}
	if err := s.life.save(); err != nil {
		return fail(sandbox.StepExec, s.life.path, err)
	}
	if s.life.Cgroups == nil {
		return &sandbox.Entry{}, nil
	}
	var err error
	if s.lasting, err = s.life.Cgroups.Make(cmd.Limits); err != nil {
		return fail(sandbox.StepTree, "", err)
	}
	entry, err := s.lasting.Enter()
	if err != nil {
		return fail(sandbox.StepTree, "", err)
	}
	return entry, nil
}

// abandon ends a life that has no child.
func (s *starter) abandon() {
	defer s.lasting.Close()
	ctx, cancel := context.WithTimeout(context.Background(), releaseWait)
	defer cancel()
	if err := s.wire.conn.Release(ctx); err != nil {
		s.host.ref.Log().Error("a process is not ended", "life", s.life.Life, "error", err)
		return
	}
	s.host.dispose(s.life)
}

// child returns the child that stands for the command, with what it writes copied to where the
// host's output is read.
func (s *starter) child(cmd *sandbox.Command) (*sandbox.Child, error) {
	conn := s.wire.conn
	r := conn.Record()
	outputs := []Stream{2: conn.Stderr()}
	if s.host.ref.Spec().Protocol == nil {
		outputs[1] = conn.Stdout()
	}
	var copies []func()
	for fd, stream := range outputs {
		if stream == nil {
			continue
		}
		n, err := sys.Dup(cmd.Files[fd])
		if err != nil {
			return nil, &sandbox.StartError{Name: cmd.Name, Step: sandbox.StepFiles, Err: err}
		}
		copies = append(copies, func() { copyOutput(os.NewFile(uintptr(n), cmd.Name), stream) })
	}
	child := sandbox.NewOutside(cmd, sandbox.Access{
		PID: r.Command.PID, Started: s.life.Started, Reaper: r.Shim.PID,
		Signal: func(sig os.Signal) error {
			if s.wire.going.Load() {
				s.wire.letGo()
				return nil
			}
			n, ok := sig.(syscall.Signal)
			if !ok {
				return fmt.Errorf("signal %v: %w", sig, sandbox.ErrUnsupported)
			}
			return gone(conn.Signal(n))
		},
		Kill: func() error {
			if s.wire.going.Load() {
				s.wire.letGo()
				return nil
			}
			if err := conn.Kill(); err != nil && !errors.Is(err, shim.ErrLost) {
				return err
			}
			return nil
		},
	})
	s.lasting.Bind(child)
	for _, f := range copies {
		s.host.ref.Background(f)
	}
	s.host.runs(s)
	if s.wire.framing == nil {
		s.wire.kept.Store(true)
	}
	s.host.ref.Background(func() { s.watch(child) })
	return child.Child, nil
}

// gone returns os.ErrProcessDone for the error of a shim that has ended.
func gone(err error) error {
	if errors.Is(err, shim.ErrLost) {
		return os.ErrProcessDone
	}
	return err
}

// copyOutput copies a stream to a pipe until its end, or that of the shim. Bytes are acknowledged when they
// are in the pipe.
func copyOutput(to *os.File, from Stream) {
	open := true
	offset := from.From()
	defer func() {
		if open {
			to.Close()
		}
	}()
	buf := make([]byte, 16<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			if open {
				if _, err := to.Write(buf[:n]); err != nil { // it is not read any more, and the host must not wait
					to.Close()
					open = false
				}
			}
			offset += uint64(n)
			if from.Ack(offset) != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// watch tells how a life ends, and gives back what was kept for it. It ends when the child is released.
func (s *starter) watch(child *sandbox.Outside) {
	conn := s.wire.conn
	defer s.lasting.Close()
	select {
	case <-conn.Exited():
		child.End(exitOf(conn.Exit()))
	case <-conn.Lost():
		s.lost(child)
	case <-s.wire.let:
		s.leave(child)
		return
	}
	select {
	case <-conn.Gone():
		child.Vanish()
		<-child.Released()
	case <-conn.Lost():
		s.hunt()
		child.Vanish()
		<-child.Released()
	case <-child.Released():
	}
	ctx, cancel := context.WithTimeout(context.Background(), releaseWait)
	defer cancel()
	if err := conn.Release(ctx); err != nil {
		s.host.ref.Log().Error("the shim of a host does not end", "life", s.life.Life, "error", err)
		return
	}
	child.Vanish()
	s.host.dispose(s.life)
	s.host.tidy()
}

// lost follows the end of the shim before that of its command, which the kernel kills then.
func (s *starter) lost(child *sandbox.Outside) {
	select {
	case <-s.wire.conn.Exited(): // it was told before
		child.End(exitOf(s.wire.conn.Exit()))
		return
	default:
	}
	s.hunt()
	child.End(sandbox.Exit{Code: -1, Signal: int(syscall.SIGKILL)})
}

// hunt kills what a shim that was killed has left, and waits for its end: all processes in the cgroup of the life, and without
// one those of its command's process group.
func (s *starter) hunt() {
	if s.lasting.HasTree() {
		s.lasting.Empty(releaseWait)
		return
	}
	s.host.on.Hunt(s.wire.conn.Record())
}

// firstID returns the first id of the requests of a supervisor, given how many have had the life before.
// 63 of them have 67 million each, and their answers are told apart.
func firstID(epoch uint32) uint32 { return (epoch-1)%63<<26 + 1<<26 }

// opening returns what opens the connection.
func (s *starter) opening(c *link.Conn, hs codec.Handshake) codec.Handshake {
	if !s.resumed {
		return &recorded{hs, s.wire}
	}
	link.Inherit(c, firstID(s.life.Epoch))
	if err := replay(hs, s.life.Opening); err != nil {
		s.host.ref.Log().Error("the handshake of a process that is taken back cannot be repeated; it is ended", "life", s.life.Life, "error", err)
		_ = s.wire.conn.Kill() // its end is a crash
	}
	return done{hs}
}

func exitOf(e sys.Exit) sandbox.Exit {
	return sandbox.Exit{
		Code: e.Code, Signal: e.Signal, Core: e.Core,
		User: time.Duration(e.Usage.User), System: time.Duration(e.Usage.System), MaxRSS: e.Usage.MaxRSS,
	}
}
