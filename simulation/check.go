package simulation

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/link"
	"github.com/hostsup/hostsup/supervisor"
)

// checker compares what happens with what is promised. It knows the promises of the
// documentation, and nothing of the tree.
type checker struct {
	story *story
	begin time.Time
	hosts map[string]supervisor.HostSpec
	gated map[string]bool // hosts whose restarts wait for others
	slack time.Duration   // what late tasks may add
	after func(time.Duration, func()) link.Timer

	mu      sync.Mutex
	broken  []string
	trace   []string
	trees   map[string]int // of a host: the life whose tree is there
	lives   map[string]int // of a host: the last life
	calls   []*call
	heardOf map[int]int      // calls that processes have read, by id
	latest  map[string]*seen // of a host: what the machine has seen of the last life
	spells  []spell          // in which processes did nothing
	stopAt  time.Time        // when the tree was stopped

	watches   map[string]*watched // by host that has an interceptor
	responses map[wireID]response
	sick      map[string]bool // hosts whose checks fail
	releases  []release
	senders   int              // of rows of notifications
	notes     map[int]place    // of a sender: its last notification that a process has read
	heardNews map[string]place // of a host: the last notification that the tree has handed on

	shared shared

	killedAt  []time.Time // supervisors were
	eras      []history   // of supervisors that were killed
	survivors map[string]*survivor
	repeats   map[string]bool      // hosts that may say something again
	meddled   map[string]time.Time // when somebody has last done something to a host
}

// seen is what the machine has seen of a life.
type seen struct {
	life    int
	pid     int
	left    bool      // its supervisor was killed, and no other one has it
	failed  bool      // it has ended with an exit code or by a signal
	greeted time.Time // the handshake; zero before
	frozen  bool
	thawed  time.Time // the last time
	over    bool
	overAt  time.Time

	hello, bye bool // what an interceptor sends first and last, read

	disturbed bool // it is asked to end, or has broken the protocol
	broke     bool // it has broken the protocol
	handlers  int  // of its requests, that go on
}

// spell is a time in which a process was frozen.
type spell struct {
	host     string
	life     int
	sick     bool      // its checks failed, instead
	from, to time.Time // to is when it went on, or ended
}

// call is one call, or a request of a process.
type call struct {
	id         int
	host       string // that is called; of no host if the supervisor answers
	by         string // the host that asks; "" for a caller outside
	life       int    // of by
	method     string
	n          int // items of the answer
	idempotent bool
	heardBy    int // the life that has read it last
	heardAt    time.Time
	canceled   bool // it may be canceled
	tookBack   bool // it was
	began      time.Time
	last       time.Time // began, or when the caller of a stream was last ready for an item
	answered   bool
	endedAt    time.Time // when it was answered
	taken      int       // items that the caller has
	allowed    int       // items that the process has been allowed
	sent       int       // items that the process has sent
	sentAt     []time.Time
	wire       uint32 // the id that the process knows it by
	held       bool   // an interceptor has held it back
	refused    bool   // one has refused it
	sentTo     int    // the last life to which one has seen it go
	succeeded  bool
	finished   bool // the process sends no more of them
	outlived   bool // its supervisor was killed
}

func newChecker(s *story, begin time.Time) *checker {
	c := &checker{
		story: s, begin: begin, hosts: make(map[string]supervisor.HostSpec), trees: make(map[string]int), lives: make(map[string]int),
		heardOf: make(map[int]int), notes: make(map[int]place), watches: make(map[string]*watched), responses: make(map[wireID]response), sick: make(map[string]bool), heardNews: make(map[string]place), latest: make(map[string]*seen), gated: make(map[string]bool), slack: 200 * time.Millisecond,
	}
	c.survivors, c.repeats, c.meddled = make(map[string]*survivor), make(map[string]bool), make(map[string]time.Time)
	c.shared.texts, c.shared.of = make(map[string]map[string]string), make(map[string]int)
	if s.late > 0 {
		c.slack += 20 * s.delay
	}
	for _, g := range s.groups {
		for _, h := range g.hosts {
			c.hosts[h.Name] = h
			if watchOf(&h).how != "" {
				c.watches[h.Name] = &watched{last: make(map[string]int)}
			}
			c.gated[h.Name] = g.strategy != lifecycle.OneForOne || len(h.Start.DependsOn) > 0
		}
	}
	return c
}

func (c *checker) wrong(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fail(format, args...)
}

// fail is wrong with c.mu held.
func (c *checker) fail(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	c.broken = append(c.broken, fmt.Sprintf("%s: %s", time.Since(c.begin), text))
	c.note("WRONG: %s", text)
}

// note keeps a line of what happened. c.mu is held.
func (c *checker) note(format string, args ...any) {
	c.trace = append(c.trace, fmt.Sprintf("%s %s", time.Since(c.begin), fmt.Sprintf(format, args...)))
}

func (c *checker) wrongs() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.broken
}

// spawned: a process was started.
func (c *checker) spawned(host string, life, pid int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.note("%s: life %d is process %d", host, life, pid)
	if other := c.trees[host]; other != 0 {
		c.fail("%s: life %d has a process while the tree of life %d is there", host, life, other)
	}
	if life <= c.lives[host] {
		c.fail("%s: life %d comes after life %d", host, life, c.lives[host])
	}
	c.trees[host], c.lives[host] = life, life
	if w := c.watches[host]; w != nil && w.last[onStarting] != life {
		c.fail("%s: life %d has a process without a Starting: %v", host, life, w.last)
	}
	c.latest[host] = &seen{life: life, pid: pid}
}

// greeted: a process has shaken hands.
func (c *checker) greeted(host string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.latest[host] == nil {
		return // its supervisor was killed
	}
	c.latest[host].greeted = time.Now()
	if c.sick[host] {
		c.illness(host, c.latest[host].life, true)
	}
}

// froze: a process does nothing any more, or goes on.
func (c *checker) froze(host string, life int, on bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.latest[host]; s != nil && s.life == life {
		s.freeze(c, host, on)
	}
}

func (s *seen) freeze(c *checker, host string, on bool) {
	switch {
	case on == s.frozen:
		return
	case on:
		c.note("%s: the process of life %d is frozen", host, s.life)
		if !s.left {
			c.spells = append(c.spells, spell{host: host, life: s.life, from: time.Now()})
		}
	default:
		c.note("%s: the process of life %d goes on", host, s.life)
		s.thawed = time.Now()
		for i := range c.spells {
			if p := &c.spells[i]; p.host == host && p.to.IsZero() && !p.sick {
				p.to = s.thawed
			}
		}
	}
	s.frozen = on
}

// exited: a process has ended.
func (c *checker) exited(host string, life int, failed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.note("%s: the process of life %d has ended", host, life)
	if s := c.latest[host]; s != nil && s.life == life {
		s.freeze(c, host, false)
		s.failed = failed
		if s.over, s.overAt = true, time.Now(); c.sick[host] && !s.greeted.IsZero() {
			c.illness(host, life, false)
		}
	}
}

// vanished: the rest of its tree, too.
func (c *checker) vanished(host string, life int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.trees[host] == life {
		c.trees[host] = 0
	}
}

// heard: a process has read a call.
func (c *checker) heard(host string, life int, m *codec.Message) *call {
	var id int
	err := msgpack.Unmarshal(m.Params, &id)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.note("%s: life %d reads %s %d", host, life, m.Method, id)
	if err != nil || id < 1 || id > len(c.calls) {
		c.fail("%s: life %d reads %s % x, which was not called: %v", host, life, m.Method, m.Params, err)
		return nil
	}
	a := c.calls[id-1]
	if a.host != host || a.method != m.Method {
		c.fail("%s: life %d reads %s %d, which is %s of %s", host, life, m.Method, id, a.method, a.host)
	}
	c.said(host, life, m.Method)
	if a.wire = m.ID; a.refused || c.watches[host] != nil && a.sentTo != life {
		c.fail("%s: life %d reads call %d, which is refused: %v, and was sent to life %d", host, life, id, a.refused, a.sentTo)
	}
	c.heardOf[id]++
	a.heardBy, a.heardAt = life, time.Now()
	if n := c.heardOf[id]; n > 2 || n > 1 && !a.idempotent {
		c.fail("%s: call %d is read for the %d. time; idempotent: %v", host, id, n, a.idempotent)
	}
	return a
}

// called: a call begins.
func (c *checker) called(a *call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a.id, a.began = len(c.calls)+1, time.Now()
	a.last = a.began
	c.calls = append(c.calls, a)
	c.note("call %d: %s of %s%s", a.id, a.method, a.host, a.asker())
}

// asker names a host that asks.
func (a *call) asker() string {
	if a.by == "" {
		return ""
	}
	return fmt.Sprintf(", by life %d of %s", a.life, a.by)
}

// answered: a call has its outcome.
func (c *checker) answered(a *call, out int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if a.outlived {
		return
	}
	took := time.Since(a.last)
	c.note("call %d after %s: %d, %v", a.id, took, out, err)
	bad := func(format string, args ...any) {
		c.fail("call %d, %s of %s, after %s: %d, %v: %s", a.id, a.method, a.host, took, out, err, fmt.Sprintf(format, args...))
	}
	if a.answered {
		bad("the second outcome")
	}
	a.answered, a.endedAt = true, time.Now()
	c.stops(a)
	timeout := c.hosts[a.host].Requests.Timeout
	if took > timeout+c.slack {
		bad("expected within %s", timeout)
	}
	if a.refused != errors.Is(err, errRefused) {
		bad("it was refused: %v", a.refused)
	}
	if a.refused {
		return
	}
	if err == nil {
		if a.succeeded = true; out != a.id {
			bad("expected %d", a.id)
		}
		if !slices.Contains([]string{echo, twice, flood, items, spill}, a.method) && (a.n > 0 || a.method != skip && a.method != cut) {
			bad("expected an error")
		}
		if a.method != echo && a.taken != a.n {
			bad("%d items, expected %d", a.taken, a.n)
		}
		if c.heardOf[a.id] == 0 {
			bad("no process has read it")
		}
		return
	}
	var host *actors.HostError
	switch {
	case errors.Is(err, actors.ErrTimeout):
		if a.tookBack = true; time.Since(a.moved()) < timeout {
			bad("expected not before %s", timeout)
		}
		if a.method == items && c.heardOf[a.id] > 0 && c.isQuiet(a.host, a.heardBy, a.began) && time.Since(latest(a.heardAt, a.moved())) > c.slack {
			bad("life %d has not stopped to send", a.heardBy)
		}
		if s := c.latest[a.host]; c.heardOf[a.id] == 0 && s != nil && !s.over && !s.frozen && !s.greeted.IsZero() && latest(s.greeted, s.thawed).Before(a.began) {
			bad("life %d ran all the time and has not read it", s.life)
		}
	case errors.Is(err, actors.ErrCancelled):
		if a.tookBack = true; !a.canceled {
			bad("it was not canceled")
		}
	case errors.Is(err, actors.ErrNoSuchMethod):
		if a.method != "unknown" {
			bad("the method is there")
		}
	case errors.Is(err, actors.ErrOverloaded):
		c.overloaded(a.host, time.Now(), func(open int) { bad("%d are open", open) })
	case errors.As(err, &host):
		if host.Life > uint64(c.lives[a.host]) {
			bad("life %d was not there", host.Life)
		}
	default:
		bad("not an error that is promised")
	}
}

// ordered: a verb of a person has its outcome.
func (c *checker) ordered(verb, host string, _ time.Duration, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.note("%s %s: %v", verb, host, err)
}

// stopping: the tree is being stopped.
func (c *checker) stopping() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopAt = time.Now()
	c.note("stop")
}

// end looks at what is left.
func (c *checker) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for host, life := range c.trees {
		if life != 0 {
			c.fail("%s: the tree of life %d is left", host, life)
		}
	}
	c.endShared()
	for _, a := range c.calls {
		if !a.answered && a.by == "" {
			c.fail("call %d of %s has no outcome", a.id, a.host)
		}
	}
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
