package conformance

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/hostsup/hostsup/internal/transport"
	"github.com/hostsup/hostsup/lifecycle/hostspec"
	"github.com/hostsup/hostsup/link"
	"github.com/hostsup/hostsup/sandbox"
)

const (
	printed  = 2 << 10         // bytes of what a host prints that a report shows
	goneWait = 5 * time.Second // how long the end of a killed tree may take
)

// host is one process under test with its connection.
type host struct {
	child *sandbox.Child
	wire  link.Wire
	in    chan event // never closed: the last event of read has an error
	done  chan struct{}
	work  sync.WaitGroup

	mu      sync.Mutex
	printed []byte // the end of what it has printed
}

// event is a frame that has arrived, or how the stream has ended.
type event struct {
	body []byte
	err  error
	at   time.Time
}

// program is what is started for every play.
type program struct {
	launcher *sandbox.Launcher
	folders  *transport.Folders
	path     string
	args     []string
	env      []string
	dir      string
}

// start starts the program and returns when it has connected. A host that does not connect
// within the time is an error that says so. fd is the number of the descriptor for the
// transport fd.
func (g *program) start(ctx context.Context, kind hostspec.Transport, fd int, within time.Duration) (h *host, err error) {
	t, err := transport.Open(transport.Options{Kind: kind, Folders: g.folders})
	if err != nil {
		return nil, fmt.Errorf("transport %s: %w", kind, err)
	}
	defer t.Close()
	files, env := t.Files, append(g.env[:len(g.env):len(g.env)], t.Env...)
	if kind == hostspec.TransportFD && fd > 3 {
		files = append(files[:3:3], make([]*os.File, fd-2)...)
		files[fd] = t.Files[3]
		env = append(g.env[:len(g.env):len(g.env)], fmt.Sprintf("%s=%d", transport.EnvFD, fd))
	}
	h = &host{in: make(chan event, 256), done: make(chan struct{})}
	h.child, err = g.launcher.Start(&sandbox.Command{Name: "conformance", Path: g.path, Args: g.args, Env: env, Dir: g.dir, Files: files})
	if err != nil {
		return nil, err
	}
	for _, f := range t.TakeOwn() {
		f.Close()
	}
	for _, o := range t.Outputs {
		h.work.Go(func() { h.capture(o.File) })
	}
	t.Outputs = nil
	if kind == hostspec.TransportUnix {
		came := make(chan error, 1)
		t.Await(func(err error) { came <- err })
		timer := time.NewTimer(within)
		defer timer.Stop()
		select {
		case err = <-came:
		case <-timer.C:
			err = fmt.Errorf("no connection with the token within %v", within)
		case <-h.child.Done():
			err = errors.New("the process has ended without a connection")
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	if h.wire = t.Take(); h.wire == nil {
		if err == nil {
			err = errors.New("there is no connection")
		}
		return h, err
	}
	h.work.Go(h.read)
	return h, nil
}

// read hands over the frames of the host until the stream ends.
func (h *host) read() {
	for {
		body, err := readFrame(h.wire)
		select {
		case h.in <- event{body, err, time.Now()}:
		case <-h.done:
			return
		}
		if err != nil {
			return
		}
	}
}

// capture keeps the end of an output of the host.
func (h *host) capture(f *os.File) {
	defer f.Close()
	b := make([]byte, 4096)
	for {
		n, err := f.Read(b)
		h.mu.Lock()
		h.printed = append(h.printed, b[:n]...)
		if over := len(h.printed) - printed; over > 0 {
			h.printed = append(h.printed[:0], h.printed[over:]...)
		}
		h.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// output returns the end of what the host has printed.
func (h *host) output() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return strings.TrimSpace(string(h.printed))
}

// exit says how the process has ended, and waits for that.
func (h *host) exit(within time.Duration) (string, bool) {
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-h.child.Done():
	case <-timer.C:
		return "the process still runs", false
	}
	if e := h.child.Exit(); e.Signal != 0 {
		return fmt.Sprintf("the process was ended by signal %d", e.Signal), true
	} else {
		return fmt.Sprintf("the process has ended with status %d", e.Code), true
	}
}

// stop ends the process tree and the connection, and waits for all that belongs to them.
func (h *host) stop() error {
	close(h.done)
	err := h.child.KillTree()
	<-h.child.Done()
	if h.wire != nil {
		h.wire.Close()
	}
	h.child.Release()
	gone := h.child.AwaitGone(goneWait)
	h.work.Wait()
	return errors.Join(err, gone)
}
