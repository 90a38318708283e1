package sdk

import (
	"context"
	"maps"
	"reflect"
	"sync"
	"sync/atomic"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/mpack"
)

// Info is what a host says of itself in the handshake.
type Info struct {
	Name    string
	Version string
}

// Server is one host: its handlers by method, and the connection to its
// supervisor while Serve runs. It serves one connection in its life. All
// methods and the registering functions are safe for concurrent use.
type Server struct {
	info Info
	opt  options
	enc  codec.Encoding

	mu       sync.Mutex // held while registering
	methods  atomic.Pointer[map[string]*handler]
	notified atomic.Pointer[map[string]noteHandler]
	others   atomic.Pointer[func(ctx context.Context, method string, params codec.Raw) error]
	hooks    []func(context.Context) error
	openers  []func(context.Context, Hello) error

	extensions []*Extension
	bad        []error       // manifests that are wrong
	ranks      atomic.Uint64 // of activations
	hello      Hello         // set before ready is closed

	served   atomic.Bool
	ready    chan struct{} // closed when the handshake is done
	stopping chan struct{} // closed when a graceful end begins, or any other
	ended    chan struct{} // closed when the connection is over
	conn     *conn         // set before ready is closed
}

// New returns a host without handlers.
func New(info Info, opts ...Option) *Server {
	s := &Server{
		info: info, opt: defaults(), enc: mpack.Encoding{},
		ready: make(chan struct{}), stopping: make(chan struct{}), ended: make(chan struct{}),
	}
	for _, o := range opts {
		o(&s.opt)
	}
	s.methods.Store(&map[string]*handler{})
	s.notified.Store(&map[string]noteHandler{})
	return s
}

// handler answers one method; call or stream is set.
type handler struct {
	s       *Server
	inline  bool
	control bool       // belongs to the protocol: no limit holds for it
	of      *Extension // nil: the host's own
	call    func(ctx context.Context, params codec.Raw) (codec.Raw, error)
	stream  func(ctx context.Context, params codec.Raw, send func(any) error) error
}

type noteHandler func(ctx context.Context, params codec.Raw) error

// Handle registers fn for the requests of method: In is decoded from the
// params, Out becomes the result. Params that do not fit In are answered with
// the error "InvalidParams", which names the place and the type, and fn is not
// called; an integer that In has no room for does not fit. Params that are nil
// give the zero In. In and Out may be [codec.Raw], which is passed through.
//
// fn runs on a goroutine of its own (see [Inline] for the other way), and its
// context ends when the caller cancels or the connection ends. Registering a
// method again replaces its handler. The names "initialize", "initialized" and
// "shutdown" and those that begin with "$/" belong to the protocol, and where
// extensions are spoken of those that begin with "extension/"; handlers for them
// are never called.
func Handle[In, Out any](m Methods, method string, fn func(ctx context.Context, in In) (Out, error), opts ...HandlerOption) {
	enc := m.encoding()
	decode := decoder[In](enc)
	m.register(method, &handler{call: func(ctx context.Context, params codec.Raw) (codec.Raw, error) {
		in, err := decode(params)
		if err != nil {
			return nil, err
		}
		out, err := fn(ctx, in)
		if err != nil {
			return nil, err
		}
		return encode(enc, out)
	}}, opts)
}

// HandleRaw registers fn for the requests of method without decoding or
// encoding anything: what it returns must be one well-formed value, or nil.
// All else is as with [Handle].
func (s *Server) HandleRaw(method string, fn func(ctx context.Context, params codec.Raw) (codec.Raw, error), opts ...HandlerOption) {
	s.register(method, &handler{call: fn}, opts)
}

// Stream registers fn for the requests of method, answered with many items.
// Each send hands one item to the caller, in order, and blocks while the
// caller has not allowed more (it returns the context's cause when that ends
// first). When fn returns, the stream ends, with its error if there is one.
//
// A caller that does not ask for items gets one answer instead: the list of
// all that was sent. Until the caller has said which of the two it wants, send
// collects; [ErrUncollected] tells that the list would be too large for one
// message. A caller says so right behind its request; a list is answered 50 ms
// after the request at the earliest. send may be used from several goroutines,
// until fn returns.
func Stream[In any](m Methods, method string, fn func(ctx context.Context, in In, send func(item any) error) error) {
	decode := decoder[In](m.encoding())
	m.register(method, &handler{stream: func(ctx context.Context, params codec.Raw, send func(any) error) error {
		in, err := decode(params)
		if err != nil {
			return err
		}
		return fn(ctx, in, send)
	}}, nil)
}

// OnNotify registers fn for the notifications of method. The notifications of
// a connection are handled one after the other in the order of arrival, on one
// goroutine; up to 1,024 wait for it, then the receive loop waits too, so a
// handler should not block for long. Errors and panics are logged, nobody
// hears of them otherwise; notifications without a handler are dropped.
func OnNotify[In any](s *Server, method string, fn func(ctx context.Context, in In) error) {
	decode := decoder[In](s.enc)
	s.mu.Lock()
	defer s.mu.Unlock()
	next := maps.Clone(*s.notified.Load())
	next[method] = func(ctx context.Context, params codec.Raw) error {
		in, err := decode(params)
		if err != nil {
			return err
		}
		return fn(ctx, in)
	}
	s.notified.Store(&next)
}

// OnOtherNotify registers fn for the notifications of all methods that have no
// handler of [OnNotify]. Otherwise it is as [OnNotify].
func (s *Server) OnOtherNotify(fn func(ctx context.Context, method string, params codec.Raw) error) {
	s.others.Store(&fn)
}

// noteHandler returns the handler of the notifications of a method, nil when
// there is none.
func (s *Server) noteHandler(method string) noteHandler {
	if fn := (*s.notified.Load())[method]; fn != nil {
		return fn
	}
	others := s.others.Load()
	if others == nil {
		return nil
	}
	return func(ctx context.Context, params codec.Raw) error { return (*others)(ctx, method, params) }
}

// OnInitialize registers fn to be told what the supervisor says of itself and
// of this life, before the handshake is answered. An error is the answer, and
// ends the connection. Functions run in the order of registration, on the
// receive loop; the supervisor waits for them within its time-out for a start.
func (s *Server) OnInitialize(fn func(ctx context.Context, h Hello) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.openers = append(s.openers, fn)
}

// OnShutdown registers fn to run when the connection ends, in whatever way:
// after the last handler has returned, or has been given up, and before a
// goodbye is answered. Functions run one after the other, the last registered
// first, each once. ctx ends when the time set by [WithDrain] is over; errors
// are logged.
func (s *Server) OnShutdown(fn func(ctx context.Context) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hooks = append(s.hooks, fn)
}

// Ready is closed when the handshake is done, from when on the host may call.
func (s *Server) Ready() <-chan struct{} { return s.ready }

// Stopping is closed when the connection begins to end: a goodbye, a signal,
// the end of Serve's context, or the loss of the supervisor. Handlers that
// would go on for ever, such as those of endless streams, return then; the
// contexts of the others end only after the time set by [WithDrain].
func (s *Server) Stopping() <-chan struct{} { return s.stopping }

func (s *Server) encoding() codec.Encoding { return s.enc }

func (s *Server) register(method string, h *handler, opts []HandlerOption) {
	for _, o := range opts {
		o(h)
	}
	h.s = s
	s.mu.Lock()
	defer s.mu.Unlock()
	next := maps.Clone(*s.methods.Load())
	next[method] = h
	s.methods.Store(&next)
}

// decoder returns the function that makes an In of params.
func decoder[In any](enc codec.Encoding) func(params codec.Raw) (In, error) {
	t := reflect.TypeFor[In]()
	cuts := cutsIntegers(t, 0)
	return func(params codec.Raw) (in In, err error) {
		if raw, ok := any(&in).(*codec.Raw); ok {
			*raw = params
			return in, nil
		}
		if len(params) == 0 {
			return in, nil
		}
		if cuts {
			var v any
			if enc.Unmarshal(params, &v) == nil {
				if m := misfit("params", v, t, 0); m != "" {
					return in, &codec.Error{Name: codec.NameInvalidParams, Message: m}
				}
			}
		}
		if err := enc.Unmarshal(params, &in); err != nil {
			return in, invalidParams(enc, params, t, err)
		}
		return in, nil
	}
}

// encode makes a result of out.
func encode(enc codec.Encoding, out any) (codec.Raw, error) {
	raw, err := enc.Marshal(out)
	if err != nil {
		return nil, &codec.Error{Name: NameInvalidResult, Message: err.Error()}
	}
	return raw, nil
}
