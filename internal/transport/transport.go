package transport

import (
	"os"
	"sync"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/internal/capture"
	"github.com/hostsup/hostsup/internal/sys"
	"github.com/hostsup/hostsup/lifecycle/hostspec"
	"github.com/hostsup/hostsup/link"
)

// Environment variables by which a host finds its connection.
const (
	EnvFD    = "HOSTSUP_HOST_FD"    // number of the inherited socket
	EnvAddr  = "HOSTSUP_HOST_ADDR"  // path of the unix socket to connect to
	EnvToken = "HOSTSUP_HOST_TOKEN" // 64 hex digits: the 32 bytes to write first
)

// Options say what a life needs.
type Options struct {
	Kind hostspec.Transport // "": there is no connection
	// Rendezvous is that of a protocol with a transport of its own, for which there is no
	// Kind. See [codec.Features].
	Rendezvous func(folder func() (string, error)) (codec.Rendezvous, error)
	// Wire returns the connection of a simulation, whatever the Kind is; nil: a real one.
	Wire    func() link.Wire
	Folders *Folders // for what has to be found by a path
}

// Transport is the transport of one life. Its methods are for one goroutine, and the
// nil Transport has nothing to close.
type Transport struct {
	Env     []string // what tells the host where its connection is
	Files   []*os.File
	Outputs []Output // our ends of captured pipes; not closed by Close once they are taken out

	own        []*os.File // of the child's ends, which TakeOwn hands over
	listener   *listener
	rendezvous codec.Rendezvous
	cancel     func() // ends the waiting for the host
	waiting    sync.WaitGroup
	dir        string

	mu   sync.Mutex
	wire link.Wire // our end of the connection, until it is taken
	shut bool      // no connection is accepted any more
}

// Output is a pipe that carries one stream of a process.
type Output struct {
	File   *os.File
	Stream capture.Stream
}

// Open makes the descriptors of a life.
func Open(o Options) (t *Transport, err error) {
	t = &Transport{cancel: func() {}}
	defer func() {
		if err != nil {
			t.Close()
			t = nil
		}
	}()
	t.Files = make([]*os.File, 3, 4)
	if o.Kind == hostspec.TransportStdio && o.Wire == nil {
		err = t.stdio()
	} else {
		err = t.output(1, capture.Stdout)
	}
	if err == nil {
		err = t.output(2, capture.Stderr)
	}
	if err != nil {
		return t, err
	}
	switch {
	case o.Rendezvous != nil:
		err = t.prepare(o)
	case o.Kind == "":
	case o.Wire != nil:
		t.wire = o.Wire()
	case o.Kind == hostspec.TransportFD:
		err = t.socket()
	case o.Kind == hostspec.TransportUnix:
		err = t.listen(o.Folders)
	}
	if err != nil {
		return t, err
	}
	return t, t.checkReserve()
}

// output makes a pipe that is read here.
func (t *Transport) output(fd int, s capture.Stream) error {
	ours, theirs, err := sys.ChildPipe(true)
	if err != nil {
		return err
	}
	t.Outputs = append(t.Outputs, Output{ours, s})
	t.inherit(fd, theirs)
	return nil
}

func (t *Transport) stdio() error {
	r, out, err := sys.ChildPipe(true)
	if err != nil {
		return err
	}
	t.inherit(1, out)
	w, in, err := sys.ChildPipe(false)
	if err != nil {
		r.Close()
		return err
	}
	t.inherit(0, in)
	t.wire = link.NewWatchedPipeWire(r, w)
	return nil
}

func (t *Transport) socket() error {
	ours, theirs, err := sys.SocketPair()
	if err != nil {
		return err
	}
	t.wire = link.NewSocketWire(ours)
	t.inherit(3, theirs)
	t.Env = append(t.Env, EnvFD+"=3")
	return nil
}

// inherit makes f one of the child's descriptors.
func (t *Transport) inherit(fd int, f *os.File) {
	if fd == len(t.Files) {
		t.Files = append(t.Files, nil)
	}
	t.Files[fd] = f
	t.own = append(t.own, f)
}

// TakeOwn returns the child's ends, which the caller closes once the child has them,
// and forgets Files.
func (t *Transport) TakeOwn() []*os.File {
	own := t.own
	t.own, t.Files = nil, nil
	return own
}

// Take returns the connection, which is the caller's from then on; nil if there is
// none, or none yet.
func (t *Transport) Take() link.Wire {
	t.mu.Lock()
	defer t.mu.Unlock()
	w := t.wire
	t.wire = nil
	return w
}

// Await waits for a host that has yet to come, on goroutines that Close ends. It calls
// came when Take returns the connection, or with why there will be none.
func (t *Transport) Await(came func(error)) {
	if t.rendezvous != nil {
		t.connect(came)
	} else {
		t.accept(came)
	}
}

// arrive keeps the first connection that was found to be right.
func (t *Transport) arrive(w link.Wire) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.shut {
		_ = w.Close()
		return false
	}
	t.shut, t.wire = true, w
	return true
}

// Close gives back what was not taken. It may be called again.
func (t *Transport) Close() {
	if t == nil {
		return
	}
	for _, f := range t.TakeOwn() {
		f.Close()
	}
	for _, o := range t.Outputs {
		o.File.Close()
	}
	t.Outputs = nil
	t.mu.Lock()
	t.shut = true
	t.mu.Unlock()
	t.cancel()
	t.waiting.Wait()
	if w := t.Take(); w != nil {
		w.Close()
	}
	if t.rendezvous != nil {
		_ = t.rendezvous.Close() // everything that could be lost is closed above
		t.rendezvous = nil
	}
	if t.dir != "" {
		_ = os.RemoveAll(t.dir) // a folder of the temporary ones; nothing depends on it
		t.dir = ""
	}
}
