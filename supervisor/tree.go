package supervisor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/hashicorp/go-hclog"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/intercept/secret"
	"github.com/hostsup/hostsup/internal/reports"
	"github.com/hostsup/hostsup/internal/sys"
	"github.com/hostsup/hostsup/internal/version"
	"github.com/hostsup/hostsup/lifecycle/record"
	"github.com/hostsup/hostsup/sandbox"
)

// tree is a Supervisor before it runs.
type tree struct {
	sup        *Supervisor
	world      *actors.World
	groups     []actors.GroupSpec // until there are props
	secrets    secret.Tree
	notify     func(Notification) // may be nil
	evidence   Evidence           // may be nil
	parts      []openPart
	extended   string        // a host that has extensions; "": none has
	spawned    chan struct{} // closed once sup.root may be used
	state      *os.File      // the locked state folder; nil without one
	endJournal func() error  // may be nil
	told       chan struct{} // closed when nobody is told of events any more
}

func newTree(spec Spec, opts []Option) (*tree, error) {
	var o options
	for _, opt := range opts {
		opt(&o)
	}
	if o.log == nil {
		o.log = hclog.NewNullLogger()
	}
	spec = spec.WithDefaults()
	if err := spec.Validate(); err != nil {
		return nil, err
	}
	var state *os.File
	if spec.StateDir != "" {
		var err error
		if state, err = lockState(spec.StateDir); err != nil {
			return nil, err
		}
	}
	t, err := newLockedTree(spec, o)
	if err != nil {
		if state != nil {
			err = errors.Join(err, sys.Unlock(state))
		}
		return nil, err
	}
	t.state = state
	t.tell(o.events)
	return t, nil
}

// newLockedTree is newTree once the state folder is this tree's own.
func newLockedTree(spec Spec, o options) (*tree, error) {
	var source secret.Source
	if spec.Secrets != nil {
		var err error
		if source, err = spec.Secrets.Open(); err != nil {
			return nil, fmt.Errorf("%w: secrets: %w", ErrSpec, err)
		}
	}
	launcher, err := sandbox.NewLauncher(sandbox.Options{Kill: o.kill, Users: spec.Users})
	if err != nil {
		return nil, fmt.Errorf("processes cannot be started here: %w", err)
	}
	redactor := secret.NewRedactor(spec.SecretCache)
	o.log = redactedLog(o.log, redactor)
	w := &actors.World{
		Env: o.env, Wires: o.wires, System: o.system, Packer: o.packer, Log: o.log, Launcher: launcher, Journal: record.NewJournal(o.env), Version: version.Version(),
		Advice: o.advice, MaxStarting: spec.MaxStarting, Redactor: redactor, Withheld: []string{"HOSTSUP_SOCKET", secret.IdentityEnv},
		Strategies: actors.Strategies{
			Root: Contain{o.log, "group, or a part of the tree,"}, Group: Contain{o.log, "host"}, Host: Restart{}, Life: Contain{o.log, "part of a life"},
		},
	}
	if o.starts != nil {
		w.Launcher = o.starts
	}
	w.Journal.Redact(redactor)
	var endJournal func() error
	if o.journal != nil {
		w.SystemJournal, endJournal = o.journal, o.journal.Close
	}
	crashes := ""
	if spec.StateDir != "" {
		w.StateDir = spec.StateDir
		w.LogDir, crashes = filepath.Join(spec.StateDir, "logs"), filepath.Join(spec.StateDir, "crashes")
	}
	if o.evidence != nil {
		w.Reports, err = o.evidence.Open(crashes, w)
	} else {
		w.Reports, err = reports.Open[CrashReport](crashes, reports.Options{OnError: func(err error) { o.log.Warn("crash reports", "error", err) }})
	}
	if err != nil {
		return nil, errors.Join(err, launcher.Close())
	}
	undo := func(err error) error { return errors.Join(err, launcher.Close(), w.Reports.Close()) }
	t := &tree{world: w, endJournal: endJournal, spawned: make(chan struct{}), notify: o.notify, evidence: o.evidence, secrets: secret.Tree{
		Store: secret.Open(source, spec.SecretCache), Redactor: redactor, Hosts: w.Refs,
	}}
	w.Interceptors = func(host *actors.Ref) []*actors.Interceptor { // of a host that a message of package actors adds
		return t.chain(specOf(host))(host)
	}
	groups := make([]actors.GroupSpec, len(spec.Groups))
	for i, g := range spec.Groups {
		groups[i] = actors.GroupSpec{Name: g.Name, Strategy: g.Strategy, Hosts: make([]actors.HostSpec, len(g.Hosts))}
		for j := range g.Hosts {
			h := &g.Hosts[j]
			if err := checkLog(w, h); err != nil {
				return nil, undo(err)
			}
			if h.Extensions != nil {
				t.extended = h.Name
			}
			groups[i].Hosts[j] = t.core(sharing(*h))
			launcher.Announce(h.Name, h.Sandbox)
		}
	}
	t.groups = groups
	parts := spec.Parts
	spec.Groups, spec.Parts = nil, nil // the hosts have their own copies; these would only take memory
	t.sup = &Supervisor{world: w, launcher: launcher, spec: spec, started: time.Now(), done: make(chan struct{}), core: t.core, handles: make(map[string]*Host), applying: make(chan struct{}, 1)}
	if err := t.openParts(parts); err != nil {
		return nil, undo(err)
	}
	t.sup.parts = t.parts
	return t, nil
}

// core returns a host as package actors makes it.
func (t *tree) core(h HostSpec) actors.HostSpec {
	return actors.HostSpec{Spec: h.core(), Interceptors: t.chain(h), Origin: h.rest()}
}

// tell hands events to f as long as there are any. f may be nil.
func (t *tree) tell(f func(Event)) {
	t.told = make(chan struct{})
	if f == nil {
		close(t.told)
		return
	}
	go func() { // ends with the journal
		defer close(t.told)
		for e := range t.world.Journal.Events(context.Background(), 0, true) {
			f(e)
		}
	}()
}

// props are those of the root actor; they are to be spawned once.
func (t *tree) props() *actor.Props {
	groups := t.groups
	t.groups = nil
	spec := actors.RootSpec{Groups: groups, OnFailed: t.onFailed, OnEnd: t.close}
	for _, p := range t.parts {
		if p.Props != nil {
			spec.Parts = append(spec.Parts, actors.PartSpec{Name: p.name, Props: p.Props})
		}
	}
	return actors.NewRoot(t.world, spec)
}

// isApart reports whether a host is one for extensions that were put apart: the
// tree can do without it.
func (s *Supervisor) isApart(host string) bool {
	return slices.ContainsFunc(s.parts, func(p openPart) bool { return p.Extensions != nil && p.Extensions.IsApart(host) })
}

func (t *tree) onFailed(group, host, reason string) {
	t.sup.mu.Lock()
	stays := t.sup.spec.OnFailed != Exit
	t.sup.mu.Unlock()
	if stays || t.sup.isApart(host) || IsSpare(host) {
		return
	}
	t.sup.mu.Lock()
	if t.sup.err == nil {
		t.sup.err = fmt.Errorf("%w: %s: %s", ErrHostFailed, host, reason)
	}
	t.sup.mu.Unlock()
	go func() { // ends with the tree at the latest
		<-t.spawned
		_ = t.sup.Stop(context.Background())
	}()
}

// close gives back what the tree held. The actors are gone.
func (t *tree) close() {
	t.closeParts()
	if err := t.world.Close(); err != nil {
		t.world.Log.Warn("temporary files", "error", err)
	}
	if err := t.sup.launcher.Close(); err != nil {
		t.world.Log.Error("process trees", "error", err)
		t.sup.mu.Lock()
		t.sup.left = err
		t.sup.mu.Unlock()
	}
	if err := t.world.Reports.Close(); err != nil {
		t.world.Log.Error("crash reports", "error", err)
	}
	if t.endJournal != nil {
		_ = t.endJournal() // what the journal does not take has been counted
	}
	t.world.Journal.Close()
	<-t.told
	t.secrets.Store.Close()
	t.secrets.Redactor.Close()
	_ = sys.Unlock(t.state) // last; nil is an error that changes nothing
	close(t.sup.done)
}
