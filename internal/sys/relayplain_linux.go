//go:build (amd64 || arm64) && cgo

package sys

// relayTick is how long a relay waits without an event, in nanoseconds. Another thread of
// the runtime may have got the signal that a child has ended.
const relayTick = 100_000_000

// shedding does nothing: the runtime stays, because the kernel writes to the memory of a
// C library.
type shedding struct{}

func (*shedding) prepare(uintptr) (signals int, err error) { return childSignals() }

//go:norace
//go:nosplit
func (*shedding) alone() bool { return true }

//go:norace
//go:nosplit
func (*shedding) giveBack() {}
