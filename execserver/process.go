package execserver

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hostsup/hostsup/execserver/wire"
)

// gapPatience is how long a missing event is waited for before it is asked for.
const gapPatience = time.Second

// stuckReads is how many reads may bring nothing before they are given up.
const stuckReads = 3

// writePiece is how much input goes into one request.
const writePiece = 256 << 10

// Exit is how a process ended.
type Exit struct {
	Code          int  // the code, or 128+N for a signal as the server tells it
	SandboxDenied bool // the server thinks that its sandbox made it fail
}

// Process is a process on the server. It is safe for concurrent use. Nothing
// has to be closed: when its last event is out the client forgets it, and asks
// the server to kill what it has left behind.
type Process struct {
	c       *Client
	id      string
	started wire.ProcessStartResult // valid when Start has returned
	token   string                  // of one that is only observed
	exited  chan struct{}           // closed when Exited is published
	done    chan struct{}           // closed after the last event
	writer  string                  // begins the ids of writes, where an earlier client has written too
	writes  atomic.Uint64
	filling chan struct{} // room for one: a read of what is missing is under way

	mu    sync.Mutex
	seq   sequence
	ready []Event // reused
	log   eventLog
	base  uint64 // events up to here were never asked for
	subs  []*Subscription
	gap   *time.Timer // while something is missing
	exit  Exit
	err   error // why it failed
	ended bool  // the last event is out

	observed wire.ProcessInfo
}

var processIDs atomic.Uint64

// newID makes an id that is unique in every session.
func newID() string { return fmt.Sprintf("%d-%s", processIDs.Add(1), rand.Text()) }

func newProcess(c *Client, id string, after uint64) *Process {
	p := &Process{c: c, id: id, base: after, exited: make(chan struct{}), done: make(chan struct{}), filling: make(chan struct{}, 1)}
	p.seq.last = after
	return p
}

// Start starts a process. It replaces an empty ProcessID by a fresh one, and nil
// members that the protocol requires by empty ones. When ctx or the connection ends
// before the answer, a process that was started nevertheless is killed.
func (c *Client) Start(ctx context.Context, params wire.ProcessStartParams) (*Process, error) {
	return c.start(ctx, params, func(*Process) {})
}

// StartSubscribed is Start with a subscription from before the first event.
func (c *Client) StartSubscribed(ctx context.Context, params wire.ProcessStartParams, o Overflow) (*Process, *Subscription, error) {
	var sub *Subscription
	p, err := c.start(ctx, params, func(p *Process) { sub = p.Subscribe(o) })
	if err != nil {
		return nil, nil, err
	}
	return p, sub, nil
}

// start is Start; subscribe is called before the first event may come.
func (c *Client) start(ctx context.Context, params wire.ProcessStartParams, subscribe func(*Process)) (*Process, error) {
	if params.ProcessID == "" {
		params.ProcessID = newID()
	}
	whole(&params)
	l, err := c.ready(ctx)
	if err != nil {
		return nil, err
	}
	p := newProcess(c, params.ProcessID, 0)
	subscribe(p)
	// Events may come before the answer.
	if err := c.register(p); err != nil {
		return nil, err
	}
	err = l.call(ctx, wire.MethodProcessStart, params, &p.started, func() { c.terminate(l, p.id) })
	if err == nil {
		return p, nil
	}
	c.forget(p)
	p.fail(err)
	if errors.Is(err, ErrDisconnected) {
		c.doubt(l, p.id)
	}
	return nil, err
}

// whole replaces nil members that the protocol requires.
func whole(params *wire.ProcessStartParams) {
	if params.Argv == nil {
		params.Argv = []string{}
	}
	if params.Env == nil {
		params.Env = map[string]string{}
	}
	if params.EnvPolicy != nil {
		e := *params.EnvPolicy
		if e.Exclude == nil {
			e.Exclude = []string{}
		}
		if e.IncludeOnly == nil {
			e.IncludeOnly = []string{}
		}
		if e.Set == nil {
			e.Set = map[string]string{}
		}
		params.EnvPolicy = &e
	}
}

// Adopt follows a process of the session that was started by an earlier client;
// after is the number of the last event that is known of it, 0 for none. It
// fails with ErrEventsLost when what comes next is no longer retained.
func (c *Client) Adopt(ctx context.Context, id string, after uint64) (*Process, error) {
	l, err := c.ready(ctx)
	if err != nil {
		return nil, err
	}
	p := newProcess(c, id, after)
	p.started.ProcessID, p.writer = id, newID()+"-"
	if err := c.register(p); err != nil {
		return nil, err
	}
	if err := p.refill(ctx, l); err != nil {
		c.forget(p)
		p.fail(err)
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		return nil, p.err
	}
	return p, nil
}

// ID returns the id of the process on the wire.
func (p *Process) ID() string { return p.id }

// Started returns the server's answer to the start.
func (p *Process) Started() wire.ProcessStartResult { return p.started }

// Subscribe returns the events from the first one that is kept: the last 256
// with at most 1 MiB of output are. If there were others, Next begins with a
// *LaggedError.
func (p *Process) Subscribe(o Overflow) *Subscription { return p.subscribe(o, "") }

// subscribe is Subscribe for the output of one stream; "" is each.
func (p *Process) subscribe(o Overflow, only wire.Stream) *Subscription {
	s := &Subscription{p: p, overflow: o, only: only, wake: make(chan struct{}, 1), room: make(chan struct{}, 1)}
	if o == Keep {
		s.queue.limit = p.c.opt.Spill
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	s.next = p.base + 1
	for _, e := range p.log.kept() {
		s.add(e)
	}
	if !p.ended {
		p.subs = append(p.subs, s)
	}
	return s
}

// Done is closed after the last event.
func (p *Process) Done() <-chan struct{} { return p.done }

// Wait waits until the process has ended and its output is closed, and returns how
// the process ended, or why that is not known.
func (p *Process) Wait(ctx context.Context) (Exit, error) {
	select {
	case <-p.done:
	case <-ctx.Done():
		return Exit{}, context.Cause(ctx)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.exit, p.err
}

// exitSoFar is how the process itself has ended, if it has; output may follow.
func (p *Process) exitSoFar() Exit {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.exit
}

// Read asks the server for retained output with numbers over after; it is an
// alternative to events. maxBytes bounds the output unless it is 0; wait is how long
// the server waits for news. For a process that failed, Read returns an empty result
// with Failure and Closed set.
func (p *Process) Read(ctx context.Context, after uint64, maxBytes uint, wait time.Duration) (wire.ProcessReadResult, error) {
	if r, failed := p.failure(); failed {
		return r, nil
	}
	params := wire.ProcessReadParams{ProcessID: p.id, AfterSeq: &after}
	if maxBytes > 0 {
		params.MaxBytes = &maxBytes
	}
	ms := uint64(max(0, wait.Milliseconds()))
	params.WaitMs = &ms
	var r wire.ProcessReadResult
	err := p.c.Call(ctx, wire.MethodProcessRead, params, &r)
	if err != nil {
		if synthetic, failed := p.failure(); failed && errors.Is(err, ErrDisconnected) {
			return synthetic, nil
		}
	}
	return r, err
}

// failure returns the result of Read for a process that failed.
func (p *Process) failure() (wire.ProcessReadResult, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err == nil {
		return wire.ProcessReadResult{}, false
	}
	text := p.err.Error()
	return wire.ProcessReadResult{Chunks: []wire.OutputChunk{}, NextSeq: p.seq.last + 1, Exited: true, Closed: true, Failure: &text}, true
}

// Write writes to the standard input or terminal and returns how much the server
// has accepted. It does not repeat a request when the connection ends; see WriteID
// and Stdin.
func (p *Process) Write(ctx context.Context, data []byte) (int, error) {
	return p.write(data, func(id string, piece []byte) error { return p.WriteID(ctx, id, piece) })
}

// write sends data in pieces, each under an id that no other client has used for
// the process.
func (p *Process) write(data []byte, send func(id string, piece []byte) error) (int, error) {
	for n := 0; ; {
		piece := data[n:min(n+writePiece, len(data))]
		if err := send(fmt.Sprintf("%sw%d", p.writer, p.writes.Add(1)), piece); err != nil {
			return n, err
		}
		if n += len(piece); n >= len(data) {
			return n, nil
		}
	}
}

// WriteID writes at most 8 MiB in one request. The server writes once for each
// id, so that one that ended with ErrDisconnected may be made again with the
// same id. *WriteError when the process takes no input.
func (p *Process) WriteID(ctx context.Context, id string, data []byte) error {
	if data == nil {
		data = []byte{}
	}
	var r wire.ProcessWriteResult
	err := p.c.Call(ctx, wire.MethodProcessWrite, wire.ProcessWriteParams{ProcessID: p.id, Chunk: data, WriteID: id}, &r)
	if err == nil && r.Status != wire.WriteAccepted {
		err = &WriteError{ProcessID: p.id, Status: r.Status}
	}
	return err
}

// Stdin returns a writer to the input of the process that loses and repeats nothing
// when the session is resumed. Its Close ends the input, for which the server needs
// wire.ExtProcessCloseStdin. The writer is for one goroutine.
func (p *Process) Stdin(ctx context.Context) io.WriteCloser { return stdin{p, ctx} }

type stdin struct {
	p   *Process
	ctx context.Context
}

func (w stdin) Write(data []byte) (int, error) {
	if len(data) == 0 {
		return 0, nil
	}
	return w.p.write(data, func(id string, piece []byte) error {
		return again(func() error { return w.p.WriteID(w.ctx, id, piece) })
	})
}

func (w stdin) Close() error { return again(func() error { return w.p.CloseStdin(w.ctx) }) }

// again calls f again when the connection has ended.
func again(f func() error) error {
	for {
		err := f()
		if !errors.Is(err, ErrDisconnected) || errors.Is(err, ErrSessionLost) {
			return err
		}
	}
}

// CloseStdin ends its input. It needs wire.ExtProcessCloseStdin.
func (p *Process) CloseStdin(ctx context.Context) error {
	var r wire.ProcessWriteResult
	err := p.c.callExtension(ctx, wire.ExtProcessCloseStdin, wire.MethodProcessCloseStdin, wire.ProcessCloseStdinParams{ProcessID: p.id}, &r)
	if err == nil && r.Status != wire.WriteAccepted && r.Status != "" {
		err = &WriteError{ProcessID: p.id, Status: r.Status}
	}
	return err
}

// Interrupt sends SIGINT to the process group. It returns nil if the process has
// ended.
func (p *Process) Interrupt(ctx context.Context) error {
	return p.c.Call(ctx, wire.MethodProcessSignal, wire.ProcessSignalParams{ProcessID: p.id, Signal: wire.SignalInterrupt}, nil)
}

// Terminate kills the process with everything that it has started, and reports
// whether it was still running. With a grace over 0, a server that has
// wire.ExtProcessGrace sends SIGTERM first; others kill at once.
func (p *Process) Terminate(ctx context.Context, grace time.Duration) (running bool, err error) {
	select {
	case <-p.done:
		return false, nil
	default:
	}
	l, err := p.c.ready(ctx)
	if err != nil {
		return false, err
	}
	params := wire.ProcessTerminateParams{ProcessID: p.id}
	if grace > 0 && p.c.Has(wire.ExtProcessGrace) {
		ms := uint64(grace.Milliseconds())
		params.GraceMs = &ms
	}
	var r wire.ProcessTerminateResult
	err = l.call(ctx, wire.MethodProcessTerminate, params, &r, nil)
	return r.Running, err
}

// Resize sets the size of its terminal. It needs wire.ExtProcessResize.
func (p *Process) Resize(ctx context.Context, rows, cols uint16) error {
	params := wire.ProcessResizeParams{ProcessID: p.id, Rows: rows, Cols: cols}
	return p.c.callExtension(ctx, wire.ExtProcessResize, wire.MethodProcessResize, params, nil)
}
