package service

import (
	"syscall"
	"time"

	"github.com/hostsup/hostsup/actors"
	wire "github.com/hostsup/hostsup/codec/vscode"
	"github.com/hostsup/hostsup/extensions"
	"github.com/hostsup/hostsup/extensions/blame"
	"github.com/hostsup/hostsup/internal/capture"
	"github.com/hostsup/hostsup/lifecycle"
)

// lastLines is how many of the last lines of a host are searched for the stack of an abort.
const lastLines = 200

// leads reports to the blame machine what of the crash itself leads to extensions.
func (p *extHost) leads(e actors.LifeEnd, kind blame.Kind, profile *ProfileReport) {
	defer p.forgetMemory()
	defer p.forgetNotes()
	if p.ref == nil {
		return
	}
	if w := p.memory; kind == blame.Memory && w != nil && w.life == e.Life && w.shares != nil {
		p.s.fault(p.number, blame.Trace{Cell: p.cell, Life: e.Life, Source: blame.Allocations, Shares: w.shares})
	}
	if kind == blame.Hang && (profile == nil || len(profile.Shares) == 0) {
		t := blame.Trace{Cell: p.cell, Life: e.Life, Source: blame.Blocking, Shares: p.s.index.Calling(p.blocking(e.Life))}
		if p.s.fault(p.number, t); t.Shares == nil {
			p.s.unled[p.number] = time.Now()
		}
	}
	if e.Cause == lifecycle.CauseProtocol {
		t := p.sender(e)
		if length := wire.Length(e.Reason); length > 0 && t.Call == 0 && t.Shares == nil {
			if t.Shares = p.s.index.Calling(p.allocated(e.Life, length)); t.Shares == nil {
				p.s.unled[p.number] = time.Now()
			}
		}
		p.s.fault(p.number, t)
	}
	switch syscall.Signal(e.Status.Signal) {
	case syscall.SIGABRT:
		lines := p.errorLines(e.Life)
		if shares := p.s.index.Aborted(lines); shares != nil {
			p.s.fault(p.number, blame.Trace{Cell: p.cell, Life: e.Life, Source: blame.Stack, Shares: shares})
		} else if kind == blame.Exit && !blame.Aborting(lines) {
			p.nativeCrash(e.Life)
		}
	case syscall.SIGSEGV, syscall.SIGBUS, syscall.SIGILL, syscall.SIGFPE:
		p.nativeCrash(e.Life)
	}
}

// errorLines returns the last lines that a life has written to its standard error.
func (p *extHost) errorLines(life uint64) (lines []string) {
	for _, l := range p.ref.Tail(lastLines) {
		if l.Life == life && l.Stream == capture.Stderr {
			lines = append(lines, l.Text)
		}
	}
	return lines
}

// nativeCrash reports the extensions with native code, which has crashed.
func (p *extHost) nativeCrash(life uint64) {
	t := blame.Trace{Cell: p.cell, Life: life, Source: blame.Native, Shares: p.s.index.Native(p.native(life))}
	if p.s.fault(p.number, t); t.Shares == nil {
		p.s.unled[p.number] = time.Now()
	}
}

// sender returns the trace of a message over the bound: it is the answer to a call of an
// extension, or one of the arguments is the id of an extension, such as that of a stored value.
func (p *extHost) sender(e actors.LifeEnd) blame.Trace {
	request, ids := wire.Sender(e.Reason)
	t := blame.Trace{Cell: p.cell, Life: e.Life, Source: blame.Sender, Call: uint64(request)}
	for _, id := range ids {
		if x, known := p.s.extension(extensions.MakeID(id)); known {
			t.Shares = []blame.Share{{ID: x.ID, Share: 1}}
			break
		}
	}
	return t
}
