package service

import (
	"encoding/json"
	"syscall"
	"testing"
	"time"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/extensions"
	"github.com/hostsup/hostsup/extensions/activation"
	"github.com/hostsup/hostsup/extensions/blame"
	"github.com/hostsup/hostsup/lifecycle"
)

func TestKinds(t *testing.T) {
	t.Parallel()
	signal := func(s syscall.Signal) lifecycle.ExitStatus { return lifecycle.ExitStatus{Code: -1, Signal: int(s)} }
	for name, tc := range map[string]struct {
		end     actors.LifeEnd
		kind    blame.Kind
		crashed bool
	}{
		"code":      {actors.LifeEnd{Cause: lifecycle.CauseExit, Status: lifecycle.ExitStatus{Code: 9}}, blame.Exit, true},
		"abort":     {actors.LifeEnd{Cause: lifecycle.CauseExit, Status: signal(syscall.SIGABRT)}, blame.Exit, true},
		"outside":   {actors.LifeEnd{Cause: lifecycle.CauseExit, Status: signal(syscall.SIGKILL)}, blame.Outside, true},
		"heap":      {actors.LifeEnd{Cause: lifecycle.CauseExit, Status: signal(syscall.SIGABRT), Reason: "JavaScript heap out of memory"}, blame.Memory, true},
		"limit":     {actors.LifeEnd{Cause: lifecycle.CauseExit, Status: signal(syscall.SIGKILL), Reason: "killed by SIGKILL (limit of memory reached: 1 MiB)"}, blame.Memory, true},
		"hang":      {actors.LifeEnd{Cause: lifecycle.CauseUnresponsive, Status: signal(syscall.SIGKILL)}, blame.Hang, true},
		"version":   {actors.LifeEnd{Cause: lifecycle.CauseVersion}, blame.Version, true},
		"spawn":     {actors.LifeEnd{Cause: lifecycle.CauseSpawn}, blame.Spawn, true},
		"bytes":     {actors.LifeEnd{Cause: lifecycle.CauseProtocol}, blame.Protocol, true},
		"ours":      {actors.LifeEnd{Cause: lifecycle.CauseInternal}, blame.Outside, true},
		"by itself": {actors.LifeEnd{Cause: lifecycle.CauseExit}, "", false},
		"stopped":   {actors.LifeEnd{Cause: lifecycle.CauseExit, Status: signal(syscall.SIGTERM), Expected: true}, "", false},
	} {
		kind, crashed := kindOf(tc.end)
		if crashed != tc.crashed || crashed && kind != tc.kind {
			t.Errorf("%s: %s, %t", name, kind, crashed)
		}
	}
}

// Any report of a host is parsed without a panic, and invalid ones are ignored.
func TestReadings(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]extensions.ID{
		`{"value":"Some.Body","_lower":"some.body"}`: "some.body", `"a.b"`: "a.b",
		`{}`: "", `null`: "", `7`: "", `"a"`: "", ``: "",
	} {
		if id, ok := identifier(json.RawMessage(in)); ok != (want != "") || ok && id != want {
			t.Errorf("%s: %s, %t", in, id, ok)
		}
	}
	for in, want := range map[string]time.Duration{`1.5`: 1500 * time.Microsecond, `-1`: 0, `1e300`: 0, `"x"`: 0, ``: 0} {
		if got := span(json.RawMessage(in)); got != want {
			t.Errorf("%s: %s", in, got)
		}
	}
	got := reason(json.RawMessage(`{"startup":true,"extensionId":{"value":"a.b","_lower":"a.b"},"activationEvent":"*"}`), "c.d")
	if got != (activation.Reason{Startup: true, ID: "a.b", Event: "*"}) {
		t.Errorf("%+v", got)
	}
	if got := reason(nil, "c.d"); got != (activation.Reason{ID: "c.d"}) {
		t.Errorf("%+v", got)
	}
	for in, want := range map[string][2]string{
		`{"$isError":true,"name":"Error","message":"m","stack":"s"}`: {"m", "s"},
		`"text"`: {`"text"`, ""}, `null`: {"null", ""}, ``: {"", ""},
	} {
		if text, stack := parseThrown(json.RawMessage(in)); text != want[0] || stack != want[1] {
			t.Errorf("%s: %q, %q", in, text, stack)
		}
	}
	if got := (report{}).arg(3); got != nil {
		t.Errorf("%s", got)
	}
}
