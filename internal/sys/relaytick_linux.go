//go:build (amd64 || arm64) && !cgo

package sys

// relayTick is how long a relay waits without an event, in nanoseconds; 0: for ever.
const relayTick = 0
