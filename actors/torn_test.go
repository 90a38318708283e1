package actors

import (
	"testing"

	"github.com/hostsup/hostsup/lifecycle"
)

// A tree that is torn down gets messages until all its parts have ended. None of
// them may begin something that nobody would end: the tree would wait for it for
// ever.
func TestNothingBeginsInATornTree(t *testing.T) {
	ref := fakeRef()
	h := newHost(ref.world, ref)
	h.machine, _ = h.machine.Step(lifecycle.Start{By: lifecycle.ByPerson}, h.machine.Since())
	h.stopping(nil)
	q := fakeCall(ref)
	h.ended(nil, &Failure{Life: 1, Cause: lifecycle.CauseExit, Resend: []*Request{q}})
	if s := h.machine.State(); s != lifecycle.Starting || len(h.remains) != 0 || !q.IsSettled() {
		t.Errorf("%s; %d lives left something; a call is answered: %v", s, len(h.remains), q.IsSettled())
	}
	l := newLife(h, 1, nil)
	l.machine, _ = l.machine.Step(lifecycle.Torn{})
	l.step(nil, lifecycle.MustEnd{Fault: lifecycle.Fault{Cause: lifecycle.CauseExit}})
}
