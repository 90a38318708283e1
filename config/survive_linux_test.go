package config

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/survive"
)

// TestSurvive has a host that can outlive its supervisor, and settings with which it cannot.
func TestSurvive(t *testing.T) {
	source := func(settings string) []byte {
		return []byte("host \"h\" {\n  command = [\"/bin/true\"]\n" + settings + "}\n")
	}
	for _, settings := range []string{"  survive = true\n", "  survive = true\n  protocol = \"none\"\n", "  survive = true\n  transport = \"stdio\"\n", "  survive = true\n  protocol = \"jsonrpc-headers\"\n", "  survive = true\n  limits {\n    files = 100\n  }\n"} {
		f, diags := Parse(source(settings), "config.hcl", testOptions())
		if diags.HasErrors() {
			t.Errorf("%s: %s", settings, print(t, diags))
			continue
		}
		h := f.Spec.Groups[0].Hosts[0]
		if len(h.Features) != 1 || h.Features[0] != (survive.Rule{}) {
			t.Errorf("%s: features %v", settings, h.Features)
		}
	}
	if f, diags := Parse(source("  survive = true\n  pre_start = [\"/bin/true\"]\n"), "config.hcl", testOptions()); diags.HasErrors() || len(f.Spec.Groups[0].Hosts[0].Features) != 2 {
		t.Errorf("with pre_start: %s", print(t, diags))
	}
	f, diags := Parse(source("  survive = false\n"), "config.hcl", testOptions())
	if diags.HasErrors() || len(f.Spec.Groups[0].Hosts[0].Features) != 0 {
		t.Errorf("without it: %s", print(t, diags))
	}
	for _, c := range []struct {
		line           int
		settings, says string
	}{
		{4, "  survive = true\n  transport = \"fd\"\n", `transport "fd" ends with the supervisor; expected "stdio"`},
		{4, "  survive = true\n  transport = \"unix\"\n", `transport "unix" ends with the supervisor`},
		{4, "  survive = true\n  protocol = \"dscode\"\n", `in protocol "dscode" is one to sockets of the supervisor`},
		{4, "  survive = true\n  protocol = \"vscode\"\n", `in protocol "vscode" is one to sockets of the supervisor`},
		{5, "  survive = true\n  protocol = \"jsonrpc-lines\"\n  attach = true\n", "a host that programs share"},
		{5, "  survive = true\n  protocol = \"none\"\n  kind = \"job\"\n", "a job runs to its end"},
		{5, "  survive = true\n  protocol = \"none\"\n  sandbox {}\n", "a confined host is not in this version"},
	} {
		_, diags := Parse(source(c.settings), "config.hcl", testOptions())
		got := print(t, diags)
		if at := fmt.Sprintf("config.hcl:%d:", c.line); !strings.Contains(got, at) || !strings.Contains(got, c.says) || !strings.Contains(got, "survive = true is not possible") {
			t.Errorf("%s: %s\nexpected %s %s", c.settings, got, at, c.says)
		}
	}
}
