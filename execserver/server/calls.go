package server

import (
	"slices"
	"syscall"
	"time"

	"github.com/hostsup/hostsup/execserver/wire"
	"github.com/hostsup/hostsup/internal/osprocess"
	"github.com/hostsup/hostsup/internal/sys"
	"github.com/hostsup/hostsup/sandbox"
)

// exit records the end of the process itself.
func (p *process) exit(e sandbox.Exit) {
	inOrder()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held = &e
	p.stdin.close()
	if p.tty != nil && len(p.streams) == 0 {
		p.tty.Close()
		p.tty = nil
	}
	for _, s := range p.streams {
		s.poke()
	}
	if p.params.tty && len(p.streams) > 0 {
		time.AfterFunc(terminalDrain, func() {
			p.mu.Lock()
			streams := slices.Clone(p.streams)
			p.mu.Unlock()
			for _, s := range streams {
				s.isDrained()
			}
		})
	}
	p.settle()
}

// kill ends the process with everything it started, after a grace with SIGTERM
// when there is one. It reports whether the process ran.
func (p *process) kill(grace *time.Duration) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.child == nil || p.closed || p.ended {
		return false
	}
	running := p.held == nil
	if grace != nil && running {
		p.s.tell(&signalNow{p, &osprocess.Signal{Signal: syscall.SIGTERM}})
		time.AfterFunc(*grace, func() { p.kill(nil) }) // without effect if it is closed by then
		return running
	}
	if p.killed {
		return running
	}
	p.killed = true
	p.room.Broadcast()
	_ = p.child.KillTree() // the actor logs what it cannot kill
	if !running {
		for _, s := range p.streams {
			s.poke()
		}
	}
	return running
}

// withProcess calls f with a process of the session, after its start. If there is
// none, the answer is unknown, a result or a *wire.Error.
func (c *conn) withProcess(id string, r reply, unknown any, f func(*process)) {
	p := c.session.process(id)
	bad, refused := unknown.(*wire.Error)
	switch {
	case p != nil:
		p.whenStarted(func() { f(p) })
	case refused:
		r.fail(bad)
	default:
		r.result(unknown)
	}
}

func (c *conn) signalProcess(q *wire.ProcessSignalParams, r reply) {
	c.withProcess(q.ProcessID, r, wire.Empty{}, func(p *process) {
		p.s.tell(&signalNow{p, &osprocess.Signal{Signal: syscall.SIGINT}})
		r.result(wire.Empty{})
	})
}

func (c *conn) terminateProcess(q *wire.ProcessTerminateParams, r reply) {
	var grace *time.Duration
	if q.GraceMs != nil && *q.GraceMs > 0 {
		d := time.Duration(min(*q.GraceMs, uint64(time.Hour/time.Millisecond))) * time.Millisecond
		grace = &d
	}
	c.withProcess(q.ProcessID, r, &wire.ProcessTerminateResult{}, func(p *process) {
		r.result(&wire.ProcessTerminateResult{Running: p.kill(grace)})
	})
}

func (c *conn) writeProcess(q *wire.ProcessWriteParams, r reply) {
	if q.WriteID == "" {
		r.fail(wire.InvalidParams("writeId must not be empty"))
		return
	}
	c.withProcess(q.ProcessID, r, &wire.ProcessWriteResult{Status: wire.WriteUnknownProcess}, func(p *process) { p.write(q, r) })
}

func (p *process) write(q *wire.ProcessWriteParams, r reply) {
	p.mu.Lock()
	in := p.stdin
	shut := in == nil || p.held != nil || p.ended
	known := false
	switch {
	case !shut:
		if p.writes == nil {
			p.writes = &writeMemory{}
		}
		known = p.writes.seen(q.WriteID)
	case p.writes != nil:
		_, known = p.writes.known[q.WriteID] // the answer to the first try may have been lost
	}
	p.mu.Unlock()
	answer := r
	accepted := func() { answer.result(&wire.ProcessWriteResult{Status: wire.WriteAccepted}) }
	wait := func() (ok bool) { answer, ok = r.park(); return ok }
	switch {
	case p.isVoid():
		r.result(&wire.ProcessWriteResult{Status: wire.WriteUnknownProcess})
	case known:
		accepted()
	case shut:
		r.result(&wire.ProcessWriteResult{Status: wire.WriteStdinClosed})
	default:
		switch in.write(q.Chunk, wait, accepted) {
		case inputFull:
			p.mu.Lock()
			p.writes.forget(q.WriteID) // it can be tried again
			p.mu.Unlock()
			r.fail(wire.InvalidRequest("process %s does not read its input: at most %d bytes may wait for it", q.ProcessID, inputMost))
		case inputShut:
			r.result(&wire.ProcessWriteResult{Status: wire.WriteStdinClosed})
		}
	}
}

// endOfFile ends the input of a program at a terminal.
const endOfFile = 4

func (c *conn) closeStdin(q *wire.ProcessCloseStdinParams, r reply) {
	c.withProcess(q.ProcessID, r, &wire.ProcessWriteResult{Status: wire.WriteUnknownProcess}, func(p *process) {
		p.mu.Lock()
		in, shut := p.stdin, p.held != nil || p.ended
		p.mu.Unlock()
		done := in != nil && !shut
		switch {
		case done && p.params.tty:
			done = in.write([]byte{endOfFile}, func() bool { return true }, func() {}) == inputTaken
		case done:
			done = in.end()
		}
		status := wire.WriteAccepted
		if !done {
			status = wire.WriteStdinClosed
		}
		r.result(&wire.ProcessWriteResult{Status: status})
	})
}

func (c *conn) resizeProcess(q *wire.ProcessResizeParams, r reply) {
	c.withProcess(q.ProcessID, r, unknownProcess(q.ProcessID), func(p *process) {
		p.mu.Lock()
		defer p.mu.Unlock()
		switch {
		case !p.params.tty:
			r.fail(wire.InvalidRequest("process %s has no terminal", q.ProcessID))
		case p.tty == nil: // it has ended
			r.result(wire.Empty{})
		default:
			if err := sys.ResizeTerminal(p.tty, q.Rows, q.Cols); err != nil {
				r.fail(wire.OSError(err))
				return
			}
			r.result(wire.Empty{})
		}
	})
}

func unknownProcess(id string) *wire.Error { return wire.InvalidRequest("unknown process id %s", id) }

func (c *conn) listProcesses(r reply) {
	res := wire.ProcessListResult{Processes: []wire.ProcessInfo{}}
	for _, p := range c.session.processes() {
		res.Processes = append(res.Processes, p.info())
	}
	r.result(&res)
}

func (p *process) info() wire.ProcessInfo {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := wire.ProcessInfo{
		ProcessID: p.id, Argv: p.params.argv, Cwd: p.params.cwd, TTY: p.params.tty, StartedAtMs: p.since.UnixMilli(),
		Exited: p.exited, Closed: p.closed, NextSeq: p.nextSeq, RetainedBytes: p.kept.bytes, Lost: p.lost(), AttachToken: p.token,
	}
	if p.child != nil {
		i.PID = p.child.Pid()
	}
	if p.exited {
		i.ExitCode = &p.code
	}
	return i
}

// lost returns what is no longer kept, or nil. The caller must hold the lock.
func (p *process) lost() *wire.Lost {
	if p.kept.lostChunks == 0 {
		return nil
	}
	return &wire.Lost{ThroughSeq: p.kept.lostThrough, Chunks: p.kept.lostChunks, Bytes: p.kept.lostBytes}
}
