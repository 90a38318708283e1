package faults

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hostsup/hostsup/control"
	"github.com/hostsup/hostsup/execserver"
)

const (
	// callers is how many calls are made at once over the socket.
	callers = 4
	// bound is how long a call may take, whatever happens; its own time-out is shorter.
	bound = 30 * time.Second
	// least is the time between two calls of a client that fail.
	least = 5 * time.Millisecond
)

// clients make calls until they are stopped.
type clients struct {
	w    *world
	ctx  context.Context
	end  context.CancelFunc
	done sync.WaitGroup

	pause            time.Duration // between calls that are answered; 0: none
	answered, failed atomic.Int64
	exec             *execserver.Client

	mu     sync.Mutex
	attach *attached
	wrong  []string // what no fault explains
}

func newClients(w *world, pause time.Duration) *clients {
	c := &clients{w: w, pause: pause}
	c.ctx, c.end = context.WithCancel(context.Background())
	c.exec = execserver.New(execserver.Unix{Path: w.execSocket()}, execserver.Options{})
	for n := range callers {
		c.done.Go(func() { c.call(rand.New(rand.NewPCG(1, uint64(n)))) })
	}
	c.done.Go(c.attaches)
	c.done.Go(c.runs)
	return c
}

func (c *clients) stop() {
	c.end()
	c.mu.Lock()
	if c.attach != nil {
		c.attach.close()
	}
	c.mu.Unlock()
	c.done.Wait()
	_ = c.exec.Close()
	for _, w := range c.wrong {
		c.w.t.Error(w)
	}
}

// bad records what no fault explains.
func (c *clients) bad(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.wrong) < 10 {
		c.wrong = append(c.wrong, fmt.Sprintf(format, args...))
	}
}

// outcome counts the outcome of a call, which took some time.
func (c *clients) outcome(what string, began time.Time, err error) {
	if took := time.Since(began); took > bound {
		c.bad("%s took %s: %v", what, took, err)
	}
	pause := c.pause
	if err == nil {
		c.answered.Add(1)
	} else {
		c.failed.Add(1)
		pause = max(pause, least)
	}
	if pause > 0 {
		select {
		case <-time.After(pause):
		case <-c.ctx.Done():
		}
	}
}

// call calls hosts over the socket, each with another value, which the answer must be.
func (c *clients) call(r *rand.Rand) {
	for n := 0; c.ctx.Err() == nil; n++ {
		began, name := time.Now(), hostName(r.IntN(hosts))
		err := c.echo(c.ctx, name, r.Uint64()>>12)
		c.outcome("a call of "+name, began, err)
	}
}

func (c *clients) echo(ctx context.Context, host string, value uint64) error {
	want := fmt.Sprint(value)
	got, err := c.w.client.Call(ctx, control.Request{Host: host, Method: "echo", Params: json.RawMessage(want), Timeout: 10 * time.Second})
	if err == nil && string(bytes.TrimSpace(got)) != want {
		c.bad("host %s has answered %s with %s", host, want, got)
	}
	var class *control.Error
	if err != nil && ctx.Err() == nil && !errors.As(err, &class) {
		c.bad("a call of %s: an error without a class: %v", host, err)
	}
	return err
}

// attached is a client of hostsup attach.
type attached struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines chan string
	next  int
}

func (a *attached) close() {
	_ = a.in.Close()
	_ = a.cmd.Process.Kill()
}

// attaches makes requests through hostsup attach, which it starts again when it has ended.
func (c *clients) attaches() {
	for c.ctx.Err() == nil {
		err := c.attachOnce()
		c.outcome("attach", time.Now(), err)
	}
}

func (c *clients) attachOnce() error {
	a, err := c.open()
	if err != nil {
		return err
	}
	defer func() {
		a.close()
		for range a.lines { // until its output ends
		}
		_ = a.cmd.Wait()
	}()
	if err := a.ask(c, "initialize"); err != nil {
		return err
	}
	for c.ctx.Err() == nil {
		began := time.Now()
		err := a.ask(c, "tools/list")
		c.outcome("a request through attach", began, err)
		var lost *lostError
		if err != nil && !errors.As(err, &lost) {
			return err
		}
	}
	return nil
}

func (c *clients) open() (*attached, error) {
	a := &attached{cmd: c.w.command("attach", "lines"), lines: make(chan string, 100)}
	in, err1 := a.cmd.StdinPipe()
	out, err2 := a.cmd.StdoutPipe()
	a.in = in
	if err := errors.Join(err1, err2, a.cmd.Start()); err != nil {
		return nil, err
	}
	c.mu.Lock()
	c.attach = a
	c.mu.Unlock()
	go func() {
		defer close(a.lines)
		s := bufio.NewScanner(out)
		for s.Scan() {
			a.lines <- s.Text()
		}
	}()
	return a, nil
}

// lostError is the answer to a request that was lost with its host.
type lostError struct{ text string }

func (e *lostError) Error() string { return e.text }

// ask makes a request and waits for its only answer.
func (a *attached) ask(c *clients, method string) error {
	a.next++
	params := fmt.Sprintf(`{"n":%d}`, a.next)
	if method == "initialize" {
		params = `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"faults","version":"1"}}`
	}
	if _, err := fmt.Fprintf(a.in, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":%q,\"params\":%s}\n", a.next, method, params); err != nil {
		return err
	}
	late := time.After(bound)
	for {
		select {
		case line, ok := <-a.lines:
			if !ok {
				return io.ErrUnexpectedEOF
			}
			var m struct {
				ID     int             `json:"id"`
				Method string          `json:"method"`
				Result json.RawMessage `json:"result"`
				Error  *struct {
					Message string `json:"message"`
				} `json:"error"`
			}
			switch err := json.Unmarshal([]byte(line), &m); {
			case err != nil:
				c.bad("attach has written %q: %v", line, err)
			case m.Method != "": // a notification
			case m.ID != a.next:
				c.bad("attach has answered %d twice, or late: %s", m.ID, line)
			case m.Error != nil:
				return &lostError{m.Error.Message}
			case method != "initialize" && string(m.Result) != params:
				c.bad("attach has answered %s with %s", params, m.Result)
			default:
				return nil
			}
		case <-late:
			c.bad("a request through attach had no answer within %s", bound)
			return context.DeadlineExceeded
		case <-c.ctx.Done():
			return c.ctx.Err()
		}
	}
}

// runs runs commands by the exec server.
func (c *clients) runs() {
	for n := 0; c.ctx.Err() == nil; n++ {
		began := time.Now()
		err := c.run(c.ctx, n)
		c.outcome("a command", began, err)
	}
}

func (c *clients) run(ctx context.Context, n int) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	want := fmt.Sprintf("%d\n", n)
	cmd := c.exec.Command(ctx, "echo", fmt.Sprint(n))
	var out bytes.Buffer
	cmd.Stdout = &out
	err := cmd.Run()
	if err == nil && out.String() != want {
		c.bad("echo %d has printed %q", n, out.String())
	}
	return err
}

// fine makes a call of each kind, and returns why one fails.
func (c *clients) fine() error {
	ctx, cancel := context.WithTimeout(c.ctx, 10*time.Second)
	defer cancel()
	for n := range hosts {
		if err := c.echo(ctx, hostName(n), uint64(n)); err != nil {
			return fmt.Errorf("host %s does not answer: %w", hostName(n), err)
		}
	}
	if err := c.run(ctx, -1); err != nil {
		return fmt.Errorf("the exec server runs no command: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.wrong) > 0 {
		return errors.New(c.wrong[0])
	}
	return nil
}
