package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/hostsup/hostsup/bench/measure"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/sandbox"
	"github.com/hostsup/hostsup/supervisor"
)

const (
	killsPerRound = 40
	lifetime      = 20 * time.Millisecond // of each child, so that its start is over
)

// holder is a worker that keeps one child alive, and its nursery.
type holder struct {
	name  string
	cmd   *exec.Cmd
	stdin io.Closer
	n     *nursery
	child birth
	took  [][]float64 // per round, nanoseconds from kill to birth
}

func hold(name, worker string, more ...string) (*holder, error) {
	n, err := newNursery()
	if err != nil {
		return nil, err
	}
	h := &holder{name: name, n: n}
	if h.cmd, err = workerCommand(append([]string{worker, n.program, n.fifo}, more...)...); err != nil {
		n.Close()
		return nil, err
	}
	if h.stdin, err = h.cmd.StdinPipe(); err != nil {
		n.Close()
		return nil, err
	}
	if err := h.cmd.Start(); err != nil {
		n.Close()
		return nil, err
	}
	if h.child, err = n.next(10 * time.Second); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: first start: %w", name, err), h.Close())
	}
	return h, nil
}

// kill kills the child and returns how long the next one took to its first
// instruction.
func (h *holder) kill() (time.Duration, error) {
	start, err := monotonic()
	if err != nil {
		return 0, err
	}
	if err := syscall.Kill(h.child.pid, syscall.SIGKILL); err != nil {
		return 0, fmt.Errorf("%s: kill %d: %w", h.name, h.child.pid, err)
	}
	next, err := h.n.next(10 * time.Second)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", h.name, err)
	}
	if next.pid == h.child.pid {
		return 0, fmt.Errorf("%s: pid %d was born twice", h.name, next.pid)
	}
	h.child = next
	return next.at - start, nil
}

// Close ends the worker, which ends its child.
func (h *holder) Close() error {
	err := errors.Join(h.stdin.Close(), h.cmd.Wait())
	h.n.Close()
	return err
}

func restartSection(opt options) (_ *report, err error) {
	var hs []*holder
	defer func() {
		for _, h := range hs {
			err = errors.Join(err, h.Close())
		}
	}()
	for _, who := range [][]string{
		{"hostsup", "hold-hostsup"},
		{"hostsup, process groups only", "hold-hostsup", string(sandbox.KillGroup)},
		{"bare loop", "hold-loop"},
	} {
		h, err := hold(who[0], who[1], who[2:]...)
		if err != nil {
			return nil, err
		}
		hs = append(hs, h)
	}
	for range opt.rounds {
		for _, h := range hs {
			h.took = append(h.took, nil)
		}
		for i := range killsPerRound {
			for j := range hs {
				h := hs[(i+j)%len(hs)]
				time.Sleep(lifetime)
				d, err := h.kill()
				if err != nil {
					return nil, err
				}
				last := len(h.took) - 1
				h.took[last] = append(h.took[last], float64(d))
			}
		}
	}
	r := &report{
		title: "From kill -9 to the first instruction of the next process",
		head:  []string{"who", "median", "p90", "/ loop"},
	}
	medians := func(h *holder) []float64 {
		out := make([]float64, len(h.took))
		for i, round := range h.took {
			out[i] = measure.Median(round)
		}
		return out
	}
	ours, loop := medians(hs[0]), medians(hs[2])
	for _, h := range hs {
		var all []float64
		for _, round := range h.took {
			all = append(all, round...)
		}
		r.row(h.name, micros(measure.Quantile(all, 0.5)), micros(measure.Quantile(all, 0.9)),
			times(measure.Ratio(medians(h), loop)))
	}
	r.note("%d kills each, in turns; the child reads the clock in its first instructions", opt.rounds*killsPerRound)
	r.note("hostsup alone takes the strongest way to kill a tree that works here; process groups cost a start nothing, and miss what leaves them")
	r.note("the bare loop is os.StartProcess with two pipes and a session, Process.Wait, and again")
	r.targets = []target{{
		what: "restart after kill -9", ours: micros(measure.Median(ours)), peer: "bare loop " + micros(measure.Median(loop)),
		figure: measure.Ratio(ours, loop), limit: 1.5, unit: " ×",
	}}
	return r, nil
}

// holdHostsup keeps one child alive by a supervisor until standard input ends:
// PROGRAM FIFO [KILL].
func holdHostsup(args []string) error {
	var opts []supervisor.Option
	if len(args) == 3 {
		opts = append(opts, supervisor.WithKill(sandbox.Kill(args[2])))
	} else if len(args) != 2 {
		return errors.New("want PROGRAM FIFO [KILL]")
	}
	h := supervisor.HostSpec{Name: "child", Command: args[:2], Restart: lifecycle.DefaultRestart()}
	h.Restart.MaxCrashes = 1 << 30
	// Each life counts as a healthy one, after which the first restart does
	// not wait: it is the path that is measured, not the back-off.
	h.Restart.Backoff.Healthy = time.Millisecond
	ctx := context.Background()
	s, err := supervisor.Start(ctx, supervisor.Spec{Groups: []supervisor.GroupSpec{{Name: "child", Hosts: []supervisor.HostSpec{h}}}}, opts...)
	if err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return errors.Join(err, s.Stop(ctx))
	}
	return s.Stop(ctx)
}

// holdLoop does the same by a loop that has nothing but the start and the
// wait: PROGRAM FIFO.
func holdLoop(args []string) error {
	if len(args) != 2 {
		return errors.New("want PROGRAM FIFO")
	}
	stop := make(chan struct{})
	go func() {
		defer close(stop)
		_, _ = io.Copy(io.Discard, os.Stdin) // its end is the news
	}()
	for {
		c, err := startBare(args)
		if err != nil {
			return err
		}
		ended := make(chan struct{})
		go func() {
			select {
			case <-stop:
				_ = c.process.Kill() // it may have ended by itself
			case <-ended:
			}
		}()
		err = c.wait()
		close(ended)
		if err != nil {
			return err
		}
		select {
		case <-stop:
			return nil
		default:
		}
	}
}

// bareChild is a process with two pipes and a session of its own, and nothing
// else around it.
type bareChild struct {
	process *os.Process
	out     [2]*os.File
}

func startBare(args []string) (*bareChild, error) {
	path, err := exec.LookPath(args[0])
	if err != nil {
		return nil, err
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	c := &bareChild{}
	files := []*os.File{null}
	for i := range c.out {
		r, w, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		defer w.Close()
		c.out[i] = r
		files = append(files, w)
	}
	c.process, err = os.StartProcess(path, args, &os.ProcAttr{Files: files, Sys: &syscall.SysProcAttr{Setsid: true}})
	return c, err
}

func (c *bareChild) wait() error {
	_, err := c.process.Wait()
	for _, r := range c.out {
		r.Close()
	}
	return err
}
