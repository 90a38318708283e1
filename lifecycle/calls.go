package lifecycle

// Calls says what becomes of a call that finds no connection.
type Calls uint8

// What may become of it.
const (
	CallsRefused Calls = iota // it is answered at once
	CallsKept                 // it waits if it is one that outlives a life
	CallsWait                 // it waits
)

// Calls returns what becomes of calls that find no connection now.
func (h Host) Calls() Calls {
	switch h.state {
	case Starting, Running, Unresponsive:
		// Running without a connection: that has just ended, and the end of the
		// life follows.
		return CallsWait
	case Crashed, Restarting:
		return CallsKept
	case Stopped, Stopping:
		if h.Pending() && (h.state == Stopped || h.by == ByProgram) {
			return CallsWait
		}
	}
	return CallsRefused
}

// StartsAtCall reports whether a call is to start the host, see [Wish].
func (h Host) StartsAtCall() bool {
	unneeded := h.by == ByProgram // until now
	down := h.state == Stopped || h.state == Stopping && unneeded
	return down && (!h.rules.Eager || unneeded) && !h.StoppedByPerson() && !h.Pending()
}
