package server

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/hostsup/hostsup/execserver/wire"
	"github.com/hostsup/hostsup/internal/osprocess"
	"github.com/hostsup/hostsup/internal/sys"
	"github.com/hostsup/hostsup/internal/terminal"
	"github.com/hostsup/hostsup/sandbox"
)

// The size of a terminal when nothing is said of it.
const (
	defaultRows = 24
	defaultCols = 80
)

// startProcess starts a process and answers when it runs.
func (c *conn) startProcess(q *wire.ProcessStartParams, r reply) {
	if len(q.Argv) == 0 {
		r.fail(wire.InvalidParams("argv must not be empty"))
		return
	}
	dir, bad := q.Cwd.Native()
	if bad != nil {
		uri, _, _ := strings.Cut(strings.TrimPrefix(bad.Message, "'"), "'")
		r.fail(wire.InvalidParams("cwd URI `%s` is not valid on this exec-server host: %s", uri, bad.Message))
		return
	}
	if bad := cmp.Or(noCommand(q), refuseManaged(q)); bad != nil {
		r.fail(bad)
		return
	}
	how, limits, bad := c.srv.confineProcess(q)
	if bad != nil {
		r.fail(bad)
		return
	}
	full := c.srv.opt.WhenFull
	if q.WhenFull != nil {
		if full = WhenFull(*q.WhenFull); !slices.Contains(WhenFulls(), full) {
			r.fail(wire.InvalidParams("whenFull %q: expected %q or %q", full, Pause, Drop))
			return
		}
	}
	p := newProcess(c.session, q.ProcessID, startParams{q.Argv, q.Cwd, q.TTY, how.policy != nil, full})
	if c.ext {
		p.token = newToken()
	}
	if err := c.session.add(p, c); err != nil {
		r.fail(err)
		return
	}
	ends, err := openEnds(q)
	if err != nil {
		p.failed(r, err)
		return
	}
	if how.policy != nil && !q.TTY {
		ends.reopenable()
	}
	cmd := &sandbox.Command{
		Name: "exec." + c.session.id[:8], Args: slices.Clone(q.Argv), Env: c.srv.environment(q.EnvPolicy, q.Env),
		Dir: dir, Files: ends.files, Terminal: q.TTY, Limits: limits,
	}
	if q.Arg0 != nil {
		cmd.Args[0] = *q.Arg0
	}
	l := &launch{p: p, props: &osprocess.Start{Command: cmd, Close: ends.childs}}
	l.done = func(child *sandbox.Child, err error) {
		if err != nil {
			ends.close()
			p.failed(r, err)
			return
		}
		p.runs(child, ends)
		res := wire.ProcessStartResult{ProcessID: p.id, SandboxType: how.kind}
		if c.ext {
			res.PID, res.AttachToken = child.Pid(), p.token
		}
		r.result(&res)
		p.show()
		p.isStarted()
	}
	c.files.settled(c, func() {
		if err := c.settle(q, cmd, dir); err != nil {
			ends.discard()
			p.failed(r, err)
			return
		}
		// What the process puts out is seen from its first byte on: only so is the
		// order of the streams known.
		p.reads(ends)
		c.session.tell(&startNow{l})
	})
}

// settle fills in what depends on the files that are there at the start.
func (c *conn) settle(q *wire.ProcessStartParams, cmd *sandbox.Command, dir string) (err error) {
	how, _, bad := c.srv.confineProcess(q)
	if bad != nil {
		return bad
	}
	cmd.Policy = how.policy
	cmd.Path, err = program(q.Argv[0], dir, cmd.Env)
	return err
}

// noCommand returns the error for a command that no system could run.
func noCommand(q *wire.ProcessStartParams) *wire.Error {
	switch {
	case q.Argv[0] == "" && q.TTY:
		return wire.Internal("missing program for PTY spawn")
	case q.Argv[0] == "":
		return wire.Internal("missing program for pipe spawn")
	}
	for k, v := range q.Env {
		if strings.IndexByte(k, 0) >= 0 || strings.IndexByte(v, 0) >= 0 {
			return wire.Internal("data provided contains a nul byte")
		}
	}
	for _, arg := range q.Argv {
		if strings.IndexByte(arg, 0) >= 0 {
			return wire.Internal("nul byte found in provided data")
		}
	}
	return nil
}

// program looks up the program to run, as execvp does.
func program(name, dir string, env []string) (string, error) {
	if name == "" {
		return "", syscall.ENOENT
	}
	if strings.ContainsRune(name, '/') {
		return name, nil
	}
	path := "/bin:/usr/bin"
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, "PATH="); ok {
			path = v
		}
	}
	return sandbox.LookPath(name, dir, path)
}

// ends are the descriptors of a process that is being started: ours and its own.
type ends struct {
	files   []*os.File // its 0, 1, 2
	childs  []*os.File // to be closed once it has them
	in, tty *os.File
	out     []*stream
}

func (e *ends) close() {
	for _, f := range []*os.File{e.in, e.tty} {
		if f != nil {
			f.Close()
		}
	}
	for _, s := range e.out {
		if s.file != e.tty {
			s.file.Close()
		}
	}
}

// discard closes all of them.
func (e *ends) discard() {
	e.close()
	for _, f := range e.childs {
		f.Close()
	}
}

// reopenable lets a confined command, which as root is another user, open its
// pipes again as /dev/stdout and the like. They have no name but those in /proc
// of the processes that hold them, which are closed to other users.
func (e *ends) reopenable() {
	for _, f := range e.childs {
		_ = f.Chmod(0o666) // where that fails, nothing is confined
	}
}

func openEnds(q *wire.ProcessStartParams) (e *ends, err error) {
	e = &ends{files: make([]*os.File, 3)}
	defer func() {
		if err != nil {
			e.discard()
		}
	}()
	if q.TTY {
		rows, cols := uint16(defaultRows), uint16(defaultCols)
		if q.Size != nil {
			rows, cols = q.Size.Rows, q.Size.Cols
		}
		ours, its, err := terminal.Open(rows, cols)
		if err != nil {
			return e, err
		}
		e.tty, e.childs = ours, []*os.File{its}
		e.files[0], e.files[1], e.files[2] = its, its, its
		e.out = []*stream{{file: ours, name: wire.PTY}}
		return e, nil
	}
	for i, name := range []wire.Stream{wire.Stdout, wire.Stderr} {
		ours, its, err := sys.ChildPipe(true)
		if err != nil {
			return e, err
		}
		e.childs = append(e.childs, its)
		e.files[i+1] = its
		e.out = append(e.out, &stream{file: ours, name: name})
	}
	if q.PipeStdin {
		ours, its, err := sys.ChildPipe(false)
		if err != nil {
			return e, err
		}
		e.in = ours
		e.childs = append(e.childs, its)
		e.files[0] = its
	}
	return e, nil
}

// reads reads the output from now on, of a process that is about to be started.
func (p *process) reads(e *ends) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.streams = slices.Clone(e.out)
	for _, s := range e.out {
		s.p = p
		s.start()
	}
}

// runs takes the started child.
func (p *process) runs(child *sandbox.Child, e *ends) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.s.srv.count.starts.Add(1)
	p.child, p.tty = child, e.tty
	var err error
	switch {
	case e.tty != nil:
		p.stdin, err = newInput(e.tty, true, &p.s.srv.memory)
	case e.in != nil:
		p.stdin, err = newInput(e.in, false, &p.s.srv.memory)
	}
	if err != nil { // never, for what was just opened
		p.stdin = nil
	}
}

// failed answers a start that failed; its id can be used again.
func (p *process) failed(r reply, err error) {
	p.s.remove(p)
	p.s.srv.count.processes.Add(-1)
	p.s.srv.count.failed.Add(1)
	p.mu.Lock()
	p.void = true
	p.mu.Unlock()
	p.end()
	r.fail(startError(err))
	p.isStarted() // those that wait find it ended
}

// startError is the answer to a start that failed.
func startError(err error) *wire.Error {
	if errors.Is(err, errEnd) {
		return wire.Internal("the session has ended")
	}
	var known *wire.Error
	if errors.As(err, &known) {
		return known
	}
	var se *sandbox.StartError
	if errors.As(err, &se) {
		switch se.Step {
		case sandbox.StepPolicy, sandbox.StepConfine:
			return unenforced(err)
		case sandbox.StepFiles:
			return wire.Internal("nul byte found in provided data")
		case sandbox.StepExec:
			if errors.Is(err, syscall.EISDIR) { // what execve says of a folder
				return wire.OSError(syscall.EACCES)
			}
		}
	}
	for _, known := range []error{fs.ErrNotExist, fs.ErrPermission} {
		var n syscall.Errno
		if errors.Is(err, known) && !errors.As(err, &n) {
			return wire.OSError(known)
		}
	}
	return wire.OSError(err)
}

// newToken returns a token, which permits to observe a process.
func newToken() string { return fmt.Sprintf("%s%s", newID()[:8], newID()) }
