//go:build !hostsup_posix

package denial

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/hostsup/hostsup/internal/sys"
)

// ErrAuditOff means that the kernel makes no audit records at the moment.
var ErrAuditOff = errors.New("the kernel's audit subsystem is off")

// Bounds of what is kept for those who ask later than the kernel told.
const (
	maxDomains = 256 // Landlock domains that nobody has asked for
	maxHeld    = 64  // denials of each, and of processes that nobody has asked for
)

// Audit reads the kernel's audit records and gives each to whom it belongs. It
// must be closed.
type Audit struct {
	f    *os.File
	done chan struct{}
	once sync.Once

	mu       sync.Mutex
	watchers map[*watcher]struct{}
	domains  map[string]*domain
	order    []string // of domains that are nobody's yet, the oldest first
	strays   []Record // of system calls of nobody's yet
	lost     bool
}

type watcher struct {
	belongs func(pid int) bool
	sink    func(Denial)
}

type domain struct {
	pid  int // who made it; 0: not known yet
	of   *watcher
	held []Denial
}

// OpenAudit begins to read. The error wraps [ErrAuditOff] when there is
// nothing to read, and os.ErrPermission without the right to: CAP_AUDIT_READ
// and CAP_AUDIT_CONTROL in the first user namespace.
func OpenAudit() (*Audit, error) {
	on, err := sys.AuditEnabled()
	if err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	if !on {
		return nil, fmt.Errorf("audit: %w", ErrAuditOff)
	}
	f, err := sys.OpenAudit()
	if err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	a := newAudit()
	a.f = f
	go a.run()
	return a, nil
}

func newAudit() *Audit {
	return &Audit{done: make(chan struct{}), watchers: map[*watcher]struct{}{}, domains: map[string]*domain{}}
}

// Watch has sink called for what was and is refused to the processes that
// belong, and to those in Landlock domains that such a process made. belongs
// and sink are called on Audit's goroutine and on the caller's, and must not
// wait or call Audit. What is told while nobody watches is kept for a while.
func (a *Audit) Watch(belongs func(pid int) bool, sink func(Denial)) (stop func()) {
	w := &watcher{belongs, sink}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.watchers[w] = struct{}{}
	for name, d := range a.domains {
		if d.of == nil && d.pid != 0 && belongs(d.pid) {
			a.assign(name, d, w)
		}
	}
	rest := a.strays[:0]
	for _, r := range a.strays {
		if belongs(r.Pid) {
			tell(w, r.Denials)
		} else {
			rest = append(rest, r)
		}
	}
	a.strays = rest
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.watchers, w)
		for name, d := range a.domains {
			if d.of == w {
				delete(a.domains, name)
			}
		}
	}
}

// Lost says whether records were lost because they came faster than they were
// read.
func (a *Audit) Lost() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.lost
}

// Close ends reading and waits for a sink that is being called. Idempotent.
func (a *Audit) Close() error {
	a.once.Do(func() { _ = a.f.Close() })
	<-a.done
	return nil
}

func (a *Audit) run() {
	defer close(a.done)
	buf := make([]byte, 16<<10)
	for {
		raw, lost, err := sys.ReadAudit(a.f, buf)
		if err != nil {
			return
		}
		if r, ok := ParseRecord(raw.Type, raw.Text); ok || lost {
			a.take(r, lost)
		}
	}
}

// take gives a record to its watcher, or keeps it for one.
func (a *Audit) take(r Record, lost bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lost = a.lost || lost
	if r.Domain == "" {
		a.stray(r)
		return
	}
	d := a.domains[r.Domain]
	if r.Gone {
		// The denials of a domain come before its end. Those of one that
		// nobody has asked for yet stay until their place is needed.
		if d != nil && d.of != nil {
			delete(a.domains, r.Domain)
		}
		return
	}
	if d == nil {
		d = &domain{}
		a.domains[r.Domain] = d
		a.order = append(a.order, r.Domain)
		a.bound()
	}
	if d.of != nil {
		tell(d.of, r.Denials)
		return
	}
	if room := maxHeld - len(d.held); room > 0 {
		d.held = append(d.held, r.Denials[:min(room, len(r.Denials))]...)
	}
	if r.Pid == 0 {
		return
	}
	d.pid = r.Pid
	for w := range a.watchers {
		if w.belongs(d.pid) {
			a.assign(r.Domain, d, w)
			return
		}
	}
}

// bound forgets the oldest domain that is nobody's.
func (a *Audit) bound() {
	for len(a.order) > maxDomains {
		name := a.order[0]
		a.order = a.order[1:]
		if d := a.domains[name]; d != nil && d.of == nil {
			delete(a.domains, name)
		}
	}
}

func (a *Audit) assign(name string, d *domain, w *watcher) {
	d.of = w
	tell(w, d.held)
	d.held = nil
	for i, n := range a.order {
		if n == name {
			a.order = append(a.order[:i], a.order[i+1:]...)
			return
		}
	}
}

func (a *Audit) stray(r Record) {
	if r.Pid == 0 {
		return
	}
	for w := range a.watchers {
		if w.belongs(r.Pid) {
			tell(w, r.Denials)
			return
		}
	}
	if len(a.strays) >= maxHeld {
		a.strays = a.strays[1:]
	}
	a.strays = append(a.strays, r)
}

func tell(w *watcher, list []Denial) {
	for _, d := range list {
		w.sink(d)
	}
}
