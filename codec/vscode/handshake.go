package vscode

import (
	"fmt"

	"github.com/hostsup/hostsup/codec"
)

// Methods of the last steps of the handshake.
const (
	methodConfiguration = "ExtHostConfiguration.$initializeConfiguration"
	methodWorkspace     = "ExtHostWorkspace.$initializeWorkspace"
)

// openingID is the id of the handshake's own calls, of which one is open at a
// time.
const openingID = 1

// handshake waits for the host to be ready, gives it its init data, waits until
// it has made use of them, and then opens its gate with the configuration and
// the workspace. What the host asks meanwhile is no part of it.
type handshake struct {
	s     *session
	hello codec.Hello
	step  step

	configuration func() (codec.Raw, error) // of a host that was told its init data
}

type step int

const (
	waitsReady step = iota
	waitsInitialized
	waitsConfiguration
	waitsWorkspace
	finished
)

// Start has nothing to send: the host speaks first.
func (hs *handshake) Start() ([]codec.Message, bool) { return nil, false }

func (hs *handshake) Handle(m *codec.Message) ([]codec.Message, bool, error) {
	switch {
	case hs.step == finished:
		return nil, true, nil
	case m.Kind == codec.Notification && m.Method == methodReady && hs.step == waitsReady:
		return hs.ready()
	case m.Kind == codec.Notification && m.Method == methodInitialized && hs.step == waitsInitialized:
		params, err := hs.configuration()
		hs.configuration, hs.s.configured = nil, params
		return hs.call(waitsConfiguration, methodConfiguration, params, err)
	case hs.step <= waitsInitialized || m.Kind == codec.Notification:
		return nil, false, hs.early(m)
	case m.Kind == codec.Ack && m.ID == openingID:
		return nil, false, nil
	case m.Kind == codec.Response && m.ID == openingID:
		return hs.answered(m)
	case m.Kind == codec.Request || m.Kind == codec.Cancel:
		return nil, false, codec.ErrUnrelated
	}
	return nil, false, hs.early(m)
}

// ready answers with the init data.
func (hs *handshake) ready() ([]codec.Message, bool, error) {
	if hs.s.opening.Actors == nil {
		return nil, false, hs.s.opening.Err
	}
	data, configuration, err := hs.s.opening.Init(hs.hello)
	if err != nil {
		return nil, false, err
	}
	hs.step, hs.configuration = waitsInitialized, configuration
	return []codec.Message{{Kind: codec.Notification, Method: methodInit, Params: data}}, false, nil
}

func (hs *handshake) call(next step, method string, params codec.Raw, err error) ([]codec.Message, bool, error) {
	if err != nil {
		return nil, false, err
	}
	hs.step = next
	return []codec.Message{{Kind: codec.Request, ID: openingID, Method: method, Params: params}}, false, nil
}

func (hs *handshake) answered(m *codec.Message) ([]codec.Message, bool, error) {
	switch {
	case m.Err != nil && hs.step == waitsConfiguration:
		return nil, false, fmt.Errorf("%s: %w", methodConfiguration, m.Err)
	case m.Err != nil:
		return nil, false, fmt.Errorf("%s: %w", methodWorkspace, m.Err)
	case hs.step == waitsConfiguration:
		params, err := hs.s.opening.Workspace()
		out, done, err := hs.call(waitsWorkspace, methodWorkspace, params, err)
		return append(shown(hs.s.opening.Actors), out...), done, err
	}
	hs.step = finished
	hs.s.running.Store(true)
	return nil, true, nil
}

func (hs *handshake) early(m *codec.Message) error {
	what := m.Kind.String()
	if m.Method != "" {
		what += " " + m.Method
	}
	return &codec.FrameError{Err: codec.ErrEarly, Offset: -1, Detail: fmt.Sprintf("%.100s while %s", what, [...]string{
		"it was to say that it is ready", "it was to take its init data", "it was to take its configuration", "it was to take its workspace", "",
	}[hs.step])}
}

func (hs *handshake) Peer() codec.Peer {
	return codec.Peer{
		Name: "vscode", Version: hs.s.opening.Actors.Version,
		Caps: codec.CapAck | codec.CapCancel | codec.CapPing | codec.CapAbandon,
	}
}
