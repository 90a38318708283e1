package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/hostsup/hostsup/bench/measure"
)

const (
	execStatuses = 3000      // requests of one round
	execTrues    = 50        // processes one at a time, of one round
	execFlood    = 480       // processes of one round, with execAtOnce at a time
	execAtOnce   = 16        //
	execStarts   = 5         // of a server, of one round
	execPours    = 3         // of output, of one round
	execBytes    = 256 << 20 // of output
	execWarm     = 20        // processes before the figures of one round
)

// execFigures are those of one round of one server over one transport.
// What is not measured over it is 0.
type execFigures struct {
	Ready  float64 // nanoseconds, from its start until a client can ask
	Idle   float64 // bytes of memory after its start
	Status float64 // nanoseconds, p50
	True   float64 // likewise, from the request to the notification of the exit
	After  float64 // bytes of memory after a session
	Rate   float64 // processes a second
	Output float64 // bytes a second
	Peak   float64 // bytes of memory meanwhile
}

// execProcess is a server that was started.
type execProcess struct {
	cmd *exec.Cmd
	in  *blocking
	out *blocking
	url string // "" over standard streams
}

// startExec starts a server and returns when a client can ask it, with the time
// that took and the client that asked.
func startExec(binary, listen, dir string) (p *execProcess, c *execClient, ready time.Duration, err error) {
	p = &execProcess{cmd: exec.Command(binary, "exec-server", "--listen", listen)}
	for _, sub := range []string{"home", "tmp"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			return nil, nil, 0, err
		}
	}
	p.cmd.Dir, p.cmd.Stderr = dir, os.Stderr
	p.cmd.Env = []string{
		"PATH=/usr/bin:/bin", "HOME=" + filepath.Join(dir, "home"), "CODEX_HOME=" + filepath.Join(dir, "home"),
		"TMPDIR=" + filepath.Join(dir, "tmp"),
	}
	var stdin, stdout *os.File
	if p.in, stdin, err = blockingPipe(true); err != nil {
		return nil, nil, 0, err
	}
	if p.out, stdout, err = blockingPipe(false); err != nil {
		return nil, nil, 0, errors.Join(err, p.in.Close(), stdin.Close())
	}
	p.cmd.Stdin, p.cmd.Stdout = stdin, stdout
	begun := time.Now()
	err = p.cmd.Start()
	if err := errors.Join(err, stdin.Close(), stdout.Close()); err != nil {
		return nil, nil, 0, errors.Join(err, p.in.Close(), p.out.Close())
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.stop())
		}
	}()
	if listen == "stdio" {
		c = newLineClient(p.out, p.in)
		if err := c.initialize(); err != nil {
			return nil, nil, 0, err
		}
		return p, c, time.Since(begun), nil
	}
	line, err := bufio.NewReader(p.out).ReadString('\n')
	ready = time.Since(begun)
	p.url = strings.TrimSpace(line)
	return p, nil, ready, err
}

// stop ends it as its own user would: by the end of its input, and a signal.
func (p *execProcess) stop() error {
	err := errors.Join(p.in.Close(), p.cmd.Process.Signal(syscall.SIGTERM))
	if errors.Is(err, os.ErrProcessDone) {
		err = nil
	}
	timer := time.AfterFunc(20*time.Second, func() { _ = p.cmd.Process.Kill() }) // it may have ended
	defer timer.Stop()
	_, _ = io.Copy(io.Discard, p.out) // until it has ended
	var exit *exec.ExitError
	if e := p.cmd.Wait(); e != nil && !errors.As(e, &exit) {
		err = errors.Join(err, e)
	}
	return errors.Join(err, p.out.Close())
}

// own are the server and what it has started for itself, while nothing runs.
func (p *execProcess) own() ([]int, error) {
	below, err := measure.Descendants(p.cmd.Process.Pid)
	pids := []int{p.cmd.Process.Pid}
	for _, d := range below {
		pids = append(pids, d.PID)
	}
	return pids, err
}

// memory adds up a line of /proc/PID/status: VmRSS or VmHWM, in bytes.
func memory(pids []int, field string) (float64, error) {
	sum := 0.0
	for _, pid := range pids {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil {
			return 0, err
		}
		_, rest, ok := bytes.Cut(text, []byte("\n"+field+":"))
		if !ok {
			return 0, fmt.Errorf("process %d has no %s", pid, field)
		}
		kib, err := strconv.Atoi(string(bytes.Fields(rest)[0]))
		if err != nil {
			return 0, err
		}
		sum += float64(kib) * 1024
	}
	return sum, nil
}

// forgetPeaks lets VmHWM of processes begin anew, without what they needed to start. See
// proc_pid_clear_refs(5).
func forgetPeaks(pids []int) error {
	for _, pid := range pids {
		if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0); err != nil {
			return err
		}
	}
	return nil
}

// calm waits until the server has put its things away, and weighs it.
func (p *execProcess) calm() (float64, error) {
	time.Sleep(settle)
	pids, err := p.own()
	if err != nil {
		return 0, err
	}
	return memory(pids, "VmRSS")
}

// execWorker measures one server once: BINARY LISTEN.
func execWorker(args []string) (f execFigures, err error) {
	if len(args) != 2 {
		return f, errors.New("want BINARY LISTEN")
	}
	dir, err := os.MkdirTemp("", "hostsup-bench-")
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	var took []float64
	for i := range execStarts {
		p, _, ready, err := startExec(args[0], args[1], dir)
		if err != nil {
			return f, err
		}
		if err := p.stop(); err != nil {
			return f, err
		}
		if i > 0 { // the first one makes files in a new home
			took = append(took, float64(ready))
		}
	}
	p, c, ready, err := startExec(args[0], args[1], dir)
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	f.Ready = measure.Median(append(took, float64(ready)))
	if f.Idle, err = p.calm(); err != nil {
		return f, err
	}
	if c != nil {
		return f, execSession(c, &f)
	}
	if err := p.session(func(c *execClient) error { return execSession(c, &f) }); err != nil {
		return f, err
	}
	if f.After, err = p.calm(); err != nil {
		return f, err
	}
	if err := p.session(func(c *execClient) error { return floodTrue(c, &f) }); err != nil {
		return f, err
	}
	var rates, peaks []float64
	for range execPours {
		if err := p.session(func(c *execClient) error { return p.pour(c, &f) }); err != nil {
			return f, err
		}
		rates, peaks = append(rates, f.Output), append(peaks, f.Peak)
	}
	f.Output, f.Peak = measure.Median(rates), measure.Median(peaks)
	return f, nil
}

// session has a connection for somebody.
func (p *execProcess) session(do func(*execClient) error) (err error) {
	c, conn, err := dialExec(p.url)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	if err := c.initialize(); err != nil {
		return err
	}
	return do(c)
}

// execSession asks for the state and runs commands, one at a time.
func execSession(c *execClient, f *execFigures) error {
	var took []float64
	c.stayAwake(true)
	for i := range execStatuses + execStatuses/10 {
		begun := time.Now()
		if err := c.ask("environment/status", "null"); err != nil {
			return err
		}
		if i >= execStatuses/10 {
			took = append(took, float64(time.Since(begun)))
		}
	}
	c.stayAwake(false)
	f.Status = measure.Quantile(took, 0.5)
	took = took[:0]
	for i := range execWarm + execTrues {
		d, err := c.runTrue()
		if err != nil {
			return err
		}
		if i >= execWarm {
			took = append(took, float64(d))
		}
	}
	f.True = measure.Quantile(took, 0.5)
	return nil
}

const trueArgv = `["/bin/true"]`

// runTrue runs a command and returns how long it took to hear of its exit. It
// returns when all has been heard.
func (c *execClient) runTrue() (took time.Duration, err error) {
	begun := time.Now()
	if _, err := c.start(trueArgv); err != nil {
		return 0, err
	}
	for answered, closed := false, false; !answered || !closed || took == 0; {
		m, err := c.next()
		if err != nil {
			return 0, err
		}
		switch {
		case bytes.Contains(m, wordExited):
			took = time.Since(begun)
		case bytes.Contains(m, wordClosed):
			closed = true
		case bytes.Contains(m, wordResult):
			answered = true
		default:
			return 0, fmt.Errorf("unexpected: %s", m)
		}
	}
	return took, nil
}

// floodTrue keeps execAtOnce commands running.
func floodTrue(c *execClient, f *execFigures) error {
	var begun time.Time
	started, exited, closed := 0, 0, 0
	for range execAtOnce {
		if _, err := c.start(trueArgv); err != nil {
			return err
		}
		started++
	}
	const all = execFlood + 2*execAtOnce // with those before and after
	for closed < all {
		m, err := c.next()
		if err != nil {
			return err
		}
		switch {
		case bytes.Contains(m, wordError):
			return fmt.Errorf("unexpected: %s", m)
		case bytes.Contains(m, wordClosed):
			closed++
		case bytes.Contains(m, wordExited):
			switch exited++; exited {
			case execAtOnce:
				begun = time.Now()
			case execAtOnce + execFlood:
				f.Rate = execFlood / time.Since(begun).Seconds()
			}
			if started < all {
				if _, err := c.start(trueArgv); err != nil {
					return err
				}
				started++
			}
		}
	}
	return nil
}

// pour takes much output from one command.
func (p *execProcess) pour(c *execClient, f *execFigures) error {
	pids, err := p.own()
	if err != nil {
		return err
	}
	for _, pid := range pids { // the peak is that of what follows
		if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0); err != nil {
			return err
		}
	}
	begun, got := time.Now(), 0
	if _, err := c.start(fmt.Sprintf(`["/bin/dd","if=/dev/zero","bs=64K","count=%d","status=none"]`, execBytes>>16)); err != nil {
		return err
	}
	for {
		m, err := c.next()
		if err != nil {
			return err
		}
		if n := chunkBytes(m); n > 0 {
			got += n
		} else if bytes.Contains(m, wordClosed) {
			break
		}
	}
	f.Output = float64(got) / time.Since(begun).Seconds()
	if got != execBytes {
		return fmt.Errorf("%d bytes of output arrived", got)
	}
	f.Peak, err = memory(pids, "VmHWM")
	return err
}
