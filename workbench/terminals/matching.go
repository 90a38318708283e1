package terminals

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/hostsup/hostsup/workbench"
	"github.com/hostsup/hostsup/workbench/diagnostics"
	"github.com/hostsup/hostsup/workbench/problems"
)

// Bounds of what problem matchers look at.
const (
	maxWaiting  = 4 << 20 // bytes of output that wait
	maxProblems = 10_000  // of a run of a task
)

// matching looks for problems in what a task writes, on a goroutine of its own: an expression may take its time.
type matching struct {
	s         *Service
	name      string // of the task
	execution map[string]any
	collector *problems.Collector
	matchers  []*problems.Matcher
	exists    func(path string) bool
	ready     chan struct{} // closed when a task in the background has done its work
	done      chan struct{} // closed when all is looked at

	mu      sync.Mutex
	changed sync.Cond
	waiting []byte
	busy    bool
	ended   bool
	dropped bool

	// What follows is used by the goroutine alone.
	line  []byte
	found map[fileKey]*inFile
	count int // problems
	erred bool
	full  bool
}

// fileKey is a file of an owner of diagnostics.
type fileKey struct{ owner, uri string }

// inFile is what was found in a file.
type inFile struct {
	uri     workbench.URI
	all     []diagnostics.Diagnostic
	known   map[string]bool // of these
	changed bool            // since it was reported
}

// newMatching returns what looks for problems in the output of a task, and takes those of its last run away.
func (s *Service) newMatching(e execution, name string, matchers []*problems.Matcher, guard workbench.Guard) *matching {
	m := &matching{
		s: s, name: name, execution: map[string]any{"execution": e}, collector: problems.NewCollector(matchers), matchers: matchers,
		exists: func(path string) bool { return s.opt.Exists(guard, path) },
		ready:  make(chan struct{}), done: make(chan struct{}), found: map[fileKey]*inFile{},
	}
	m.changed.L = &m.mu
	return m
}

// add takes output. It does not block.
func (m *matching) add(p []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ended {
		return
	}
	if len(m.waiting)+len(p) > maxWaiting {
		if !m.dropped {
			m.dropped = true
			m.s.opt.Log(fmt.Sprintf("task %q: it writes faster than its problem matchers read: some output was not looked at", m.name))
		}
		return
	}
	m.waiting = append(m.waiting, p...)
	m.changed.Broadcast()
}

// flush waits until all output is looked at.
func (m *matching) flush() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for len(m.waiting) > 0 || m.busy {
		m.changed.Wait()
	}
}

// end tells that there is no more output. It does not block.
func (m *matching) end() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ended = true
	m.changed.Broadcast()
}

// run looks at output until end is called.
func (m *matching) run() {
	defer close(m.done)
	m.begin()
	for {
		m.mu.Lock()
		m.busy = false
		m.changed.Broadcast()
		for len(m.waiting) == 0 && !m.ended {
			m.changed.Wait()
		}
		p := m.waiting
		m.waiting, m.busy = nil, len(p) > 0
		m.mu.Unlock()
		if len(p) == 0 {
			break
		}
		m.look(p)
		m.publish()
	}
	if len(m.line) > 0 {
		m.at(string(m.line))
	}
	m.publish()
	if !m.inBackground() || m.collector.Active() {
		m.tellEnd()
	}
}

// begin takes away what the last run has found.
func (m *matching) begin() {
	for _, one := range m.matchers {
		m.s.opt.Problems.Withdraw(one.Owner)
	}
	if !m.inBackground() || m.collector.Active() {
		m.tell("$onDidStartTaskProblemMatchers", m.execution)
	}
}

func (m *matching) inBackground() bool {
	return slices.ContainsFunc(m.matchers, (*problems.Matcher).InBackground)
}

// tell tells the hosts.
func (m *matching) tell(method string, params any) {
	m.s.mu.Lock()
	defer m.s.mu.Unlock()
	m.s.hosts.Tell(extTask+method, workbench.Params(params))
}

func (m *matching) tellEnd() {
	end := maps.Clone(m.execution)
	end["hasErrors"] = m.erred
	m.tell("$onDidEndTaskProblemMatchers", end)
}

// look looks at the lines in output, of which the last one may have no end yet.
func (m *matching) look(p []byte) {
	for {
		line, rest, whole := bytes.Cut(p, []byte("\n"))
		if room := problems.MaxLine - len(m.line); len(line) > room {
			line = line[:max(room, 0)]
		}
		m.line = append(m.line, line...)
		if !whole {
			return
		}
		m.at(string(m.line))
		m.line, p = m.line[:0], rest
	}
}

// at looks at a line.
func (m *matching) at(line string) {
	for _, e := range m.collector.Line(line) {
		switch e.Kind {
		case problems.Begins:
			m.again(e)
		case problems.Ends:
			m.publish()
			if !m.collector.Active() {
				m.tellEnd()
				m.isReady()
			}
		case problems.Found:
			m.keep(e)
		}
	}
}

// again takes away what was found before a task in the background began to work anew.
func (m *matching) again(e problems.Event) {
	only := ""
	if e.File != "" {
		only = workbench.File(e.Matcher.Path(e.File, m.exists)).String()
	} else {
		m.s.opt.Problems.Withdraw(e.Matcher.Owner)
	}
	for key, f := range m.found {
		if key.owner != e.Matcher.Owner || only != "" && key.uri != only {
			continue
		}
		m.count -= len(f.all)
		f.all, f.known, f.changed = nil, nil, only != ""
	}
	m.erred, m.full = false, false
	m.publish()
	m.tell("$onDidStartTaskProblemMatchers", m.execution)
}

// isReady tells those that wait for a task in the background.
func (m *matching) isReady() {
	select {
	case <-m.ready:
	default:
		close(m.ready)
	}
}

// keep keeps a problem.
func (m *matching) keep(e problems.Event) {
	path := e.Matcher.Path(e.File, m.exists)
	if path == "" {
		return // it was searched for
	}
	uri := workbench.File(path)
	key := fileKey{e.Matcher.Owner, uri.String()}
	f := m.found[key]
	if f == nil {
		f = &inFile{uri: uri}
	}
	text := fmt.Sprint(e.Problem)
	switch {
	case f.known[text], !e.Matcher.Applies(m.s.opt.IsOpen(uri)):
		return
	case m.count >= maxProblems:
		if !m.full {
			m.full = true
			m.s.opt.Log(fmt.Sprintf("task %q: up to %d problems of a run are kept; others are not", m.name, maxProblems))
		}
		return
	}
	if f.known == nil {
		f.known = map[string]bool{}
	}
	m.count++
	m.erred = m.erred || e.Problem.Severity == diagnostics.Error
	f.all, f.known[text], f.changed = append(f.all, e.Problem), true, true
	m.found[key] = f
}

// publish reports what has changed.
func (m *matching) publish() {
	for key, f := range m.found {
		if !f.changed {
			continue
		}
		f.changed = false
		if err := m.s.opt.Problems.Report(key.owner, f.uri, f.all); err != nil {
			m.s.opt.Log(fmt.Sprintf("task %q: problems in %s are not kept: %v", m.name, f.uri.Path, err))
		}
	}
}
