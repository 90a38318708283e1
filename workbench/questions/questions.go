// Package questions has what extensions say to the user of their editor and ask. There is no user:
// messages become events, and questions are dismissed, as a user can dismiss them, with an event that
// says which one.
package questions

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/hostsup/hostsup/workbench"
)

// The bounds of events.
const (
	maxText = 1000 // bytes of a message
	perHost = 20   // events of a host at once; one more each second
)

// Service answers MainThreadMessageService, MainThreadQuickOpen and MainThreadDialogs. It must be made
// with [New].
type Service struct {
	report func(host, text string)
	now    func() time.Time

	mu    sync.Mutex
	hosts workbench.Hosts
	rates map[string]*speaker // by host
	shown map[shownKey]bool   // pickers and input boxes that extensions have shown
}

// speaker bounds the events of a host.
type speaker struct {
	limit   *rate.Limiter
	dropped int
}

type shownKey struct {
	host string
	id   int
}

// New returns the service. report gets an event about a host; it must not block.
func New(report func(host, text string)) *Service {
	return &Service{report: report, now: time.Now, hosts: workbench.Hosts{}, rates: map[string]*speaker{}, shown: map[shownKey]bool{}}
}

// Methods implements [workbench.Service].
func (s *Service) Methods() map[string]workbench.Method {
	const quick, dialogs = "MainThreadQuickOpen.", "MainThreadDialogs."
	nothing := workbench.Method{Now: func(*workbench.Call) (any, error) { return nil, nil }}
	return map[string]workbench.Method{
		"MainThreadMessageService.$showMessage": {Now: s.message},
		quick + "$show":                         {Now: s.pick},
		quick + "$setItems":                     nothing, // of a picker that was dismissed
		quick + "$setError":                     nothing,
		quick + "$input":                        {Now: s.input},
		quick + "$createOrUpdate":               {Now: s.session},
		quick + "$dispose":                      {Now: s.dispose},
		dialogs + "$showOpenDialog":             {Now: func(c *workbench.Call) (any, error) { return s.dialog(c, "open") }},
		dialogs + "$showSaveDialog":             {Now: func(c *workbench.Call) (any, error) { return s.dialog(c, "save") }},
	}
}

// Up implements [workbench.Follower].
func (s *Service) Up(h *workbench.Host) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hosts.Add(h)
}

// Down implements [workbench.Follower].
func (s *Service) Down(h *workbench.Host) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hosts.Remove(h)
	for k := range s.shown {
		if k.host == h.Name() {
			delete(s.shown, k)
		}
	}
}

// say reports an event about a host. What is said too fast is counted, and the next event tells how
// much was left out. The caller must hold mu.
func (s *Service) say(name, format string, args ...any) {
	r := s.rates[name]
	if r == nil {
		r = &speaker{limit: rate.NewLimiter(1, perHost)}
		s.rates[name] = r
	}
	if !r.limit.AllowN(s.now(), 1) {
		r.dropped++
		return
	}
	text := fmt.Sprintf(format, args...)
	if r.dropped > 0 {
		text += fmt.Sprintf(" (%d more came too fast and were left out)", r.dropped)
		r.dropped = 0
	}
	s.report(name, text)
}

// short returns a text of one line that is not too long.
func short(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > maxText {
		text = strings.ToValidUTF8(text[:maxText], "") + " …"
	}
	return text
}

// message answers $showMessage: its severity, the text, options, and the items that the user may
// choose.
func (s *Service) message(c *workbench.Call) (any, error) {
	var severity int
	var text string
	var options struct {
		Source *struct{ Label string }
		Detail string
	}
	var items []struct {
		Title             string
		Handle            int
		IsCloseAffordance bool
	}
	if err := c.Args(&severity, &text, &options, &items); err != nil {
		return nil, err
	}
	from := "an extension"
	if options.Source != nil && options.Source.Label != "" {
		from = short(options.Source.Label)
	}
	kind := map[int]string{1: "information", 2: "warning", 3: "error"}[severity]
	if kind == "" {
		kind = "message"
	}
	if options.Detail != "" {
		text += ": " + options.Detail
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(items) == 0 {
		s.say(c.Host.Name(), "%s: %s: %s", from, kind, short(text))
		return nil, nil
	}
	titles := make([]string, len(items))
	answer := any(nil)
	dismissed := "dismissed"
	for i, item := range items {
		titles[i] = fmt.Sprintf("%q", short(item.Title))
		if item.IsCloseAffordance && answer == nil {
			answer, dismissed = item.Handle, "answered with "+titles[i]+", as if it was closed"
		}
	}
	s.say(c.Host.Name(), "%s asked with a message of kind %s: %s: %s: %s, because there is no user", from, kind, short(text), short(strings.Join(titles, ", ")), dismissed)
	return answer, nil
}

// asked is what options of a picker, an input box or a dialog say of the question.
type asked struct{ Title, PlaceHolder, Prompt, OpenLabel, SaveLabel string }

func (a asked) String() string {
	for _, text := range []string{a.Title, a.Prompt, a.PlaceHolder, a.OpenLabel, a.SaveLabel} {
		if text != "" {
			return fmt.Sprintf("%q", short(text))
		}
	}
	return "without a title"
}

// dismiss reports a question that is not answered.
func (s *Service) dismiss(c *workbench.Call, what string, a asked) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.say(c.Host.Name(), "%s %s of an extension was dismissed, because there is no user", what, a)
}

// pick answers $show of window.showQuickPick: the number of the picker and its options.
func (s *Service) pick(c *workbench.Call) (any, error) {
	var a asked
	if err := c.Args(nil, &a); err != nil {
		return nil, err
	}
	s.dismiss(c, "the list", a)
	return nil, nil
}

// input answers $input of window.showInputBox.
func (s *Service) input(c *workbench.Call) (any, error) {
	var a asked
	if err := c.Args(&a); err != nil {
		return nil, err
	}
	s.dismiss(c, "the input box", a)
	return nil, nil
}

func (s *Service) dialog(c *workbench.Call, kind string) (any, error) {
	var a asked
	if err := c.Args(&a); err != nil {
		return nil, err
	}
	s.dismiss(c, "the dialog to "+kind+" a file", a)
	return nil, nil
}

// session answers $createOrUpdate of window.createQuickPick and createInputBox: it is hidden as soon
// as it is shown.
func (s *Service) session(c *workbench.Call) (any, error) {
	var p struct {
		asked
		ID      int
		Type    string
		Visible *bool
	}
	if err := c.Args(&p); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key := shownKey{c.Host.Name(), p.ID}
	if p.Visible == nil {
		return nil, nil
	}
	if !*p.Visible {
		delete(s.shown, key)
		return nil, nil
	}
	if s.shown[key] {
		return nil, nil
	}
	if len(s.shown) >= maxShown {
		clear(s.shown) // one of them may be reported twice
	}
	s.shown[key] = true
	what := "the list"
	if p.Type == "inputBox" {
		what = "the input box"
	}
	s.say(c.Host.Name(), "%s %s of an extension was dismissed, because there is no user", what, p.asked)
	if h := s.hosts[key.host]; h != nil {
		h.Tell("ExtHostQuickOpen.$onDidHide", workbench.Params(p.ID))
	}
	return nil, nil
}

// maxShown bounds what is remembered of pickers and input boxes.
const maxShown = 1000

func (s *Service) dispose(c *workbench.Call) (any, error) {
	var id int
	if err := c.Args(&id); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.shown, shownKey{c.Host.Name(), id})
	return nil, nil
}
