package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/hostsup/hostsup/cmd/hostsup/internal/show"
	"github.com/hostsup/hostsup/execserver"
	"github.com/hostsup/hostsup/execserver/wire"
)

// execStreams connect the program's streams with a command's.
type execStreams struct {
	app    *app
	client *execserver.Client
	p      *execserver.Process
	sub    *execserver.Subscription
	screen *screenOf // nil: the command does not use this program's terminal
	watch  *connectionWatch
	input  io.Reader // nil: none
	tty    bool      // of the command
	keys   []byte    // that detach; empty: detaching is disabled
}

// run copies the streams until the command has ended, or until pass, which receives
// signals, or the detach keys fail with a reason. It restores the terminal before it
// returns.
func (s *execStreams) run(ctx context.Context, pass func(context.Context, context.CancelCauseFunc)) (execserver.Exit, error) {
	if s.screen != nil {
		if err := s.screen.raw(); err != nil {
			return execserver.Exit{}, err
		}
		defer s.screen.restore()
		s.watch.raw()
	}
	ctx, cancel := context.WithCancelCause(ctx)
	var helpers sync.WaitGroup
	defer helpers.Wait()
	defer cancel(nil)
	helpers.Go(func() {
		defer s.screen.restoreInPanic()
		pass(ctx, cancel)
	})
	if s.screen != nil && s.client.Has(wire.ExtProcessResize) {
		helpers.Go(func() {
			defer s.screen.restoreInPanic()
			s.screen.follow(ctx, s.p)
		})
	}
	if s.input != nil {
		input := s.input
		if len(s.keys) > 0 {
			input = &keyReader{from: input, keys: s.keys, pressed: func() { cancel(errDetached) }}
		}
		// This goroutine may still wait for input when the command has ended; the program
		// then ends too.
		go func() {
			defer s.screen.restoreInPanic()
			s.app.feed(ctx, s.client, s.p, input, s.tty)
		}()
	}
	type copied struct {
		exit execserver.Exit
		err  error
	}
	over := make(chan copied, 1)
	go func() {
		defer s.screen.restoreInPanic()
		exit, err := s.sub.Copy(ctx, s.app.out, s.app.errout)
		over <- copied{exit, err}
	}()
	select {
	case c := <-over:
		return c.exit, c.err
	case <-ctx.Done():
	}
	select {
	case c := <-over:
		return c.exit, c.err
	case <-time.After(execUnread):
		// This goroutine may still write to a terminal or pipe that is not read; the program
		// ends now.
		return execserver.Exit{}, context.Cause(ctx)
	}
}

// execUnread bounds how long the end waits for a write under way.
const execUnread = 200 * time.Millisecond

// input returns the command's input, or nil if it has none.
func (a *app) input(r *remote, screen *screenOf) io.Reader {
	f := fileOf(a.in)
	if f == nil || screen != nil || r.interactive {
		return a.in
	}
	mine, err := f.Stat()
	if err != nil {
		return nil // it is closed
	}
	if null, err := os.Stat(os.DevNull); err == nil && os.SameFile(mine, null) {
		return nil
	}
	return f
}

// feed copies the program's input to the command, and ends it.
func (a *app) feed(ctx context.Context, client *execserver.Client, p *execserver.Process, from io.Reader, tty bool) {
	in := p.Stdin(ctx)
	_, err := io.CopyBuffer(struct{ io.Writer }{in}, struct{ io.Reader }{from}, make([]byte, 64<<10))
	switch {
	case err != nil: // the command has ended or no longer reads
	case client.Has(wire.ExtProcessCloseStdin):
		_ = in.Close() // the command has ended or no longer reads
	case tty:
		_, _ = in.Write([]byte{4})
	default:
		select {
		case <-time.After(execQuiet):
			fmt.Fprint(a.errout, "hostsup: this server cannot signal the end of input to the command: it may be waiting for more\n")
		case <-p.Done():
		}
	}
}

// passOn passes signals to the command. After the second signal that asks for the
// end it does not wait for the command's output either, because it may never be
// read.
func passOn(ctx context.Context, fail context.CancelCauseFunc, p *execserver.Process, signals <-chan os.Signal) {
	asked, interrupted := false, false
	var last os.Signal
	var ended <-chan struct{}
	var unread <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-ended:
			ended, unread = nil, time.After(execSignal)
		case <-unread:
			fail(&signalled{last})
			return
		case s := <-signals:
			select {
			case <-p.Done(): // only its output is left, which is not being read
				fail(&signalled{s})
				return
			default:
			}
			tell, cancel := context.WithTimeout(ctx, execSignal)
			var err error
			switch {
			case s == os.Interrupt && !interrupted:
				interrupted = true
				err = p.Interrupt(tell)
			case asked: // for the second time
				last, ended = s, p.Done()
				_, err = p.Terminate(tell, 0)
			default:
				asked = true
				_, err = p.Terminate(tell, execGrace)
			}
			cancel()
			if err != nil && ctx.Err() == nil {
				fail(&signalled{s}) // the command cannot be reached
				return
			}
		}
	}
}

// signalled is the end by a signal that could not be passed on.
type signalled struct{ signal os.Signal }

func (e *signalled) Error() string { return e.signal.String() }

// connectionWatch reports a lost connection once it has lasted long enough to be
// noticed.
type connectionWatch struct {
	errout io.Writer

	mu    sync.Mutex
	end   string // of a line
	timer *time.Timer
	said  bool
}

func (w *connectionWatch) raw() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.end = "\r"
}

func (w *connectionWatch) changed(s execserver.State, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer != nil {
		w.timer.Stop()
		w.timer = nil
	}
	switch {
	case s == execserver.Recovering:
		w.timer = time.AfterFunc(execQuiet, func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.said = true
			fmt.Fprintf(w.errout, "hostsup: %s; resuming the session%s\n", show.Clean(err.Error()), w.end)
		})
	case s == execserver.Attached && w.said:
		w.said = false
		fmt.Fprintf(w.errout, "hostsup: the session is resumed%s\n", w.end)
	}
}

// screenOf is this program's terminal while the command uses it.
type screenOf struct {
	in, out *os.File
	was     *term.State
}

// terminal returns this program's terminal if the command gets one.
func (a *app) terminal(r *remote) *screenOf {
	in, out := fileOf(a.in), fileOf(a.out)
	if r.noTTY || r.detach || in == nil || out == nil || !term.IsTerminal(int(in.Fd())) || !term.IsTerminal(int(out.Fd())) {
		return nil
	}
	return &screenOf{in: in, out: out}
}

func (s *screenOf) raw() (err error) {
	s.was, err = term.MakeRaw(int(s.in.Fd()))
	return err
}

// restoreInPanic restores the terminal before the program ends with a panic.
// Goroutines must defer it.
func (s *screenOf) restoreInPanic() {
	if why := recover(); why != nil {
		if s != nil {
			s.restore()
		}
		panic(why)
	}
}

func (s *screenOf) restore() { _ = term.Restore(int(s.in.Fd()), s.was) } // the terminal may be gone

func (s *screenOf) size() *wire.TerminalSize {
	cols, rows, err := term.GetSize(int(s.out.Fd()))
	if err != nil || cols <= 0 || rows <= 0 {
		return nil
	}
	return &wire.TerminalSize{Rows: uint16(rows), Cols: uint16(cols)}
}

// follow passes on changes of the size.
func (s *screenOf) follow(ctx context.Context, p *execserver.Process) {
	changes := sizeChanges()
	defer signal.Stop(changes)
	for {
		if now := s.size(); now != nil {
			err := p.Resize(ctx, now.Rows, now.Cols)
			if errors.Is(err, execserver.ErrDisconnected) && !errors.Is(err, execserver.ErrSessionLost) && ctx.Err() == nil {
				continue // the server may not know; retry with the next connection
			}
			// Other errors would also affect the next change.
		}
		select {
		case <-changes:
		case <-ctx.Done():
			return
		}
	}
}
