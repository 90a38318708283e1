package activation

import "slices"

// Forget tells that the caller no longer waits for the request of a tag, which is not
// settled then. What was requested stays so.
type Forget struct{ Tag uint64 }

func (Forget) event() {}

func (m *Machine) forget(tag uint64) {
	m.waits = slices.DeleteFunc(m.waits, func(w wait) bool { return w.tag == tag })
}
