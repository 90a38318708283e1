// Package hostcommand runs a command beside a host, under the rules that the host's own
// process has: its user, sandbox, folder and environment.
package hostcommand

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"time"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/internal/signame"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/sandbox"
)

// Command is what is to be run.
type Command struct {
	Name string            // what it is for: "pre_start"
	Args []string          // the program, found as that of the host is, and its arguments
	Env  map[string]string // wins over the environment of the life
	Line func(line []byte) // is called with each line that it prints, without its end, and must not keep it; nil: nothing is
}

// ErrTimeout is wrapped by the error of a command that has not ended in time.
var ErrTimeout = errors.New("it has not ended in time")

const (
	maxLine = 4 << 10 // of output, and of the line in an error; longer lines are split
	// outputWait is how long output is read after the end of the process tree, which only
	// processes out of reach can still hold open.
	outputWait = 100 * time.Millisecond
)

// Run runs a command with what a life of the host was given, and returns when it has ended
// with its whole process tree, which is killed when the command itself has ended or ctx
// has. The error is nil if the command has ended with status 0; else it says how it ended,
// and the last line that it printed. At most one line of output is kept.
func Run(ctx context.Context, host *actors.Ref, given *actors.Start, c Command) error {
	if err := ctx.Err(); err != nil {
		return ended(context.Cause(ctx))
	}
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	start := *given
	start.Env = maps.Clone(given.Env)
	if start.Env == nil {
		start.Env = make(map[string]string, len(c.Env))
	}
	maps.Copy(start.Env, c.Env)
	child, err := host.Launch(&start, actors.Program{Name: c.Name, Args: c.Args, Files: []*os.File{nil, w, w}})
	w.Close()
	if err != nil {
		r.Close()
		return err
	}
	defer child.Release()
	last := make(chan string, 1)
	host.Background(func() { last <- read(r, c.Line) })
	select {
	case <-child.Done():
	case <-ctx.Done():
		err = ended(context.Cause(ctx))
	}
	left := End(child)
	_ = r.SetReadDeadline(time.Now().Add(outputWait))
	line := <-last
	r.Close()
	return errors.Join(outcome(child, err, line), left)
}

// End kills the process and what it has left behind, and waits at most twice [lifecycle.KillWait] for
// the end of both. The error names what has not ended.
func End(child *sandbox.Child) error {
	err := child.KillTree()
	timer := time.NewTimer(lifecycle.KillWait)
	defer timer.Stop()
	select {
	case <-child.Done():
	case <-timer.C:
		return errors.Join(err, child.Stuck())
	}
	return errors.Join(child.KillTree(), child.AwaitGone(lifecycle.KillWait))
}

// ended says why a command was killed.
func ended(cause error) error {
	if errors.Is(cause, context.DeadlineExceeded) {
		return ErrTimeout
	}
	return cause
}

// outcome says how a command has ended, nil if it ended well.
func outcome(child *sandbox.Child, err error, line string) error {
	exit := child.Exit()
	switch {
	case err != nil:
	case exit.Signal != 0:
		err = fmt.Errorf("killed by %s", signame.Of(exit.Signal))
	case exit.Code != 0:
		err = fmt.Errorf("exit %d", exit.Code)
	default:
		return nil
	}
	if line != "" {
		err = fmt.Errorf("%w: %s", err, line)
	}
	return err
}

// read reads output to its end, and returns the last line that is not empty.
func read(r io.Reader, each func([]byte)) (last string) {
	b := bufio.NewReaderSize(r, maxLine)
	for {
		line, err := b.ReadSlice('\n')
		line = bytes.TrimRight(line, "\r\n")
		if len(bytes.TrimSpace(line)) > 0 {
			last = string(line)
		}
		if each != nil && (err == nil || len(line) > 0) {
			each(line)
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return last
		}
	}
}
