package simulation

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/hostsup/hostsup/attach"
	"github.com/hostsup/hostsup/intercept/answer"
	"github.com/hostsup/hostsup/internal/safeactor"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/sandbox"
	"github.com/hostsup/hostsup/supervisor"
)

// settle is how long a story goes on after its last step.
const settle = 5 * time.Second

// outcome is what has become of a story.
type outcome struct {
	wrong []string      // promises that were not kept
	lived time.Duration // simulated time
	steps int           // of the kernel
	trace []string      // what happened, for comparisons
}

// tell runs a story.
func tell(t *testing.T, s *story, log hclog.Logger) (out outcome) {
	defer func() {
		if r := recover(); r != nil { // of a bubble whose goroutines do not end
			out.wrong = append(out.wrong, fmt.Sprintf("the end: %v\n%s", r, stacks()))
		}
	}()
	synctest.Test(t, func(*testing.T) {
		k := newKernel(s.seed)
		k.late, k.delay = s.late, s.delay
		c := newChecker(s, k.begin)
		over := make(chan struct{})
		k.Go(func() {
			defer close(over)
			(&teller{story: s, m: newMachine(k, c), check: c, log: log, editors: make(map[string]*editor)}).tell()
		})
		if err := k.run(over); err != nil {
			panic(err.Error())
		}
		out = outcome{c.wrongs(), time.Since(k.begin), k.steps, c.trace}
	})
	return out
}

// stacks returns those of the goroutines in bubbles.
func stacks() string {
	b := make([]byte, 1<<20)
	var out []string
	for g := range strings.SplitSeq(string(b[:runtime.Stack(b, true)]), "\n\n") {
		if head, _, _ := strings.Cut(g, "\n"); strings.Contains(head, "synctest") {
			out = append(out, g)
		}
	}
	return strings.Join(out, "\n\n")
}

// teller does what a story says.
type teller struct {
	story *story
	m     *machine
	check *checker
	log   hclog.Logger
	doing sync.WaitGroup
	reign

	mu      sync.Mutex
	editors map[string]*editor // that are attached, by name
	came    int                // editors so far
}

func (t *teller) tell() {
	for _, g := range t.story.groups {
		for _, h := range g.hosts {
			t.m.programs[h.Name] = &program{think: 10 * time.Millisecond, serves: isShared(&h)}
		}
	}
	if !t.supervise() {
		return
	}
	for i, st := range t.story.steps {
		st.turn = fmt.Sprintf("step %d", i)
		time.Sleep(st.at - time.Since(t.m.begin))
		t.doing.Add(1)
		t.m.next(st.turn, func() {
			defer t.doing.Done()
			t.do(st)
		})
	}
	time.Sleep(settle)
	t.end()
}

// supervise starts the next supervisor, and reports whether it has started.
func (t *teller) supervise() bool {
	e := t.reign.begin(t.m)
	feature, part := e.survive()
	spec := supervisor.Spec{Parts: []supervisor.Part{attach.Part{}}}
	if t.story.outlives() && part != nil {
		spec.Parts = append(spec.Parts, part)
	}
	for _, g := range t.story.groups {
		hosts := slices.Clone(g.hosts)
		for i := range hosts {
			if !isShared(&hosts[i]) {
				hosts[i].Answers = t.answers()
				t.live(&hosts[i])
			}
		}
		for i := range hosts {
			if feature != nil && survives(&hosts[i]) {
				hosts[i].Features = append(hosts[i].Features, feature)
			}
		}
		spec.Groups = append(spec.Groups, supervisor.GroupSpec{Name: g.name, Strategy: g.strategy, Hosts: hosts})
	}
	system := safeactor.NewSystem(t.log)
	t.m.dispatch(system)
	sup, err := supervisor.Start(context.Background(), spec, supervisor.WithMachine(e), supervisor.WithSystem(system),
		supervisor.WithKill(sandbox.KillGroup), supervisor.WithLogger(t.log), supervisor.WithNotifications(func(n supervisor.Notification) {
			if !e.isDead() {
				t.check.news(n)
			}
		}))
	if err != nil {
		t.check.wrong("the tree does not start: %v", err)
		return false
	}
	t.started(e, sup)
	return true
}

// end stops the tree, and has the checker look at what was told.
func (t *teller) end() {
	bound := time.Second
	for _, g := range t.story.groups {
		for _, h := range g.hosts {
			bound += h.Stop.Drain + h.Stop.Grace + time.Second
		}
	}
	t.down.Wait()
	e := t.present()
	t.check.sameTexts(t.state)
	t.check.reports(e)
	began := time.Now()
	t.check.stopping()
	if err := e.sup.Stop(context.Background()); err != nil {
		t.check.wrong("the stop: %v", err)
	}
	if took := time.Since(began); took > bound {
		t.check.wrong("the stop took %s; expected at most %s", took, bound)
	}
	t.doing.Wait()
	time.Sleep(time.Second) // dead letters have a clock of their own
	t.check.events(append(t.check.eras, history{e.began, e.sup.History()}))
	t.check.end()
}

// state returns the state of a host.
func (t *teller) state(host string) lifecycle.State {
	h, err := t.present().sup.Host(host)
	if err != nil {
		return ""
	}
	return h.Status().State
}

// do does one step.
func (t *teller) do(st step) {
	if st.verb == sigkill {
		t.lose(st)
		return
	}
	ctx := context.Background()
	e := t.present()
	var h *supervisor.Host
	if e != nil {
		var err error
		if h, err = e.sup.Host(st.host); err != nil {
			t.check.wrong("host %s: %v", st.host, err)
			return
		}
	} else if !slices.Contains(ofProcess, st.verb) && !slices.Contains(ofProgram, st.verb) {
		return // no supervisor runs that could be asked
	}
	p := t.m.process(st.host)
	if slices.Contains(ofProcess, st.verb) || slices.Contains(ofPerson, st.verb) {
		t.check.meddles(st.host)
	}
	switch {
	case slices.Contains(ofEditor, st.verb):
		t.editing(st)
	case st.verb == "call":
		t.call(ctx, h, st)
	case st.verb == "sick":
		t.check.fallsIll(st.host, st.args[0] == "on")
	case st.verb == "stream":
		t.stream(ctx, h, st)
	case st.verb == "notify":
		t.notify(ctx, h, st)
	case slices.Contains(ofPerson, st.verb):
		f := map[string]func(context.Context) error{"start": h.Start, "stop": h.Stop, "restart": h.Restart, "reset": h.Reset}[st.verb]
		began := time.Now()
		err := f(ctx)
		took := time.Since(began)
		t.m.turn(st.turn)
		if e.isDead() {
			return
		}
		t.check.ordered(st.verb, st.host, took, err)
	case slices.Contains(ofProgram, st.verb):
		on := st.args[0] == "on"
		t.m.change(st.host, func(p *program) {
			*map[string]*bool{"refused": &p.refused, "deaf": &p.deaf, "mute": &p.mute, "leaves": &p.leaves, "slow": &p.dawdles, "eager": &p.eager}[st.verb] = on
		})
	case p == nil:
	case st.verb == "ask":
		t.ask(p, st)
	case st.verb == "kill":
		p.signal(syscall.SIGKILL)
	case st.verb == "freeze":
		p.signal(stopSignal)
	case st.verb == "thaw":
		p.signal(goOnSignal)
	case st.verb == "hangup":
		t.check.disturbed(p.host, p.life)
		_ = p.conn.Close()
	case st.verb == "exit":
		p.exit(sandbox.Exit{Code: 7})
	default:
		t.check.wrong("no verb %q", st.verb)
	}
}

// answers are the rules by which what hosts ask is answered.
func (t *teller) answers() supervisor.AnswerRule {
	r := supervisor.AnswerRule{
		Handlers: map[string]supervisor.Handler{"here.*": t.handle},
		Replies:  []answer.Reply{{Method: fixed, Result: 42}},
		Forwards: []answer.Forward{{Method: "to-nowhere.*", To: "nowhere"}},
	}
	for name := range t.check.hosts {
		r.Forwards = append(r.Forwards, answer.Forward{Method: "to-" + name + ".*", To: name})
	}
	return r
}

// call makes one call, and reports its outcome.
func (t *teller) call(ctx context.Context, h *supervisor.Host, st step) {
	var opts []supervisor.CallOption
	c := &call{host: st.host, method: st.args[0]}
	if slices.Contains(st.args, "idempotent") {
		c.idempotent = true
		opts = append(opts, supervisor.Idempotent())
	}
	ctx, done := t.cancels(ctx, c, st)
	defer done()
	t.check.called(c)
	var out int
	err := h.Call(ctx, c.method, c.id, &out, opts...)
	t.m.turn(st.turn)
	t.check.answered(c, out, err)
}

// cancels cancels the context of a call when the step says so.
func (t *teller) cancels(ctx context.Context, c *call, st step) (_ context.Context, done func()) {
	d := t.duration(st, "cancel")
	if d == 0 {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	stop := t.m.AfterFunc(d, cancel)
	c.canceled = true
	return ctx, func() {
		stop.Stop()
		cancel()
	}
}

// option returns the value of an argument of a step; "" if it has none.
func (st step) option(name string) string {
	for _, a := range st.args {
		if v, ok := strings.CutPrefix(a, name+"="); ok {
			return v
		}
	}
	return ""
}

func (t *teller) duration(st step, name string) time.Duration {
	v := st.option(name)
	if v == "" {
		return 0
	}
	d, err := time.ParseDuration(v)
	if err != nil {
		t.check.wrong("%s: %v", name, err)
	}
	return d
}

func (t *teller) number(st step, name string) int {
	v := st.option(name)
	if v == "" {
		return 0
	}
	n, err := strconv.Atoi(v)
	if err != nil {
		t.check.wrong("%s: %v", name, err)
	}
	return n
}
