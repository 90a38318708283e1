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
	h.lifeNo = 1
	h.stopping()
	h.ended(nil, &Failure{Life: 1, Cause: lifecycle.CauseExit})
	h.spawn(nil, 2)
	if h.life != nil || h.lifeNo != 1 || h.endedNo != 0 {
		t.Errorf("life %d, %v; ended %d", h.lifeNo, h.life, h.endedNo)
	}
	l := &Life{ref: ref, number: 1, torn: true}
	l.fail(nil, &Failure{Cause: lifecycle.CauseExit})
}
