package sdk

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/native"
	"github.com/hostsup/hostsup/link"
)

// Manifest says what an extension is.
type Manifest struct {
	ID        string   // publisher.name; two that differ in case only are the same
	Version   string   // as people write it; nothing is decided by it
	Events    []string // that it is activated by, besides the calls of its methods
	DependsOn []string // ids of extensions that are active before it is activated

	// Activate makes the extension ready; nil: there is nothing to do. It runs on a
	// goroutine of its own and should return when ctx ends, which it does when
	// nobody waits for it any more, or at the end of the host. An error, or a
	// panic, is told to the supervisor with its stack, and the extension is not
	// active. What is to go on after it returns belongs to a.
	Activate func(ctx context.Context, a *Activation) error
	// Deactivate undoes that; nil: there is nothing to do. It is called once for
	// each Activate that has succeeded, when the supervisor ends the extension or
	// at the end of the host, after its last handler has returned. When it has not
	// returned at ctx's deadline, or returns an error, the supervisor ends the
	// process.
	Deactivate func(ctx context.Context) error
}

// Methods is what handlers are registered with: a *[Server] for the host's own
// methods, an *[Extension] for those of an extension.
type Methods interface {
	register(method string, h *handler, opts []HandlerOption)
	encoding() codec.Encoding
}

// Extension is a part of a host that is switched on when it is needed, and can be
// switched off alone. Make it with [Extend]. Its methods are safe for concurrent
// use.
type Extension struct {
	s *Server
	m Manifest

	on atomic.Bool // state is unitOn; for a look without the lock

	mu     sync.Mutex
	state  unitState
	change chan struct{} // closed at the next change of state
	failed error         // of a host that activates by itself
	active *Activation
	stop   context.CancelFunc // of the Activate that runs
	calls  int                // handlers that run
	quiet  chan struct{}      // closed when calls is 0; nil while nobody waits
	rank   uint64             // of its activation among all
}

type unitState int

const (
	unitOff unitState = iota
	unitStarting
	unitOn
	unitStopping
)

// Extend adds an extension to a host. Register its methods with it, before Serve:
// it is announced to the supervisor with those that it has then. An id that is
// none, or is there already, is the error of Serve.
//
//	x := sdk.Extend(s, sdk.Manifest{ID: "acme.fmt", Version: "1.0", Activate: activate})
//	sdk.Handle(x, "fmt.run", run)
//
// Nothing is active at first. A supervisor whose configuration speaks of the
// host's extensions says which one is activated when; a call to a method of
// another waits until it is, or is answered with the error "NotActive". Under one
// that does not, the host activates an extension by itself: those with the event
// "*" or "onStartupFinished" after the handshake, the others at the first call of
// one of their methods, what they depend on before them.
func Extend(s *Server, m Manifest) *Extension {
	m.Events, m.DependsOn = slices.Clone(m.Events), slices.Clone(m.DependsOn)
	x := &Extension{s: s, m: m, change: make(chan struct{})}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !validID(m.ID):
		s.bad = append(s.bad, fmt.Errorf("%w: %q is no id; expected publisher.name", ErrManifest, m.ID))
	case s.extension(m.ID) != nil:
		s.bad = append(s.bad, fmt.Errorf("%w: there are two with the id %q", ErrManifest, m.ID))
	default:
		s.extensions = append(s.extensions, x)
	}
	for _, id := range m.DependsOn {
		if !validID(id) {
			s.bad = append(s.bad, fmt.Errorf("%w: %q depends on %q, which is no id", ErrManifest, m.ID, id))
		}
	}
	return x
}

func validID(id string) bool {
	publisher, name, ok := strings.Cut(id, ".")
	return ok && publisher != "" && name != "" && len(id) <= 256 && strings.TrimSpace(id) == id
}

// extension finds one by its id, with the lock held.
func (s *Server) extension(id string) *Extension {
	for _, x := range s.extensions {
		if strings.EqualFold(x.m.ID, id) {
			return x
		}
	}
	return nil
}

// ID is that of the manifest.
func (x *Extension) ID() string { return x.m.ID }

// HandleRaw is [Server.HandleRaw] for a method of the extension.
func (x *Extension) HandleRaw(method string, fn func(ctx context.Context, params codec.Raw) (codec.Raw, error), opts ...HandlerOption) {
	x.register(method, &handler{call: fn}, opts)
}

func (x *Extension) encoding() codec.Encoding { return x.s.enc }

// register puts the extension before a handler: it is active while that runs.
func (x *Extension) register(method string, h *handler, opts []HandlerOption) {
	if call := h.call; call != nil {
		h.call = func(ctx context.Context, params codec.Raw) (codec.Raw, error) {
			if err := x.enter(ctx, method); err != nil {
				return nil, err
			}
			if _, ok := ctx.(*link.Incoming); !ok {
				defer x.left()
			}
			return call(ctx, params)
		}
	}
	if stream := h.stream; stream != nil {
		h.stream = func(ctx context.Context, params codec.Raw, send func(any) error) error {
			if err := x.enter(ctx, method); err != nil {
				return err
			}
			return stream(ctx, params, send)
		}
	}
	h.of = x
	x.s.register(method, h, opts)
}

// announced is what the host says of its extensions.
func (s *Server) announced() []codec.Announced {
	s.mu.Lock()
	defer s.mu.Unlock()
	methods := *s.methods.Load()
	out := make([]codec.Announced, len(s.extensions))
	for i, x := range s.extensions {
		out[i] = codec.Announced{ID: x.m.ID, Version: x.m.Version, Events: x.m.Events, DependsOn: x.m.DependsOn}
		for method, h := range methods {
			if h.of == x {
				out[i].Methods = append(out[i].Methods, method)
			}
		}
		slices.Sort(out[i].Methods)
	}
	return out
}

// maxTries is how often a call has its extension activated.
const maxTries = 3

// enter waits until the extension is active and keeps it so until the request is
// answered, or left is called for one that is handled inline. The context of the request
// ends with the extension, too.
func (x *Extension) enter(ctx context.Context, method string) error {
	r, _ := ctx.(*link.Incoming)
	for tries := 0; ; {
		x.mu.Lock()
		state, change := x.state, x.change
		if state == unitOn {
			x.calls++
			within := x.active.ctx
			x.mu.Unlock()
			if r == nil { // inline: on the way in there is nobody who could end it
				return nil
			}
			unbind := context.AfterFunc(within, func() { r.Cancel(ErrDeactivated) })
			r.After(func() { // so that the answer to the deactivation follows this one
				unbind()
				x.left()
			})
			return nil
		}
		x.mu.Unlock()
		switch {
		case r == nil || tries == maxTries: // the first has come while it ended
			return notActive(x.m.ID, "it has just been deactivated")
		case state == unitOff:
			tries++
			if err := x.s.need(ctx, x, native.Need{ID: x.m.ID, Event: "onCommand:" + method}); err != nil {
				return err
			}
		default:
			select {
			case <-change:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
	}
}

// left takes the end of a handler.
func (x *Extension) left() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.calls--; x.calls == 0 && x.quiet != nil {
		close(x.quiet)
		x.quiet = nil
	}
}

// need has an extension activated, by the supervisor where that decides.
func (s *Server) need(ctx context.Context, x *Extension, in native.Need) error {
	if s.conn.caps.Has(codec.CapExtensions) {
		return s.Call(ctx, native.MethodNeed, in, nil)
	}
	return x.byItself(ctx, in.Event, false, nil)
}

func notActive(id, why string) *codec.Error {
	return &codec.Error{Name: codec.NameNotActive, Message: id + ": " + why}
}

// Activation is one run of an extension, from its Activate to its Deactivate. Its
// methods are safe for concurrent use.
type Activation struct {
	Event   string // what it was activated for, "onLanguage:go" for example
	Startup bool   // that belongs to the start, not to something that was done later

	x    *Extension
	ctx  context.Context
	end  context.CancelCauseFunc
	work sync.WaitGroup
}

// Context ends when the extension is deactivated; its cause is [ErrDeactivated]
// then.
func (a *Activation) Context() context.Context { return a.ctx }

// Decode decodes the extension's own part of [Hello.Init], the member that has
// its id for a name, into out, a pointer, which stays as it is when there is none.
func (a *Activation) Decode(out any) error {
	init := a.x.s.hello.Init
	if len(init) == 0 {
		return nil
	}
	var parts map[string]codec.Raw
	_ = a.x.s.enc.Unmarshal(init, &parts) // what is no map has no parts
	for name, part := range parts {
		if strings.EqualFold(name, a.x.m.ID) {
			return a.x.s.enc.Unmarshal(part, out)
		}
	}
	return nil
}

// Log is the host's logger (see [WithLogger]) with the attribute extension.
func (a *Activation) Log() *slog.Logger { return a.x.s.opt.log.With("extension", a.x.m.ID) }

// Go runs fn beside the handlers, until the extension is deactivated: ctx is
// [Activation.Context], and the deactivation waits for fn. A panic in it ends
// neither the process nor the extension; it is logged, and told to the supervisor,
// which remembers it when the host crashes after that.
func (a *Activation) Go(fn func(ctx context.Context)) {
	a.work.Go(func() {
		defer func() {
			if v := recover(); v != nil {
				a.uncaught(panicked(v))
			}
		}()
		fn(a.ctx)
	})
}

func (a *Activation) uncaught(e *codec.Error) {
	a.Log().Error("panicked", "panic", e.Message, slog.String("stack", e.Stack))
	s := a.x.s
	if !s.conn.caps.Has(codec.CapExtensions) {
		return
	}
	in := native.Uncaught{ID: a.x.m.ID}
	in.Error.Name, in.Error.Message, in.Error.Stack = e.Name, e.Message, e.Stack
	ctx, stop := context.WithTimeout(a.ctx, settleWait)
	defer stop()
	_ = s.Notify(ctx, native.MethodUncaught, in) // it is in the log
}
