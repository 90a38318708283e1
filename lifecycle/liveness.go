package lifecycle

import "time"

// Silence says for how long a host has owed a sign of life: nothing while
// nothing is unacknowledged, else the time since the later of the last sign
// and the moment at which something became unacknowledged. Times are readings
// of one monotonic clock in nanoseconds; owedSince 0 means that nothing is owed.
func Silence(owedSince, lastSign, now int64) time.Duration {
	if owedSince == 0 {
		return 0
	}
	return max(0, time.Duration(now-max(owedSince, lastSign)))
}

// Liveness turns readings of a connection into verdicts. The zero value is
// not usable; see [NewLiveness].
type Liveness struct {
	after  time.Duration
	every  time.Duration
	last   int64 // the reading before this one
	excuse int64 // silence before this moment is ours, not the host's
	hung   bool
}

// NewLiveness makes a judge that calls a host unresponsive after that much
// silence and is asked every so often.
func NewLiveness(after, every time.Duration) Liveness {
	return Liveness{after: after, every: every}
}

// Verdict is what a reading means.
type Verdict int

// The verdicts.
const (
	Same    Verdict = iota // nothing new
	NowHung                // unresponsive from now on
	NowBack                // answers again
)

// Read judges one reading and returns the verdict with the silence it rests
// on. When the readings themselves came late (the supervisor was stopped, or
// the machine too busy to run it), the host gets a whole new interval: it may
// have answered long ago without anybody to notice.
func (l Liveness) Read(owedSince, lastSign, now int64) (Liveness, Verdict, time.Duration) {
	if l.last != 0 && time.Duration(now-l.last) > 2*l.every+time.Second {
		l.excuse = now
	}
	l.last = now
	silence := Silence(owedSince, max(lastSign, l.excuse), now)
	switch {
	case !l.hung && silence >= l.after:
		l.hung = true
		return l, NowHung, silence
	case l.hung && silence < l.after && (owedSince == 0 || lastSign >= owedSince || lastSign > now-int64(l.after)):
		l.hung = false
		return l, NowBack, 0
	}
	return l, Same, silence
}
