package terminals

import (
	"io"
	"os"
	"time"
	"unicode/utf8"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/internal/hostcommand"
	pseudo "github.com/hostsup/hostsup/internal/terminal"
	"github.com/hostsup/hostsup/sandbox"
	"github.com/hostsup/hostsup/workbench"
)

const extTerminals = "ExtHostTerminalService."

// The size of a terminal, which no window shows.
const (
	rows = 30
	cols = 120
)

// maxInput bounds, in bytes, the input that a program has not read yet.
const maxInput = 1 << 20

// outputWait is how long output is read after the end of a process, which only processes out of
// reach can still hold open.
const outputWait = 100 * time.Millisecond

// Reasons for the end of a terminal (TerminalExitReason).
const (
	reasonUnknown = iota
	reasonShutdown
	reasonProcess
	reasonUser
	reasonExtension
)

// terminal is an open terminal: a process on a pseudo-terminal, or one that an extension plays
// (Pseudoterminal). The lock of the service guards its fields.
type terminal struct {
	s         *Service
	id        int
	extension string // the id that an extension host has given; "" for the terminal of a task
	name      string
	host      *actors.Ref
	life      uint64
	custom    bool
	program   program
	closed    func(code *int) // is called under the lock of the service when it has ended; may be nil
	started   func(pid int)   // likewise, when its process runs
	matching  *matching       // looks for problems in the output; may be nil

	pid    int
	input  []byte
	kick   chan struct{} // there is input
	stop   chan struct{} // closed by end
	ending bool
	reason int
	code   *int // of the process
	output tail
	rest   []byte // the begin of a rune
}

// config returns what hosts see of the program (ShellLaunchConfigDto).
func (t *terminal) config() map[string]any {
	out := map[string]any{"name": t.name}
	if len(t.program.args) > 0 {
		out["executable"], out["args"] = t.program.args[0], t.program.args[1:]
	}
	if t.program.dir != "" {
		out["cwd"] = t.program.dir
	}
	return out
}

// end ends the terminal. Only the first call has an effect. The caller must hold the lock of the
// service.
func (t *terminal) end(reason int, code *int) {
	if t.ending {
		return
	}
	t.ending, t.reason, t.code = true, reason, code
	close(t.stop)
	if t.custom {
		if h := t.s.hosts[t.host.Name()]; h != nil && reason != reasonProcess {
			h.Tell(extTerminals+"$acceptProcessShutdown", workbench.Params(t.id, true))
		}
		t.s.closed(t)
	}
}

// run starts the process and stays until it has ended with its whole tree.
func (t *terminal) run() {
	s := t.s
	child, tty, err := t.start()
	if err != nil {
		t.host.Log().Warn("terminal was not started", "terminal", t.name, "error", err)
		s.mu.Lock()
		defer s.mu.Unlock()
		t.end(reasonUnknown, nil)
		s.hosts.Tell(extTerminals+"$acceptTerminalProcessId", workbench.Params(t.id, workbench.Undefined))
		t.received([]byte(err.Error() + "\r\n"))
		s.closed(t)
		return
	}
	s.mu.Lock()
	t.pid = child.Pid()
	s.hosts.Tell(extTerminals+"$acceptTerminalProcessId", workbench.Params(t.id, t.pid))
	if t.started != nil {
		t.started(t.pid)
	}
	s.mu.Unlock()
	read, written := make(chan struct{}), make(chan struct{})
	go func() { defer close(read); t.read(tty) }()
	go func() { defer close(written); t.write(tty) }()
	select {
	case <-child.Done():
	case <-t.stop:
	}
	left := hostcommand.End(child)
	_ = tty.SetReadDeadline(time.Now().Add(outputWait))
	<-read
	tty.Close() // ends a write
	exit := child.Exit()
	code := exit.Code
	if exit.Signal != 0 {
		code = 128 + exit.Signal // as shells have it
	}
	s.mu.Lock()
	t.end(reasonProcess, &code)
	s.mu.Unlock()
	<-written
	child.Release()
	if left != nil {
		t.host.Log().Warn("terminal has left processes behind", "terminal", t.name, "error", left)
	}
	if t.matching != nil { // the end of a task is told after its problems
		t.matching.end()
		<-t.matching.done
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed(t)
}

// start starts the process.
func (t *terminal) start() (*sandbox.Child, *os.File, error) {
	ours, its, err := pseudo.Open(rows, cols)
	if err != nil {
		return nil, nil, err
	}
	defer its.Close()
	child, err := t.host.Launch(&actors.Start{Life: t.life, Env: map[string]string{}}, actors.Program{
		Name: "terminal", Args: t.program.args, Dir: t.program.dir, Environ: t.program.environ,
		Files: []*os.File{its, its, its}, Terminal: true,
	})
	if err != nil {
		ours.Close()
		return nil, nil, err
	}
	return child, ours, nil
}

// read reads output to its end.
func (t *terminal) read(tty io.Reader) {
	buf := make([]byte, 8<<10)
	for {
		n, err := tty.Read(buf)
		if n > 0 {
			t.s.mu.Lock()
			t.received(buf[:n])
			t.s.mu.Unlock()
			if t.matching != nil {
				t.matching.flush()
			}
		}
		if err != nil { // EIO: no process has the terminal any more
			return
		}
	}
}

// received keeps output and sends it to the hosts that want it. The caller must hold the lock of
// the service.
func (t *terminal) received(p []byte) {
	t.output.add(p)
	if t.matching != nil {
		t.matching.add(p)
	}
	t.rest = append(t.rest, p...)
	whole := len(t.rest) - partial(t.rest)
	text := string(t.rest[:whole])
	t.rest = append(t.rest[:0], t.rest[whole:]...)
	if text == "" {
		return
	}
	for name := range t.s.watching {
		if h := t.s.hosts[name]; h != nil {
			h.Tell(extTerminals+"$acceptTerminalProcessData", workbench.Params(t.id, text))
		}
	}
}

// partial returns the number of bytes at the end of p that may begin a rune.
func partial(p []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(p); n++ {
		if at := len(p) - n; utf8.RuneStart(p[at]) {
			if utf8.FullRune(p[at:]) {
				return 0
			}
			return n
		}
	}
	return 0
}

// write writes input until the terminal is closed.
func (t *terminal) write(tty io.Writer) {
	for {
		t.s.mu.Lock()
		p := t.input
		t.input = nil
		t.s.mu.Unlock()
		if _, err := tty.Write(p); err != nil {
			return
		}
		select {
		case <-t.kick:
		case <-t.stop:
			return
		}
	}
}

// enter adds input. The caller must hold the lock of the service.
func (t *terminal) enter(text string) error {
	switch {
	case t.ending:
		return nil
	case t.custom:
		if h := t.s.hosts[t.host.Name()]; h != nil {
			h.Tell(extTerminals+"$acceptProcessInput", workbench.Params(t.id, text))
		}
		return nil
	case len(t.input)+len(text) > maxInput:
		return workbench.Invalid("terminal %q does not read its input: %d bytes wait, limit %d", t.name, len(t.input), maxInput)
	}
	t.input = append(t.input, text...)
	select {
	case t.kick <- struct{}{}:
	default:
	}
	return nil
}

// tail keeps the last bytes of an output.
type tail struct{ kept []byte }

// maxTail is how many bytes are kept.
const maxTail = 64 << 10

func (o *tail) add(p []byte) {
	o.kept = append(o.kept, p...)
	if len(o.kept) > 2*maxTail {
		o.kept = append(o.kept[:0], o.kept[len(o.kept)-maxTail:]...)
	}
}

func (o *tail) bytes() []byte { return o.kept[max(0, len(o.kept)-maxTail):] }
