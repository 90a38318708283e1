package schedule

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/hostspec"
	"github.com/hostsup/hostsup/lifecycle/record"
)

// TestClock follows a schedule through the nights in which the clocks are set, in a year
// that passes at once.
func TestClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // the year 2000
		host := actors.Detached(&actors.World{Log: hclog.NewNullLogger()}, actors.HostSpec{
			Spec: hostspec.Spec{Name: "backup", Command: []string{"backup"}, Job: true},
			Interceptors: func(r *actors.Ref) []*actors.Interceptor {
				return []*actors.Interceptor{Rule{Times: "30 2 25,26,27,28,29,30 3,10 0", Timezone: "Europe/Berlin"}.Interceptor(r)}
			},
		})
		c := host.Interceptor(name).(*clock)
		defer c.closed()
		next := func() string {
			var s record.HostStatus
			c.status(&s)
			return s.NextRun.Format(time.RFC3339)
		}
		var got []string
		for range 3 {
			got = append(got, next())
			c.mu.Lock()
			due := c.due
			c.mu.Unlock()
			<-time.After(time.Until(due) + time.Second)
			synctest.Wait()
		}
		want := []string{"2000-03-05T02:30:00+01:00", "2000-03-12T02:30:00+01:00", "2000-03-19T02:30:00+01:00"}
		if !slices.Equal(got, want) {
			t.Errorf("%q", got)
		}
		if n := len(host.Tail(100)); n != 3 { // a detached host cannot start, which is remarked
			t.Errorf("%d remarks", n)
		}
		// Another rule counts from now on, and the old timer is gone.
		Rule{Times: "30 2 * * *", Timezone: "Europe/Berlin"}.Change(host)
		<-time.After(time.Until(time.Date(2000, 3, 26, 0, 0, 0, 0, time.UTC)))
		synctest.Wait()
		if n := next(); n != "2000-03-26T03:30:00+02:00" {
			t.Error(n)
		}
		lines := len(host.Tail(100))
		<-time.After(48 * time.Hour)
		synctest.Wait()
		var told []string
		for _, l := range host.Tail(100)[lines:] {
			told = append(told, l.Text)
		}
		if len(told) != 2 || !strings.HasPrefix(told[0], "schedule 03:30: not started: ") || !strings.HasPrefix(told[1], "schedule 02:30: ") {
			t.Errorf("%q", told)
		}
		c.changed(lifecycle.Transition{To: lifecycle.Running})
		<-time.After(24 * time.Hour)
		synctest.Wait()
		if l := host.Tail(1)[0].Text; l != "schedule 02:30: skipped, the last run goes on" {
			t.Error(l)
		}
		c.closed()
		lines = len(host.Tail(100))
		<-time.After(48 * time.Hour)
		synctest.Wait()
		if n := len(host.Tail(100)); n != lines {
			t.Error(fmt.Sprint("the schedule goes on after the end of its host: ", n-lines, " remarks"))
		}
	})
}
