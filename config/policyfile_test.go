package config

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/hashicorp/hcl/v2/hclwrite"

	"github.com/hostsup/hostsup/sandbox/policy"
	"github.com/hostsup/hostsup/sandbox/resolve"
)

const contractPolicy = `
sandbox {
  profile = "strict"
  level   = "full"
  user    = "auto"
  read    = ["/usr", "/srv/ts"]
  exec    = ["/usr/bin", "/usr/lib"]
  write   = ["/srv/ts/src"]
  deny    = ["/srv/ts/.env"]
  network = "allow"
  allow   = ["db.example:5432", "127.0.0.1:8080"]
  jit     = false
  tmp {
    size   = "64MiB"
    inodes = 4096
  }
  work {
    path   = "/srv/ts/work"
    size   = "128MiB"
    inodes = 8192
    keep   = false
  }
}
limits {
  memory    = "256MiB"
  tasks     = 64
  cpu       = 0.5
  files     = 256
  file_size = "64MiB"
}
`

func TestPolicyFile(t *testing.T) {
	f, diags := ParsePolicy([]byte(contractPolicy), "p.hcl", testOptions())
	if diags.HasErrors() {
		t.Fatal(print(t, diags))
	}
	strict, _ := policy.Profile("strict")
	want := policy.Merge(strict, policy.Policy{
		Level: policy.Full, User: "auto", Read: []string{"/usr", "/srv/ts"}, Exec: []string{"/usr/bin", "/usr/lib"}, Write: []string{"/srv/ts/src"}, Deny: []string{"/srv/ts/.env"},
		Network: policy.NetworkAllow, Allow: []string{"db.example:5432", "127.0.0.1:8080"}, Tmp: policy.Tmp{Size: 64 << 20, Inodes: 4096},
		Work: policy.Work{Path: "/srv/ts/work", Size: 128 << 20, Inodes: 8192},
	})
	if d := cmp.Diff(want, f.Policy, cmpopts.IgnoreFields(policy.Policy{}, "Source")); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(policy.Limits{Memory: 256 << 20, Tasks: 64, CPU: 0.5, Files: 256, FileSize: 64 << 20}, f.Limits); d != "" {
		t.Error(d)
	}
	if at := f.Policy.Source["deny[0]"]; at != "p.hcl:9" {
		t.Error(at)
	}
	if f.Resolved != nil {
		t.Error("the file system was accessed")
	}
}

func TestPolicyFileBad(t *testing.T) {
	for name, c := range map[string]struct{ src, want string }{
		"empty":       {"", "p.hcl:1:1: error: no sandbox block"},
		"limits only": {"limits {\n  tasks = 3\n}\n", "p.hcl:1:1: error: no sandbox block"},
		"a host":      {"host \"a\" {\n}\n", "p.hcl:1:1: error: unsupported block type"},
		"bare":        {"read = [\"/usr\"]\n", "It belongs into sandbox { … }."},
		"wrong":       {"sandbox {\n  read = [\"/proc\"]\n}\n", "p.hcl:2:11: error: invalid value for read[0]"},
		"twice":       {"sandbox {\n}\nsandbox {\n}\n", "sandbox written twice"},
		"syntax":      {"sandbox {\n", "p.hcl:"},
	} {
		t.Run(name, func(t *testing.T) {
			f, diags := ParsePolicy([]byte(c.src), "p.hcl", testOptions())
			if f != nil || !diags.HasErrors() {
				t.Fatal("taken as valid")
			}
			checkDiagnostics(t, diags, []byte(c.src))
			if text := print(t, diags); !strings.Contains(text, c.want) {
				t.Error(text)
			}
		})
	}
	if f, diags := LoadPolicy(filepath.Join(t.TempDir(), "none.hcl"), Options{}); f != nil || !diags.HasErrors() {
		t.Error("a missing file was accepted")
	}
}

func TestPolicyFileVariables(t *testing.T) {
	src := "variable \"root\" {\n  default = \"/srv\"\n}\nlocals {\n  w = \"${var.root}/w\"\n}\nsandbox {\n  write = [local.w, \"rel\"]\n}\n"
	opts := testOptions()
	opts.Vars = map[string]string{"root": "/opt"}
	f, diags := ParsePolicy([]byte(src), "p.hcl", opts)
	if diags.HasErrors() {
		t.Fatal(print(t, diags))
	}
	if d := cmp.Diff([]string{"/opt/w", "/etc/hostsup/rel"}, f.Policy.Write); d != "" {
		t.Error(d)
	}
}

// A formatted policy must read back as the same.
func TestFormatPolicy(t *testing.T) {
	all := policy.Policy{
		Level: policy.Landlock, User: "1001", Read: []string{"/a b", `/q"\${x}%{y}`, "-/c"}, Exec: []string{"/usr"}, Write: []string{"/w"},
		Network: policy.NetworkHost, JIT: true, Devices: []string{"/dev/dri/card0"}, Syscalls: policy.Syscalls{Deny: []string{"kcmp"}, Allow: []string{"ptrace"}},
	}
	full := policy.Policy{Level: policy.Full, Deny: []string{"/a/**/*.pem"}, Network: policy.NetworkAllow, Allow: []string{"a:1"}, Listen: []string{"127.0.0.1:8080", "[::1]:81"},
		Tmp: policy.Tmp{Size: 65 << 10, Inodes: 64}, Work: policy.Work{Path: "/w", Size: 1 << 30, Inodes: 99, Keep: true}}
	policies := []policy.Policy{{}, all, full}
	for _, name := range policy.Profiles() {
		p, _ := policy.Profile(name)
		off := p
		off.JIT = false
		bare := p
		bare.Profile = ""
		policies = append(policies, p, off, bare)
	}
	for _, l := range []policy.Limits{{}, {Memory: 1 << 30, Tasks: 1 << 20, CPU: 1.25, Files: 64, FileSize: 1 << 40, AddressSpace: 5 << 20}} {
		for _, p := range policies {
			text := FormatPolicy(p, l)
			if formatted := string(hclwrite.Format([]byte(text))); formatted != text {
				t.Error(cmp.Diff(formatted, text))
			}
			f, diags := ParsePolicy([]byte(text), "p.hcl", testOptions())
			if diags.HasErrors() {
				t.Fatalf("%s\n%s", text, print(t, diags))
			}
			f.Policy.Source = nil
			if d := cmp.Diff(p, f.Policy, cmpopts.EquateEmpty()); d != "" {
				t.Errorf("%s\n%s", text, d)
			}
			if d := cmp.Diff(l, f.Limits); d != "" {
				t.Errorf("%s\n%s", text, d)
			}
			if again := FormatPolicy(f.Policy, f.Limits); again != text {
				t.Error(cmp.Diff(text, again))
			}
		}
	}
}

// What the machine cannot enforce must be reported with its position, and by Load as
// a warning if Lenient is set.
func TestEnforce(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "tool"), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	src := `
host "a" {
  command = ["` + dir + `/tool"]
  dir     = "` + dir + `"
  sandbox {
    level = "full"
    read  = ["` + dir + `/nosuch"]
  }
}
host "b" {
  command = ["` + dir + `/tool"]
  dir     = "` + dir + `"
  sandbox {
    level = "full"
  }
}
host "c" {
  command = ["` + dir + `/tool"]
  dir     = "` + dir + `"
  sandbox {
    level = "full"
    exec  = ["."]
  }
}
host "d" {
  command = ["` + dir + `/tool"]
  limits {
    tasks = 5
  }
}
host "e" {
  command = ["` + dir + `/tool"]
}
`
	file := filepath.Join(dir, "c.hcl")
	if err := os.WriteFile(file, []byte(src), 0o644); err != nil {
		t.Fatal(err)
	}
	asked := 0
	opts := Options{Enforce: func(p *policy.Policy, l policy.Limits) (*policy.Resolved, []*policy.Error, error) {
		asked++
		if l.Tasks == 5 {
			return nil, nil, errors.Join(&policy.Error{Field: "limits.tasks", Value: "5", Reason: "there is no cgroup here"})
		}
		r, err := resolve.Policy(p, l)
		return r, nil, err
	}}
	want := []string{
		`7,14- nosuch": it does not exist. Make it first`,
		`11,3- The sandbox does not let`,
		`12,3- The sandbox does not grant`,
		`28,5- There is no cgroup here.`,
	}
	check := func(lenient bool) {
		t.Helper()
		opts.Lenient = lenient
		f, diags := Load(file, opts)
		if (f != nil) != lenient || diags.HasErrors() == lenient {
			t.Fatalf("a file: %v\n%s", f != nil, print(t, diags))
		}
		var got []string
		for _, d := range diags {
			got = append(got, d.Error()[len(file)+1:])
			if lenient != strings.Contains(d.Detail, "cannot start until") {
				t.Errorf("lenient %v: %s", lenient, d.Detail)
			}
		}
		if len(got) != len(want) || !slices.EqualFunc(got, want, func(g, w string) bool {
			at, text, _ := strings.Cut(w, " ")
			return strings.HasPrefix(g, at) && strings.Contains(g, text)
		}) {
			t.Errorf("got\n%s", strings.Join(got, "\n"))
		}
	}
	check(false)
	check(true)
	if asked != 8 {
		t.Errorf("asked %d times", asked)
	}
}
