package attach

import (
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/hashicorp/go-hclog"

	"github.com/hostsup/hostsup/supervisor"
)

// Part lets programs attach to the hosts of a supervisor, by its Attach. It is one
// of supervisor.Spec.Parts.
type Part struct {
	// Alone says that the tree is there for the program that attaches, and ends with it:
	// what people are told of a host names no commands that need a supervisor of its own.
	Alone bool
}

var _ supervisor.Part = Part{}

// Identity implements [supervisor.Part].
func (Part) Identity() (kind, name string) { return "attach", "" }

// Validate implements [supervisor.Part].
func (Part) Validate() error { return nil }

// Open implements [supervisor.Part].
func (p Part) Open(t supervisor.Tree) (*supervisor.Opened, error) {
	h := &hubs{log: t.Log, alone: p.Alone, of: map[*supervisor.Host]*Hub{}}
	return &supervisor.Opened{Attach: h.attach, Removed: h.removed}, nil
}

// hubs are those of one tree.
type hubs struct {
	log   hclog.Logger
	alone bool

	mu sync.Mutex
	of map[*supervisor.Host]*Hub // of hosts that somebody has attached to
}

func (h *hubs) attach(ctx context.Context, host *supervisor.Host, rw io.ReadWriteCloser) error {
	hub, err := h.hub(host)
	if err != nil {
		return err
	}
	return hub.Serve(ctx, rw)
}

// hub returns the hub of a host, which is made when somebody first attaches.
func (h *hubs) hub(host *supervisor.Host) (*Hub, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if hub := h.of[host]; hub != nil {
		return hub, nil
	}
	hub, err := newHub(host, h.log, h.alone)
	if err != nil {
		return nil, err
	}
	h.of[host] = hub
	return hub, nil
}

func (h *hubs) removed(_ context.Context, host *supervisor.Host) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if hub := h.of[host]; hub != nil {
		hub.close(fmt.Errorf("%w: %q was removed, or is not the one any more that was attached to", supervisor.ErrNoHost, host.Name()))
	}
	delete(h.of, host)
	return nil
}
