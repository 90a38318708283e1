package supervisor

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/hashicorp/go-hclog"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/lifecycle/record"
	"github.com/hostsup/hostsup/sandbox"
)

// Part is something that a tree has beside its hosts, or does for them, and that
// programs without it do not link: an exec server (package execserver/part),
// programs that share a host (package attach), extensions (package
// extensions/hosted), the inspector of node (package inspect). A Part is a plain
// value; what a running tree holds for it is made by Open.
type Part interface {
	// Identity returns what the part is, such as "exec server", and its name.
	// Names share one space with those of hosts and groups. A tree has at most one
	// part of a kind whose parts have no name ("").
	Identity() (kind, name string)
	// Validate returns what is wrong with the part, without touching the system.
	Validate() error
	// Open makes the part for one tree. Start calls Open before any host starts
	// and returns its error.
	Open(t Tree) (*Opened, error)
}

// Tree is what a [Part] may use of the tree that it is opened for.
type Tree struct {
	// Supervisor is the tree's handle. It must not be used before Added is called.
	Supervisor *Supervisor
	Launcher   *sandbox.Launcher   // starts processes that end with the tree
	Log        hclog.Logger        // values of secrets are taken out of its lines
	Journal    *record.Journal     // the history
	Redact     func(string) string // takes values of secrets out of a text
	// Hold takes a value out of all that is kept and shown of the tree, where the name of the
	// value stands then, until release is called and for a while after that. Values of less
	// than 4 bytes are left alone.
	Hold     func(name string, value []byte) (release func())
	StateDir string // "": the tree keeps nothing on disk
	// Groups are those that the tree begins with; see [FeaturesOf].
	Groups []actors.GroupSpec
}

// Opened is a part in one tree. A field is nil when the part does not have it.
type Opened struct {
	// Props are those of the part's actor. It is spawned once, beside the hosts, and
	// stopped when the tree begins to stop.
	Props *actor.Props
	// Status returns what the status of the tree shows of the part.
	Status func() PartStatus
	// Value is what [Supervisor.Part] returns.
	Value any
	// Attach is what [Supervisor.Attach] does.
	Attach func(ctx context.Context, host *Host, rw io.ReadWriteCloser) error
	// Inspector is what [Supervisor.Inspect], Profile and HeapSnapshot ask.
	Inspector Inspector
	// Extensions is what [Supervisor.Activate] and its like ask.
	Extensions Extensions
	// Added is called with each host of the tree when it has its handle. An error
	// is that of Start or Add.
	Added func(host *Host) error
	// Removed is called when a host was taken out of the tree. An error is that
	// of Remove. Removed, and then Added, are also called when a host gets a
	// configuration with other extensions, another Attach or another protocol.
	Removed func(ctx context.Context, host *Host) error
	// Close gives back what the part holds. It is called once, when the hosts and
	// the part's actor have ended, or when they were never spawned.
	Close func() error
}

// PartStatus is what the status of a tree shows of a part.
type PartStatus struct {
	Kind string
	Name string
	// Detail is what there is to say of the part: a value that becomes a JSON
	// object with a name, or a json.RawMessage when it has come as one.
	Detail any
}

// MarshalJSON writes Detail.
func (p PartStatus) MarshalJSON() ([]byte, error) { return json.Marshal(p.Detail) }

// UnmarshalJSON sets Name and Detail.
func (p *PartStatus) UnmarshalJSON(text []byte) error {
	var named struct {
		Name string `json:"name"`
	}
	if err := json.Unmarshal(text, &named); err != nil {
		return err
	}
	*p = PartStatus{Name: named.Name, Detail: json.RawMessage(append([]byte(nil), text...))}
	return nil
}

// Inspector speaks with the inspectors of hosts that are node. Errors are those of
// [Supervisor.Inspect].
type Inspector interface {
	Inspect(ctx context.Context, host *Host) (*Inspection, error)
	// Profile takes a CPU profile of a life, or with 0 of the one that runs.
	Profile(ctx context.Context, host *Host, life uint64, d time.Duration) ([]byte, error)
	HeapSnapshot(ctx context.Context, host *Host, w io.Writer) error
	// Allocations samples the allocations of a life until ctx ends, and passes the heap profile
	// so far, and a CPU profile since the last time, to take after each interval.
	Allocations(ctx context.Context, host *Host, life uint64, every time.Duration, take func(heap, cpu json.RawMessage)) error
	// NoteCalls makes a life note what [Notes] has, until it ends.
	NoteCalls(ctx context.Context, host *Host, life uint64) (Notes, error)
}

// Notes reads what a life of a host that is node notes of its own code. They can be read after its
// end, until Close, by concurrent callers.
type Notes interface {
	// Blocking returns the stack of the call that stops the event loop now, such as that of
	// execSync, or did when the life ended, and when that began; "" without such a call.
	Blocking() (stack string, since time.Time)
	// Large returns the stack of the latest allocation that may be that of a message of so many
	// bytes; "" without one. Those below 1 MiB are not noted.
	Large(bytes int64) (stack string)
	// Native returns the files of native code, up to 64, that were loaded.
	Native() (files []string)
	Close() error
}

// ErrNoPart means that what was asked for is done by a [Part] that the tree does
// not have.
var ErrNoPart = errors.New("the supervisor has no part that does this")

// openPart is a part of a tree.
type openPart struct {
	kind, name string
	spec       Part
	*Opened
}

// openParts opens the parts of a tree, all or none.
func (t *tree) openParts(specs []Part) error {
	for _, p := range specs {
		kind, name := p.Identity()
		o, err := p.Open(Tree{
			Supervisor: t.sup, Launcher: t.sup.launcher, Log: t.world.Log, Journal: t.world.Journal,
			Redact: t.secrets.Redactor.String, Hold: t.secrets.Redactor.Hold, StateDir: t.sup.spec.StateDir,
			Groups: t.groups,
		})
		if err != nil {
			t.closeParts()
			return err
		}
		t.parts = append(t.parts, openPart{kind, name, p, o})
	}
	return nil
}

// closeParts closes what openParts has opened, what was opened last first.
func (t *tree) closeParts() {
	for _, p := range slices.Backward(t.parts) {
		if p.Close == nil {
			continue
		}
		if err := p.Close(); err != nil {
			t.world.Log.Warn("a part of the tree has not ended well", "part", p.kind, "name", p.name, "error", err)
		}
	}
}

// Part returns the Value of the part of this name, or nil.
func (s *Supervisor) Part(name string) any {
	for _, p := range s.parts {
		if p.name == name {
			return p.Value
		}
	}
	return nil
}

// added tells the parts of a host that has its handle.
func (s *Supervisor) added(h *Host) error {
	for _, p := range s.parts {
		if p.Added == nil {
			continue
		}
		if err := p.Added(h); err != nil {
			return err
		}
	}
	return nil
}

// removed tells the parts of a host that was taken out.
func (s *Supervisor) removed(ctx context.Context, h *Host) error {
	s.mu.Lock()
	if s.handles[h.Name()] == h {
		delete(s.handles, h.Name())
	}
	s.mu.Unlock()
	return s.partsRemove(ctx, h)
}

// partsRemove tells the parts to give up what they keep for a host.
func (s *Supervisor) partsRemove(ctx context.Context, h *Host) error {
	var errs []error
	for _, p := range s.parts {
		if p.Removed != nil {
			errs = append(errs, p.Removed(ctx, h))
		}
	}
	return errors.Join(errs...)
}
