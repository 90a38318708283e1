package native

import (
	"errors"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/mpack"
)

// Self is what a host says of itself.
type Self struct {
	Name    string
	Version string
	Caps    codec.Caps // what it is able to do; 0 means plain requests, responses and notifications

	Extensions []codec.Announced // told with CapExtensions, to a supervisor that has it, too
}

// Opening is what a supervisor said when it opened the connection.
type Opening struct {
	Supervisor string // its name
	Version    string // its version
	Host       string // the name this host is supervised under
	Life       uint64 // number of this life, from 1
	Init       codec.Raw
	Extensions []string   // ids of those that live in this process; nil: the supervisor knows of none
	Caps       codec.Caps // what the supervisor is able to do
}

// Acceptor is the [codec.Handshake] of the host's side.
type Acceptor struct {
	s       *Session
	opening Opening
	state   int // 0 waits for initialize, 1 for initialized, 2 is done
}

var _ codec.Handshake = (*Acceptor)(nil)

// Accept makes this the session of a host. Call it once, before the first
// Append or Next.
func (s *Session) Accept(self Self) *Acceptor {
	s.self = &self
	return &Acceptor{s: s}
}

// Handle takes one message of the supervisor and returns what to answer. Done
// means that the handshake is over and that every later message is the
// host's to handle. On an error, what is to be answered is still to be sent
// before the stream is closed; [codec.ErrVersion] says that the supervisor
// speaks another version, [codec.ErrEarly] that it said something else first.
//
// From its answer on a host may send requests and notifications; what the
// capabilities in force allow is known then.
func (a *Acceptor) Handle(m *codec.Message) (out []codec.Message, done bool, err error) {
	switch {
	case a.state == 2:
		return nil, true, nil
	case a.state == 1:
		if m.Kind != codec.Notification || m.Method != MethodInitialized {
			return nil, false, codec.Early(m, "the notification initialized")
		}
		a.state = 2
		return nil, true, nil
	case m.Kind != codec.Request || m.Method != MethodInitialize:
		return nil, false, codec.Early(m, "the request initialize")
	}
	reply := codec.Message{Kind: codec.Response, ID: m.ID}
	o, err := readOpening(m.Params, a.s.lim)
	if err != nil {
		reply.Err = refusal(err)
		return []codec.Message{reply}, false, err
	}
	a.opening, a.state = o, 1
	inForce := o.Caps & a.s.self.Caps
	reply.Result = a.s.self.result(inForce)
	a.s.caps.Store(uint32(inForce))
	return []codec.Message{reply}, false, nil
}

// Start implements [codec.Handshake]: the supervisor speaks first.
func (a *Acceptor) Start() (out []codec.Message, done bool) { return nil, false }

// Peer implements [codec.Handshake].
func (a *Acceptor) Peer() codec.Peer {
	return codec.Peer{Name: a.opening.Supervisor, Version: a.opening.Version, Caps: a.s.Caps()}
}

// Opening is what the supervisor said; valid once Handle has answered it.
func (a *Acceptor) Opening() Opening { return a.opening }

func (s *Self) result(inForce codec.Caps) codec.Raw {
	extended := inForce.Has(codec.CapExtensions)
	n := 4
	if extended {
		n++
	}
	b := mpack.AppendMap(nil, n)
	b = mpack.AppendUint(mpack.AppendString(b, "protocol"), Version)
	b = mpack.AppendString(mpack.AppendString(b, "name"), s.Name)
	b = mpack.AppendString(mpack.AppendString(b, "version"), s.Version)
	b = appendCaps(mpack.AppendString(b, "capabilities"), s.Caps)
	if extended {
		b = appendAnnounced(mpack.AppendString(b, "extensions"), s.Extensions)
	}
	return b
}

func readOpening(raw codec.Raw, lim codec.Limits) (Opening, error) {
	var o Opening
	f, err := readFields(raw, lim, "initialize")
	if err != nil {
		return o, err
	}
	var protocol uint64
	for f.next() {
		switch f.key {
		case "protocol":
			protocol = f.uint()
		case "capabilities":
			o.Caps = f.caps()
		case "supervisor":
			f.pair("version", &o.Supervisor, func(in *fields) { o.Version = in.text() })
		case "host":
			f.pair("life", &o.Host, func(in *fields) { o.Life = in.uint() })
		case "init":
			o.Init = f.raw()
		case "extensions":
			o.Extensions = f.texts()
		default:
			f.skip()
		}
	}
	if f.err != nil {
		return Opening{}, f.err
	}
	return o, checkVersion(protocol)
}

// pair takes a map of a name and one more key.
func (f *fields) pair(other string, name *string, take func(*fields)) {
	if f.c.Nil() {
		return
	}
	n, valid := f.c.Map()
	if !valid {
		f.fail()
		return
	}
	in := &fields{c: f.c, left: n, of: f.of + ": " + f.key}
	for in.next() {
		switch in.key {
		case "name":
			*name = in.text()
		case other:
			take(in)
		default:
			in.skip()
		}
	}
	f.c, f.err = in.c, in.err
	f.c.Close()
}

// refusal is what a host answers to an initialize that it cannot accept.
func refusal(err error) *codec.Error {
	name := codec.NameInvalidParams
	if errors.Is(err, codec.ErrVersion) {
		name = NameVersion
	}
	return &codec.Error{Name: name, Message: err.Error()}
}
