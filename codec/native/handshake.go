package native

import (
	"fmt"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/mpack"
)

// initializeID is the id of the first request of every connection. The
// supervisor's later requests go on from 2.
const initializeID = 1

// NameVersion is the name of the error by which a host says that it does not
// speak the protocol's version.
const NameVersion = "VersionNotSupported"

// capability names in the order of their bits.
var capabilities = [...]string{"ack", "cancel", "stream", "trace", "ping", "extensions"}

func capNames(c codec.Caps) []string {
	var out []string
	for i, name := range capabilities {
		if c.Has(1 << i) {
			out = append(out, name)
		}
	}
	return out
}

func appendCaps(dst []byte, c codec.Caps) []byte {
	names := capNames(c)
	dst = mpack.AppendArray(dst, len(names))
	for _, name := range names {
		dst = mpack.AppendString(dst, name)
	}
	return dst
}

// Handshake opens the connection from the supervisor's side: the request
// "initialize" of id 1, its answer, the notification "initialized".
//
// Until it has answered, a host may say one thing only: [3, 1], that it works
// on the request. Anything else is [codec.ErrEarly].
//
// Hello.Init is encoded here. When that fails, Start returns nothing to send
// and Handle the reason; to learn of it earlier hand over a [codec.Raw] that
// Marshal made.
func (s *Session) Handshake(h codec.Hello) codec.Handshake {
	hs := &handshake{s: s, able: codec.CapAll}
	if h.Extended {
		hs.able |= codec.CapExtensions
	}
	hs.params, hs.err = initializeParams(h, hs.able)
	return hs
}

type handshake struct {
	s      *Session
	able   codec.Caps
	params codec.Raw
	err    error
	done   bool
	peer   codec.Peer
}

func initializeParams(h codec.Hello, able codec.Caps) (codec.Raw, error) {
	init, err := mpack.Encoding{}.Marshal(h.Init)
	if err != nil {
		return nil, fmt.Errorf("init: %w", err)
	}
	b := mpack.AppendMap(nil, 6)
	b = mpack.AppendUint(mpack.AppendString(b, "protocol"), Version)
	b = appendCaps(mpack.AppendString(b, "capabilities"), able)
	b = mpack.AppendMap(mpack.AppendString(b, "supervisor"), 2)
	b = mpack.AppendString(mpack.AppendString(b, "name"), h.Supervisor)
	b = mpack.AppendString(mpack.AppendString(b, "version"), h.Version)
	b = mpack.AppendMap(mpack.AppendString(b, "host"), 2)
	b = mpack.AppendString(mpack.AppendString(b, "name"), h.Host)
	b = mpack.AppendUint(mpack.AppendString(b, "life"), h.Life)
	b = append(mpack.AppendString(b, "init"), init...)
	return appendLiving(mpack.AppendString(b, "extensions"), h), nil
}

func (hs *handshake) Start() ([]codec.Message, bool) {
	if hs.err != nil {
		return nil, false
	}
	return []codec.Message{{Kind: codec.Request, ID: initializeID, Method: MethodInitialize, Params: hs.params}}, false
}

func (hs *handshake) Handle(m *codec.Message) ([]codec.Message, bool, error) {
	switch {
	case hs.err != nil:
		return nil, false, hs.err
	case hs.done:
		return nil, true, nil
	case m.Kind == codec.Ack && m.ID == initializeID:
		return nil, false, nil
	case m.Kind != codec.Response || m.ID != initializeID:
		return nil, false, codec.Early(m, "the answer to initialize")
	case m.Err != nil && m.Err.Name == NameVersion:
		return nil, false, codec.Faultf(codec.ErrVersion, -1, nil, "%v", m.Err)
	case m.Err != nil:
		return nil, false, fmt.Errorf("initialize: %w", m.Err)
	}
	a, err := readAnswer(m.Result, hs.s.lim)
	if err != nil {
		return nil, false, err
	}
	hs.done = true
	inForce := a.caps & hs.able
	if inForce.Has(codec.CapExtensions) {
		hs.s.announced, hs.s.announces = a.extensions, true
	}
	hs.peer = codec.Peer{Name: a.name, Version: a.version, Caps: inForce}
	hs.s.caps.Store(uint32(inForce))
	return []codec.Message{{Kind: codec.Notification, Method: MethodInitialized}}, true, nil
}

func (hs *handshake) Peer() codec.Peer { return hs.peer }

// opening says whether m fixes what is in force, and what that is.
func (s *Session) opening(m *codec.Message) (bool, codec.Caps) {
	if s.self != nil {
		if m.Kind != codec.Request || m.Method != MethodInitialize {
			return false, 0
		}
		o, err := readOpening(m.Params, s.lim)
		if err != nil {
			return true, 0
		}
		return true, o.Caps & s.self.Caps
	}
	if m.Kind != codec.Response || m.ID != initializeID {
		return false, 0
	}
	a, err := readAnswer(m.Result, s.lim)
	if err != nil {
		return true, 0
	}
	return true, a.caps
}

// answer is what a host answers to initialize.
type answer struct {
	name, version string
	caps          codec.Caps
	extensions    []codec.Announced
}

func readAnswer(raw codec.Raw, lim codec.Limits) (answer, error) {
	var a answer
	f, err := readFields(raw, lim, "the answer to initialize")
	if err != nil {
		return a, err
	}
	var protocol uint64
	for f.next() {
		switch f.key {
		case "protocol":
			protocol = f.uint()
		case "name":
			a.name = f.text()
		case "version":
			a.version = f.text()
		case "capabilities":
			a.caps = f.caps()
		case "extensions":
			a.extensions = f.announced()
		default:
			f.skip()
		}
	}
	if f.err != nil {
		return answer{}, f.err
	}
	return a, checkVersion(protocol)
}

func checkVersion(protocol uint64) error {
	switch protocol {
	case Version:
		return nil
	case 0:
		return codec.Faultf(codec.ErrVersion, -1, nil, "the other side names none, this side speaks 1")
	}
	return codec.Faultf(codec.ErrVersion, -1, nil, "the other side speaks %d, this side 1", protocol)
}
