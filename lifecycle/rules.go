package lifecycle

import (
	"math"
	"slices"
	"time"
)

// Policy says which ends of a life are followed by another life.
type Policy string

// The restart policies. An own exit with a success status is not a crash;
// every other end that nobody asked for is one.
const (
	OnCrash Policy = "on_crash" // again after a crash (default)
	Always  Policy = "always"   // again after any end that nobody asked for
	Never   Policy = "never"    // never again by itself
)

// RestartRule decides what follows the end of a life. The zero value is not
// usable; start from [DefaultRestart].
type RestartRule struct {
	Policy      Policy
	MaxCrashes  int           // the crash that makes this many within Window gives up; at least 1
	Window      time.Duration // sliding; crashes older than this are forgotten
	RetryFailed time.Duration // a failed host is tried again after this; 0: never
	Backoff     Backoff
	Success     []ExitStatus // ends that count like an exit with 0, besides 0 itself
}

// ExitStatus names one way for a process to end: a code, or a signal when
// Signal is not 0.
type ExitStatus struct {
	Code   int
	Signal int
}

// Backoff spaces the starts of a host that keeps ending. The first restart
// after a healthy spell does not wait; the n-th after it waits
// Initial·Multiplier^(n-1), at most Max, then ±Jitter of that at random.
type Backoff struct {
	Initial    time.Duration
	Max        time.Duration
	Multiplier float64       // at least 1
	Jitter     float64       // 0 … 1, a share of the delay
	Healthy    time.Duration // a life that ran this long starts the count anew
}

// DefaultRestart is on_crash, 3 crashes in 5 minutes, back-off 100 ms to 10 s
// doubling with 20 % jitter, anew after a minute of health.
func DefaultRestart() RestartRule {
	return RestartRule{
		Policy: OnCrash, MaxCrashes: 3, Window: 5 * time.Minute,
		Backoff: Backoff{Initial: 100 * time.Millisecond, Max: 10 * time.Second, Multiplier: 2, Jitter: 0.2, Healthy: time.Minute},
	}
}

// Strategy says which hosts of a group share the fate of a crashed one.
type Strategy string

// The strategies of a group.
const (
	OneForOne  Strategy = "one_for_one"  // none
	OneForAll  Strategy = "one_for_all"  // all
	RestForOne Strategy = "rest_for_one" // those after it in the group's order
)

// success says whether an exit counts like an exit with 0.
func (r RestartRule) success(s ExitStatus) bool {
	// Beside a signal the code says nothing, whatever number stands there.
	same := func(o ExitStatus) bool { return o.Signal == s.Signal && (o.Code == s.Code || s.Signal != 0) }
	return same(ExitStatus{}) || slices.ContainsFunc(r.Success, same)
}

// Delay is how long to wait before the start that follows the n-th end since
// the last healthy spell (n from 0). u in [0,1) picks the place within the
// jitter.
func (b Backoff) Delay(n int, u float64) time.Duration {
	if n <= 0 {
		return 0
	}
	// In floats, so that a long streak saturates instead of overflowing.
	d := float64(b.Initial) * math.Pow(max(b.Multiplier, 1), float64(n-1))
	d = min(d, float64(b.Max))
	d *= 1 + b.Jitter*(2*u-1)
	return time.Duration(d)
}
