package service

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"syscall"
	"time"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/extensions"
	"github.com/hostsup/hostsup/extensions/activation"
	"github.com/hostsup/hostsup/extensions/blame"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/record"
)

// faults finds the extensions that cause the crashes of one host of the specification and its cells.
type faults struct {
	machine *blame.Machine
	alarm   *time.Timer
}

// outcome is the result of a step of that machine.
type outcome struct {
	moved     bool
	forgive   bool
	decisions []blame.Decision
}

// fault steps the blame machine of a number and records its decisions.
func (s *Service) fault(number int, ev blame.Event) (out outcome) {
	f := s.faults[number]
	if f == nil {
		rules := s.spec.Blame
		if rules.Prefix == "" {
			rules.Prefix = "trial-"
		}
		if number != 0 {
			rules.Prefix = fmt.Sprintf("%s%d-", rules.Prefix, number)
		}
		f = &faults{machine: blame.New(rules)}
		s.faults[number] = f
	}
	for _, e := range f.machine.Step(ev, time.Now()) {
		switch e := e.(type) {
		case blame.Open:
			s.owner[e.Cell] = number
		case blame.Move:
			out.moved = true
		case blame.Forgive:
			out.forgive = true
		case blame.Record:
			out.decisions = append(out.decisions, e.Decision)
			s.decided(number, e.Decision)
		case blame.SetTimer:
			if f.alarm != nil {
				f.alarm.Stop()
			}
			f.alarm = time.AfterFunc(e.After, func() { s.post(func() { s.carryOut(number, s.fault(number, blame.Fired{})) }) })
		case blame.CancelTimer:
			if f.alarm != nil {
				f.alarm.Stop()
			}
		}
	}
	return out
}

// carryOut carries out the outcome of a step that was no crash of the host itself.
func (s *Service) carryOut(number int, out outcome) {
	if out.forgive {
		for _, p := range s.hosts {
			if ref := p.ref; p.number == number && p.cell == "" && ref != nil {
				p.do(func(ctx context.Context) {
					if err := ref.Do(ctx, actors.VerbReset); err != nil {
						s.log.Debug("host was not forgiven", "host", ref.Name(), "error", err)
					}
				})
			}
		}
	}
	if out.moved {
		s.relocate()
	}
}

// decided publishes a decision.
func (s *Service) decided(number int, d blame.Decision) {
	host, life := s.hostOfCell(number, d.Cell), uint64(0)
	ids := make([]string, len(d.IDs))
	for i, id := range d.IDs {
		ids[i] = string(id)
		s.of(id).decision = fmt.Sprintf("%s: %s", d.Verdict, d.Why)
	}
	for _, e := range d.Evidence {
		life = e.Life
		for _, suspect := range e.Suspects {
			s.of(suspect.ID).crashes[crash{fmt.Sprint(number, e.Cell), e.Life}] = true
		}
	}
	reason := fmt.Sprintf("%s: %s", d.Verdict, d.Why)
	switch {
	case d.Verdict == blame.HostFault:
		reason = "no extension's fault: " + d.Why
	case len(ids) > 0:
		reason = fmt.Sprintf("%s %s: %s", d.Verdict, strings.Join(ids, ", "), d.Why)
	}
	e := record.Event{Kind: record.KindBlame, Reason: reason, Decision: asJSON(d)}
	if len(ids) == 1 {
		e.Extension = ids[0]
	}
	s.log.Warn("decision", "host", host, "verdict", string(d.Verdict), "extensions", ids, "why", d.Why)
	s.emit(e, host, life)
}

func (s *Service) of(id extensions.ID) *history {
	r := s.history[id]
	if r == nil {
		r = &history{crashes: map[crash]bool{}}
		s.history[id] = r
	}
	return r
}

// hostOfCell returns the name of the host of a cell.
func (s *Service) hostOfCell(number int, cell string) string {
	for name, p := range s.hosts {
		if p.cell == cell && p.number == number {
			return name
		}
	}
	return s.base.Name()
}

// advise returns the machines' findings about the end of a life.
func (p *extHost) advise(e actors.LifeEnd, tell func(actors.Advice)) {
	p.s.post(func() { tell(p.ended(e)) })
}

// Report is the part of a crash report about extensions.
type Report struct {
	Begun     []string         `json:"begun"`     // the extensions whose activation had begun
	Decisions []blame.Decision `json:"decisions"` // the decisions after the crash
	Profile   *ProfileReport   `json:"profile,omitempty"`
}

// ProfileReport is the CPU profile of a host while it hung.
type ProfileReport struct {
	Seconds float64       `json:"seconds"`
	Shares  []blame.Share `json:"shares"`         // of the processor, by extension; the largest first
	File    string        `json:"file,omitempty"` // its path, while it is among the newest
}

// ReportOf returns the part of a crash report about extensions, or nil.
func ReportOf(c *record.CrashReport) (r *Report) {
	if json.Unmarshal(c.Extensions, &r) != nil {
		return nil
	}
	return r
}

// DecisionOf returns the decision of an event, or nil.
func DecisionOf(e record.Event) (d *blame.Decision) {
	if json.Unmarshal(e.Decision, &d) != nil {
		return nil
	}
	return d
}

// asJSON encodes a value of this package.
func asJSON(v any) json.RawMessage {
	text, err := json.Marshal(v)
	if err != nil { // never: all values can be encoded
		return nil
	}
	return text
}

// ended finds the culprits and moves them before the next life begins.
func (p *extHost) ended(e actors.LifeEnd) (a actors.Advice) {
	s := p.s
	if p.adapter.hasEarly(e.Life) { // it ended before lifeBegan
		p.lifeBegan(e.Life, nil)
	}
	p.adapter.lifeEnded()
	p.reportDropped(e.Life)
	p.tally(e.Life, true)
	p.commands.Clear()
	p.starts.Range(func(key, _ any) bool {
		if a, ok := key.(startCall); ok && a.life <= e.Life {
			p.starts.Delete(key)
		}
		return true
	})
	begun := s.active.In(p.name, false)
	if e.Expected && e.Status.Signal != 0 && len(begun) > 0 {
		s.emit(record.Event{Kind: record.KindExtension, Reason: fmt.Sprintf("the host ended before all its extensions were deactivated: %s; active were %s", e.Reason, join(begun))}, p.name, e.Life)
	}
	p.life, p.line, p.unconfirmed = 0, nil, false
	s.activation(activation.HostDown{Host: p.name, Next: activation.NextRestart, Cause: e.Reason})
	kind, crashed := kindOf(e)
	profile := p.hangProfile(e)
	p.endHang()
	if !crashed {
		p.forgetMemory()
		p.forgetNotes()
		s.carryOut(p.number, s.fault(p.number, blame.LifeEnded{Cell: p.cell, Life: e.Life}))
		return a
	}
	p.leads(e, kind, profile)
	out := s.fault(p.number, blame.Crashed{Cell: p.cell, Life: e.Life, Kind: kind, Reason: e.Reason})
	report := Report{Begun: []string{}, Decisions: out.decisions, Profile: profile}
	for _, id := range begun {
		report.Begun = append(report.Begun, string(id))
	}
	if out.decisions == nil {
		report.Decisions = []blame.Decision{}
	}
	a.Extensions = asJSON(report)
	if p.cell == blame.Home {
		a.Clear, out.forgive = out.forgive, false
	}
	s.carryOut(p.number, out)
	return a
}

// join returns ids as text.
func join(ids []extensions.ID) string {
	parts := make([]string, len(ids))
	for i, id := range ids {
		parts[i] = string(id)
	}
	return strings.Join(parts, ", ")
}

// kindOf returns the kind of a crash; false for other ends.
func kindOf(e actors.LifeEnd) (blame.Kind, bool) {
	switch e.Cause {
	case lifecycle.CauseUnresponsive:
		return blame.Hang, true
	case lifecycle.CauseVersion:
		return blame.Version, true
	case lifecycle.CauseSpawn, lifecycle.CauseTimeout:
		return blame.Spawn, !e.Expected
	case lifecycle.CauseProtocol, lifecycle.CauseClosed:
		return blame.Protocol, !e.Expected
	case lifecycle.CauseExit:
	default:
		return blame.Outside, !e.Expected
	}
	switch {
	case e.Expected, e.Status == lifecycle.ExitStatus{}:
		return "", false
	case strings.Contains(e.Reason, "out of memory"), strings.Contains(e.Reason, "limit of memory"):
		return blame.Memory, true
	}
	switch syscall.Signal(e.Status.Signal) {
	case syscall.SIGKILL, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP:
		return blame.Outside, true // no runtime sends itself this signal
	}
	return blame.Exit, true
}
