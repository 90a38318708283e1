package service

import (
	"context"
	"time"

	"github.com/hostsup/hostsup/lifecycle"
)

// Notes are what a life notes of its own code. They can be read after its end, until Close.
type Notes interface {
	// Blocking returns the stack of the call that stops the event loop now, or did when the
	// life ended, and when that began; "" without such a call.
	Blocking() (stack string, since time.Time)
	// Large returns the stack of the latest allocation that may be that of a message of so
	// many bytes; "" without one.
	Large(bytes int64) (stack string)
	// Native returns the files of native code, up to 64, that were loaded.
	Native() (files []string)
	Close() error
}

const (
	// noteFor is how long after a crash that nothing led from the next lives note their calls.
	// It costs 10 to 30 µs a call.
	noteFor = time.Hour
	// noteWithin bounds how long that may take to begin. Until then nothing is activated that the
	// host does not activate by itself.
	noteWithin = 5 * time.Second
	// blockedFor is for how long a call must have gone on to be why a host hangs.
	blockedFor = time.Second
)

// lifeNotes are the notes of one life.
type lifeNotes struct {
	life     uint64
	cancel   context.CancelFunc
	notes    Notes  // nil until the life notes
	blocking string // the stack of the call that it hangs in; "" without one
}

// noteCalls makes a life note its calls if nothing led from a crash to an extension in the last
// hour. A host that waits in such a call cannot be asked for the stack any more.
func (p *extHost) noteCalls(life uint64) {
	p.forgetNotes()
	at, unled := p.s.unled[p.number]
	if !unled || time.Since(at) > noteFor || p.s.tree.Notes == nil || p.s.spec.NoProfiles || p.ref == nil {
		return
	}
	ctx, cancel := context.WithCancel(p.s.ctx)
	n := &lifeNotes{life: life, cancel: cancel}
	p.notes = n
	began, ref := time.Now(), p.ref
	p.s.deltas++
	p.s.work.Go(func() { // ends with the life
		defer cancel()
		beginning, stop := context.WithTimeout(ctx, noteWithin)
		_ = ref.Wait(beginning, lifecycle.Running) // it is not asked before that
		notes, err := p.s.tree.Notes(beginning, p.name, life)
		stop()
		p.s.post(func() {
			p.s.deltas--
			n.notes = notes
			p.s.settle()
		})
		if err != nil {
			p.s.log.Debug("a host does not note its calls", "host", p.name, "life", life, "error", err)
			return
		}
		defer func() { _ = notes.Close() }() // it was only read
		p.s.log.Info("a host notes its calls that block", "host", p.name, "life", life, "after", time.Since(began))
		<-ctx.Done()
	})
}

// forgetNotes ends the use of the notes of a life.
func (p *extHost) forgetNotes() {
	if p.notes != nil {
		p.notes.cancel()
		p.notes = nil
	}
}

// readBlocking finds the call in which a life hangs. It is read now, because the child that
// the call waits for may be ended before the host.
func (p *extHost) readBlocking(life uint64) {
	n := p.notes
	if n == nil || n.life != life || n.notes == nil {
		return
	}
	if stack, since := n.notes.Blocking(); time.Since(since) >= blockedFor {
		n.blocking = stack
	}
}

// clearBlocking forgets the call of a life that answers again.
func (p *extHost) clearBlocking() {
	if p.notes != nil {
		p.notes.blocking = ""
	}
}

// blocking returns the stack of the call in which a life hung; "" if it is not known.
func (p *extHost) blocking(life uint64) string {
	if p.notes == nil || p.notes.life != life {
		return ""
	}
	return p.notes.blocking
}

// allocated returns the stack of the allocation of a message of a life; "" if it is not known.
func (p *extHost) allocated(life uint64, bytes int64) string {
	if n := p.notes; n != nil && n.life == life && n.notes != nil {
		return n.notes.Large(bytes)
	}
	return ""
}

// native returns the files of native code that a life has loaded, as far as they are known.
func (p *extHost) native(life uint64) []string {
	if n := p.notes; n != nil && n.life == life && n.notes != nil {
		return n.notes.Native()
	}
	return nil
}
