package service

import (
	"syscall"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/extensions/blame"
	"github.com/hostsup/hostsup/internal/capture"
)

// lastLines is how many of the last lines of a host are searched for the stack of an abort.
const lastLines = 200

// leads reports to the blame machine what of the crash itself leads to extensions.
func (p *extHost) leads(e actors.LifeEnd) {
	if p.ref == nil {
		return
	}
	if syscall.Signal(e.Status.Signal) == syscall.SIGABRT {
		var lines []string
		for _, l := range p.ref.Tail(lastLines) {
			if l.Life == e.Life && l.Stream == capture.Stderr {
				lines = append(lines, l.Text)
			}
		}
		if shares := p.s.index.Aborted(lines); shares != nil {
			p.s.fault(p.number, blame.Trace{Cell: p.cell, Life: e.Life, Source: blame.Stack, Shares: shares})
		}
	}
}
