package control_test

import (
	"strings"
	"testing"

	"github.com/hostsup/hostsup/control"
	"github.com/hostsup/hostsup/control/controltest"
	"github.com/hostsup/hostsup/lifecycle/record"
)

// A list of crashes in brief has no output, which may be long.
func TestCrashesInBrief(t *testing.T) {
	sup := everything()
	sup.Reports[0].Lines = []record.ReportLine{{Stream: "stdout", Text: "last words"}}
	addr := console(t, sup, control.Options{}, control.Access{})
	for query, want := range map[string]bool{"": true, "?brief=false": true, "?brief=true": false} {
		_, text := ask(t, addr, "GET", "/v1/crashes"+query, "", "Authorization", "Bearer "+secretOf(control.RoleRead))
		if got := strings.Contains(string(text), "last words"); got != want || !strings.Contains(string(text), `"c1"`) {
			t.Errorf("%q: %s", query, text)
		}
	}
	if len(sup.Reports[0].Lines) != 1 {
		t.Error("the report itself has lost its output")
	}
}

// What is not asked for is not read: for memory and processor time each host has to be.
func TestStatusReadsOnlyWhatIsAsked(t *testing.T) {
	sup := everything()
	c := control.NewClient(controltest.Serve(t, sup, control.Options{}))
	defer c.Close()
	for _, name := range []string{"alone", "agents"} {
		st, err := c.Status(t.Context(), name)
		if err != nil || len(st.Hosts)+len(st.Parts) != 1 {
			t.Errorf("%s: %+v, %v", name, st, err)
		}
	}
	if _, err := c.Status(t.Context(), "tss"); class(err) != control.NoSuchHost {
		t.Error(err)
	}
	for _, err := range c.AllLogs(t.Context(), []string{"editor"}, 1, false) {
		if err != nil {
			t.Error(err)
		}
	}
	if ts, alone := sup.Members[0].Asked(), sup.Members[1].Asked(); ts != 0 || alone != 1 {
		t.Errorf("ts was read %d times, alone %d", ts, alone)
	}
}
