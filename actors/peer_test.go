package actors

import (
	"errors"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/native"
	"github.com/hostsup/hostsup/link"
	"github.com/hostsup/hostsup/sandbox"
)

// simPeer is what a simulated process does with its connection: it shakes hands,
// answers pings, and leaves all else to the test.
type simPeer struct {
	session codec.Session
	hands   *native.Acceptor
	in      *io.PipeReader
	out     *io.PipeWriter
	held    bool // somebody holds the stream open when the process has ended

	mu    sync.Mutex
	mute  bool // it reads, and says nothing
	calls []codec.Message
}

// simWire is the supervisor's end of a peer's stream.
type simWire struct {
	*io.PipeReader
	out *io.PipeWriter
}

func (w simWire) Write(p []byte) (int, error)  { return w.out.Write(p) }
func (w simWire) TryWrite([]byte) (int, error) { return 0, nil }
func (w simWire) CloseWrite() error            { return w.out.Close() }

func (w simWire) Read(p []byte) (int, error) {
	n, err := w.PipeReader.Read(p)
	if errors.Is(err, io.ErrClosedPipe) {
		err = os.ErrClosed
	}
	return n, err
}

func (w simWire) Close() error { return errors.Join(w.PipeReader.Close(), w.out.Close()) }

// wire makes the connection of a life that is about to start.
func (s *simulation) wire(cmd *sandbox.Command) link.Wire {
	host, _, _ := strings.Cut(cmd.Name, ".")
	in, theirs := io.Pipe()
	ours, out := io.Pipe()
	session := native.Open(codec.Limits{})
	s.mu.Lock()
	defer s.mu.Unlock()
	p := &simPeer{session: session, in: in, out: out, mute: s.mute[host]}
	p.hands = session.Accept(native.Self{Name: host, Caps: codec.CapAll})
	s.peers[host] = p
	return simWire{ours, theirs}
}

// serve is the process's own loop, to the end of the stream.
func (p *simPeer) serve(of *simProcess) {
	for r := p.session.NewReader(p.in); ; {
		var m codec.Message
		if r.Next(&m) != nil {
			return
		}
		p.mu.Lock()
		mute := p.mute
		if m.Kind == codec.Request && m.Method != native.MethodInitialize && m.Method != native.MethodPing {
			p.calls = append(p.calls, m)
		}
		p.mu.Unlock()
		if mute {
			continue
		}
		answers, _, _ := p.hands.Handle(&m)
		if m.Method == native.MethodPing {
			answers = []codec.Message{{Kind: codec.Response, ID: m.ID}}
		}
		for i := range answers {
			p.say(&answers[i])
		}
	}
}

// say writes a message.
func (p *simPeer) say(m *codec.Message) {
	b, err := p.session.Append(nil, m)
	if err != nil {
		panic(err)
	}
	p.write(b)
}

// write writes bytes that need not be a message.
func (p *simPeer) write(b []byte) {
	_, _ = p.out.Write(b) // the supervisor may have closed it
}

// asked returns the methods of the calls that have come.
func (p *simPeer) asked() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []string
	for _, m := range p.calls {
		out = append(out, m.Method)
	}
	return strings.Join(out, " ")
}

// hangUp closes the stream of a process that ends.
func (p *simProcess) hangUp() {
	if p.peer != nil && !p.peer.held {
		_ = p.peer.in.Close() // neither can fail
		_ = p.peer.out.Close()
	}
}
