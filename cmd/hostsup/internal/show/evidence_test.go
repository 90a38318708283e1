package show

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/hostsup/hostsup/control/evidence"
	"github.com/hostsup/hostsup/lifecycle/record"
)

func TestSinceNamesDays(t *testing.T) {
	s := screen(80, false)
	s.Zone = time.UTC
	s.Now = time.Date(2026, 11, 27, 13, 10, 0, 0, time.UTC) // a Friday
	for then, want := range map[time.Time]string{
		s.Now.Add(-time.Hour):           "12:10",
		s.Now.Add(-14 * time.Hour):      "Thursday",
		s.Now.Add(-3 * 24 * time.Hour):  "Tuesday",
		s.Now.Add(-6 * 24 * time.Hour):  "Saturday",
		s.Now.Add(-7 * 24 * time.Hour):  "2026-11-20",
		s.Now.Add(400 * 24 * time.Hour): "2028-01-01",
	} {
		if got := s.since(then); got != want {
			t.Errorf("%s: %q; expected %q", then, got, want)
		}
	}
}

func TestCrashGroups(t *testing.T) {
	var list []record.CrashReport
	for i := range 18 {
		c := report()
		c.Time = now.Add(time.Duration(i-17) * 4 * time.Hour)
		c.Lines = []record.ReportLine{{Stream: "stderr", Text: "TypeError: no file 4711"}, {Stream: "stderr", Text: "    at open (/srv/x.js:12:11)"}}
		if i == 3 {
			c.Host, c.Lines = "other", c.Lines[:0]
		}
		list = append(list, c)
	}
	groups := evidence.Groups(evidence.Summarize(list))
	var b bytes.Buffer
	if err := screen(0, false).CrashGroups(&b, groups); err != nil {
		t.Fatal(err)
	}
	golden(t, "crash_groups.txt", b.String())
}

func TestTimelineOfACrash(t *testing.T) {
	c := report()
	memory, cpu, pending := int64(24<<20), 0.25, 3
	raw, err := json.Marshal(evidence.Evidence{Window: 10, LeftOut: 2, Timeline: []evidence.Moment{
		{Time: now.Add(-time.Minute), Kind: evidence.KindSent, Type: "request", ID: 1, Method: "initialize", Size: 2, Params: json.RawMessage(`{}`), Opening: true},
		{Time: now.Add(-3 * time.Second), Kind: evidence.KindSample, Memory: &memory, CPU: &cpu, Pending: &pending},
		{Time: now.Add(-2 * time.Second), Kind: evidence.KindReceived, Type: "notification", Method: "log", Size: 70000, Cut: true},
		{Time: now, Kind: evidence.KindEvent, Event: "state", From: "running", To: "crashed", Reason: "exit 3\x1b[2J"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	c.Evidence = raw
	var b bytes.Buffer
	if err := screen(80, false).Crash(&b, &c, "17 times since Tuesday"); err != nil {
		t.Fatal(err)
	}
	golden(t, "crash_timeline.txt", b.String())
}
