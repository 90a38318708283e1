package supervisor

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/hashicorp/go-hclog"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/execserver/server"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/sandbox"
)

// ExecServerSpec is an exec server that runs beside the hosts, in the same
// tree: it runs commands for clients, and everything it runs ends with the tree.
type ExecServerSpec struct {
	Name string // shares one space of names with hosts and groups
	// Options are those of package server. Launcher is the tree's, and so is Log
	// where there is none; Env is made of the two below; Listen stdio is refused.
	Options server.Options
	// Env is added to what InheritEnv names of this program's environment: what
	// clients can have their commands inherit. A nil InheritEnv is all of it.
	Env        map[string]string
	InheritEnv []string
	// Backoff spaces the restarts of a server that has ended by itself, which is
	// tried again for as long as the tree runs. The zero value is the default of
	// hosts.
	Backoff lifecycle.Backoff
}

// ExecServerError is what is wrong with an exec server. Start has it for one
// that cannot listen; unwrapping it tells an address in use (syscall.EADDRINUSE)
// from others.
type ExecServerError struct {
	Name string
	Err  error
}

func (e *ExecServerError) Error() string { return fmt.Sprintf("exec server %q: %v", e.Name, e.Err) }

// Unwrap returns Err.
func (e *ExecServerError) Unwrap() error { return e.Err }

// KindExecServer is the kind of events that tell how an exec server fares.
const KindExecServer = "exec_server"

// ExecServerStatus is one exec server as `status --json` shows it.
type ExecServerStatus struct {
	Name           string                 `json:"name"`
	URL            string                 `json:"url"`
	State          lifecycle.State        `json:"state"` // starting, running, restarting, stopping, stopped
	Reason         *string                `json:"reason"`
	Since          time.Time              `json:"since"`
	Restarts       uint64                 `json:"restarts"`
	RetryInSeconds *float64               `json:"retry_in_seconds"` // restarting: until it is tried again
	Sessions       []server.SessionStatus `json:"sessions"`
	Metrics        server.Metrics         `json:"metrics"` // over all its restarts
}

func (s ExecServerSpec) withDefaults() ExecServerSpec {
	if s.Backoff == (lifecycle.Backoff{}) {
		s.Backoff = lifecycle.DefaultRestart().Backoff
	}
	return s
}

// validate says what is wrong with it, without listening.
func (s ExecServerSpec) validate() error {
	if err := actors.CheckName(s.Name); err != nil {
		return err
	}
	err := s.Options.Validate()
	if err == nil && strings.HasPrefix(s.Options.Listen, string(server.Stdio)) {
		err = errors.New("listen stdio: the standard streams are the supervisor's")
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrSpec, &ExecServerError{s.Name, err})
	}
	return nil
}

// environment is what its commands can inherit of own.
func (s ExecServerSpec) environment(own []string) []string {
	out := []string{}
	for _, kv := range own {
		name, _, _ := strings.Cut(kv, "=")
		_, set := s.Env[name]
		if !set && (s.InheritEnv == nil || slices.Contains(s.InheritEnv, name)) {
			out = append(out, kv)
		}
	}
	for name, value := range s.Env {
		out = append(out, name+"="+value)
	}
	return out
}

// execServer is one exec server of a tree, over all its restarts.
type execServer struct {
	spec  ExecServerSpec
	log   hclog.Logger
	event func(reason string)

	mu       sync.Mutex
	srv      *server.Server // the one in force; nil: none
	url      string
	state    lifecycle.State
	reason   string
	since    time.Time
	retry    time.Time // of the next try; zero: none is due
	restarts uint64
	past     server.Metrics // of those before
}

// newExecServer listens; serving begins when its actor runs.
func (t *tree) newExecServer(spec ExecServerSpec, l *sandbox.Launcher) (*execServer, error) {
	w := t.world
	e := &execServer{
		spec: spec, log: w.Log.Named("exec-server").With("name", spec.Name), state: lifecycle.Starting, since: time.Now(),
		event: func(reason string) {
			w.Journal.Write(Event{Kind: KindExecServer, Reason: fmt.Sprintf("%s: %s", spec.Name, reason)})
		},
	}
	o := &e.spec.Options
	o.Launcher = l
	if o.Log == nil {
		o.Log = e.log
	}
	o.Env = spec.environment(os.Environ())
	srv, err := server.New(*o)
	if err != nil {
		return nil, &ExecServerError{spec.Name, err}
	}
	e.srv, e.url = srv, srv.URL()
	o.Listen = e.url // where it has come to be it stays
	return e, nil
}

// set changes what is told of the server.
func (e *execServer) set(state lifecycle.State, reason string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.state, e.reason, e.since, e.retry = state, reason, time.Now(), time.Time{}
}

// current is the server in force, or nil.
func (e *execServer) current() *server.Server {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.srv
}

// status is a copy of its state.
func (e *execServer) status() ExecServerStatus {
	e.mu.Lock()
	st := ExecServerStatus{Name: e.spec.Name, URL: e.url, State: e.state, Since: e.since, Restarts: e.restarts,
		Sessions: []server.SessionStatus{}, Metrics: e.past}
	if e.reason != "" {
		reason := e.reason
		st.Reason = &reason
	}
	if !e.retry.IsZero() {
		in := max(0, time.Until(e.retry).Seconds())
		st.RetryInSeconds = &in
	}
	srv := e.srv
	e.mu.Unlock()
	if srv != nil {
		now := srv.Status()
		st.Sessions, st.Metrics = now.Sessions, st.Metrics.Add(now.Metrics)
	}
	return st
}

// Messages to the actor of an exec server.
type (
	execEnded struct{ srv *server.Server }
	execRetry struct{}
)

// execKeeper is the actor above an exec server: it makes another one when that
// has ended by itself.
type execKeeper struct {
	*execServer
	streak   int // ends since it was last well
	up       time.Time
	timer    *time.Timer
	stopping bool
}

// Receive implements actor.Actor.
func (k *execKeeper) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *actor.Started:
		k.serve(ctx, k.current())
	case *execEnded:
		k.ended(ctx, m.srv)
	case *execRetry:
		k.again(ctx)
	case *actor.Stopping:
		k.stopping = true
		if k.timer != nil {
			k.timer.Stop()
		}
		k.set(lifecycle.Stopping, "")
	}
}

// serve has the server's actor run below this one.
func (k *execKeeper) serve(ctx actor.Context, srv *server.Server) {
	if _, err := ctx.SpawnNamed(srv.Props(ctx.ActorSystem()), fmt.Sprintf("server-%d", k.restarts+1)); err != nil { // never: the names differ
		k.failed(ctx, errors.Join(err, srv.Discard()))
		return
	}
	k.up = time.Now()
	k.set(lifecycle.Running, "")
	k.event("listening at " + srv.URL())
	self, root := ctx.Self(), ctx.ActorSystem().Root
	go func() { // ends with the server
		<-srv.Done()
		root.Send(self, &execEnded{srv})
	}()
}

// ended comes when a server has ended, with all that it ran.
func (k *execKeeper) ended(ctx actor.Context, srv *server.Server) {
	if k.stopping {
		return
	}
	if k.up.Add(k.spec.Backoff.Healthy).Before(time.Now()) {
		k.streak = 0
	}
	err := srv.Err()
	if err == nil {
		err = errors.New("it ended, which nobody had asked for")
	}
	k.mu.Lock()
	k.past, k.srv = k.past.Add(srv.Metrics().Ended()), nil
	k.mu.Unlock()
	k.failed(ctx, err)
}

// failed has it tried again, as soon as the rule says.
func (k *execKeeper) failed(ctx actor.Context, why error) {
	wait := k.spec.Backoff.Delay(k.streak, rand.Float64())
	k.streak++
	k.log.Error("the exec server has ended and is started again", "error", why, "in", wait)
	k.event(fmt.Sprintf("%v: again in %v", why, wait.Round(time.Millisecond)))
	k.set(lifecycle.Restarting, why.Error())
	k.mu.Lock()
	k.retry = time.Now().Add(wait)
	k.mu.Unlock()
	self, root := ctx.Self(), ctx.ActorSystem().Root
	k.timer = time.AfterFunc(wait, func() { root.Send(self, &execRetry{}) })
}

// again makes another server, at the address of the first.
func (k *execKeeper) again(ctx actor.Context) {
	if k.stopping {
		return
	}
	srv, err := server.New(k.spec.Options)
	if err != nil {
		k.failed(ctx, err)
		return
	}
	k.mu.Lock()
	k.srv = srv
	k.restarts++
	k.mu.Unlock()
	k.serve(ctx, srv)
}
