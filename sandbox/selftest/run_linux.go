//go:build !hostsup_posix

package selftest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hostsup/hostsup/internal/signame"
	"github.com/hostsup/hostsup/sandbox/policy"
)

// tryFor bounds one attempt; it is there for those that hang in a sandbox.
const tryFor = 20 * time.Second

// firstLife is the parameter "life" of an attempt's first life, where it has two; it has no such parameter afterwards.
const firstLife = "first"

// trial is one run of an attempt, as seen from outside.
type trial struct {
	p       *proc
	begun   bool
	over    bool   // do returned
	err     string // what do returned; "" for nil
	panic   string
	late    bool // it was killed because it did not end in time
	said    []string
	printed string // everything else on its stdout and stderr
	end     ending
}

// saw reports whether something was told from inside.
func (r *trial) saw(what string) bool {
	has := func(s string) bool { return strings.Contains(s, what) }
	return has(r.printed) || slices.ContainsFunc(r.said, has)
}

// last is the last thing said, for evidence.
func (r *trial) last() string {
	if len(r.said) == 0 {
		return ""
	}
	return r.said[len(r.said)-1]
}

// how says in a few words what became of the attempt inside.
func (r *trial) how() string {
	switch {
	case r.over && r.err != "":
		return r.err
	case r.over && r.last() != "":
		return "no error: " + r.last()
	case r.over:
		return "no error"
	case r.late:
		return "it did not end and was killed"
	case r.end.signal != 0:
		return "killed by " + signame.Of(r.end.signal)
	}
	return fmt.Sprintf("exit code %d: %s", r.end.code, r.printed)
}

// out is what a judge finds: it got out, with this evidence, or it did not.
func (r *trial) out(yes bool, format string, args ...any) finding {
	if yes {
		return escaped(format, args...)
	}
	return held("%s", r.how())
}

// judged is what is found in one run of an attempt.
func (at *attempt) judged(s *stage, r *trial) finding {
	switch {
	case r.panic != "":
		return unclear("the attempt is broken: %s", r.panic)
	case !r.begun:
		return unclear("the process never ran: %s", r.how())
	case at.judge != nil:
		return at.judge(s, r)
	case at.look != nil:
		now := at.look(s)
		return r.out(now != s.before, "it was %q and is %q", s.before, now)
	}
	return r.out(r.over && r.err == "", "%s", r.how())
}

// tryOnce runs an attempt in a box. A start that fails ends the caller, as check does.
func tryOnce(ctx context.Context, at *attempt, s *stage, b *box) finding {
	if at.play != nil {
		return at.play(ctx, at, s, b)
	}
	if at.look != nil {
		s.before = at.look(s)
	}
	if at.first != nil {
		s.set("life", firstLife)
		if r := must(perform(ctx, at, s, b)); r.err != "" {
			return unclear("the first life: %s", r.how())
		}
		delete(s.params, "life")
	}
	r, err := perform(ctx, at, s, b)
	if at.refusalHolds && errors.Is(err, policy.ErrInvalid) {
		return held("%s", err)
	}
	check(errors.Join(err, ctx.Err()))
	return at.judged(s, r)
}

// perform starts do in a box, talks with it and waits for its end. An error is that of the start.
func perform(ctx context.Context, at *attempt, s *stage, b *box) (*trial, error) {
	inR, inW := s.pipe()
	defer inW.Close()
	outR, outW := s.pipe()
	c := s.command(at)
	c.files = append([]*os.File{inR, outW, outW}, s.extra...)
	if at.change != nil {
		at.change(s, &c.Policy, &c.Limits)
	}
	p, err := b.start(s, c)
	inR.Close()
	outW.Close()
	if err != nil {
		return nil, err
	}
	r := &trial{p: p}
	// Whatever happens to it, it is killed, and with it what holds the pipe.
	timer := time.AfterFunc(tryFor, func() { r.late = true; p.kill() })
	stop := context.AfterFunc(ctx, p.kill)
	read := make(chan struct{})
	go func() {
		defer close(read)
		r.printed = listen(outR, func(n note) {
			if r.take(n); n.Kind == notePause {
				if at.watch != nil {
					_ = tried(func() error { at.watch(s, r); return nil }) // what it has not seen is not in s.seen
				}
				_, _ = inW.WriteString("\n")
			}
		})
	}()
	<-p.done
	timer.Stop()
	stop()
	p.kill()
	r.end = p.ending()
	// A process that got out of reach may still hold the pipe: its attempt lives off that. All others have ended by now.
	select {
	case <-read:
	case <-time.After(2 * time.Second):
		_ = outR.SetReadDeadline(time.Now())
		<-read
	}
	return r, nil
}

// command is the start of an attempt with the policy that all have.
func (s *stage) command(at *attempt) *command {
	params := must(json.Marshal(s.params))
	return &command{
		Path: s.suite.program, Args: []string{partName, "attempt", at.id(), string(params)},
		Env: partEnv(s.mark), Dir: s.path(writeDir), Policy: basePolicy(s),
	}
}

// listen reads until the pipe ends: each note goes to take, the rest is returned.
func listen(from io.Reader, take func(n note)) string {
	br := bufio.NewReaderSize(from, 256<<10)
	var out bytes.Buffer
	for {
		line, err := br.ReadBytes('\n')
		if text, ok := bytes.CutPrefix(line, []byte(noteMark)); ok {
			var n note
			if json.Unmarshal(text, &n) == nil {
				take(n)
			}
		} else if out.Len() < 64<<10 {
			out.Write(line)
		}
		if err != nil {
			return out.String()
		}
	}
}

func (r *trial) take(n note) {
	switch n.Kind {
	case noteBegin:
		r.begun = true
	case noteSay:
		if len(r.said) < 10000 {
			r.said = append(r.said, n.Text)
		}
	case noteEnd:
		r.over, r.err = true, n.Text
	case notePanic:
		r.panic = n.Text
	}
}

// verdict weighs what was seen in the box against the control.
func verdict(at *attempt, missing []string, control, confined finding) Cell {
	c := Cell{Evidence: confined.evidence, Control: control.evidence}
	gap, known := at.gap(missing)
	switch {
	case confined.broken:
		c.Verdict = Broken
	case confined.out && known:
		c.Verdict, c.Evidence = Gap, gap+evidenceMark+confined.evidence
	case confined.out:
		c.Verdict = Escaped
	case control.broken:
		c.Verdict = Broken
	case !control.out:
		c.Verdict = Vacuous
	default:
		c.Verdict = Held
	}
	return c
}

// gap is the line in which the sandbox has named what the attempt needs, or why what it tries is not promised.
func (at *attempt) gap(missing []string) (string, bool) {
	for _, line := range missing {
		if slices.ContainsFunc(at.named, func(key string) bool { return strings.Contains(line, key) }) {
			return line, true
		}
	}
	return "not promised: " + at.unpromised, at.unpromised != ""
}

// cell runs an attempt in a box and weighs it against its control.
func (su *suite) cell(ctx context.Context, at *attempt, b *box, control finding) (Cell, error) {
	if control.absent {
		return Cell{Verdict: NotTried, Evidence: control.evidence}, nil
	}
	f, err := su.one(ctx, at, b)
	c := verdict(at, b.lacks(), control, f)
	switch {
	case f.absent:
		c = Cell{Verdict: NotTried, Evidence: f.evidence}
	case f.unstarted && slices.Contains(at.refused, b.level):
		c.Verdict = Refused
	}
	return c, err
}

// one runs an attempt once on a stage of its own.
func (su *suite) one(ctx context.Context, at *attempt, b *box) (f finding, err error) {
	s, err := newStage(su, b.level)
	if err != nil {
		return f, err
	}
	defer s.close()
	if at.prepare != nil {
		var m missing
		switch err := tried(func() error { at.prepare(s); return nil }); {
		case errors.As(err, &m):
			return finding{absent: true, evidence: string(m)}, nil
		case err != nil:
			return f, fmt.Errorf("prepare %s: %w", at.id(), err)
		}
	}
	if err := tried(func() error { f = tryOnce(ctx, at, s, b); return nil }); err != nil {
		f = finding{broken: true, unstarted: true, evidence: err.Error()}
	}
	f.evidence = oneLine(strings.ReplaceAll(f.evidence, " "+s.dir+"/", " "))
	return f, ctx.Err()
}

// each calls f for all attempts, several at once, and then one by one for those that want to be alone.
func (su *suite) each(ctx context.Context, list []*attempt, f func(context.Context, int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	work := make(chan int)
	var workers sync.WaitGroup
	for range su.parallel {
		workers.Go(func() {
			for i := range work {
				if err := f(ctx, i); err != nil {
					cancel(err)
				}
			}
		})
	}
	for i, at := range list {
		if !at.alone {
			select {
			case work <- i:
			case <-ctx.Done():
			}
		}
	}
	close(work)
	workers.Wait()
	for i, at := range list {
		if at.alone && ctx.Err() == nil {
			if err := f(ctx, i); err != nil {
				cancel(err)
			}
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}
