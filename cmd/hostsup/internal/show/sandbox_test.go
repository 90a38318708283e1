package show

import (
	"bytes"
	"testing"

	"github.com/hostsup/hostsup/lifecycle/record"
	"github.com/hostsup/hostsup/sandbox"
	"github.com/hostsup/hostsup/sandbox/denial"
	"github.com/hostsup/hostsup/sandbox/policy"
)

func TestSandbox(t *testing.T) {
	machine := &sandbox.Machine{Level: policy.Landlock, Features: []sandbox.Feature{
		{Name: "landlock", Have: true, Detail: "version 7", For: []policy.Level{policy.Full, policy.NoCgroup, policy.Landlock}},
		{Name: "user namespaces", Detail: "operation not permitted", Advice: "sysctl -w kernel.unprivileged_userns_clone=1", For: []policy.Level{policy.Full, policy.NoCgroup}},
		{Name: "observing", Have: true},
	}}
	resolved := &policy.Resolved{
		Policy: policy.Policy{Level: policy.Full, User: "auto", Network: policy.NetworkAllow, Allow: []string{"a:1", "b:2"}, Deny: []string{"/srv/**/*.pem", "/srv/.env", "/opt/*"},
			Tmp: policy.Tmp{Size: 64 << 20, Inodes: 4096}, Work: policy.Work{Path: "/srv/w", Size: 1 << 30, Inodes: 9}},
		Grants: []policy.Grant{
			{Path: "/bin", Access: policy.Exec, Link: "usr/bin", Field: "exec[1]"},
			{Path: "/dev/dri/card0", Access: policy.Write, Device: true, Field: "devices[0]"},
			{Path: "/srv", Access: policy.Write, Dir: true, Field: "write[0]"},
		},
		Denied: []policy.Denied{
			{Path: "/srv/.env", Missing: true, Field: "deny[1]"},
			{Path: "/srv/a/\x1b.pem", Pattern: "/srv/**/*.pem", Field: "deny[0]"},
		},
		PrivateTmp: true,
	}
	hosts := []record.HostStatus{
		{Name: "plain", Sandbox: record.SandboxStatus{Level: "none", Missing: []string{}}},
		{Name: "math", Sandbox: record.SandboxStatus{Level: "no-cgroup", Missing: []string{"memory is sampled"},
			Denials: []denial.Denial{{Kind: denial.Read, Path: "/etc/shadow", Count: 3, Suggest: `read = ["/etc/shadow"]`}, {Kind: denial.Syscall, Path: "mount", Count: 1}}}},
	}
	for _, color := range []bool{false, true} {
		s := screen(100, color)
		var b bytes.Buffer
		for _, err := range []error{s.Machine(&b, machine, "linux/amd64", "an ordinary user"), s.Resolved(&b, resolved), s.Resolved(&b, &policy.Resolved{}), s.Sandboxes(&b, hosts), s.Profiles(&b)} {
			if err != nil {
				t.Fatal(err)
			}
		}
		golden(t, map[bool]string{false: "sandbox.txt", true: "sandbox_color.txt"}[color], b.String())
	}
	if got := why(hosts[1]); got != "2 things denied" {
		t.Error(got)
	}
	if Signal(9) != "killed by SIGKILL" {
		t.Error(Signal(9))
	}
}
