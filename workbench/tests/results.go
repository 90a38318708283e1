package tests

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hostsup/hostsup/workbench"
	"github.com/hostsup/hostsup/workbench/language"
)

// The bounds of the results of a run.
const (
	maxResults  = 100_000
	maxMessages = 100     // of a test
	maxMessage  = 1 << 16 // bytes of each text of a message
	maxFrames   = 100     // of a stack
	maxOutput   = 1 << 20 // bytes
	maxErrors   = 100
	maxTasks    = 1000 // of a test or a run
)

// State is the state of a test in a run, or of a run.
type State string

// The states. A run has Running, Passed, Failed, Canceled or Empty.
const (
	Queued   State = "queued"
	Running  State = "running"
	Passed   State = "passed"
	Failed   State = "failed"
	Skipped  State = "skipped"
	Errored  State = "errored"  // the test could not be run
	Unset    State = "unset"    // the run has ended before the test did
	Canceled State = "canceled" // the run was canceled
	Empty    State = "empty"    // the run has ended, and no test passed or failed
)

// states are the states of tests as hosts number them, and ranks how much each says: the state of a test
// with several tasks is the one that says most.
var (
	states = []State{Unset, Queued, Running, Passed, Failed, Skipped, Errored}
	ranks  = map[State]int{Unset: 1, Skipped: 0, Passed: 2, Queued: 3, Failed: 4, Errored: 5, Running: 6}
)

// Run is a run of tests.
type Run struct {
	ID      string     `json:"id"`
	Host    string     `json:"host"`
	State   State      `json:"state" enum:"running,passed,failed,canceled,empty"`
	Started time.Time  `json:"started"`
	Ended   *time.Time `json:"ended"` // null while it runs
	// Errors are those of the extension itself, and the end of a host.
	Errors  []string `json:"errors,omitempty"`
	Results []Result `json:"results"`
	// Output is what the tests have written, without the control sequences of a terminal: up to 1 MiB.
	Output string `json:"output,omitempty"`
	// Truncated reports that there is more output, or that there are more than 100,000 results.
	Truncated bool `json:"truncated,omitempty"`
}

// Result is the result of a test in a run. Groups of tests have one if their extension gives them one.
type Result struct {
	Test    string   `json:"test"`   // its id
	Labels  []string `json:"labels"` // of the test, after those of the tests above it
	State   State    `json:"state" enum:"queued,running,passed,failed,skipped,errored,unset"`
	Seconds *float64 `json:"duration_seconds"` // null if the extension does not tell
	Location
	Messages []Failure `json:"messages,omitempty"`
}

// Failure says why a test has failed. Its texts may have several lines.
type Failure struct {
	Text     string  `json:"text"`
	Expected *string `json:"expected,omitempty"`
	Actual   *string `json:"actual,omitempty"`
	Location
	Stack []Frame `json:"stack,omitempty"`
}

// Frame is a function of a stack.
type Frame struct {
	Label    string             `json:"label"`
	URI      string             `json:"uri,omitempty"`
	Position *language.Position `json:"position,omitempty"`
}

// run is a run while it goes on.
type run struct {
	Run
	hosts    map[life]bool
	own      func() // ends a run of the program; nil for one of an extension
	canceled bool
	open     map[string]bool // tasks that have not ended
	closed   chan struct{}   // closed when a task or the run ends, and replaced
	results  map[string]*result
	output   strings.Builder
}

// result is the result of a test; by its id that the host uses.
type result struct {
	known    wireTest
	tasks    map[string]State
	seconds  *float64
	messages []wireMessage
}

type wireMessage struct {
	Message          json.RawMessage // a text, or one in Markdown
	Expected, Actual *string
	Location         *wireLocation
	StackTrace       []struct {
		Label    string
		URI      *workbench.URI
		Position *language.Position
	}
}

type wireLocation struct {
	URI   *workbench.URI
	Range *language.Range
}

// fail notes an error of a run.
func (r *run) fail(text string) {
	if len(r.Errors) < maxErrors {
		r.Errors = append(r.Errors, cutTo(text, maxMessage))
	}
}

// end ends a run. Tests that have not ended have no result.
func (r *run) end() {
	if r.Ended != nil {
		return
	}
	r.Ended = new(time.Now())
	for id := range r.open {
		r.unset(id)
	}
	clear(r.open)
	r.wake()
}

// unset changes the states of the tests of a task that have not ended.
func (r *run) unset(task string) {
	for _, one := range r.results {
		if state := one.tasks[task]; state == Running || state == Queued {
			one.tasks[task] = Unset
		}
	}
}

func (r *run) wake() {
	close(r.closed)
	r.closed = make(chan struct{})
}

// run returns a run that a host may write; nil without one. The caller must hold mu.
func (s *Service) run(call *workbench.Call, id string) *run {
	for _, r := range s.runs {
		if r.ID != id || r.Ended != nil {
			continue
		}
		for h := range r.hosts {
			if h.Name() == call.Host.Name() && h.Life() == call.Life {
				return r
			}
		}
	}
	return nil
}

// in returns a method whose first argument is the id of a run. One that has ended is not an error, as in VS
// Code. do is called with mu held.
func (s *Service) in(do func(r *run, call *workbench.Call) error) func(*workbench.Call) (any, error) {
	return about(s, s.run, do)
}

// began answers $startedExtensionTestRun: a run that an extension begins by itself.
func (s *Service) began(call *workbench.Call) (any, error) {
	var in struct {
		ID      string
		Persist bool
	}
	if err := call.Args(&in); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	h, err := s.hosts.Of(call)
	if err != nil {
		return nil, err
	}
	if in.Persist && in.ID != "" && len(in.ID) <= maxText && !slices.ContainsFunc(s.runs, func(r *run) bool { return r.ID == in.ID }) {
		s.begin(in.ID, h.Name()).hosts[h] = true
	}
	return nil, nil
}

// know returns the result of a test, which is made if it is missing; nil over the bound.
func (r *run) know(t wireTest) *result {
	one := r.results[t.ExtID]
	if one == nil {
		if len(r.results) >= maxResults || len(t.ExtID) > maxID {
			r.Truncated = true
			return nil
		}
		one = &result{tasks: map[string]State{}}
		r.results[t.ExtID] = one
	}
	if t.Label != "" {
		one.known = t
	}
	return one
}

// finishedTask answers $finishedTestRunTask.
func (s *Service) finishedTask(r *run, call *workbench.Call) error {
	var task string
	if err := call.Args(nil, &task); err != nil {
		return err
	}
	r.unset(task)
	delete(r.open, task)
	r.wake()
	return nil
}

// changed answers $updateTestStateInRun: a task, a test, its state, and how many milliseconds it took.
func (s *Service) changed(r *run, call *workbench.Call) error {
	var task, id string
	var state int
	var took *float64
	if err := call.Args(nil, &task, &id, &state, &took); err != nil {
		return err
	}
	if state < 0 || state >= len(states) {
		return workbench.Invalid("TestRun: the state %d of a test is not known", state)
	}
	one := r.know(wireTest{ExtID: id})
	if one == nil {
		return nil
	}
	if _, has := one.tasks[task]; has || len(one.tasks) < maxTasks {
		one.tasks[task] = states[state]
	}
	if took != nil {
		one.seconds = new(*took / 1000)
	}
	return nil
}

// messages answers $appendTestMessagesInRun: a task, a test, and messages.
func (s *Service) messages(r *run, call *workbench.Call) error {
	var id string
	var list []wireMessage
	if err := call.Args(nil, nil, &id, &list); err != nil {
		return err
	}
	if one := r.know(wireTest{ExtID: id}); one != nil {
		one.messages = append(one.messages, list[:min(len(list), maxMessages-len(one.messages))]...)
	}
	return nil
}

// appendOutput answers $appendOutputToRun: a task, bytes, and the place and the test that they are about.
func (s *Service) appendOutput(r *run, call *workbench.Call) error {
	var text workbench.Bytes
	if err := call.Args(nil, nil, &text); err != nil {
		return err
	}
	if left := maxOutput - r.output.Len(); len(text) > left {
		r.Truncated = true
		text = text[:left]
	}
	r.output.Write(text)
	return nil
}

// state returns a copy that does not change, without secrets.
func (r *run) state(s *Service) Run {
	out := r.Run
	out.Errors, out.Results, out.State = slices.Clone(r.Errors), []Result{}, r.outcome()
	out.Output = strings.ToValidUTF8(s.opt.Redact(workbench.Plain(strings.ReplaceAll(r.output.String(), "\r\n", "\n"))), "\uFFFD")
	for _, id := range slices.Sorted(maps.Keys(r.results)) {
		if one := r.results[id]; len(one.tasks) > 0 {
			out.Results = append(out.Results, s.result(r, id, one))
		}
	}
	return out
}

// outcome returns the state of a run.
func (r *run) outcome() State {
	counts := map[State]int{}
	for _, one := range r.results {
		if len(one.tasks) > 0 {
			counts[one.state()]++
		}
	}
	switch {
	case r.Ended == nil:
		return Running
	case r.canceled:
		return Canceled
	case len(r.Errors) > 0 || counts[Failed]+counts[Errored] > 0:
		return Failed
	case counts[Passed] > 0:
		return Passed
	}
	return Empty
}

// state returns the state of a test, over all tasks.
func (one *result) state() State {
	return slices.MaxFunc(slices.Collect(maps.Values(one.tasks)), func(a, b State) int { return cmp.Compare(ranks[a], ranks[b]) })
}

func (s *Service) result(r *run, id string, one *result) Result {
	out := Result{Test: nameOf(id), State: one.state(), Seconds: one.seconds, Location: s.location(one.known.URI, one.known.Range)}
	for at := id; at != ""; at = above(at) {
		if up := r.results[at]; up != nil && up.known.Label != "" {
			out.Labels = append(out.Labels, s.line(up.known.Label))
		}
	}
	slices.Reverse(out.Labels)
	for _, m := range one.messages {
		msg := Failure{Text: s.text(workbench.Text(m.Message)), Expected: s.optional(m.Expected), Actual: s.optional(m.Actual)}
		if m.Location != nil {
			msg.Location = s.location(m.Location.URI, m.Location.Range)
		}
		for _, f := range m.StackTrace[:min(len(m.StackTrace), maxFrames)] {
			frame := Frame{Label: s.line(f.Label), Position: f.Position}
			if f.URI != nil {
				frame.URI = s.line(f.URI.String())
			}
			msg.Stack = append(msg.Stack, frame)
		}
		out.Messages = append(out.Messages, msg)
	}
	return out
}

// text returns a text of a message, without secrets and without control sequences of a terminal.
func (s *Service) text(text string) string {
	return cutTo(s.opt.Redact(workbench.Plain(text)), maxMessage)
}

func (s *Service) optional(text *string) *string {
	if text == nil {
		return nil
	}
	return new(s.text(*text))
}

// cutTo cuts a text off, with a mark.
func cutTo(text string, limit int) string {
	if len(text) > limit {
		return strings.ToValidUTF8(text[:limit], "") + " …"
	}
	return text
}
