// Package questions has what extensions say to the user of their editor and ask. There is no user:
// messages become events. A question is decided by the first rule that matches it, or by a client
// that lists the open ones with [Service.Questions] and calls [Service.Answer]; otherwise it is
// dismissed, as a user can dismiss it. Events tell which question it was and what decided it, but
// not texts that were typed. A Go program finds the service of a host with [Of].
package questions

import (
	"fmt"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/extensions/vscode"
	"github.com/hostsup/hostsup/workbench"
)

// The bounds of events.
const (
	maxText = 1000 // bytes of a message
	perHost = 100  // events of a host at once; one more each second
)

// DefaultWait is how long a question is open by default.
const DefaultWait = 5 * time.Minute

// Options of a service.
type Options struct {
	// Questions decides questions. Its Wait is [DefaultWait] if it is 0.
	vscode.Questions
	// Report gets an event about a host. It must not block.
	Report func(host, text string)
}

// Service answers MainThreadMessageService, MainThreadQuickOpen and MainThreadDialogs. It must be made
// with [New].
type Service struct {
	opt Options
	now func() time.Time

	mu       sync.Mutex
	hosts    workbench.Hosts
	rates    map[string]*speaker   // by host
	lists    map[shownKey]*list    // of showQuickPick, that wait for their items
	sessions map[shownKey]*session // of createQuickPick and createInputBox
	open     map[string]*open      // by id
	begun    map[string]*begun     // by host
	running  sync.WaitGroup        // what waits for answers of sessions
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

// New returns the service.
func New(opt Options) *Service {
	if opt.Wait <= 0 {
		opt.Wait = DefaultWait
	}
	return &Service{
		opt: opt, now: time.Now, rates: map[string]*speaker{},
		lists: map[shownKey]*list{}, sessions: map[shownKey]*session{}, open: map[string]*open{}, begun: map[string]*begun{},
	}
}

// Of returns the service of a host. The error is [extensions.ErrNoExtensions] for a host that is not
// one of VS Code.
func Of(host *actors.Ref) (*Service, error) {
	return workbench.Of[*Service](host)
}

// Methods implements [workbench.Service].
func (s *Service) Methods() map[string]workbench.Method {
	const quick, dialogs = "MainThreadQuickOpen.", "MainThreadDialogs."
	return map[string]workbench.Method{
		"MainThreadMessageService.$showMessage": {Do: s.message},
		quick + "$show":                         {Begin: s.pick},
		quick + "$setItems":                     {Now: s.setItems},
		quick + "$setError":                     {Now: s.setError},
		quick + "$input":                        s.asking(s.input),
		quick + "$createOrUpdate":               {Now: s.update},
		quick + "$dispose":                      {Now: s.dispose},
		dialogs + "$showOpenDialog":             s.asking(s.openDialog),
		dialogs + "$showSaveDialog":             s.asking(s.saveDialog),
	}
}

// Up implements [workbench.Follower].
func (s *Service) Up(h *workbench.Host) {
	defer s.hosts.Enter(&s.mu, h)()
}

// Down implements [workbench.Follower]. Open questions of the life are withdrawn.
func (s *Service) Down(h *workbench.Host) {
	defer s.hosts.Leave(&s.mu, h)()
	if b := s.begun[h.Name()]; b != nil && b.life <= h.Life() {
		delete(s.begun, h.Name())
	}
	s.withdraw(h)
	for k, l := range s.lists {
		if k.host == h.Name() {
			delete(s.lists, k)
			l.end(hostEnded)
		}
	}
	for k, one := range s.sessions {
		if k.host == h.Name() {
			delete(s.sessions, k)
			one.hide()
		}
	}
}

// Close implements [workbench.Closer].
func (s *Service) Close() error {
	s.running.Wait()
	return nil
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
	s.opt.Report(name, text)
}

// short returns a text of one line that is not too long.
func short(text string) string { return workbench.OneLine(text, maxText) }
