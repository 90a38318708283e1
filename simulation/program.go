package simulation

import (
	"bytes"
	"time"

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
	think   time.Duration // it answers a call within
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
)

// live is the program of a process.
func (p *process) live() {
	session := native.Open(codec.Limits{})
	h := &speaker{p: p, session: session, hands: session.Accept(native.Self{Name: p.host, Caps: codec.CapAll}), writing: make(chan struct{}, 1)}
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
	open    bool // the handshake is done

	writing chan struct{} // has room for the one who writes; a mutex would hide that a write waits
}

// hear does what a message asks for, and reports whether the process goes on.
func (h *speaker) hear(m *codec.Message) bool {
	p := h.p
	if !h.open {
		return h.greet(m)
	}
	if m.Kind != codec.Request {
		return true
	}
	switch m.Method {
	case native.MethodPing:
		h.say(&codec.Message{Kind: codec.Response, ID: m.ID})
		return true
	case native.MethodShutdown:
		if p.do.deaf {
			return true
		}
		h.say(&codec.Message{Kind: codec.Response, ID: m.ID})
		p.exit(sandbox.Exit{})
		return false
	}
	p.m.check.heard(p.host, p.life, m)
	h.say(&codec.Message{Kind: codec.Ack, ID: m.ID})
	answer := codec.Message{Kind: codec.Response, ID: m.ID, Result: m.Params}
	switch m.Method {
	case echo, twice, flood:
		if m.Method == flood {
			for range 200 {
				h.say(&codec.Message{Kind: codec.Notification, Method: "news", Params: m.Params})
			}
		}
		p.m.AfterFunc(p.m.within(p.do.think), func() {
			if p.runs() {
				h.say(&answer)
				if m.Method == twice {
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
	case garbage:
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
	if h.open = done; done {
		h.p.m.check.greeted(h.p.host)
	}
	if err != nil {
		h.p.m.check.wrong("%s, life %d: the handshake: %v", h.p.host, h.p.life, err)
	}
	return err == nil
}

// say writes a message.
func (h *speaker) say(m *codec.Message) {
	b, err := h.session.Append(nil, m)
	if err != nil {
		panic(err)
	}
	h.write(b)
}

func (h *speaker) write(b []byte) {
	h.writing <- struct{}{}
	defer func() { <-h.writing }()
	_, _ = h.p.conn.Write(b) // the supervisor may have closed it
}
