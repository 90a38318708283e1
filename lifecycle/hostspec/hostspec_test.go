package hostspec

import (
	"testing"
	"time"

	"github.com/hostsup/hostsup/codec/native"
	"github.com/hostsup/hostsup/extensions/vscode"
	"github.com/hostsup/hostsup/sandbox/policy"
)

// A policy that is wrong is found before anything is started.
func TestValidateSandbox(t *testing.T) {
	s := Spec{Name: "x", Command: []string{"x"}, Transport: TransportUnix, Protocol: native.New(), Sandbox: &policy.Policy{Level: policy.Full, Deny: []string{"rel"}, Source: map[string]string{"deny[0]": "c.hcl:7"}}, Resources: policy.Limits{Tasks: -1}}.WithDefaults()
	err := s.Validate()
	want := "invalid specification: host \"x\": transport: a confined host cannot reach the supervisor's socket; expected fd or stdio\n" +
		"invalid specification: host \"x\": sandbox: c.hcl:7: deny[0] \"rel\": it is not absolute (begin it with /)\n" +
		"invalid specification: host \"x\": sandbox: limits.tasks \"-1\": it is negative (0 is no limit)"
	if err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
}

// A host of VS Code gives its extensions five seconds, and half of the grace is for that.
func TestGrace(t *testing.T) {
	for _, row := range []struct {
		spec Spec
		want time.Duration
	}{
		{Spec{}, 5 * time.Second},
		{Spec{Protocol: native.New()}, 5 * time.Second},
		{Spec{Protocol: vscode.New(vscode.Options{})}, 12 * time.Second},
		{Spec{Protocol: vscode.New(vscode.Options{}), Stop: StopRule{Grace: time.Second}}, time.Second},
	} {
		if got := row.spec.WithDefaults().Stop.Grace; got != row.want {
			t.Errorf("%+v: %s", row.spec.Protocol, got)
		}
	}
}

// Only a process that would be started in another way has to be started anew.
func TestRestarts(t *testing.T) {
	base := func() Spec {
		return Spec{Name: "x", Command: []string{"x"}, Protocol: native.New(), Env: map[string]string{"A": "1"}}.WithDefaults()
	}
	for what, row := range map[string]struct {
		change func(*Spec)
		want   bool
	}{
		"nothing":   {func(*Spec) {}, false},
		"grace":     {func(s *Spec) { s.Stop.Grace = time.Minute }, false},
		"restarts":  {func(s *Spec) { s.Restart.MaxCrashes = 9 }, false},
		"requests":  {func(s *Spec) { s.Requests.WhileDown = Queue }, false},
		"arguments": {func(s *Spec) { s.Command = []string{"x", "-v"} }, true},
		"variable":  {func(s *Spec) { s.Env["A"] = "2" }, true},
		"liveness":  {func(s *Spec) { s.Liveness.Ping = time.Minute }, true},
		"protocol":  {func(s *Spec) { s.Protocol = nil }, true},
	} {
		a, b := base(), base()
		row.change(&b)
		if got := a.Restarts(&b); got != row.want {
			t.Errorf("another %s: %v", what, got)
		}
	}
}
