//go:build !hostsup_posix

package denial

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/hostsup/hostsup/internal/sys"
)

// ErrAuditOff means that the kernel currently writes no audit records.
var ErrAuditOff = errors.New("the kernel's audit subsystem is off")

// Bounds on what is kept for a Watch that is called after the record arrived.
const (
	maxDomains = 256 // Landlock domains without a watcher
	maxHeld    = 64  // denials of each, and of processes without a watcher
)

// Audit reads the kernel's audit records and passes each to its watcher. It must be
// closed.
type Audit struct {
	f    *os.File
	done chan struct{}
	once sync.Once

	mu           sync.Mutex
	watchers     map[*watcher]struct{}
	domains      map[string]*domain
	order        []string // of domains without a watcher, the oldest first
	pendingCalls []Record // of system calls without a watcher
	lost         bool
}

type watcher struct {
	belongs func(pid int) bool
	sink    func(Denial)
}

type domain struct {
	pid  int // of its creator; 0: not known yet
	of   *watcher
	held []Denial
}

// OpenAudit starts reading. The error wraps [ErrAuditOff] if there is nothing to
// read, and os.ErrPermission without CAP_AUDIT_READ and CAP_AUDIT_CONTROL in the
// initial user namespace.
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

// Watch calls sink for each past and future denial of a process for which belongs
// returns true, and of the processes in Landlock domains that such a process
// created. belongs and sink are called on Audit's goroutine and on the caller's,
// and must not block or call Audit. Records without a watcher are kept for a while.
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
	rest := a.pendingCalls[:0]
	for _, r := range a.pendingCalls {
		if belongs(r.Pid) {
			tell(w, r.Denials)
		} else {
			rest = append(rest, r)
		}
	}
	a.pendingCalls = rest
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

// Lost reports whether records were lost because they arrived faster than Audit
// read them.
func (a *Audit) Lost() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.lost
}

// Close stops reading and waits for a sink that is being called. It is idempotent.
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

// take passes a record to its watcher, or keeps it for a later one.
func (a *Audit) take(r Record, lost bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lost = a.lost || lost
	if r.Domain == "" {
		a.takeCall(r)
		return
	}
	d := a.domains[r.Domain]
	if r.Gone {
		// The denials of a domain arrive before its end. Those of a domain without a
		// watcher stay until bound removes them.
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

// bound removes the oldest domains without a watcher.
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

func (a *Audit) takeCall(r Record) {
	if r.Pid == 0 {
		return
	}
	for w := range a.watchers {
		if w.belongs(r.Pid) {
			tell(w, r.Denials)
			return
		}
	}
	if len(a.pendingCalls) >= maxHeld {
		a.pendingCalls = a.pendingCalls[1:]
	}
	a.pendingCalls = append(a.pendingCalls, r)
}

func tell(w *watcher, list []Denial) {
	for _, d := range list {
		w.sink(d)
	}
}
