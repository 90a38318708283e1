package activation

import "slices"

// Forget reports that the caller no longer waits for the request with a tag, which
// then gets no Settled. The request itself stays in force.
type Forget struct{ Tag uint64 }

func (Forget) event() {}

func (m *Machine) forget(tag uint64) {
	m.waits = slices.DeleteFunc(m.waits, func(w wait) bool { return w.tag == tag })
}
