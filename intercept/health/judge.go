package health

import "time"

// terms are those under which checks count.
type terms struct {
	interval  time.Duration // from one check to the next
	timeout   time.Duration // of a check
	threshold int           // checks in a row that fail until the host is not healthy
	after     time.Duration // and how long none has succeeded by then
	period    time.Duration // from the start, in which checks that fail do not count until one succeeds
}

// news is what the outcome of a check means.
type news uint8

const (
	nothingNew  news = iota
	isHealthy        // again
	isUnhealthy      // still or from now on
)

// judge counts the checks of one life. Times are durations since some moment.
type judge struct {
	terms
	began time.Duration
	well  time.Duration // when a check has succeeded last; at first when it began
	fails int           // checks that have failed since then, and count
	done  bool          // one has succeeded: the start period is over
	told  bool          // that it is not healthy
}

func newJudge(t terms, now time.Duration) judge { return judge{terms: t, began: now, well: now} }

// take takes the outcome of a check.
func (j *judge) take(now time.Duration, failed bool) news {
	if !failed {
		again := j.told
		j.well, j.fails, j.done, j.told = now, 0, true, false
		if again {
			return isHealthy
		}
		return nothingNew
	}
	if !j.done && now-j.began < j.period {
		return nothingNew
	}
	j.fails++
	if j.fails < j.threshold || now-j.well < j.after {
		return nothingNew
	}
	j.told = true
	return isUnhealthy
}

// late tells that nothing was checked for some time because this program, or the machine,
// was stopped.
func (j *judge) late(now time.Duration) { j.well, j.fails = now, 0 }

// firstWait and startWait bound the time between checks of a host that is running once a
// check succeeds; it doubles from one to the other.
const (
	firstWait = 50 * time.Millisecond
	startWait = time.Second
)

// wait returns the time to the next check, the n-th (from 0) of a start that ends when a
// check succeeds; n is negative otherwise.
func (j *judge) wait(n int) time.Duration {
	if n < 0 {
		return j.interval
	}
	return min(j.interval, startWait, firstWait<<min(n, 10))
}
