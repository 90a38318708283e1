package workbench

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec"
)

// Host is one life of a host that is up.
type Host struct {
	ref   *actors.Ref
	line  *actors.Line
	guard Guard
}

// Name returns the name of the host.
func (h *Host) Name() string { return h.ref.Name() }

// Life returns the number of the life.
func (h *Host) Life() uint64 { return h.line.Life() }

// Ref returns the host itself.
func (h *Host) Ref() *actors.Ref { return h.ref }

// Guard restricts the files that are used for the host; nil if it is not confined.
func (h *Host) Guard() Guard { return h.guard }

// Params encodes arguments once for [Host.Tell] to several hosts. It panics if one cannot be
// encoded, which is a mistake of the program.
func Params(args ...any) codec.Raw {
	if args == nil {
		args = []any{}
	}
	raw, err := json.Marshal(args)
	if err != nil {
		panic("workbench: " + err.Error())
	}
	return raw
}

// Tell sends a notification: the answer of the host is ignored. It does not block, also if the host
// does not read. A life that has ended gets nothing.
func (h *Host) Tell(method string, params codec.Raw) {
	// The error is the end of the connection, which Down reports too.
	_ = h.line.Tell(method, params)
}

// Call calls the life and waits for its answer, as [actors.Line.Call].
func (h *Host) Call(ctx context.Context, method string, params codec.Raw, out any) error {
	return h.line.Call(ctx, method, params, out)
}

// Hosts is a set of hosts for a [Follower], by their names. The service guards it with its own lock.
type Hosts map[string]*Host

// Enter locks mu, the lock of the service, and adds a host. It returns the function that unlocks mu, so
// that Up of the service begins with
//
//	defer s.hosts.Enter(&s.mu, h)()
func (l *Hosts) Enter(mu sync.Locker, h *Host) (unlock func()) {
	mu.Lock()
	if *l == nil {
		*l = Hosts{}
	}
	(*l)[h.Name()] = h
	return mu.Unlock
}

// Leave locks mu, the lock of the service, and removes a host if it is the one that was added last by its
// name. It returns the function that unlocks mu, so that Down of the service begins with
//
//	defer s.hosts.Leave(&s.mu, h)()
func (l *Hosts) Leave(mu sync.Locker, h *Host) (unlock func()) {
	mu.Lock()
	if (*l)[h.Name()] == h {
		delete(*l, h.Name())
	}
	return mu.Unlock
}

// Of returns the host of a call. The error means that the life that made it is not up. The caller must
// hold the lock of the service.
func (l Hosts) Of(c *Call) (*Host, error) {
	h := l[c.Host.Name()]
	if h == nil || h.Life() != c.Life {
		return nil, Invalid("the host is not up")
	}
	return h, nil
}

// Tell sends a notification to all hosts.
func (l Hosts) Tell(method string, params codec.Raw) {
	for _, h := range l {
		h.Tell(method, params)
	}
}
