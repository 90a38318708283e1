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
	"github.com/hostsup/hostsup/internal/sys"
)

// tryFor bounds one attempt; it is there for those that hang in a sandbox.
const tryFor = 20 * time.Second

// run1 is one run of an attempt, as seen from outside.
type run1 struct {
	p     *proc
	box   *box
	begun bool
	over  bool   // do returned
	err   string // what do returned; "" for nil
	panic string
	late  bool // it was killed because it did not end in time
	said  []string
	out   string // everything else on its stdout and stderr
	end   ending
	wall  time.Duration
}

// saw reports whether something was told from inside.
func (r *run1) saw(what string) bool {
	return strings.Contains(r.out, what) || slices.ContainsFunc(r.said, func(s string) bool { return strings.Contains(s, what) })
}

// last is the last thing said, for evidence.
func (r *run1) last() string {
	if len(r.said) == 0 {
		return ""
	}
	return r.said[len(r.said)-1]
}

// how says in a few words what became of the attempt inside.
func (r *run1) how() string {
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
	return fmt.Sprintf("exit code %d: %s", r.end.code, r.out)
}

// tryOnce runs an attempt in a box. A start that fails is an error.
func tryOnce(ctx context.Context, at *attempt, s *stage, b *box) (finding, error) {
	if at.play != nil {
		return at.play(ctx, s, b)
	}
	r, err := perform(ctx, at, s, b)
	if err != nil {
		return finding{}, err
	}
	switch {
	case ctx.Err() != nil:
		return finding{}, ctx.Err()
	case r.panic != "":
		return unclear("the attempt is broken: %s", r.panic), nil
	case !r.begun:
		return unclear("the process never ran: %s", r.how()), nil
	case at.judge != nil:
		return at.judge(s, r), nil
	case r.over && r.err == "":
		return escaped("%s", r.how()), nil
	}
	return held("%s", r.how()), nil
}

// perform starts do in a box, talks with it and waits for its end.
func perform(ctx context.Context, at *attempt, s *stage, b *box) (*run1, error) {
	inR, inW, err := sys.Pipe(0)
	if err != nil {
		return nil, err
	}
	defer inW.Close()
	outR, outW, err := sys.Pipe(0)
	if err != nil {
		inR.Close()
		return nil, err
	}
	defer outR.Close()
	params, err := json.Marshal(s.params)
	if err != nil {
		return nil, err
	}
	c := &command{
		args:  []string{partName, "attempt", at.id(), string(params)},
		env:   append(partEnv(s.mark), s.env...),
		dir:   s.path(writeDir),
		files: append([]*os.File{inR, outW, outW}, s.extra...),
	}
	c.policy, c.limits = basePolicy(s)
	if at.change != nil {
		at.change(s, &c.policy, &c.limits)
	}
	p, err := b.start(s, c)
	inR.Close()
	outW.Close()
	if err != nil {
		return nil, err
	}
	r := &run1{p: p, box: b}
	wait := at.wait
	if wait == 0 {
		wait = tryFor
	}
	// Whatever happens to it, it is killed, and with it what holds the pipe.
	timer := time.AfterFunc(wait, func() { r.late = true; p.kill() })
	stop := context.AfterFunc(ctx, p.kill)
	read := make(chan struct{})
	go func() {
		defer close(read)
		r.listen(outR, func() {
			if at.watch != nil {
				at.watch(s, r)
			}
			_, _ = inW.WriteString("\n")
		})
	}()
	<-p.done
	if timer.Stop() {
		r.late = false
	}
	stop()
	p.kill()
	r.end = p.ending()
	r.wall = p.end.Sub(p.start)
	// A process that got out of reach may still hold the pipe: its attempt
	// lives off that. All others have ended by now.
	select {
	case <-read:
	case <-time.After(2 * time.Second):
		_ = outR.SetReadDeadline(time.Now())
		<-read
	}
	return r, nil
}

// listen reads what is told until the pipe ends.
func (r *run1) listen(from io.Reader, look func()) {
	br := bufio.NewReaderSize(from, 256<<10)
	var out bytes.Buffer
	for {
		line, err := br.ReadBytes('\n')
		if text, ok := bytes.CutPrefix(line, []byte(noteMark)); ok {
			var n note
			if json.Unmarshal(text, &n) == nil {
				r.take(n, look)
			}
		} else if out.Len() < 64<<10 {
			out.Write(line)
		}
		if err != nil {
			r.out = out.String()
			return
		}
	}
}

func (r *run1) take(n note, look func()) {
	switch n.Kind {
	case noteBegin:
		r.begun = true
	case noteSay:
		if len(r.said) < 10000 {
			r.said = append(r.said, n.Text)
		}
	case notePause:
		look()
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

// gap is the line in which the sandbox has named what the attempt needs, or why
// what it tries is not promised.
func (at *attempt) gap(missing []string) (string, bool) {
	for _, line := range missing {
		for _, key := range at.named {
			if strings.Contains(line, key) {
				return line, true
			}
		}
	}
	return "not promised: " + at.unpromised, at.unpromised != ""
}

// cell runs an attempt in a box and weighs it against its control.
func (su *suite) cell(ctx context.Context, at *attempt, b *box, control controlled) (Cell, error) {
	if control.missing != "" {
		return Cell{Verdict: NotTried, Evidence: control.missing}, nil
	}
	f, gone, err := su.one(ctx, at, b)
	var start *startError
	switch {
	case errors.As(err, &start) && slices.Contains(at.refused, b.level):
		return Cell{Verdict: Refused, Evidence: oneLine(start.Error()), Control: control.finding.evidence}, nil
	case errors.As(err, &start):
		return Cell{Verdict: Broken, Evidence: oneLine(start.Error()), Control: control.finding.evidence}, nil
	case err != nil:
		return Cell{}, err
	case gone != "":
		return Cell{Verdict: NotTried, Evidence: gone}, nil
	}
	var missing []string
	if m := b.missing.Load(); m != nil {
		missing = *m
	}
	return verdict(at, missing, control.finding, f), nil
}

// controlled is what came of an attempt without a sandbox.
type controlled struct {
	finding finding
	missing string
}

// startError is a start that the sandbox did not make.
type startError struct{ err error }

func (e *startError) Error() string { return e.err.Error() }
func (e *startError) Unwrap() error { return e.err }

// one runs an attempt once on a stage of its own. gone says what the machine
// lacks for it.
func (su *suite) one(ctx context.Context, at *attempt, b *box) (f finding, gone string, err error) {
	s, err := newStage(su, b.level)
	if err != nil {
		return f, "", err
	}
	defer s.close()
	if at.prepare != nil {
		var m missing
		switch err := tried(func() error { return at.prepare(s) }); {
		case errors.As(err, &m):
			return f, string(m), nil
		case err != nil:
			return f, "", fmt.Errorf("prepare %s: %w", at.id(), err)
		}
	}
	f, err = tryOnce(ctx, at, s, b)
	f.evidence = oneLine(strings.ReplaceAll(f.evidence, " "+s.dir+"/", " "))
	if err != nil && ctx.Err() != nil {
		return f, "", ctx.Err()
	}
	if err != nil {
		return f, "", &startError{err}
	}
	return f, "", nil
}

// column runs all attempts at a level.
func (su *suite) column(ctx context.Context, list []*attempt, b *box, controls []controlled, done func()) ([]Cell, error) {
	cells := make([]Cell, len(list))
	err := su.each(ctx, list, func(ctx context.Context, i int) (err error) {
		cells[i], err = su.cell(ctx, list[i], b, controls[i])
		done()
		return err
	})
	return cells, err
}

// each calls f for all attempts, several at once, and then one by one for those
// that want to be alone.
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
