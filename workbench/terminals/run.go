package terminals

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"

	"github.com/hostsup/hostsup/workbench"
)

// maxPlanned bounds the tasks that are about to be executed.
const maxPlanned = 100

// plannedKey names a task that a life is about to execute.
type plannedKey struct {
	host string
	life uint64
	id   string
}

// answer is the part of a [workbench.Method] that answers on a goroutine.
type answer = func(ctx context.Context) (any, error)

func failing(err error) answer { return func(context.Context) (any, error) { return nil, err } }

// execution answers $getTaskExecution, which hosts call before $executeTask. What cannot run is an error
// here: hosts ignore that of $executeTask.
func (s *Service) execution(c *workbench.Call) answer {
	e, d, err := s.executionOf(c)
	if err != nil {
		return failing(err)
	}
	return func(ctx context.Context) (any, error) {
		of, err := s.plan(ctx, c, e)
		if err != nil {
			return nil, err
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.tasks[e.ID] != nil {
			return nil, isRunning(d.Name)
		}
		if len(s.planned) >= maxPlanned { // of extensions that did not go on
			clear(s.planned)
		}
		s.planned[plannedKey{c.Host.Name(), c.Life, e.ID}] = of
		return e, nil
	}
}

func isRunning(name string) error {
	return workbench.Invalid("tasks.executeTask: the task %q is running already", name)
}

// execute answers $executeTask. A task that runs already is not started again. One that is planned starts
// before the next call of the host.
func (s *Service) execute(c *workbench.Call) answer {
	e, _, err := s.executionOf(c)
	if err != nil {
		return failing(err)
	}
	key := plannedKey{c.Host.Name(), c.Life, e.ID}
	s.mu.Lock()
	of := s.planned[key]
	delete(s.planned, key)
	s.mu.Unlock()
	if of != nil {
		err := s.run(c, of)
		return func(context.Context) (any, error) { return e, err }
	}
	return func(ctx context.Context) (any, error) {
		of, err := s.plan(ctx, c, e)
		if err == nil {
			err = s.run(c, of)
		}
		return e, err
	}
}

// run starts a task, or first those that it depends on.
func (s *Service) run(c *workbench.Call, of *step) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tasks[of.e.ID] != nil {
		return isRunning(of.d.Name)
	}
	if len(of.before) == 0 {
		_, err := s.launch(c, of)
		return err
	}
	if s.ended {
		return workbench.NotSupported("tasks.executeTask", "the supervisor is ending")
	}
	waiting, cancel := context.WithCancel(context.Background())
	root := &task{id: of.e.ID, cancel: cancel, done: make(chan struct{}), host: c.Host.Name(), life: c.Life}
	s.tasks[of.e.ID] = root
	s.work.Add(1)
	c.Host.Background(func() {
		defer s.work.Done()
		defer cancel()
		s.follow(waiting, c, of, root)
	})
	return nil
}

// follow runs the tasks that a task depends on, and then the task itself. It does not run if one of
// them fails.
func (s *Service) follow(ctx context.Context, c *workbench.Call, of *step, root *task) {
	r := &runner{s: s, c: c, begun: map[string]*future{}}
	err := r.all(ctx, of.before, of.sequence)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.tasks, root.id)
	switch {
	case ctx.Err() != nil:
		err = errors.New("it was terminated while it waited for others")
	case err == nil && !s.isUp(c):
		err = fmt.Errorf("host %q has ended", c.Host.Name())
	}
	switch {
	case err == nil && of.empty:
		s.hosts.Tell(extTask+"$onDidStartTask", workbench.Params(of.e, 0, of.d.Definition))
	case err == nil:
		if _, err = s.launch(c, of); err == nil {
			return
		}
	}
	if err != nil {
		s.opt.Log(fmt.Sprintf("task %q was not run: %v", of.d.Name, err))
	}
	s.hosts.Tell(extTask+"$OnDidEndTask", workbench.Params(of.e))
}

// isUp reports whether the life that made a call is up. The caller must hold mu.
func (s *Service) isUp(c *workbench.Call) bool {
	h := s.hosts[c.Host.Name()]
	return h != nil && h.Life() == c.Life
}

// runner runs the tasks that a task depends on, each of them once.
type runner struct {
	s *Service
	c *workbench.Call

	mu    sync.Mutex
	begun map[string]*future // by id
}

// future is the end of a task.
type future struct {
	done chan struct{} // closed when it has ended
	err  error         // is set before
}

// all runs steps: at the same time, or one after the other. It returns when all have ended, or with the error
// of one that has failed; those after it in a sequence do not begin.
func (r *runner) all(ctx context.Context, steps []*step, sequence bool) error {
	if sequence {
		for _, of := range steps {
			if err := r.one(ctx, of); err != nil {
				return err
			}
		}
		return nil
	}
	var all sync.WaitGroup
	errs := make([]error, len(steps))
	for i, of := range steps {
		all.Go(func() { errs[i] = r.one(ctx, of) })
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// one runs a step after those that it depends on, or waits for it.
func (r *runner) one(ctx context.Context, of *step) error {
	r.mu.Lock()
	f := r.begun[of.e.ID]
	if f != nil {
		r.mu.Unlock()
		<-f.done // its goroutine ends with ctx too
		return f.err
	}
	f = &future{done: make(chan struct{})}
	r.begun[of.e.ID] = f
	r.mu.Unlock()
	defer close(f.done)
	if f.err = r.all(ctx, of.before, of.sequence); f.err != nil || of.empty {
		return f.err
	}
	t, own, err := r.begin(ctx, of)
	if f.err = err; err != nil {
		return err
	}
	var ready <-chan struct{}
	if of.d.IsBackground {
		ready = t.ready
	}
	select {
	case <-ready:
	case <-t.done:
		if t.code == nil || *t.code != 0 {
			f.err = fmt.Errorf("a task that it depends on, %q, has failed", of.d.Name)
		}
	case <-ctx.Done():
		f.err = ctx.Err()
		r.s.mu.Lock()
		defer r.s.mu.Unlock()
		if own {
			t.terminal.end(reasonExtension, nil) // has no effect if it has ended
		}
	}
	return f.err
}

// begin starts a task that another depends on; own is false if it runs already.
func (r *runner) begin(ctx context.Context, of *step) (t *task, own bool, err error) {
	s := r.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, false, err
	}
	if !s.isUp(r.c) {
		return nil, false, fmt.Errorf("host %q has ended", r.c.Host.Name())
	}
	if t := s.tasks[of.e.ID]; t != nil && t.terminal != nil {
		return t, false, nil
	} else if t != nil {
		return nil, false, fmt.Errorf("the task %q waits for others", of.d.Name)
	}
	t, err = s.launch(r.c, of)
	return t, true, err
}

// launch starts a task. The caller must hold mu.
func (s *Service) launch(c *workbench.Call, of *step) (*task, error) {
	e, d := of.e, of.d
	t := &terminal{name: d.Name, host: c.Host, life: c.Life, program: of.program, custom: of.custom}
	if of.custom && of.host != nil {
		t.host, t.life = of.host.Ref(), of.host.Life()
		if s.hosts[of.host.Name()] != of.host {
			return nil, workbench.Invalid("tasks.executeTask: the host %q that plays the task %q has ended", of.host.Name(), d.Name)
		}
	}
	running := &task{id: e.ID, terminal: t, done: make(chan struct{}), host: t.host.Name(), life: t.life}
	t.started = func(pid int) {
		s.hosts.Tell(extTask+"$onDidStartTaskProcess", workbench.Params(map[string]any{"id": e.ID, "processId": pid}))
	}
	if len(of.matchers) > 0 {
		t.matching = s.newMatching(e, d.Name, of.matchers, c.Guard)
		if of.watches() {
			running.ready = t.matching.ready
		}
	}
	t.closed = func(code *int) {
		delete(s.tasks, e.ID)
		if t.matching != nil {
			t.matching.end()
		}
		running.code = code
		close(running.done)
		end := map[string]any{"id": e.ID}
		if code != nil {
			end["exitCode"] = *code
		}
		s.hosts.Tell(extTask+"$onDidEndTaskProcess", workbench.Params(end))
		s.hosts.Tell(extTask+"$OnDidEndTask", workbench.Params(e))
	}
	if t.custom {
		// The host attaches its terminal when it is told of the start of the task.
		t.kick, t.stop = make(chan struct{}, 1), make(chan struct{})
		if err := s.open(t); err != nil {
			return nil, err
		}
	} else if err := s.begin(t); err != nil {
		return nil, err
	}
	s.tasks[e.ID] = running
	if m := t.matching; m != nil {
		s.work.Add(1)
		t.host.Background(func() {
			defer s.work.Done()
			m.run()
		})
	}
	s.hosts.Tell(extTask+"$onDidStartTask", workbench.Params(e, t.id, d.Definition))
	if h := s.hosts[t.host.Name()]; t.custom && h != nil {
		h.Tell(extTerminals+"$startExtensionTerminal", workbench.Params(t.id, map[string]int{"columns": cols, "rows": rows}))
	}
	return running, nil
}

// cancelTasks ends the waiting of tasks for others. life is nil for all. The caller must hold mu.
func (s *Service) cancelTasks(life *workbench.Host) {
	for _, t := range s.tasks {
		if t.cancel != nil && (life == nil || t.host == life.Name() && t.life <= life.Life()) {
			t.cancel()
		}
	}
	if life != nil {
		maps.DeleteFunc(s.planned, func(k plannedKey, _ *step) bool { return k.host == life.Name() && k.life <= life.Life() })
	}
}
