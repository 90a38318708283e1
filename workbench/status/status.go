// Package status has what extensions show while they work: the entries of the status bar and of the
// status of languages, and progress (window.withProgress). Without a window the current ones can be
// asked for with [Service.State], and events tell what has changed. A Go program finds the service of
// a host with [Of].
//
// # Events
//
// An event tells the text of an entry when it is shown and when it changes, the begin of a progress,
// and its end. All are bounded for each host: changes that come faster are left out, but the last one
// is told in the end. A progress that ends within a quarter of a second is not told, as VS Code does
// not show it. All that a life has shown ends with it.
package status

import (
	"errors"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/workbench"
	"github.com/hostsup/hostsup/workbench/languages"
)

// The bounds of what a host may show at one time.
const (
	maxEntries  = 1000 // in the status bar
	maxProgress = 1000
	maxText     = 1000 // bytes of a text; longer ones are cut
)

// Errors of [Service.Cancel].
var (
	// ErrNoProgress means that no progress with the id is running.
	ErrNoProgress = errors.New("no such progress")
	// ErrNotCancelable means that the extension does not let its user cancel the progress.
	ErrNotCancelable = errors.New("the progress cannot be canceled")
)

// Kinds of entries.
const (
	Bar      = "bar"      // of the status bar
	Language = "language" // of the status of a language
)

// Entry is an entry that an extension shows. Its texts have one line, without icons.
type Entry struct {
	Host      string `json:"host"`
	Extension string `json:"extension"` // its id, for the status of a language its display name; "" where VS Code does not tell
	Kind      string `json:"kind" enum:"bar,language"`
	Name      string `json:"name"`
	Text      string `json:"text"`
	Detail    string `json:"detail,omitempty"` // the tooltip, or the detail of the status of a language
	// Severity is "warning" or "error" for an entry that is marked so.
	Severity string    `json:"severity,omitempty"`
	Busy     bool      `json:"busy,omitempty"`
	Command  string    `json:"command,omitempty"` // what a click would execute
	Since    time.Time `json:"since"`             // when it got its text
}

// Progress is a progress that is running.
type Progress struct {
	ID        string    `json:"id"`
	Host      string    `json:"host"`
	Extension string    `json:"extension"` // its id
	Title     string    `json:"title"`
	Message   string    `json:"message,omitempty"` // the last one
	Percent   *float64  `json:"percent,omitempty"` // 0 to 100; absent if the extension does not tell
	Location  string    `json:"location"`          // where VS Code shows it: notification, window, dialog, or the id of a view
	Started   time.Time `json:"started"`
	// Cancelable reports whether [Service.Cancel] may be called. Canceled reports that it was, and
	// that the extension has not ended the progress yet.
	Cancelable bool `json:"cancelable,omitempty"`
	Canceled   bool `json:"canceled,omitempty"`
}

// State is what the extensions of hosts show now.
type State struct {
	Entries  []Entry    `json:"entries"`  // by host, kind, extension and name
	Progress []Progress `json:"progress"` // oldest first
}

// Event is a change that a program is told.
type Event struct {
	Host     string
	Progress bool   // it is about a progress, not an entry
	Text     string // one line
}

// Options of a service.
type Options struct {
	// Report gets events. It must not block.
	Report func(Event)
	// Redact takes secrets out of the texts of [Service.State]. nil: nothing is taken out.
	Redact func(text string) string
}

// Service answers MainThreadStatusBar and MainThreadProgress. It must be made with [New]. It is safe
// for concurrent use.
type Service struct {
	opt Options

	mu      sync.Mutex
	hosts   workbench.Hosts
	shown   map[string]*shown    // by host
	byID    map[string]*progress // that run
	lastID  int                  // of a listener
	changed map[int]func()
	closed  bool

	starting  map[string]Progress // by host
	lastStart int
}

// New returns the service.
func New(opt Options) *Service {
	if opt.Redact == nil {
		opt.Redact = func(text string) string { return text }
	}
	return &Service{
		opt: opt, shown: map[string]*shown{}, byID: map[string]*progress{}, changed: map[int]func(){}, starting: map[string]Progress{},
	}
}

// Of returns the service of a host. The error is [extensions.ErrNoExtensions] for a host that is not
// one of VS Code.
func Of(host *actors.Ref) (*Service, error) {
	return workbench.Of[*Service](host)
}

// Methods implements [workbench.Service].
func (s *Service) Methods() map[string]workbench.Method {
	const bar, runs = "MainThreadStatusBar.", "MainThreadProgress."
	return map[string]workbench.Method{
		bar + "$setEntry":        {Now: s.setEntry},
		bar + "$disposeEntry":    {Now: s.disposeEntry},
		runs + "$startProgress":  {Now: s.start},
		runs + "$progressReport": {Now: s.report},
		runs + "$progressEnd":    {Now: s.end},
	}
}

// Up implements [workbench.Follower].
func (s *Service) Up(h *workbench.Host) {
	defer s.hosts.Enter(&s.mu, h)()
}

// Down implements [workbench.Follower]: what the life has shown is gone.
func (s *Service) Down(h *workbench.Host) {
	defer s.hosts.Leave(&s.mu, h)()
	s.down(h.Name())
}

// down removes what a host shows. The caller must hold mu.
func (s *Service) down(host string) {
	if on := s.shown[host]; on != nil {
		for handle := range on.running {
			s.ended(on, handle, ", because its host has ended")
		}
		on.entries, on.dirty = map[entryKey]*entry{}, nil
	}
}

// Close implements [workbench.Closer].
func (s *Service) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, on := range s.shown {
		on.stop()
	}
	return nil
}

// of returns what a host shows. The caller must hold mu.
func (s *Service) of(host string) *shown {
	on := s.shown[host]
	if on == nil {
		on = newShown(host)
		s.shown[host] = on
	}
	return on
}

// Subscribe has changed called whenever a progress begins, changes or ends, until stop is called.
// changed must not block and must not call the service.
func (s *Service) Subscribe(changed func()) (stop func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastID++
	id := s.lastID
	s.changed[id] = changed
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.changed, id)
	}
}

// icon is an icon within a text, such as $(sync~spin).
var icon = regexp.MustCompile(`\$\([A-Za-z0-9-]+(~[A-Za-z]+)?\)`)

// line returns a text of an extension in one line, without icons.
func line(text string) string {
	if len(text) > 16*maxText { // the rest would be cut in any case
		text = strings.ToValidUTF8(text[:16*maxText], "")
	}
	return workbench.OneLine(icon.ReplaceAllString(text, " "), maxText)
}

var _ workbench.Follower = (*Service)(nil)

// Language takes a change of the status of a language, for [languages.Service.Changed].
func (s *Service) Language(host string, handle int, now *languages.Status) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := entryKey{Language, handle}
	if now == nil {
		s.of(host).remove(key)
		return
	}
	s.set(key, Entry{
		Host: host, Extension: line(now.Source), Kind: Language, Name: line(now.Name), Text: line(now.Label), Detail: line(now.Detail),
		Severity: map[int]string{2: "warning", 3: "error"}[now.Severity], Busy: now.Busy, Command: line(now.Command),
	})
}
