package workbench

import (
	"context"
	"fmt"
	"sync"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/extensions"
	"github.com/hostsup/hostsup/link"
)

// Method answers one method of a main-thread object. Exactly one of its fields is set. A result
// is encoded as JSON; [Undefined], [Bytes] and values that contain them are allowed. An error that
// is a *codec.Error reaches the extension with its name; see also [NotSupported].
type Method struct {
	// Now answers on the read loop of the host, in the order of the requests. It must not block.
	Now func(c *Call) (any, error)
	// Do answers on a goroutine of its own, until ctx ends.
	Do func(ctx context.Context, c *Call) (any, error)
	// Begin is called on the read loop of the host, in the order of the requests, and must not block.
	// What it returns answers on a goroutine of its own, until ctx ends.
	Begin func(c *Call) func(ctx context.Context) (any, error)
}

// functions returns how many fields are set.
func (m *Method) functions() (n int) {
	for _, set := range []bool{m.Now != nil, m.Do != nil, m.Begin != nil} {
		if set {
			n++
		}
	}
	return n
}

// Service has methods of main-thread objects. It must be safe for concurrent use, because several
// hosts may use it.
type Service interface {
	// Methods returns the methods by their full names, such as "MainThreadFileSystem.$stat": the
	// same ones at each call.
	Methods() map[string]Method
}

// Follower is a [Service] that sends messages to hosts.
type Follower interface {
	Service
	// Up is called when a life of a host is up. What Up sends goes before every call to that life.
	// It must not block.
	Up(h *Host)
	// Down is called when the life of an Up has ended.
	Down(h *Host)
}

// Closer is a [Service] with something to release. Close is called once, after the last Down.
type Closer interface {
	Service
	Close() error
}

// Workbench has the services of one host and the hosts beside it. It must be made with [New]. It is
// safe for concurrent use.
type Workbench struct {
	methods  map[string]Method
	services []Service

	mu  sync.Mutex
	up  map[string]*Host // by the name of the host
	end bool
}

// New returns a workbench with services. It panics if two of them have the same method, or if a
// Method has not exactly one field: both are mistakes of the program.
func New(services ...Service) *Workbench {
	w := &Workbench{methods: map[string]Method{}, services: services, up: map[string]*Host{}}
	for _, s := range services {
		for name, m := range s.Methods() {
			if _, twice := w.methods[name]; twice || m.functions() != 1 {
				panic(fmt.Sprintf("workbench: method %s of %T: exactly one service and one function expected", name, s))
			}
			w.methods[name] = m
		}
	}
	return w
}

// Answering returns the services by the methods that they answer.
func (w *Workbench) Answering() map[string]Service {
	out := map[string]Service{}
	for _, s := range w.services {
		for name := range s.Methods() {
			out[name] = s
		}
	}
	return out
}

// Find returns the first service of type S, or the zero value.
func Find[S Service](w *Workbench) S {
	found, _ := find[S](w)
	return found
}

func find[S Service](w *Workbench) (found S, ok bool) {
	for _, s := range w.services {
		if found, ok = s.(S); ok {
			return found, true
		}
	}
	return found, false
}

// name is the name of the interceptor that has the workbench of a host as its value.
const name = "workbench"

// Of returns the first service of type S of the workbench of a host. The error is
// [extensions.ErrNoExtensions] for a host without one, such as one that is not of VS Code.
func Of[S Service](host *actors.Ref) (S, error) {
	var zero S
	if w, ok := host.Interceptor(name).(*Workbench); ok {
		if s, ok := find[S](w); ok {
			return s, nil
		}
	}
	return zero, fmt.Errorf("%w: %q", extensions.ErrNoExtensions, host.Name())
}

// Interceptor returns the interceptor of one of the hosts. A host must have at most one. guard
// restricts the files that are used for the host; it must be nil only if the host is not confined.
func (w *Workbench) Interceptor(host *actors.Ref, guard Guard) *actors.Interceptor {
	return &actors.Interceptor{
		Name: name, Stage: actors.StageLast, Value: w,
		Up: func(line *actors.Line, publish func()) {
			w.hostUp(&Host{ref: host, line: line, guard: inForce(guard)})
			publish()
		},
		Down:    func(life uint64) { w.hostDown(host.Name(), life) },
		Inbound: func(life uint64, m *codec.Message) actors.Verdict { return w.inbound(host, guard, life, m) },
	}
}

func (w *Workbench) hostUp(h *Host) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.end {
		return
	}
	before := w.up[h.Name()]
	w.up[h.Name()] = h
	for _, s := range w.services {
		if f, ok := s.(Follower); ok {
			if before != nil {
				f.Down(before)
			}
			f.Up(h)
		}
	}
}

func (w *Workbench) hostDown(name string, life uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	h := w.up[name]
	if h == nil || h.Life() != life {
		return
	}
	delete(w.up, name)
	w.down(h)
}

// down tells the followers. The caller must hold mu.
func (w *Workbench) down(h *Host) {
	for _, s := range w.services {
		if f, ok := s.(Follower); ok {
			f.Down(h)
		}
	}
}

func (w *Workbench) inbound(host *actors.Ref, guard Guard, life uint64, m *codec.Message) (v actors.Verdict) {
	if m.Kind != codec.Request {
		return v
	}
	method, ok := w.methods[m.Method]
	if !ok {
		return v
	}
	c := &Call{Host: host, Life: life, Method: m.Method, Guard: inForce(guard), params: m.Params}
	if method.Do != nil {
		v.Handle = func(ctx context.Context, _ *actors.Incoming) (any, error) { return defined(method.Do(ctx, c)) }
		return v
	}
	var result codec.Raw
	err := link.Contain(func() error {
		if method.Begin != nil {
			finish := method.Begin(c)
			v.Handle = func(ctx context.Context, _ *actors.Incoming) (any, error) { return defined(finish(ctx)) }
			return nil
		}
		out, err := method.Now(c)
		if err != nil || out == nil {
			return err
		}
		result, err = host.Encoding().Marshal(out)
		return err
	})
	if err != nil {
		v.Err = err
		return v
	}
	if v.Handle != nil {
		return v
	}
	v.Reply = &codec.Message{Result: result}
	return v
}

// defined returns a result as the host gets it: nil is undefined.
func defined(out any, err error) (any, error) {
	if out == nil && err == nil {
		return Undefined, nil
	}
	return out, err
}

// Close ends the workbench: it calls Down for the lives that are up and closes the services. The
// interceptors must be withdrawn, or their hosts ended.
func (w *Workbench) Close() (err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.end {
		return nil
	}
	w.end = true
	for _, h := range w.up {
		w.down(h)
	}
	clear(w.up)
	for _, s := range w.services {
		if c, ok := s.(Closer); ok {
			if e := c.Close(); err == nil {
				err = e
			}
		}
	}
	return err
}
