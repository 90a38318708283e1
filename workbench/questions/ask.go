package questions

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hostsup/hostsup/extensions/vscode"
	"github.com/hostsup/hostsup/workbench"
)

// Kinds of questions.
const (
	Message = "message" // one of the items of a message
	List    = "list"    // one of the items of a list, or several
	Input   = "input"   // a text
	Open    = "open"    // paths of files or folders to open
	Save    = "save"    // the path of a file to save
)

// Question is a question of an extension that a client can answer.
type Question struct {
	ID        string    `json:"id"`
	Host      string    `json:"host"`
	Extension string    `json:"extension"` // its id; "" if VS Code does not tell who asks, which it does for messages, and several extensions run in the host
	Kind      string    `json:"kind" enum:"message,list,input,open,save"`
	Text      string    `json:"text"`               // one line
	Items     []string  `json:"items,omitempty"`    // the answers that can be chosen, up to 1000
	Many      bool      `json:"many,omitempty"`     // several answers may be chosen
	Password  bool      `json:"password,omitempty"` // the answer is a password
	Asked     time.Time `json:"asked"`
	Until     time.Time `json:"until"` // when it is dismissed
}

// Errors of answers.
var (
	// ErrNoQuestion means that no question with the id is open: it was answered, dismissed or
	// withdrawn, or its time was over.
	ErrNoQuestion = errors.New("no such question")
	// ErrAnswer means that an answer does not fit. The question stays open.
	ErrAnswer = errors.New("the answer does not fit")
)

// The bounds of open questions.
const (
	maxOpen  = 100  // of a host; more are dismissed
	maxItems = 1000 // of a question in [Question]
)

// question is a question that is decided by a rule, a client, or not at all.
type question struct {
	host      string
	extension string
	kind      string
	what      string   // for events
	text      string   // what [Question.Text] shows
	texts     []string // what a rule may match
	many      bool
	password  bool
	items     func() []string // nil if every text is an answer
	nothing   any             // the result if it is dismissed
	dismissed string          // what a dismissal is in an event; default "dismissed"
	// check returns the result for answers; an error is [ErrAnswer]. It may ask the host.
	check func(ctx context.Context, values []string) (any, error)
}

// outcome is the result of a question.
type outcome struct {
	result   any
	answered bool
}

// answer returns the result for the host: undefined, as in VS Code, without an answer.
func (o outcome) answer() any {
	if o.result == nil {
		return workbench.Undefined
	}
	return o.result
}

// open is a question that waits for a client.
type open struct {
	*question
	Question
	done chan outcome // with a buffer of 1, sent to by what has removed it from Service.open
}

// rule returns the first rule that matches a question.
func (s *Service) rule(q *question) *vscode.QuestionRule {
	for i := range s.opt.Rules {
		r := &s.opt.Rules[i]
		if r.Extension != "" && !strings.EqualFold(r.Extension, q.extension) {
			continue
		}
		if slices.ContainsFunc(q.texts, func(text string) bool { return text != "" && matches(r.Text, short(text)) }) {
			return r
		}
	}
	return nil
}

// matches reports whether a pattern, in which * stands for any text, matches a text.
func matches(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	last := len(parts) - 1
	if last == 0 {
		return pattern == text
	}
	text, ok := strings.CutPrefix(text, parts[0])
	if !ok || !strings.HasSuffix(text, parts[last]) {
		return false
	}
	text = strings.TrimSuffix(text, parts[last])
	for _, part := range parts[1:last] {
		if _, text, ok = strings.Cut(text, part); !ok {
			return false
		}
	}
	return true
}

// dismissal reports that a question is dismissed and why. The caller must hold mu.
func (s *Service) dismissal(q *question, why string) outcome {
	how := q.dismissed
	if how == "" {
		how = "dismissed"
	}
	if q.kind == Message {
		s.say(q.host, "%s: %s, %s", q.what, how, why)
	} else {
		s.say(q.host, "%s was %s, %s", q.what, how, why)
	}
	return outcome{result: q.nothing}
}

// atOnce dismisses a question that no rule and no client can answer, and reports whether it did.
func (s *Service) atOnce(q *question) (outcome, bool) {
	if s.opt.Ask || s.rule(q) != nil {
		return outcome{}, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dismissal(q, "because there is no user"), true
}

// resolve returns the outcome of a question. It waits for a client if no rule decides.
func (s *Service) resolve(ctx context.Context, q *question) outcome {
	if out, done := s.atOnce(q); done {
		return out
	}
	if r := s.rule(q); r != nil {
		return s.byRule(ctx, q, r)
	}
	o := s.ask(q)
	if o == nil {
		return outcome{result: q.nothing}
	}
	late := time.NewTimer(s.opt.Wait)
	defer late.Stop()
	var why string
	select {
	case out := <-o.done:
		return out
	case <-late.C:
		why = "because no client answered in " + s.opt.Wait.String()
	case <-ctx.Done():
		why = withdrawn(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[o.ID] != o {
		return <-o.done // it was settled meanwhile
	}
	delete(s.open, o.ID)
	return s.dismissal(q, why)
}

// withdrawn tells why the context of a question has ended.
func withdrawn(ctx context.Context) string {
	if errors.Is(context.Cause(ctx), context.Canceled) { // as the connection says of a request that was canceled
		return "because the extension does not ask any more"
	}
	return hostEnded
}

const hostEnded = "because its host has ended"

// byRule returns the outcome that a rule decides.
func (s *Service) byRule(ctx context.Context, q *question, r *vscode.QuestionRule) outcome {
	if r.Dismiss {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.dismissal(q, "because the configuration says so")
	}
	result, err := q.check(ctx, []string{r.Answer})
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		return s.dismissal(q, fmt.Sprintf("because the answer of the configuration cannot be given: %v", err))
	}
	s.answered(q, []string{r.Answer}, "the configuration")
	return outcome{result, true}
}

// answered reports an answer. A text that was typed is not told. The caller must hold mu.
func (s *Service) answered(q *question, values []string, by string) {
	with := ""
	if q.kind != Input {
		quoted := make([]string, len(values))
		for i, v := range values {
			quoted[i] = fmt.Sprintf("%q", short(v))
		}
		with = " with " + short(strings.Join(quoted, ", "))
	}
	s.say(q.host, "%s: answered%s by %s", q.what, with, by)
}

// ask adds a question to the open ones; nil if it was dismissed.
func (s *Service) ask(q *question) *open {
	now := s.now()
	o := &open{q, Question{
		Host: q.host, Extension: q.extension, Kind: q.kind, Text: short(q.text), Many: q.many, Password: q.password,
		Asked: now, Until: now.Add(s.opt.Wait), ID: strings.ToLower(rand.Text()[:8]),
	}, make(chan outcome, 1)}
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, other := range s.open {
		if other.Host == q.host {
			n++
		}
	}
	if n >= maxOpen {
		s.dismissal(q, fmt.Sprintf("because %d questions of its host are open", maxOpen))
		return nil
	}
	s.open[o.ID] = o
	s.say(q.host, "%s: asked as question %s, which a client can answer for %s", q.what, o.ID, s.opt.Wait)
	return o
}

// Questions returns the open questions of a host, oldest first; of all hosts if host is "".
func (s *Service) Questions(host string) []Question {
	s.mu.Lock()
	list := make([]*open, 0, len(s.open))
	for _, o := range s.open {
		if host == "" || o.Host == host {
			list = append(list, o)
		}
	}
	s.mu.Unlock()
	out := make([]Question, len(list))
	for i, o := range list {
		out[i] = o.Question
		if o.items != nil {
			all := o.items()
			out[i].Items = all[:min(len(all), maxItems)]
		}
	}
	slices.SortFunc(out, func(a, b Question) int {
		if c := a.Asked.Compare(b.Asked); c != 0 {
			return c
		}
		return strings.Compare(a.ID, b.ID)
	})
	return out
}

// Answer answers an open question: with the label of an item, a text, or the absolute path of a file;
// with several where [Question.Many] is set. The first answer that fits counts. The error is
// [ErrNoQuestion], or [ErrAnswer], after which the question is still open.
func (s *Service) Answer(ctx context.Context, id string, values ...string) error {
	o, err := s.find(id)
	if err != nil {
		return err
	}
	if len(values) == 0 || len(values) > 1 && !o.many {
		return fmt.Errorf("%w: one answer expected, not %d", ErrAnswer, len(values))
	}
	result, err := o.check(ctx, values)
	if err != nil {
		return err
	}
	return s.settle(o, func() outcome {
		s.answered(o.question, values, "a client")
		return outcome{result, true}
	})
}

// Dismiss dismisses an open question, as a user does with the key Escape. The error is [ErrNoQuestion].
func (s *Service) Dismiss(id string) error {
	o, err := s.find(id)
	if err != nil {
		return err
	}
	return s.settle(o, func() outcome { return s.dismissal(o.question, "by a client") })
}

func (s *Service) find(id string) (*open, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := s.open[id]; o != nil {
		return o, nil
	}
	return nil, fmt.Errorf("%w: %q", ErrNoQuestion, id)
}

// settle ends an open question, unless something else has.
func (s *Service) settle(o *open, end func() outcome) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[o.ID] != o {
		return fmt.Errorf("%w: %q was settled meanwhile", ErrNoQuestion, o.ID)
	}
	delete(s.open, o.ID)
	o.done <- end()
	return nil
}

// withdraw ends the open questions of a life that has ended. The caller must hold mu.
func (s *Service) withdraw(h *workbench.Host) {
	for id, o := range s.open {
		if o.Host == h.Name() {
			delete(s.open, id)
			o.done <- s.dismissal(o.question, hostEnded)
		}
	}
}
