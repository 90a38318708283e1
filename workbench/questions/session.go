package questions

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hostsup/hostsup/workbench"
)

// inputBox is the type of an input box; pickers have another one.
const inputBox = "inputBox"

// maxAnswers bounds how often a picker or an input box asks until it is hidden.
const maxAnswers = 100

// showing is a picker or an input box from the time when it is shown until it is hidden.
type showing struct {
	s  *Service
	o  *session
	h  *workbench.Host
	id int
}

// question returns what is asked now. The caller must hold Service.mu.
func (w *showing) question() *question {
	now := w.o.now
	if now.Type == inputBox {
		q := now.question(w.h.Name(), w.o.asker, Input, "the input box")
		q.check = func(_ context.Context, values []string) (any, error) { return values, nil }
		return q
	}
	q := now.question(w.h.Name(), w.o.asker, List, "the list")
	current := func() []choice {
		w.s.mu.Lock()
		defer w.s.mu.Unlock()
		return choices(w.o.now.Items)
	}
	q.items = func() []string { return labels(current()) }
	q.check = func(_ context.Context, values []string) (any, error) { return handles(current(), values) }
	return q
}

// look returns what is asked now, in two forms.
func (w *showing) look() (now state, q *question) {
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	return w.o.now, w.question()
}

// refuses reports whether the extension does not accept the text in an input box.
func (o state) refuses() bool {
	return o.ValidationMessage != "" && (o.Severity == severityError || o.Severity == 0)
}

// isSame reports whether two states ask the same question.
func (o state) isSame(other state) bool {
	return slices.Equal(o.texts(), other.texts()) && slices.Equal(labels(o.Items), labels(other.Items)) &&
		o.Step == other.Step && o.refuses() == other.refuses()
}

// run has the question decided, and those that the extension asks by changing what is shown, until it
// is hidden.
func (w *showing) run(ctx context.Context) {
	var before state // the answered question
	for n := 0; ctx.Err() == nil; {
		now, q := w.look()
		rule := w.s.rule(q)
		waits := rule != nil && !rule.Dismiss && q.kind == List && (now.Busy || len(now.Items) == 0)
		switch {
		case n > 0 && now.isSame(before) && !now.refuses():
			waits = true // until the extension hides it
		case n >= maxAnswers:
			w.dismiss(q, fmt.Sprintf("because it was answered %d times", n))
			return
		case n > 0 && rule != nil && now.refuses():
			w.dismiss(q, "because the extension does not accept the answer of the configuration")
			return
		}
		if waits {
			if !w.wait(ctx) {
				w.dismiss(q, "because it is still shown after "+w.s.opt.Wait.String())
				return
			}
			continue
		}
		if now.refuses() && !now.Password {
			q.text = strings.TrimPrefix(q.text+": "+now.ValidationMessage, ": ")
		}
		out := w.s.resolve(ctx, q)
		if ctx.Err() != nil {
			return
		}
		if !out.answered {
			w.idle(ctx)
			w.hide()
			return
		}
		before, _ = w.look()
		before.ValidationMessage = ""
		n++
		w.accept(out.result)
	}
}

// idle waits until the extension is not busy with what it shows. Before that, many have no listener yet
// for the end, and would wait for it forever: such as git, which shows its branches when it has found them.
func (w *showing) idle(ctx context.Context) {
	for ctx.Err() == nil {
		if now, _ := w.look(); !now.Busy || !w.wait(ctx) {
			return
		}
	}
}

// wait waits until the extension changes what is shown, or hides it. It reports false if that takes
// too long.
func (w *showing) wait(ctx context.Context) bool {
	late := time.NewTimer(w.s.opt.Wait)
	defer late.Stop()
	select {
	case <-w.o.changed:
	case <-ctx.Done():
	case <-late.C:
		return false
	}
	return true
}

// accept sends an answer: texts or handles of items.
func (w *showing) accept(result any) {
	const object = "ExtHostQuickOpen."
	switch v := result.(type) {
	case []string:
		w.h.Tell(object+"$onDidChangeValue", workbench.Params(w.id, v[0]))
	case []int:
		w.h.Tell(object+"$onDidChangeActive", workbench.Params(w.id, v))
		w.h.Tell(object+"$onDidChangeSelection", workbench.Params(w.id, v))
	}
	w.h.Tell(object+"$onDidAccept", workbench.Params(w.id))
}

// dismiss hides it and reports why.
func (w *showing) dismiss(q *question, why string) {
	w.s.mu.Lock()
	w.s.dismissal(q, why)
	w.s.mu.Unlock()
	w.hide()
}

// hide tells the extension that it is hidden.
func (w *showing) hide() {
	w.h.Tell("ExtHostQuickOpen.$onDidHide", workbench.Params(w.id))
}
