package guard

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"golang.org/x/time/rate"
)

// DefaultRate is how many requests a host may make where nothing else was said.
var DefaultRate = Rate{Count: 100, Per: time.Second}

// Rate is a number of requests in a time, all of which may be made at once.
// The zero value is [DefaultRate].
type Rate struct {
	Count int
	Per   time.Duration
}

// maxRate bounds the count of a rate.
const maxRate = 1_000_000

// ParseRate reads "100/s", "6000/m" or "10000/h".
func ParseRate(text string) (Rate, error) {
	count, per, cut := strings.Cut(strings.TrimSpace(text), "/")
	n, err := strconv.Atoi(strings.TrimSpace(count))
	units := map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour}
	unit, known := units[strings.TrimSpace(per)]
	switch {
	case !cut || err != nil || !known:
		return Rate{}, fmt.Errorf("rate %.64q: a number with /s, /m or /h behind it expected, such as 100/s", text)
	case n < 1 || n > maxRate:
		return Rate{}, fmt.Errorf("rate %.64q: from 1 to %d expected", text, maxRate)
	}
	return Rate{n, unit}, nil
}

// String returns what [ParseRate] reads.
func (r Rate) String() string {
	r = r.orDefault()
	switch r.Per {
	case time.Second:
		return fmt.Sprintf("%d/s", r.Count)
	case time.Minute:
		return fmt.Sprintf("%d/m", r.Count)
	case time.Hour:
		return fmt.Sprintf("%d/h", r.Count)
	}
	return fmt.Sprintf("%d in %s", r.Count, r.Per)
}

func (r Rate) orDefault() Rate {
	if r.Count <= 0 || r.Per <= 0 {
		return DefaultRate
	}
	return r
}

// ErrRateLimited is wrapped by a *[RateError].
var ErrRateLimited = errors.New("too many requests")

// RateError says that a host asks too often.
type RateError struct {
	Rate  Rate
	After time.Duration // when the next request would be let through
}

// Error returns a line such as `too many requests: limit 100/s; the next in 10ms`.
func (e *RateError) Error() string {
	return fmt.Sprintf("%v: limit %s; the next in %s", ErrRateLimited, e.Rate, e.After.Round(time.Millisecond))
}

// Unwrap returns [ErrRateLimited].
func (e *RateError) Unwrap() error { return ErrRateLimited }

// Limiter is the token bucket of one host: full at first, filled evenly.
type Limiter struct {
	rate   Rate
	bucket *rate.Limiter
}

// NewLimiter returns a full bucket.
func NewLimiter(r Rate) *Limiter {
	r = r.orDefault()
	return &Limiter{r, rate.NewLimiter(rate.Limit(float64(r.Count)/r.Per.Seconds()), r.Count)}
}

// Check takes a token at the time now, or returns a *[RateError]. What is
// refused takes none.
func (l *Limiter) Check(now time.Time) error {
	t := l.bucket.ReserveN(now, 1)
	wait := t.DelayFrom(now)
	if wait <= 0 {
		return nil
	}
	t.CancelAt(now)
	return &RateError{l.rate, wait}
}
