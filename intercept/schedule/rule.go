package schedule

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/netresearch/go-cron"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec"
)

// Overlap says what happens when a run is due while the one before it goes on.
type Overlap string

// The rules for runs that overlap.
const (
	Skip  Overlap = "skip"  // the one that is due does not take place
	Queue Overlap = "queue" // it starts when the other one has ended; at most one waits
	Kill  Overlap = "kill"  // the other one is stopped first
)

// Rule says when a host starts. It is a feature of a host, see supervisor.Live; the host
// should be a Job whose start is Lazy.
type Rule struct {
	// Times has the five fields of cron (minute, hour, day of the month, month, day of the
	// week), or is one of @hourly, @daily, @weekly, @monthly and @yearly, or "@every 10m".
	// With both kinds of days restricted, a day that is either one counts.
	Times    string
	Timezone string  // such as "Europe/Berlin"; default: that of the supervisor
	Overlap  Overlap // default Skip
}

// Setting implements supervisor.Feature.
func (Rule) Setting() string { return "schedule" }

// Validate returns what is wrong with the rule.
func (r Rule) Validate(codec.Protocol) error {
	var errs []error
	if err := CheckTimes(r.Times); err != nil {
		errs = append(errs, fmt.Errorf("%q: %w", r.Times, err))
	}
	if err := CheckTimezone(r.Timezone); r.Timezone != "" && err != nil {
		errs = append(errs, fmt.Errorf("timezone %q: %w", r.Timezone, err))
	}
	switch cmp.Or(r.Overlap, Skip) {
	case Skip, Queue, Kill:
	default:
		errs = append(errs, fmt.Errorf("overlap %q is unknown; expected skip, queue or kill", r.Overlap))
	}
	return errors.Join(errs...)
}

// CheckTimes returns what is wrong with the Times of a [Rule].
func CheckTimes(text string) error {
	_, err := parse(text, time.UTC)
	return err
}

// CheckTimezone returns what is wrong with the Timezone of a [Rule].
func CheckTimezone(name string) error {
	_, err := location(name)
	return err
}

// Interceptor implements supervisor.Feature.
func (r Rule) Interceptor(host *actors.Ref) *actors.Interceptor {
	c, ok := host.Interceptor(name).(*clock)
	if !ok {
		c = newClock(host)
	}
	c.set(r)
	return c.interceptor()
}

// Change implements supervisor.Live.
func (r Rule) Change(host *actors.Ref) {
	if c, ok := host.Interceptor(name).(*clock); ok {
		c.set(r)
	}
}

// location returns the time zone of a name; "": that of the process.
func location(name string) (*time.Location, error) {
	if name == "" || name == "Local" {
		return time.Local, nil
	}
	loc, err := time.LoadLocation(name)
	if err != nil {
		return nil, errors.New("no such time zone is known")
	}
	return loc, nil
}

// times are those of a schedule.
type times struct {
	schedule cron.Schedule
	loc      *time.Location
	once     bool // its hours are named: none of them comes twice in a night in which clocks are set back
}

// star marks a field of a schedule that is not restricted.
const star = 1 << 63

// leapYears bounds the search for the next time: 2096 and 2104 are leap years without one
// between them.
const leapYears = 9

func parse(text string, loc *time.Location) (times, error) {
	t := times{loc: loc}
	if strings.Contains(text, "TZ=") {
		return t, errors.New("the time zone is a setting of its own, timezone")
	}
	s, err := cron.MustNewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor | cron.DowOrDom).
		WithMaxSearchYears(leapYears).Parse(text)
	if err != nil {
		return t, err
	}
	t.schedule = s
	switch s := s.(type) {
	case *cron.SpecSchedule:
		s.Location = loc
		t.once = s.Hour&star == 0
	case cron.ConstantDelaySchedule:
		if d, err := time.ParseDuration(strings.TrimSpace(strings.TrimPrefix(text, "@every"))); err == nil && d != s.Delay {
			return t, fmt.Errorf("%s is no whole number of seconds", d)
		}
	}
	if s.Next(time.Unix(0, 0)).IsZero() {
		return t, errors.New("there is no such day")
	}
	return t, nil
}

// next returns the first time after now. A time that clocks skip when they are set forward
// becomes the one that they show instead; one that comes twice is meant the first time,
// unless the schedule is for every hour.
func (t times) next(now time.Time) time.Time {
	n := t.schedule.Next(now.In(t.loc))
	for t.once && repeated(n) {
		n = t.schedule.Next(n)
	}
	return n
}

// repeated reports whether the clocks have shown the time of day before, on the same day.
func repeated(t time.Time) bool {
	_, now := t.Zone()
	_, before := t.Add(-3 * time.Hour).Zone()
	if before <= now {
		return false
	}
	first := t.Add(-time.Duration(before-now) * time.Second)
	return first.Hour() == t.Hour() && first.Minute() == t.Minute()
}
