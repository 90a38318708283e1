package execserver

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/hostsup/hostsup/execserver/wire"
)

// killTimeout is how long Wait waits for the answer to a kill.
const killTimeout = 10 * time.Second

// ErrWaitDelay is what Wait returns when Cmd.WaitDelay has passed and the command
// had ended well, but its output was still open.
var ErrWaitDelay = errors.New("WaitDelay expired before the output of the command was closed")

// Cmd is a command that is run on the server, as exec.Cmd is one that is run
// here. It is made by [Client.Command] and can be run once.
type Cmd struct {
	// Path is the program. The server looks for one without a slash in the PATH of
	// the command's environment. Required.
	Path string
	// Args are the arguments; Args[0] is the name that the program sees. Empty is
	// Path alone.
	Args []string
	// Env is the environment, as "NAME=VALUE"; of equal names the last one counts.
	// nil is the whole environment of the server, as nil in exec.Cmd is that of
	// the calling program. A non-nil empty slice is no environment.
	Env []string
	// Dir is the working folder: a plain path of the server. "" is the server's
	// working folder; a relative path is relative to that.
	Dir string

	// Stdin is what the command reads; nil is nothing. One goroutine reads it, and
	// Wait does not wait for a Read that is under way. Start fails with
	// ErrNoExtension when the server cannot tell a command without a terminal that
	// its input has ended (wire.ExtProcessCloseStdin; Codex's own cannot): use
	// StdinPipe there.
	Stdin io.Reader
	// Stdout and Stderr get the output, from one goroutine; nil throws it away.
	// An error of a writer kills the command, as a broken pipe does, and is in what
	// Wait returns.
	Stdout, Stderr io.Writer

	// TTY gives the command a terminal; all output then goes to Stdout. Size is
	// that of the terminal; nil is 24 by 80, which servers without
	// wire.ExtProcessResize always use.
	TTY  bool
	Size *wire.TerminalSize

	// Sandbox confines the command; nil leaves it to the server.
	Sandbox *wire.SandboxContext

	// Cancel is called when the context is done before the command has ended; nil
	// kills the command with what it has started. An error of Cancel is in what
	// Wait returns.
	Cancel func() error
	// WaitDelay bounds how long Wait waits after the end of the command itself, or
	// of the context, for the processes that still have its output open. With 0 Wait
	// waits until the output is closed.
	WaitDelay time.Duration

	// Process is the running command, valid after Start: it can be interrupted,
	// and its terminal resized.
	Process *Process
	// Exit is how the command has ended, valid after Wait.
	Exit Exit

	c       *Client
	ctx     context.Context //nolint:containedctx // as exec.Cmd has it
	started bool
	waited  bool
	saved   *ends // Stderr of Output

	pipeIn           *stdinPipe
	pipeOut, pipeErr *outputPipe
	fed              chan error              // of the goroutine that reads Stdin
	copied           chan error              // of the goroutine that copies the output; nil without one
	stopCopy         context.CancelCauseFunc // ends that
	canceled         chan error              // of the goroutine that waits for ctx; nil without one
	ended            chan struct{}           // closed when Wait has seen the end
}

// Command returns a Cmd that runs a program on the server. The context kills the
// command, as that of exec.CommandContext does.
func (c *Client) Command(ctx context.Context, name string, arg ...string) *Cmd {
	return &Cmd{Path: name, Args: append([]string{name}, arg...), c: c, ctx: ctx}
}

// String returns the command line, for people.
func (c *Cmd) String() string {
	return strings.Join(append([]string{c.Path}, c.Args[min(1, len(c.Args)):]...), " ")
}

// ExitError reports a command that has ended with a code other than 0, or by a
// signal.
type ExitError struct {
	Exit
	// Stderr is the standard error of a command that was run by Output without
	// Cmd.Stderr: the first and the last 32 KiB when there was more.
	Stderr []byte
	// Err is why the command was ended by this client, such as
	// context.DeadlineExceeded; nil when it ended by itself.
	Err error
}

// ExitCode returns the code, or 128+N when signal N has ended the command.
func (e *ExitError) ExitCode() int { return e.Code }

// Error reads "exit status 3", or "exit status 137: context canceled".
func (e *ExitError) Error() string {
	s := fmt.Sprintf("exit status %d", e.Code)
	if e.SandboxDenied {
		s += " (the sandbox may have denied something)"
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns Err.
func (e *ExitError) Unwrap() error { return e.Err }

// Run starts the command and waits for its end, as Start and Wait do.
func (c *Cmd) Run() error {
	if err := c.Start(); err != nil {
		return err
	}
	return c.Wait()
}

// Output runs the command and returns its standard output. A command that fails
// is an *ExitError with Stderr set, unless Cmd.Stderr was.
func (c *Cmd) Output() ([]byte, error) {
	if c.Stdout != nil {
		return nil, errors.New("the field Stdout is set already")
	}
	var out bytes.Buffer
	c.Stdout = &out
	if c.Stderr == nil {
		c.saved = &ends{}
		c.Stderr = c.saved
	}
	err := c.Run()
	return out.Bytes(), err
}

// CombinedOutput runs the command and returns its standard output and standard
// error, in the order in which the server has read them.
func (c *Cmd) CombinedOutput() ([]byte, error) {
	if c.Stdout != nil || c.Stderr != nil {
		return nil, errors.New("the field Stdout or Stderr is set already")
	}
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	err := c.Run()
	return out.Bytes(), err
}

// StdinPipe returns a pipe to the command's standard input. Its Close ends the
// input and fails with ErrNoExtension when the server cannot do that. Writes lose
// and repeat nothing when the session is resumed. The pipe is for one goroutine,
// and fails before Start.
func (c *Cmd) StdinPipe() (io.WriteCloser, error) {
	if c.Stdin != nil || c.pipeIn != nil || c.started {
		return nil, errors.New("the field Stdin is set already, or the command has been started")
	}
	c.pipeIn = &stdinPipe{}
	return c.pipeIn, nil
}

// StdoutPipe returns a pipe from the command's standard output. Other than with
// exec.Cmd it may be read after Wait, too. What is not read is kept as by a
// Subscription with Keep: Read returns a *LaggedError in the place of what did
// not fit. Close throws away what is not read.
func (c *Cmd) StdoutPipe() (io.ReadCloser, error) {
	return c.outputPipe(&c.pipeOut, c.Stdout, "Stdout")
}

// StderrPipe is StdoutPipe for the standard error.
func (c *Cmd) StderrPipe() (io.ReadCloser, error) {
	return c.outputPipe(&c.pipeErr, c.Stderr, "Stderr")
}

func (c *Cmd) outputPipe(pipe **outputPipe, set io.Writer, field string) (io.ReadCloser, error) {
	if set != nil || *pipe != nil || c.started {
		return nil, fmt.Errorf("the field %s is set already, or the command has been started", field)
	}
	*pipe = &outputPipe{}
	return *pipe, nil
}

// Start starts the command. Wait must be called after it. A program or folder
// that is missing on the server is fs.ErrNotExist, one that may not be run
// fs.ErrPermission.
func (c *Cmd) Start() error {
	if c.started {
		return errors.New("the command has been started already")
	}
	c.started = true
	if err := c.ctx.Err(); err != nil {
		return context.Cause(c.ctx)
	}
	params, err := c.params()
	if err != nil {
		return fmt.Errorf("%s: %w", c.Path, err)
	}
	var copied *Subscription
	c.Process, err = c.c.start(c.ctx, params, func(p *Process) {
		if c.Stdout != nil || c.Stderr != nil {
			copied = p.Subscribe(Keep)
		}
		stdout := wire.Stdout
		if c.TTY {
			stdout = wire.PTY
		}
		c.pipeOut.from(p, stdout)
		c.pipeErr.from(p, wire.Stderr)
	})
	if err != nil {
		return fmt.Errorf("%s: %w", c.Path, err)
	}
	c.ended, c.fed = make(chan struct{}), make(chan error, 1)
	if c.pipeIn != nil {
		c.pipeIn.w = c.Process.Stdin(c.ctx)
	}
	if copied != nil {
		var ctx context.Context
		ctx, c.stopCopy = context.WithCancelCause(context.WithoutCancel(c.ctx))
		c.copied = make(chan error, 1)
		go c.copy(ctx, copied)
	}
	if c.Stdin != nil {
		go c.feed()
	}
	if c.ctx.Done() != nil {
		c.canceled = make(chan error, 1)
		go c.watch()
	}
	return nil
}

// params returns the params of process/start.
func (c *Cmd) params() (wire.ProcessStartParams, error) {
	p := wire.ProcessStartParams{
		Argv:    append([]string{c.Path}, c.Args[min(1, len(c.Args)):]...),
		TTY:     c.TTY,
		Sandbox: c.Sandbox,
	}
	if _, err := c.c.ready(c.ctx); err != nil {
		return p, err
	}
	if c.Path == "" {
		return p, errors.New("no program given")
	}
	if len(c.Args) > 0 && c.Args[0] != c.Path {
		p.Arg0 = &c.Args[0]
	}
	if c.Env == nil {
		p.EnvPolicy = &wire.EnvPolicy{Inherit: wire.InheritAll, IgnoreDefaultExcludes: true}
	}
	p.Env = map[string]string{}
	for _, v := range c.Env {
		name, value, ok := strings.Cut(v, "=")
		if !ok || name == "" {
			return p, fmt.Errorf("environment variable %q: expected NAME=VALUE", v)
		}
		p.Env[name] = value
	}
	p.PipeStdin = (c.Stdin != nil || c.pipeIn != nil) && !c.TTY
	if c.Stdin != nil && p.PipeStdin && !c.c.Has(wire.ExtProcessCloseStdin) {
		return p, fmt.Errorf("%w: %s", ErrNoExtension, wire.ExtProcessCloseStdin)
	}
	if c.TTY && c.c.Has(wire.ExtProcessResize) {
		p.Size = c.Size
	}
	var err error
	switch p.Cwd = c.c.Info().Cwd; {
	case c.Dir != "":
		p.Cwd, err = c.c.uri(c.Dir)
	case p.Cwd == "":
		p.Cwd = "file:///"
	}
	return p, err
}

// copy writes the output to Stdout and Stderr until its end.
func (c *Cmd) copy(ctx context.Context, sub *Subscription) {
	defer sub.Close()
	_, err := sub.Copy(ctx, c.Stdout, c.Stderr)
	select {
	case <-c.Process.Done():
	case <-ctx.Done():
	default: // a writer has failed
		c.kill()
	}
	c.copied <- err
}

// kill kills the command. Wait returns how it ended.
func (c *Cmd) kill() {
	limit := killTimeout
	if c.WaitDelay > 0 {
		limit = min(limit, c.WaitDelay)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.ctx), limit)
	defer cancel()
	_, _ = c.Process.Terminate(ctx, 0)
}

// feed writes Stdin to the command.
func (c *Cmd) feed() {
	in := c.Process.Stdin(c.ctx)
	_, err := io.CopyBuffer(struct{ io.Writer }{in}, struct{ io.Reader }{c.Stdin}, make([]byte, 64<<10))
	switch {
	case err != nil:
	case c.c.Has(wire.ExtProcessCloseStdin):
		err = in.Close()
	default: // a terminal takes the end-of-file character
		_, err = in.Write([]byte{4})
	}
	if errors.Is(err, ErrStdin) || errors.Is(err, ErrUnknownProcess) || c.ctx.Err() != nil {
		err = nil // the command has ended, or does not read any more
	}
	c.fed <- err
}

// watch ends the command with its context.
func (c *Cmd) watch() {
	select {
	case <-c.ctx.Done():
	case <-c.Process.Done():
		c.canceled <- nil
		return
	case <-c.ended:
		c.canceled <- nil
		return
	}
	var err error
	if c.Cancel != nil {
		err = c.Cancel()
	} else {
		c.kill()
	}
	c.canceled <- cmp.Or(err, context.Cause(c.ctx))
}

// Wait waits until the command has ended, no process has its output open any more,
// and the output has been written to Stdout and Stderr. It returns nil for an exit
// code of 0 and an *ExitError for another one. When it is not known how the command
// has ended, Wait returns the reason, such as ErrSessionLost. If the command has
// ended after its context, the error wraps the context's cause. If output was lost
// because a writer was too slow, the error is a *LaggedError.
func (c *Cmd) Wait() error {
	if c.Process == nil || c.waited {
		return errors.New("the command has not been started, or was waited for already")
	}
	c.waited = true
	exit, err := c.end()
	c.Exit = exit
	close(c.ended)
	late := errors.Is(err, ErrWaitDelay)
	if late {
		c.pipeOut.close()
		c.pipeErr.close()
	}
	var why error // what went wrong here
	if c.canceled != nil {
		why = <-c.canceled
	}
	if c.copied != nil {
		if late {
			c.stopCopy(ErrWaitDelay)
		}
		if e := <-c.copied; err == nil {
			why = cmp.Or(why, e)
		}
		c.stopCopy(nil)
	}
	switch {
	case exit.Code != 0 && (err == nil || late):
		fail := &ExitError{Exit: exit, Err: why}
		if c.saved != nil {
			fail.Stderr = c.saved.bytes()
		}
		return fail
	case err != nil || why != nil:
		return cmp.Or(err, why)
	}
	select {
	case e := <-c.fed:
		return e
	default:
		return nil
	}
}

// end waits for the end of the command and of its output, with WaitDelay.
func (c *Cmd) end() (Exit, error) {
	p := c.Process
	exited, canceled := p.exited, c.ctx.Done()
	if c.WaitDelay <= 0 {
		exited, canceled = nil, nil
	}
	var delay <-chan time.Time
	for {
		select {
		case <-p.done:
			return p.Wait(context.Background())
		case <-exited:
			exited = nil
		case <-canceled:
			canceled = nil
		case <-delay:
			return p.exitSoFar(), ErrWaitDelay
		}
		if delay == nil {
			timer := time.NewTimer(c.WaitDelay)
			defer timer.Stop()
			delay = timer.C
		}
	}
}
