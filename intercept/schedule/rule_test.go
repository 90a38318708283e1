package schedule

import (
	"strings"
	"testing"
	"time"
)

// TestTimes tells which times follow one another, also in the nights in which clocks are
// set.
func TestTimes(t *testing.T) {
	const layout = "2006-01-02 15:04:05 -07"
	for _, c := range []struct {
		zone, times, from string
		want              []string
	}{
		{"UTC", "*/5 * * * *", "2026-01-01 00:03:00 +00", []string{"2026-01-01 00:05:00 +00", "2026-01-01 00:10:00 +00"}},
		{"UTC", "@daily", "2026-01-01 00:00:00 +00", []string{"2026-01-02 00:00:00 +00"}},
		{"UTC", "@every 10m", "2026-01-01 00:03:07 +00", []string{"2026-01-01 00:13:07 +00", "2026-01-01 00:23:07 +00"}},
		{"UTC", "0 0 13 * 5", "2026-11-01 00:00:00 +00", []string{"2026-11-06 00:00:00 +00", "2026-11-13 00:00:00 +00"}}, // either kind of day
		{"UTC", "0 0 29 2 *", "2096-03-01 00:00:00 +00", []string{"2104-02-29 00:00:00 +00"}},
		// 02:00 becomes 03:00: what is skipped takes place at once, and only once.
		{"Europe/Berlin", "30 2 * * *", "2026-03-28 12:00:00 +01", []string{"2026-03-29 03:30:00 +02", "2026-03-30 02:30:00 +02"}},
		{"Europe/Berlin", "0 * * * *", "2026-03-29 00:30:00 +01", []string{"2026-03-29 01:00:00 +01", "2026-03-29 03:00:00 +02", "2026-03-29 04:00:00 +02"}},
		// 03:00 becomes 02:00: what names an hour takes place once, what is for all of them in each.
		{"Europe/Berlin", "30 2 * * *", "2026-10-24 12:00:00 +02", []string{"2026-10-25 02:30:00 +02", "2026-10-26 02:30:00 +01"}},
		{"Europe/Berlin", "0,30 2,3 * * *", "2026-10-25 01:00:00 +02", []string{"2026-10-25 02:00:00 +02", "2026-10-25 02:30:00 +02", "2026-10-25 03:00:00 +01", "2026-10-25 03:30:00 +01"}},
		{"Europe/Berlin", "*/30 * * * *", "2026-10-25 01:50:00 +02", []string{"2026-10-25 02:00:00 +02", "2026-10-25 02:30:00 +02", "2026-10-25 02:00:00 +01", "2026-10-25 02:30:00 +01", "2026-10-25 03:00:00 +01"}},
		{"Europe/Berlin", "@every 1h", "2026-10-25 01:50:00 +02", []string{"2026-10-25 02:50:00 +02", "2026-10-25 02:50:00 +01", "2026-10-25 03:50:00 +01"}},
	} {
		loc, err := location(c.zone)
		if err != nil {
			t.Fatal(err)
		}
		s, err := parse(c.times, loc)
		if err != nil {
			t.Fatal(err)
		}
		at, err := time.Parse(layout, c.from)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range c.want {
			if at = s.next(at); at.Format(layout) != want {
				t.Errorf("%s in %s: %s, expected %s", c.times, c.zone, at.Format(layout), want)
				break
			}
		}
	}
}

func TestBadRules(t *testing.T) {
	for want, r := range map[string]Rule{
		"empty":                               {},
		"above maximum":                       {Times: "61 * * * *"},
		"expected exactly 5 fields":           {Times: "* * * * * *"},
		"unrecognized descriptor":             {Times: "@reboot"},
		"timezone":                            {Times: "CRON_TZ=Europe/Berlin 0 2 * * *"},
		"there is no such day":                {Times: "0 0 31 2 *"},
		"no whole number of seconds":          {Times: "@every 2500ms"},
		"at least 1s":                         {Times: "@every 0s"},
		"no such time zone is known":          {Times: "@daily", Timezone: "../Europe/Berlin"},
		`overlap "wait" is unknown; expected`: {Times: "@daily", Overlap: "wait"},
	} {
		if err := r.Validate(nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, expected %q", r, err, want)
		}
	}
	if err := (Rule{Times: "@daily"}).Validate(nil); err != nil {
		t.Error(err)
	}
}

// TestDecide tells what becomes of a time that has come.
func TestDecide(t *testing.T) {
	for _, c := range []struct {
		overlap                            Overlap
		resting, suspended, asking, queued bool
		want                               action
	}{
		{Skip, true, false, false, false, start},
		{Skip, false, false, false, false, skip},
		{Skip, true, false, true, false, skip},
		{Skip, true, true, false, false, nothing},
		{"", false, false, false, false, skip},
		{Queue, true, false, false, false, start},
		{Queue, false, false, false, false, enqueue},
		{Queue, false, false, false, true, full},
		{Queue, true, false, true, false, enqueue},
		{Kill, true, false, false, false, start},
		{Kill, false, false, false, false, replace},
		{Kill, false, false, true, false, skip},
		{Kill, false, true, false, false, nothing},
	} {
		if got := decide(c.overlap, c.resting, c.suspended, c.asking, c.queued); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

// TestPass tells what a look at the clock finds: a time that has come, one that is long
// past, and a clock that was set back.
func TestPass(t *testing.T) {
	s, err := parse("0 * * * *", time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	at := func(text string) time.Time {
		t.Helper()
		out, err := time.Parse("02 15:04", text)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	c := &clock{times: s, seen: at("02 00:30"), due: at("02 01:00")}
	for _, l := range []struct {
		now, due string
		missed   bool
		next     string
	}{
		{"02 00:59", "", false, "02 01:00"},
		{"02 01:00", "02 01:00", false, "02 02:00"},
		{"02 06:30", "02 02:00", true, "02 07:00"}, // it slept
		{"02 05:00", "", false, "02 07:00"},        // set back a little: what has been is not made twice
		{"01 20:10", "", false, "01 21:00"},        // set back far
		{"01 21:00", "01 21:00", false, "01 22:00"},
	} {
		due, missed := c.pass(at(l.now))
		text := ""
		if !due.IsZero() {
			text = due.Format("02 15:04")
		}
		if text != l.due || missed != l.missed || c.due.Format("02 15:04") != l.next {
			t.Errorf("at %s: %q, missed %v, next %s", l.now, text, missed, c.due.Format("02 15:04"))
		}
	}
}
