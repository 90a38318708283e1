package attach

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/go-hclog"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/supervisor"
)

// Part lets programs attach to the hosts of a supervisor, by its Attach. It is one
// of supervisor.Spec.Parts.
type Part struct {
	// Alone says that the tree is there for the program that attaches, and ends with it:
	// what people are told of a host names no commands that need a supervisor of its own.
	Alone bool

	// Relayed says that the hosts are those of another supervisor, to which each life is a
	// connection, and returns how that one has answered the last opening if it has refused it;
	// nil if it has not. Clients get this answer, and may open the host again. The other
	// supervisor tells people of a start that takes long. nil: the hosts are programs.
	Relayed func() *codec.Error
}

var _ supervisor.Part = Part{}

// Identity implements [supervisor.Part].
func (Part) Identity() (kind, name string) { return "attach", "" }

// Validate implements [supervisor.Part].
func (Part) Validate() error { return nil }

// Open implements [supervisor.Part].
func (p Part) Open(t supervisor.Tree) (*supervisor.Opened, error) {
	h := &hubs{log: t.Log, alone: p.Alone, relayed: p.Relayed, sup: t.Supervisor, hold: t.Hold, hubs: map[*supervisor.Host]*Hub{}, instances: map[*supervisor.Host]*instances{}}
	return &supervisor.Opened{Attach: h.attach, Removed: h.removed, Close: h.close}, nil
}

// hubs are those of one tree.
type hubs struct {
	log   hclog.Logger
	alone bool
	sup   *supervisor.Supervisor
	hold  func(name string, value []byte) (release func()) // takes a value out of what is shown

	relayed func() *codec.Error // see Part

	mu        sync.Mutex
	hubs      map[*supervisor.Host]*Hub       // of hosts that somebody has attached to
	instances map[*supervisor.Host]*instances // of hosts that have some, and that somebody has attached to
}

func (h *hubs) attach(ctx context.Context, host *supervisor.Host, rw io.ReadWriteCloser) error {
	if d := DoorOf(host); d != nil {
		return d.serve(ctx, host.Name(), rw)
	}
	if a, is := ctx.Value(askedKey{}).(*asked); is {
		return h.instance(ctx, host, a)
	}
	name := ""
	if of, is := h.of(host.Name()); is {
		host, name = of, host.Name()
	}
	per := RuleOf(host.Spec()).Instances
	err := misplaced(ctx, host.Name(), per)
	if st := Refused(host.Status()); name == "" && per != Shared && errors.Is(st, supervisor.ErrStopped) {
		err = errors.Join(err, st)
	}
	switch {
	case err != nil:
		_ = rw.Close()
		return err
	case name != "" || per != Shared:
		return h.instancesOf(host).attach(ctx, name, rw)
	}
	hub, err := h.hub(host)
	if err != nil {
		return err
	}
	return h.serve(ctx, host, hub, want{}, rw)
}

// of returns the host of which one of this name is an instance, and whether it is one.
func (h *hubs) of(name string) (*supervisor.Host, bool) {
	of, _, is := strings.Cut(name, "@")
	if !is {
		return nil, false
	}
	host, err := h.sup.Host(of)
	return host, err == nil
}

// instancesOf returns the instances of a host.
func (h *hubs) instancesOf(host *supervisor.Host) *instances {
	h.mu.Lock()
	defer h.mu.Unlock()
	i := h.instances[host]
	if i == nil {
		i = newInstances(h, host)
		h.instances[host] = i
	}
	if u := usageOf(host.Ref()); u != nil {
		u.changed(func() { u.instances = i })
	}
	return i
}

// hub returns the hub of a host, which is made when somebody first attaches.
func (h *hubs) hub(host *supervisor.Host) (*Hub, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if hub := h.hubs[host]; hub != nil {
		return hub, nil
	}
	hub, err := newHub(host, h.log, h)
	if err != nil {
		return nil, err
	}
	h.hubs[host] = hub
	return hub, nil
}

func (h *hubs) removed(ctx context.Context, host *supervisor.Host) error {
	h.mu.Lock()
	all := h.instances[host]
	delete(h.instances, host)
	for _, i := range h.instances {
		i.forget(host.Name())
	}
	h.mu.Unlock()
	var errs []error
	if all != nil {
		all.close()
		all.changing <- struct{}{} // nothing is added or removed any more
		for _, m := range all.all() {
			if err := h.sup.Remove(ctx, m.name); !errors.Is(err, supervisor.ErrNoHost) {
				errs = append(errs, err)
			}
			all.forget(m.name)
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if hub := h.hubs[host]; hub != nil {
		hub.close(fmt.Errorf("%w: %q was removed, or is not the one any more that was attached to", supervisor.ErrNoHost, host.Name()))
	}
	delete(h.hubs, host)
	return errors.Join(errs...)
}

// close ends what instances wait for, at the end of the tree.
func (h *hubs) close() error {
	h.mu.Lock()
	all := slices.Collect(maps.Values(h.instances))
	h.mu.Unlock()
	for _, i := range all {
		i.close()
	}
	return nil
}
