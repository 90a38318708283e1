package blame

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/hostsup/hostsup/extensions"
)

// The extensions of a scenario. The innocent one of which the evidence speaks is misled;
// the others do what extensions do.
const (
	guilty = extensions.ID("acme.guilty")
	misled = extensions.ID("acme.misled")
)

// cause is how the guilty extension makes its host crash.
type cause struct {
	name    string
	kind    Kind
	reason  string
	trigger trigger
	profile bool   // a profile of the hang can be taken
	direct  Source // what leads to the guilty one in most crashes; "": nothing
	noted   Source // what does, where that fails, once lives note their calls; "": nothing
}

type trigger int

const (
	inCommand    trigger = iota // by every third of its commands, within 200 ms
	inTimer                     // by a timer that it has set when it was activated
	inActivation                // by its activation
)

var causes = []cause{
	{name: "aborts in its command", kind: Exit, reason: "killed by SIGABRT", trigger: inCommand, direct: Stack},
	{name: "aborts in a timer", kind: Exit, reason: "killed by SIGABRT", trigger: inTimer, direct: Stack},
	{name: "aborts while it is activated", kind: Exit, reason: "killed by SIGABRT", trigger: inActivation, direct: Stack},
	{name: "loops in a timer", kind: Hang, reason: "killed: unresponsive for 12s", trigger: inTimer, profile: true},
	{name: "execSync in a timer", kind: Hang, reason: "killed: unresponsive for 12s", trigger: inTimer, noted: Blocking},
	{name: "exhausts the heap in a timer", kind: Memory, reason: "out of memory", trigger: inTimer, direct: Allocations},
	{name: "exceeds limits.memory in its command", kind: Memory, reason: "over its limit of memory", trigger: inCommand, direct: Allocations},
	{name: "sends a message over the bound", kind: Protocol, reason: "message too large", trigger: inTimer, direct: Sender, noted: Sender},
}

// trace is what speaks against the innocent extension.
type trace struct {
	name       string
	waits      bool // it has a call in flight that takes minutes
	rejects    bool // it has uncaught rejections all the time
	slow       bool // its activation takes a minute
	calls      bool // its command executes that of the guilty one, which no message shows
	calledBack bool // the guilty one works in its exported function: its frame is the innermost
}

var misleading = []trace{
	{name: "nothing misleads"},
	{name: "a call of an innocent one is in flight", waits: true},
	{name: "an innocent one rejects by the 10,000", rejects: true},
	{name: "an innocent one is slow to activate", slow: true},
	{name: "an innocent one is between caller and culprit", calls: true, calledBack: true},
}

// court runs a scenario: hosts with the evidence that a real crash leaves, and a
// supervisor with the default budget.
type court struct {
	m     *Machine
	rng   *rand.Rand
	cause cause
	trace trace
	all   []extensions.ID
	also  extensions.ID // another one whose command aborts; "" without
	now   time.Time
	timer time.Time
	hosts map[string]*modelHost
	used  map[extensions.ID]bool // it was activated once: it is again with its host
	next  uint64
	log   []Decision

	mean       time.Duration          // between the start of the timer and its end
	account    map[string][]time.Time // the crashes of a cell since its window was reset
	down       bool                   // the home has spent its budget
	everJailed map[extensions.ID]bool
	everTried  map[extensions.ID]bool
	told       bool                   // the message over the bound names its sender
	alike      bool                   // the misled one has native code as well
	unled      bool                   // a crash left nothing that led to an extension: lives note their calls
	isolated   time.Duration          // of all innocent ones, in trials and in quarantine
	alone      map[extensions.ID]bool // innocent ones that had a host of their own
	crashes    int
}

type modelHost struct {
	life    uint64
	since   time.Time
	begun   map[extensions.ID]time.Time // when the activation ends
	over    map[extensions.ID]bool      // it has been reported
	calls   map[uint64]modelCall
	fatal   time.Time // of the timer of the guilty one; zero without it
	fatalC  time.Time // of its command
	through bool      // which the misled one executes
}

type modelCall struct {
	id   extensions.ID
	ends time.Time
}

func newCourt(c cause, tr trace, seed uint64) *court {
	rng := rand.New(rand.NewPCG(seed, 18))
	w := &court{
		m: New(Rules{}), rng: rng, cause: c, trace: tr, now: time.Unix(0, 0), hosts: map[string]*modelHost{},
		account: map[string][]time.Time{}, mean: time.Duration(float64(2*time.Second) * math.Pow(75, rng.Float64())),
		used: map[extensions.ID]bool{}, everJailed: map[extensions.ID]bool{}, everTried: map[extensions.ID]bool{},
		alone: map[extensions.ID]bool{},
	}
	w.told, w.alike = seed%2 == 0, seed%4 < 2
	others := []extensions.ID{"acme.css", "acme.git", "acme.go", "acme.html", "acme.json", "acme.md", "acme.npm", "acme.toml", "acme.yaml"}
	w.all = append([]extensions.ID{guilty, misled}, others[:1+rng.IntN(len(others))]...)
	return w
}

// tick is the resolution of the model.
const tick = 250 * time.Millisecond

// run runs the scenario for a time.
func (w *court) run(length time.Duration) {
	for end := w.now.Add(length); w.now.Before(end) && !w.down; w.now = w.now.Add(tick) {
		if !w.timer.IsZero() && !w.now.Before(w.timer) {
			w.timer = time.Time{}
			w.step(Fired{})
		}
		for _, id := range w.all { // extensions that have run are run again
			if w.used[id] {
				w.activate(id)
			}
		}
		if w.rng.IntN(6) == 0 { // a person uses one every 1.5 s
			w.use(w.all[w.rng.IntN(len(w.all))])
		}
		for _, cell := range sortedNames(w.hosts) {
			if h := w.hosts[cell]; h != nil {
				w.advance(cell, h)
			}
		}
		for _, id := range w.m.Quarantined() {
			w.everJailed[id] = true
		}
		for id, cell := range w.m.where {
			if w.m.Purpose(cell) == Trial {
				w.everTried[id] = true
			}
			if id != guilty && id != w.also {
				w.isolated += tick
				if len(w.m.members(cell)) == 1 {
					w.alone[id] = true
				}
			}
		}
	}
}

func sortedNames(hosts map[string]*modelHost) []string {
	var out []string
	for name := range hosts {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// host returns the host of a cell, which it starts if necessary, or nil if the budget of
// the cell is spent.
func (w *court) host(cell string) *modelHost {
	h := w.hosts[cell]
	if h == nil && len(w.account[cell]) < 3 {
		w.next++
		h = &modelHost{life: w.next, since: w.now, begun: map[extensions.ID]time.Time{}, over: map[extensions.ID]bool{}, calls: map[uint64]modelCall{}}
		w.hosts[cell] = h
		w.step(LifeStarted{cell, h.life})
	}
	return h
}

// activate activates an extension where it lives, if it is not active.
func (w *court) activate(id extensions.ID) {
	w.used[id] = true
	cell := w.m.where[id]
	h := w.host(cell)
	if h == nil {
		return
	}
	if _, begun := h.begun[id]; begun {
		return
	}
	took := time.Duration(w.rng.IntN(1000)) * time.Millisecond
	if id == misled && w.trace.slow {
		took = time.Minute
	}
	h.begun[id] = w.now.Add(took)
	w.step(Began{cell, h.life, id})
	if id != guilty {
		return
	}
	switch w.cause.trigger {
	case inTimer:
		h.fatal = w.now.Add(took + time.Duration(w.rng.ExpFloat64()*float64(w.mean)))
	case inActivation:
		h.fatal = w.now.Add(took / 2)
	}
}

// use calls the command of an extension.
func (w *court) use(id extensions.ID) {
	w.activate(id)
	w.call(id)
	if id == misled && w.trace.calls && w.cause.trigger == inCommand {
		w.activate(guilty)
		cell := w.m.where[guilty]
		if cell == w.m.where[misled] { // within one host no message shows it
			w.strike(w.hosts[cell])
			if h := w.hosts[cell]; h != nil {
				h.through = true
			}
		} else {
			w.call(guilty)
		}
	}
}

func (w *court) call(id extensions.ID) {
	cell := w.m.where[id]
	h := w.host(cell)
	if h == nil {
		return
	}
	took := time.Duration(w.rng.ExpFloat64() * float64(200*time.Millisecond))
	if id == misled && (w.trace.waits || w.trace.calls) {
		took = 2 * time.Minute
	}
	w.next++
	h.calls[w.next] = modelCall{id, w.now.Add(took)}
	w.step(CallBegan{cell, h.life, w.next, id, string(id) + ".run", 0})
	if id == guilty && w.cause.trigger == inCommand || id == w.also {
		w.strike(h)
	}
}

// strike makes every third command of the guilty one fatal.
func (w *court) strike(h *modelHost) {
	if h != nil && h.fatalC.IsZero() && w.rng.IntN(3) == 0 {
		h.fatalC = w.now.Add(time.Duration(w.rng.IntN(200)) * time.Millisecond)
	}
}

// advance lets a host do what is due.
func (w *court) advance(cell string, h *modelHost) {
	for _, id := range w.all {
		if ends, begun := h.begun[id]; begun && !h.over[id] && !w.now.Before(ends) {
			h.over[id] = true
			w.step(Finished{cell, h.life, id})
		}
	}
	if _, there := h.begun[misled]; there && w.trace.rejects {
		w.step(Uncaught{cell, h.life, misled, "rejected"})
	}
	for _, n := range sortedKeys(h.calls) {
		if !w.now.Before(h.calls[n].ends) {
			delete(h.calls, n)
			w.step(CallEnded{cell, h.life, n})
		}
	}
	if _, there := h.begun[misled]; !there && w.trace.calledBack && w.cause.profile {
		return // what it works in is not there
	}
	for _, due := range []time.Time{h.fatal, h.fatalC} {
		if !due.IsZero() && !w.now.Before(due) {
			w.crash(cell, h)
			return
		}
	}
}

func (w *court) crash(cell string, h *modelHost) {
	w.crashes++
	delete(w.hosts, cell)
	noted := w.noted(h)
	if w.cause.kind == Hang {
		w.step(Hung{cell, h.life})
		w.now = w.now.Add(12 * time.Second)
		if w.cause.profile && w.rng.IntN(4) > 0 { // it may come too late
			w.step(Profile{cell, h.life, w.profile()})
		}
	}
	w.leadTo(cell, h, noted)
	w.account[cell] = append(slices.DeleteFunc(w.account[cell], func(at time.Time) bool { return w.now.Sub(at) >= 5*time.Minute }), w.now)
	w.step(Crashed{cell, h.life, w.cause.kind, w.cause.reason})
	w.down = len(w.account[Home]) >= 3
}

// leadTo reports what leads to the guilty one, which mostly is there in time: a stack that node
// prints, unless native code crashes, of which the host notes who has some; a sample of the allocations, unless the memory grows too
// fast; the sender of a message, if the method has its name; or what the host has noted.
func (w *court) leadTo(cell string, h *modelHost, noted bool) {
	lead := func(source Source, shares ...Share) {
		w.step(Trace{Cell: cell, Life: h.life, Source: source, Shares: shares})
	}
	own := Share{guilty, 1}
	_, there := h.begun[guilty]
	switch direct := w.cause.direct; {
	case direct == Sender && w.told:
		if there {
			lead(Sender, own)
		}
	case w.cause.noted != "":
		switch {
		case noted && w.trace.calledBack: // its frame is the outermost
			lead(w.cause.noted, own, Share{misled, 0.5})
		case noted:
			lead(w.cause.noted, own)
		}
		w.unled = true
	case direct == "" || !there:
	case w.rng.IntN(4) == 0: // it was not there in time
		if direct != Stack {
			return
		}
		switch _, also := h.begun[misled]; { // native code has crashed
		case noted && also && w.alike:
			lead(Native, Share{guilty, 0.5}, Share{misled, 0.5})
		case noted:
			lead(Native, Share{guilty, 0.5})
		}
		w.unled = true
	case direct == Allocations: // others allocate, too
		most := 0.4 + 0.6*w.rng.Float64()
		lead(Allocations, Share{guilty, most}, Share{misled, (1 - most) * w.rng.Float64()})
	case h.through:
		lead(direct, own, Share{misled, 0.5})
	default:
		lead(direct, own)
	}
}

// notedAfter is how long a host runs before it notes its calls, and one of unnoted crashes has no
// note nevertheless. Real hosts of both releases took up to 0.7 s on a machine under load, and in
// 24 runs of TestCourt each of the 48 crashes of execSync and of messages after the first was noted;
// so were those of native code in 6.
const (
	notedAfter = time.Second
	unnoted    = 10
)

// noted reports whether the call that makes a host crash is noted.
func (w *court) noted(h *modelHost) bool {
	return w.unled && w.now.Sub(h.since) >= notedAfter && w.rng.IntN(unnoted) > 0
}

// profile is that of a loop of the guilty one, parsed like a real one.
func (w *court) profile() []Share {
	index := NewIndex([]extensions.Extension{{ID: guilty, Folder: "/ext/guilty"}, {ID: misled, Folder: "/ext/misled"}})
	leaf := "/ext/guilty/loop.js"
	if w.trace.calledBack {
		leaf = "/ext/misled/exported.js"
	}
	shares, err := index.Shares([]byte(`{"nodes":[{"id":1,"children":[2]},{"id":2,"callFrame":{"url":"/ext/guilty/main.js"},"children":[3]},{"id":3,"callFrame":{"url":"` + leaf + `"}}],"samples":[1,3,3,3,3,3,3,3,3,3]}`))
	if err != nil {
		panic(err)
	}
	return shares
}

func (w *court) step(ev Event) {
	for _, e := range w.m.Step(ev, w.now) {
		switch e := e.(type) {
		case Record:
			w.log = append(w.log, e.Decision)
		case SetTimer:
			w.timer = w.now.Add(e.After)
		case CancelTimer:
			w.timer = time.Time{}
		case Close:
			delete(w.hosts, e.Cell)
			delete(w.account, e.Cell)
		case Forgive:
			delete(w.account, e.Cell)
		case Move:
			w.moved(e)
		}
	}
}

// moved ends what an extension does in a host that is up.
func (w *court) moved(e Move) {
	h := w.hosts[e.From]
	if h == nil {
		return
	}
	delete(h.begun, e.ID)
	for n, c := range h.calls {
		if c.id == e.ID {
			delete(h.calls, n)
		}
	}
	if e.ID == guilty {
		h.fatal, h.fatalC = time.Time{}, time.Time{}
	}
}
