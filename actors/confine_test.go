package actors

import (
	"testing"

	"github.com/hostsup/hostsup/codec/native"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/sandbox"
	"github.com/hostsup/hostsup/sandbox/denial"
	"github.com/hostsup/hostsup/sandbox/policy"
)

func TestLimited(t *testing.T) {
	l := policy.Limits{Memory: 512 << 20, Tasks: 64, Files: 32, FileSize: 3 << 29}
	for _, c := range []struct {
		exit sandbox.Exit
		want string
	}{
		{sandbox.Exit{Code: -1, Signal: 9}, "killed by SIGKILL"},
		{sandbox.Exit{Code: 3}, "exit 3"},
		{sandbox.Exit{Code: -1, Signal: 9, OutOfMemory: true, MemoryPeak: 512 << 20, Limit: "memory"}, "out of memory (limit 512 MiB, peak 512 MiB)"},
		{sandbox.Exit{Code: 1, OutOfMemory: true}, "out of memory (limit 512 MiB)"},
		{sandbox.Exit{Code: 1, Limit: "tasks"}, "exit 1 (limit of tasks reached: 64)"},
		{sandbox.Exit{Code: 1, Limit: "files"}, "exit 1 (limit of files reached: 32)"},
		{sandbox.Exit{Code: -1, Signal: 25, Limit: "file_size"}, "killed by SIGXFSZ (limit of file_size reached: 1.5 GiB)"},
		{sandbox.Exit{Code: 1, Limit: "other"}, "exit 1 (limit of other reached)"},
		{sandbox.Exit{Code: 0, Limit: "tasks"}, "exit 0"},
	} {
		f := &Failure{Cause: lifecycle.CauseExit, Exit: &c.exit, Detail: limited(&c.exit, l)}
		if got := f.Error(); got != c.want {
			t.Errorf("%+v: %q, want %q", c.exit, got, c.want)
		}
	}
}

func TestDeniedOnce(t *testing.T) {
	o := &deniedOnce{seen: map[string]bool{}}
	a, b := denial.Denial{Kind: denial.Read, Path: "/a"}, denial.Denial{Kind: denial.Write, Path: "/a"}
	if !o.first(a) || o.first(a) || !o.first(b) {
		t.Error("not each once")
	}
	n := 0
	for i := range 100 {
		if o.first(denial.Denial{Kind: denial.Stat, Path: string(rune('a' + i))}) {
			n++
		}
	}
	if n != maxDeniedEvents-2 {
		t.Errorf("%d were told", n)
	}
}

// A policy that is wrong is found before anything is started.
func TestValidateSandbox(t *testing.T) {
	s := HostSpec{Name: "x", Command: []string{"x"}, Transport: TransportUnix, Protocol: native.New(), Sandbox: &policy.Policy{Level: policy.Full, Deny: []string{"rel"}, Source: map[string]string{"deny[0]": "c.hcl:7"}}, Resources: policy.Limits{Tasks: -1}}.WithDefaults()
	err := s.Validate()
	want := "invalid specification: host \"x\": transport: a confined host cannot reach the supervisor's socket; expected fd or stdio\n" +
		"invalid specification: host \"x\": sandbox: c.hcl:7: deny[0] \"rel\": it is not absolute (begin it with /)\n" +
		"invalid specification: host \"x\": sandbox: limits.tasks \"-1\": it is negative (0 is no limit)"
	if err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
}
