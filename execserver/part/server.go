package part

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/hashicorp/go-hclog"

	"github.com/hostsup/hostsup/execserver/server"
	"github.com/hostsup/hostsup/internal/safeactor"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/supervisor"
)

// ExecServer is one exec server of a tree, over all its restarts. Safe for
// concurrent use.
type ExecServer struct {
	spec  Spec
	log   hclog.Logger
	event func(reason string)

	mu       sync.Mutex
	srv      *server.Server // the current one, or nil
	run      bool           // the actor runs, or has
	url      string
	state    lifecycle.State
	reason   string
	since    time.Time
	retry    time.Time // of the next attempt; zero when none is due
	restarts uint64
	past     server.Metrics // of those before
}

// open listens; serving begins when the actor runs.
func open(spec Spec, t supervisor.Tree) (*ExecServer, error) {
	e := &ExecServer{
		spec: spec, log: t.Log.Named("exec-server").With("name", spec.Name), state: lifecycle.Starting, since: time.Now(),
		event: func(reason string) {
			t.Journal.Write(supervisor.Event{Kind: KindEvent, Reason: spec.Name + ": " + reason})
		},
	}
	o := &e.spec.Options
	o.Launcher = t.Launcher
	if o.Log == nil {
		o.Log = e.log
	}
	o.Env = spec.environment(os.Environ())
	srv, err := server.New(*o)
	if err != nil {
		return nil, &Error{spec.Name, err}
	}
	e.srv, e.url = srv, srv.URL()
	o.Listen = e.url // restarts keep the port that was chosen
	return e, nil
}

// Of returns the exec server of this name in the tree of a supervisor. The error
// is an [*Error] and wraps supervisor.ErrNoHost.
func Of(sup *supervisor.Supervisor, name string) (*ExecServer, error) {
	if e, ok := sup.Part(name).(*ExecServer); ok {
		return e, nil
	}
	return nil, &Error{name, supervisor.ErrNoHost}
}

// Server returns the server that runs now. It is another one after a restart.
// The error is an [*Error], and wraps supervisor.ErrClosed, when none runs at the
// moment.
func (e *ExecServer) Server() (*server.Server, error) {
	if srv := e.current(); srv != nil {
		return srv, nil
	}
	return nil, &Error{e.spec.Name, supervisor.ErrClosed}
}

// props are those of the actor above the server.
func (e *ExecServer) props() *actor.Props {
	return safeactor.Props(e.log, func() actor.Actor { return &restarter{ExecServer: e} },
		actor.WithSupervisor(supervisor.Contain{Log: e.log, Level: "exec server"}))
}

// close waits for the end of a server whose actor has stopped, or gives back what
// one held that has never run.
func (e *ExecServer) close() error {
	var err error
	e.mu.Lock()
	srv, run := e.srv, e.run
	e.mu.Unlock()
	switch {
	case srv != nil && run:
		<-srv.Done()
	case srv != nil:
		err = srv.Discard()
	}
	e.set(lifecycle.Stopped, "")
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.srv != nil {
		e.past = e.past.Add(e.srv.Metrics().Ended())
	}
	e.srv = nil
	return err
}

// set changes the state that Status reports.
func (e *ExecServer) set(state lifecycle.State, reason string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.state, e.reason, e.since, e.retry = state, reason, time.Now(), time.Time{}
}

// current returns the current server, or nil.
func (e *ExecServer) current() *server.Server {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.srv
}

// Status returns what there is to say of the server now.
func (e *ExecServer) Status() Status {
	e.mu.Lock()
	st := Status{Name: e.spec.Name, URL: e.url, State: e.state, Since: e.since, Restarts: e.restarts,
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
	serverEnded struct{ srv *server.Server }
	retryNow    struct{}
)

// restarter is the actor above an exec server: it makes another one when that has
// ended by itself.
type restarter struct {
	*ExecServer
	streak   int // ends since it was last healthy
	up       time.Time
	timer    *time.Timer
	stopping bool
}

// Receive implements actor.Actor.
func (r *restarter) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *actor.Started:
		r.mu.Lock()
		r.run = true
		r.mu.Unlock()
		r.serve(ctx, r.current())
	case *serverEnded:
		r.ended(ctx, m.srv)
	case *retryNow:
		r.again(ctx)
	case *actor.Stopping:
		r.stopping = true
		if r.timer != nil {
			r.timer.Stop()
		}
		r.set(lifecycle.Stopping, "")
	}
}

// serve has the server's actor run below this one.
func (r *restarter) serve(ctx actor.Context, srv *server.Server) {
	if _, err := ctx.SpawnNamed(srv.Props(ctx.ActorSystem()), fmt.Sprintf("server-%d", r.restarts+1)); err != nil { // never: the names differ
		r.failed(ctx, errors.Join(err, srv.Discard()))
		return
	}
	r.up = time.Now()
	r.set(lifecycle.Running, "")
	r.event("listening at " + srv.URL())
	self, root := ctx.Self(), ctx.ActorSystem().Root
	go func() { // ends with the server
		<-srv.Done()
		root.Send(self, &serverEnded{srv})
	}()
}

// ended comes when a server has ended, with all that it ran.
func (r *restarter) ended(ctx actor.Context, srv *server.Server) {
	if r.stopping {
		return
	}
	if r.up.Add(r.spec.Backoff.Healthy).Before(time.Now()) {
		r.streak = 0
	}
	err := srv.Err()
	if err == nil {
		err = errors.New("it ended unexpectedly")
	}
	r.mu.Lock()
	r.past, r.srv = r.past.Add(srv.Metrics().Ended()), nil
	r.mu.Unlock()
	r.failed(ctx, err)
}

// failed schedules another attempt after the back-off.
func (r *restarter) failed(ctx actor.Context, why error) {
	wait := r.spec.Backoff.Delay(r.streak, rand.Float64())
	r.streak++
	r.log.Error("the exec server has ended and is started again", "error", why, "in", wait)
	r.event(fmt.Sprintf("%v: again in %v", why, wait.Round(time.Millisecond)))
	r.set(lifecycle.Restarting, why.Error())
	r.mu.Lock()
	r.retry = time.Now().Add(wait)
	r.mu.Unlock()
	self, root := ctx.Self(), ctx.ActorSystem().Root
	r.timer = time.AfterFunc(wait, func() { root.Send(self, &retryNow{}) })
}

// again makes another server at the address of the first.
func (r *restarter) again(ctx actor.Context) {
	if r.stopping {
		return
	}
	srv, err := server.New(r.spec.Options)
	if err != nil {
		r.failed(ctx, err)
		return
	}
	r.mu.Lock()
	r.srv = srv
	r.restarts++
	r.mu.Unlock()
	r.serve(ctx, srv)
}
