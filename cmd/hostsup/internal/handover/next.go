package handover

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/hostsup/hostsup/internal/sys"
)

// ErrNotTaken means that the other process did not take over: it cannot be started, has ended, told an error or did not
// answer in time. The message says which.
var ErrNotTaken = errors.New("the other process does not take over")

// The bounds on how long the other process may take.
const (
	helloWait   = 10 * time.Second
	takenWait   = 10 * time.Second // connections wait to be accepted meanwhile
	readyWait   = 60 * time.Second // commands that find secrets may run
	runningWait = 30 * time.Second
)

// Command is the process that is to take over.
type Command struct {
	Path    string              // of the program
	Args    []string            // without the program
	Env     []string            // "K=V"; the whole environment
	Files   map[string]*os.File // that it inherits, by names for [Successor.Take]
	Sockets map[string]*os.File // that listen, and that it inherits, by names for [Successor.Listener]
	// Pause is called before the process takes the sockets, which must not be accepted from meanwhile: they are without
	// O_NONBLOCK for a moment. Resume is called when it has them, or does not take them.
	Pause, Resume func()
	Offer         Offer // Protocol, Files and Sockets are set by Start
}

// Next is the process that takes over. It must be ended by Kill, or have run.
type Next struct {
	process *os.Process
	state   *os.ProcessState // once it has ended
	line    *line
	exited  chan struct{}

	Version string   // of its program
	Hosts   []string // of its configuration
	Kept    []string // those of them whose process it would take back as they are now
}

// Start starts the process, and returns when it is ready to take over. It has ended if the error is not nil, which wraps
// [ErrNotTaken] then.
func Start(ctx context.Context, c Command) (*Next, error) {
	n, err := start(c)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotTaken, err)
	}
	if err := n.prove(ctx, c); err != nil {
		err = n.why(err)
		n.Kill()
		return nil, fmt.Errorf("%w: %w", ErrNotTaken, err)
	}
	return n, nil
}

func start(c Command) (*Next, error) {
	ours, theirs, err := sys.SocketPair()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	// Not by os/exec, which would take O_NONBLOCK away from the sockets, for this process as well.
	attr := &syscall.ProcAttr{Env: append(slices.Clone(c.Env), Variable+"="+inherited), Sys: ownGroup()}
	files := []*os.File{os.Stdin, os.Stdout, os.Stderr, theirs}
	for _, name := range names(c.Files) {
		files = append(files, c.Files[name])
	}
	for _, name := range names(c.Sockets) {
		files = append(files, c.Sockets[name])
	}
	for _, f := range files {
		fd, err := descriptor(f)
		if err != nil {
			return nil, errors.Join(err, ours.Close())
		}
		attr.Files = append(attr.Files, fd)
	}
	pid, _, err := syscall.StartProcess(c.Path, append([]string{c.Path}, c.Args...), attr)
	runtime.KeepAlive(files)
	if err != nil {
		return nil, errors.Join(&os.PathError{Op: "start", Path: c.Path, Err: err}, ours.Close())
	}
	process, err := os.FindProcess(pid)
	if err != nil {
		return nil, errors.Join(err, ours.Close())
	}
	n := &Next{process: process, line: newLine(ours), exited: make(chan struct{})}
	go func() { // ends with the process
		n.state, _ = process.Wait()
		close(n.exited)
	}()
	return n, nil
}

// descriptor returns the number of an open file, whose mode it leaves as it is.
func descriptor(f *os.File) (fd uintptr, err error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return 0, err
	}
	err = raw.Control(func(n uintptr) { fd = n })
	return fd, err
}

// names returns the names of files in the order in which they are inherited.
func names(files map[string]*os.File) []string {
	out := []string{}
	for name := range files {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// prove waits until the process is ready.
func (n *Next) prove(ctx context.Context, c Command) error {
	hello, err := n.expect(ctx, stepHello, helloWait)
	if err != nil {
		return err
	}
	if hello.Protocol != Protocol {
		return fmt.Errorf("its version is %s and it speaks version %d of the handover, expected %d", hello.Version, hello.Protocol, Protocol)
	}
	n.Version = hello.Version
	c.Offer.Protocol, c.Offer.Files, c.Offer.Sockets = Protocol, names(c.Files), names(c.Sockets)
	if err := n.give(ctx, c); err != nil {
		return err
	}
	ready, err := n.expect(ctx, stepReady, readyWait)
	if err != nil {
		return err
	}
	n.Hosts, n.Kept = ready.Hosts, ready.Kept
	return nil
}

// give has the process take the sockets.
func (n *Next) give(ctx context.Context, c Command) error {
	if c.Pause != nil {
		c.Pause()
		defer c.Resume()
	}
	if err := n.line.send(c.Offer); err != nil {
		return err
	}
	_, err := n.expect(ctx, stepTaken, takenWait)
	return err
}

// expect waits for a report.
func (n *Next) expect(ctx context.Context, step string, within time.Duration) (report, error) {
	var r report
	if err := n.line.file.SetReadDeadline(time.Now().Add(within)); err != nil {
		return r, err
	}
	stop := context.AfterFunc(ctx, func() { _ = n.line.file.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	err := n.line.receive(&r)
	switch {
	case ctx.Err() != nil:
		return r, ctx.Err()
	case errors.Is(err, os.ErrDeadlineExceeded):
		return r, fmt.Errorf("it did not tell %q within %s", step, within)
	case err != nil:
		return r, err
	case r.Error != "":
		return r, errors.New(strings.TrimSpace(r.Error))
	case r.Step != step:
		return r, fmt.Errorf("it told %q, expected %q", r.Step, step)
	}
	return r, nil
}

// endWait bounds how long a process may take to end that has closed its connection.
const endWait = 2 * time.Second

// why returns how the process has ended if err is the end of its connection.
func (n *Next) why(err error) error {
	if !errors.Is(err, io.EOF) && !errors.Is(err, syscall.EPIPE) && !errors.Is(err, syscall.ECONNRESET) {
		return err
	}
	late := time.NewTimer(endWait)
	defer late.Stop()
	select {
	case <-n.exited:
		return fmt.Errorf("it ended (%s)", n.state)
	case <-late.C:
		return errors.New("it closed its connection")
	}
}

// Go tells the process that it has all, and returns when it is running. It has ended if the error is not nil, which wraps
// [ErrNotTaken] then.
func (n *Next) Go(ctx context.Context) error {
	err := n.line.send(goAhead{true})
	if err == nil {
		_, err = n.expect(ctx, stepRunning, runningWait)
	}
	if err != nil {
		err = n.why(err)
		n.Kill()
		return fmt.Errorf("%w: %w", ErrNotTaken, err)
	}
	_ = n.line.file.Close()
	return nil
}

// Kill kills the process, and waits for its end.
func (n *Next) Kill() {
	_ = n.process.Kill()
	<-n.exited
	_ = n.line.file.Close()
}

// PID returns the id of the process.
func (n *Next) PID() int { return n.process.Pid }

// Exited returns a channel that is closed when the process has ended.
func (n *Next) Exited() <-chan struct{} { return n.exited }

// Code returns the exit code of the process once it has ended, 128 and the signal if one has killed it.
func (n *Next) Code() int {
	st := n.state
	if st == nil {
		return -1 // it was not waited for
	}
	if ws, ok := st.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return st.ExitCode()
}

// Signal sends the process a signal.
func (n *Next) Signal(sig os.Signal) error { return n.process.Signal(sig) }
