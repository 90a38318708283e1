package simulation

import (
	"bytes"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/native"
	"github.com/hostsup/hostsup/sandbox"
)

// program is what the processes of a host do besides answering.
type program struct {
	refused bool          // it cannot be started
	deaf    bool          // SIGTERM and the goodbye have no effect
	mute    bool          // it does not answer the handshake
	leaves  bool          // it exits in the handshake
	dawdles bool          // it answers the handshake after 3 s
	eager   bool          // it makes a request right behind its answer to the handshake
	think   time.Duration // it answers a call within
	serves  bool          // it is a language server
}

// What is called of a simulated program. Other methods are answered with
// an error.
const (
	echo    = "echo"    // answers the params
	crash   = "crash"   // exits with 3
	leave   = "leave"   // exits with 0
	hang    = "hang"    // does nothing more
	silent  = "silent"  // is not answered; the program goes on
	garbage = "garbage" // writes bytes that are no message
	half    = "half"    // writes half an answer, and exits
	twice   = "twice"   // is answered twice
	flood   = "flood"   // answers after many notifications
	items   = "items"   // is answered with items, as the caller allows them, and the params
	spill   = "spill"   // as items, until one for which there is no credit
	skip    = "skip"    // as items, until one that is out of sequence
	cut     = "cut"     // as items, until it exits in the middle
)

// live is the program of a process.
func (p *process) live() {
	session := native.Open(codec.Limits{})
	h := &speaker{
		p: p, session: session, hands: session.Accept(native.Self{Name: p.host, Caps: codec.CapAll}), writing: make(chan struct{}, 1),
		asked: make(map[uint32]*ask), streams: make(map[uint32]*stream),
	}
	p.mu.Lock()
	p.talk = h
	p.mu.Unlock()
	for r := session.NewReader(p.conn); ; {
		var m codec.Message
		if err := r.Next(&m); err != nil {
			p.exit(sandbox.Exit{}) // the supervisor has hung up
			return
		}
		if !p.runs() || !h.hear(&m) {
			return
		}
	}
}

// speaker is a process's part of its conversation.
type speaker struct {
	p       *process
	session *native.Session
	hands   *native.Acceptor
	open    atomic.Bool // the handshake is done

	writing chan struct{} // has room for the one who writes; a mutex would hide that a write waits
	news    int           // notifications so far; guarded by writing

	mu      sync.Mutex
	last    uint32
	asked   map[uint32]*ask    // open requests of the process, by id
	streams map[uint32]*stream // open requests that are answered with items, or when they are canceled
	read    uint32             // the highest id of a request of the supervisor
}

// hear does what a message asks for, and reports whether the process goes on.
func (h *speaker) hear(m *codec.Message) bool {
	p := h.p
	if !h.open.Load() {
		return h.greet(m)
	}
	if m.Kind != codec.Request {
		h.hearOther(m)
		return true
	}
	h.mu.Lock()
	h.read = max(h.read, m.ID)
	h.mu.Unlock()
	switch m.Method {
	case native.MethodPing:
		h.say(&codec.Message{Kind: codec.Response, ID: m.ID})
		return true
	case native.MethodShutdown:
		p.m.check.disturbed(p.host, p.life)
		p.m.check.leaves(p.host, p.life)
		if p.do.deaf {
			return true
		}
		h.say(&codec.Message{Kind: codec.Response, ID: m.ID})
		p.exit(sandbox.Exit{})
		return false
	}
	c := p.m.check.heard(p.host, p.life, m)
	h.say(&codec.Message{Kind: codec.Ack, ID: m.ID})
	answer := codec.Message{Kind: codec.Response, ID: m.ID, Result: m.Params}
	switch method := m.Method[strings.LastIndexByte(m.Method, '.')+1:]; method {
	case items, spill, skip, cut:
		if c != nil {
			h.stream(m, c, method)
		}
	case echo, twice, flood:
		if m.Method == flood {
			h.tellNews(200)
		}
		p.m.AfterFunc(p.dice.within(p.do.think), func() {
			if p.runs() {
				h.say(&answer)
				if m.Method == twice {
					p.m.check.disturbed(p.host, p.life)
					h.say(&answer)
				}
			}
		})
	case crash:
		p.exit(sandbox.Exit{Code: 3})
		return false
	case leave:
		p.exit(sandbox.Exit{})
		return false
	case hang:
		p.freeze(true)
		return p.runs()
	case silent:
		h.mu.Lock()
		h.streams[m.ID] = &stream{id: m.ID}
		h.mu.Unlock()
	case garbage:
		p.m.check.disturbed(p.host, p.life)
		h.write(bytes.Repeat([]byte{0xc1}, 64))
	case half:
		b, err := h.session.Append(nil, &answer)
		if err != nil {
			panic(err)
		}
		h.write(b[:len(b)/2])
		p.exit(sandbox.Exit{Code: 4})
		return false
	default:
		h.say(&codec.Message{Kind: codec.Response, ID: m.ID, Err: &codec.Error{Name: codec.NameMethodNotFound, Message: m.Method}})
	}
	return true
}

// greet answers a message of the handshake.
func (h *speaker) greet(m *codec.Message) bool {
	switch do := h.p.do; {
	case do.leaves:
		h.p.exit(sandbox.Exit{Code: 5})
		return false
	case do.mute:
		return true
	case do.dawdles:
		select {
		case <-time.After(3 * time.Second):
		case <-h.p.dead:
		}
		if !h.p.runs() {
			return false
		}
	}
	answers, done, err := h.hands.Handle(m)
	for i := range answers {
		h.say(&answers[i])
	}
	if len(answers) > 0 && err == nil && h.p.do.eager && !h.p.do.dawdles {
		h.ask(hereEcho, 0, 0, 0)
	}
	if h.open.Store(done); done {
		h.p.m.check.greeted(h.p.host)
	}
	if err != nil {
		h.p.m.check.wrong("%s, life %d: the handshake: %v", h.p.host, h.p.life, err)
	}
	return err == nil
}

// say writes a message.
func (h *speaker) say(m *codec.Message) {
	if m.Kind == codec.Response {
		h.p.m.check.responds(h.p.host, h.p.life, m.ID)
	}
	h.write(h.encode(nil, m))
}

// encode appends a message to b.
func (h *speaker) encode(b []byte, m *codec.Message) []byte {
	b, err := h.session.Append(b, m)
	if err != nil {
		panic(err)
	}
	return b
}

func (h *speaker) write(b []byte) {
	h.inTurn(func() { _, _ = h.p.conn.Write(b) }) // the supervisor may have closed it
}

// inTurn runs f while nothing else is written.
func (h *speaker) inTurn(f func()) {
	h.writing <- struct{}{}
	defer func() { <-h.writing }()
	f()
}

// tellNews writes n notifications, whose params count from 1 over the whole life.
func (h *speaker) tellNews(n int) {
	for range n {
		h.inTurn(func() {
			h.news++
			_, _ = h.p.conn.Write(h.encode(nil, &codec.Message{Kind: codec.Notification, Method: "news", Params: number(h.news)}))
		})
	}
}

// number encodes a number.
func number(n int) codec.Raw {
	b, err := msgpack.Marshal(n)
	if err != nil {
		panic(err)
	}
	return b
}
