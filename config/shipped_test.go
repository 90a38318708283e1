package config

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/execserver/part"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/sandbox/policy"
	"github.com/hostsup/hostsup/supervisor"
	"github.com/hostsup/hostsup/survive"
)

const shipped = "../config.hcl"

// hostFields and partFields are specs without their methods Equal, which would say only
// that specs differ.
type (
	hostFields supervisor.HostSpec
	partFields part.Spec
)

var sameSpec = cmp.Options{
	cmp.Transformer("fields", func(s supervisor.HostSpec) hostFields { return hostFields(s) }),
	cmp.Transformer("fields", func(s part.Spec) partFields { return partFields(s) }),
	cmp.Comparer(func(a, b codec.Protocol) bool {
		if a == nil || b == nil {
			return a == b
		}
		return a.Name() == b.Name()
	}),
	cmpopts.EquateEmpty(),
	cmpopts.EquateComparable(survive.Rule{}, survive.Part{}),
	cmpopts.IgnoreUnexported(File{}),
}

// samePolicy compares what policies resolve to, however they are written.
var samePolicy = cmp.Comparer(func(a, b *policy.Policy) bool {
	if a == nil || b == nil {
		return a == b
	}
	x, y := a.WithDefaults(false), b.WithDefaults(false)
	x.Source, y.Source = nil, nil
	return cmp.Equal(x, y, cmpopts.EquateEmpty())
})

// sameLimits compares the effective limits.
var sameLimits = cmp.Comparer(func(a, b policy.Limits) bool {
	for _, l := range []*policy.Limits{&a, &b} {
		if l.Enforce == "" {
			l.Enforce = policy.Strict
		}
	}
	return a == b
})

// The shipped file must run in any folder, without a mistake or a warning.
func TestShipped(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	f, diags := Load(shipped, Options{LookupEnv: func(name string) (string, bool) { return os.Getenv(name), name == "PATH" }})
	if len(diags) > 0 {
		t.Fatal(print(t, diags))
	}
	if f.Socket != "" || f.StateDir != "" {
		t.Errorf("it sets a socket (%q) or a state folder (%q)", f.Socket, f.StateDir)
	}
	got := ""
	for _, g := range f.Spec.Groups {
		got += g.Name + ":"
		for _, h := range g.Hosts {
			p := "none"
			if h.Protocol != nil {
				p = h.Protocol.Name()
			}
			got += fmt.Sprintf(" %s %s lazy=%v after %v", h.Name, p, h.Start.Lazy, h.Start.DependsOn)
			if p == "hostsup" && strings.Join(h.Command, " ") != self+" demo-host" {
				t.Errorf("%s runs %q", h.Name, h.Command)
			}
		}
		got += "\n"
	}
	want := "demo: store hostsup lazy=false after [] math hostsup lazy=false after [store] lazy hostsup lazy=true after []\n" +
		"ticker: ticker none lazy=false after []\n"
	if got != want {
		t.Errorf("got:\n%s", got)
	}
}

var commented = regexp.MustCompile(`^(\s*)# (\s*(?:[a-z0-9_]+\s*=\s.*|[a-z_]+ (?:"[^"]*" )?\{.*|\}))$`)

// Commented-out settings of the shipped file must be right: an example must be
// accepted, and anything else must be the default.
func TestShippedComments(t *testing.T) {
	src, err := os.ReadFile(shipped)
	if err != nil {
		t.Fatal(err)
	}
	var examples, defaults strings.Builder
	n, inside := 0, 0 // blocks of an example that are open
	for line := range strings.Lines(string(src)) {
		line = strings.TrimSuffix(line, "\n")
		m := commented.FindStringSubmatch(line)
		if m != nil {
			n++
			line = m[1] + m[2]
		}
		fmt.Fprintln(&examples, line)
		code, _, _ := strings.Cut(line, "#")
		code = strings.TrimSpace(code)
		switch example := strings.Contains(line, "# example"); {
		case m != nil && (example || inside > 0) && strings.HasSuffix(code, "{"):
			inside++
		case m != nil && inside > 0 && code == "}":
			inside--
		case m == nil || !example && inside == 0:
			fmt.Fprintln(&defaults, line)
		}
	}
	if n < 30 {
		t.Errorf("only %d lines were found to be commented out", n)
	}
	opts := testOptions()
	if _, diags := Parse([]byte(examples.String()), "config.hcl", opts); len(diags) > 0 {
		t.Errorf("uncommented:\n%s", print(t, diags))
	}
	want, diags := Parse(src, "config.hcl", opts)
	if len(diags) > 0 {
		t.Fatal(print(t, diags))
	}
	got, diags := Parse([]byte(defaults.String()), "config.hcl", opts)
	if len(diags) > 0 {
		t.Fatalf("uncommented, without the examples:\n%s", print(t, diags))
	}
	if diff := cmp.Diff(want, got, sameSpec); diff != "" {
		t.Errorf("these comments show something else than the default:\n%s", diff)
	}
}

// The shipped file must mention every setting of a host except the rare ones.
func TestShippedComplete(t *testing.T) {
	src, err := os.ReadFile(shipped)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range Reference() {
		if s.Path == "host.messages.max_string" {
			continue
		}
		name := s.Path[strings.LastIndexByte(s.Path, '.')+1:]
		if !regexp.MustCompile(`(?m)^[ #]*` + name + `\s*=`).Match(src) {
			t.Errorf("%s is not shown", s.Path)
		}
	}
}

// Every default in the reference, written into a file, must give the same spec as
// leaving it out.
func TestReferenceIsTrue(t *testing.T) {
	plain, diags := Parse([]byte("group \"g\" {\n  host \"h\" {\n    command = [\"h\"]\n  }\n}\n"), "x.hcl", testOptions())
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	checked := 0
	for _, s := range Reference() {
		if s.Default == "" {
			continue
		}
		checked++
		parts := strings.Split(s.Path, ".")
		text := parts[len(parts)-1] + " = " + s.Default + "\n"
		for i := len(parts) - 2; i >= 1; i-- {
			text = parts[i] + " {\n" + text + "}\n"
		}
		with := func(text string) string {
			return "group \"g\" {\n  host \"h\" {\n    command = [\"h\"]\n" + text + "  }\n}\n"
		}
		var src string
		want := plain
		switch parts[0] {
		case "supervisor":
			tree := "group \"g\" {\n  host \"h\" {\n    command = [\"h\"]\n  }\n}\n"
			if parts[1] == "console" {
				const block = "console {\nlisten = \"127.0.0.1:1\"\n"
				text = strings.Replace(text, "console {\n", block, 1)
				if want, diags = Parse([]byte("supervisor {\n"+block+"}\n}\n"+tree), "x.hcl", testOptions()); diags.HasErrors() {
					t.Fatal(print(t, diags))
				}
			}
			if parts[1] == "traces" { // there are none by default
				if want, diags = Parse([]byte("supervisor {\ntraces {\n}\n}\n"+tree), "x.hcl", testOptions()); diags.HasErrors() {
					t.Fatal(print(t, diags))
				}
			}
			src = "supervisor {\n" + text + "}\n" + tree
		case "secrets":
			src = "secrets {\n" + text + "}\ngroup \"g\" {\n  host \"h\" {\n    command = [\"h\"]\n  }\n}\n"
		case "group":
			src = "group \"g\" {\n" + text + "  host \"h\" {\n    command = [\"h\"]\n  }\n}\n"
		case "host":
			src = with(text)
		case "serve":
			tree := "host \"h\" {\ncommand = [\"h\"]\nprotocol = \"jsonrpc-lines\"\n}\n"
			with := func(text string) string {
				return tree + "serve \"mcp\" {\nlisten = \"127.0.0.1:1\"\nhosts = [\"h\"]\n" + text + "}\n"
			}
			src = with(text)
			if want, diags = Parse([]byte(with("")), "x.hcl", testOptions()); diags.HasErrors() {
				t.Fatal(print(t, diags))
			}
		case "template":
			with = func(text string) string { return "template \"t\" {\ncommand = [\"h\"]\n" + text + "}\n" }
			src = with(text)
			if want, diags = Parse([]byte(with("")), "x.hcl", testOptions()); diags.HasErrors() {
				t.Fatal(print(t, diags))
			}
		case "exec_server":
			src = "exec_server {\n" + text + "}\n"
			if strings.HasPrefix(s.Path, "exec_server.auth.") {
				src = strings.Replace(src, "auth {", "auth {\nshared_secret_file = \"/s\"", 1)
			}
			with = func(text string) string { return "exec_server {\n" + text + "}\n" }
			block := ""
			if parts[1] == "auth" {
				block = "auth {\nshared_secret_file = \"/s\"\n}\n"
			}
			if want, diags = Parse([]byte(with(block)), "x.hcl", testOptions()); diags.HasErrors() {
				t.Fatal(print(t, diags))
			}
		}
		if len(parts) > 2 && parts[1] == "sandbox" { // hosts have no sandbox by default
			block := "sandbox {\n}\n"
			if parts[2] == "work" {
				block = "sandbox {\nwork {\npath = \"/srv/w\"\n}\n}\n"
				src = strings.Replace(src, "work {", "work {\npath = \"/srv/w\"", 1)
			}
			if want, diags = Parse([]byte(with(block)), "x.hcl", testOptions()); diags.HasErrors() {
				t.Fatal(print(t, diags))
			}
		}
		if len(parts) > 2 && parts[1] == "healthy" { // hosts are not checked by default
			src = strings.Replace(src, "healthy {", "healthy {\ntcp = \"127.0.0.1:1\"", 1)
			if want, diags = Parse([]byte(with("healthy {\ntcp = \"127.0.0.1:1\"\n}\n")), "x.hcl", testOptions()); diags.HasErrors() {
				t.Fatal(print(t, diags))
			}
		}
		if len(parts) > 2 && parts[1] == "recycle" { // processes are not replaced by default
			src = strings.Replace(src, "recycle {", "recycle {\nmax_memory = \"1GiB\"", 1)
			if want, diags = Parse([]byte(with("recycle {\nmax_memory = \"1GiB\"\n}\n")), "x.hcl", testOptions()); diags.HasErrors() {
				t.Fatal(print(t, diags))
			}
		}
		if len(parts) > 2 && (parts[1] == "extensions" || parts[1] == "reconnect") { // other hosts do not have them
			host := func(text string) string {
				return "host \"h\" {\ncommand = [\"node\", \"/c/out/bootstrap-fork.js\", \"--type=extensionHost\"]\nprotocol = \"vscode\"\n" + text + "}\n"
			}
			if s.Path == "host.extensions.deactivate" { // and this is for others
				host = func(text string) string { return "host \"h\" {\ncommand = [\"h\"]\n" + text + "}\n" }
			}
			block := parts[1] + " {\n}\n"
			if parts[2] == "serve" { // which has a name
				text = strings.Replace(text, "serve {", "serve \"mcp\" {", 1)
				block = "extensions {\nserve \"mcp\" {\n}\n}\n"
			}
			src = host(text)
			if want, diags = Parse([]byte(host(block)), "x.hcl", testOptions()); diags.HasErrors() {
				t.Fatal(print(t, diags))
			}
		}
		if len(parts) > 2 && parts[1] == "attach" { // programs cannot attach to other hosts
			host := func(text string) string {
				return "host \"h\" {\ncommand = [\"h\"]\nprotocol = \"jsonrpc-lines\"\n" + text + "}\n"
			}
			src = host(text)
			if want, diags = Parse([]byte(host("attach {\n}\n")), "x.hcl", testOptions()); diags.HasErrors() {
				t.Fatal(print(t, diags))
			}
		}
		got, diags := Parse([]byte(src), "x.hcl", testOptions())
		if diags.HasErrors() {
			t.Errorf("%s = %s is refused:\n%s", s.Path, s.Default, print(t, diags))
			continue
		}
		if diff := cmp.Diff(want, got, sameSpec, samePolicy, sameLimits); diff != "" {
			t.Errorf("%s = %s is not the default:\n%s", s.Path, s.Default, diff)
		}
	}
	if checked < 30 {
		t.Errorf("only %d defaults were checked", checked)
	}
	golden(t, "testdata/reference.md", referenceTable())
}

// A spec from a file must be complete: filling in the library's defaults must change
// nothing, not even explicit zeros.
func TestComplete(t *testing.T) {
	each(t, "testdata/good/*.hcl", func(t *testing.T, file string, src []byte) {
		opts := testOptions()
		f, diags := Parse(src, file, opts)
		if diags.HasErrors() {
			t.Fatal(print(t, diags))
		}
		for _, p := range f.Spec.Parts {
			e, ok := p.(part.Spec)
			if !ok {
				continue
			}
			e.Options.Auth.TokenFile, e.Options.Auth.JWTSecretFile = "", "" // these files do not exist
			e.Options.Exposed = true
			spec := supervisor.Spec{OnFailed: supervisor.Stay, Parts: []supervisor.Part{e}, Secrets: f.Spec.Secrets, SecretCache: f.Spec.SecretCache}
			if diff := cmp.Diff([]any{spec, e}, []any{spec.WithDefaults(), e.WithDefaults()}, sameSpec); diff != "" {
				t.Errorf("exec server %s:\n%s", e.Name, diff)
			}
			if err := spec.Validate(); err != nil {
				t.Error(err)
			}
		}
		for _, g := range f.Spec.Groups {
			var members []lifecycle.Member
			for _, h := range g.Hosts {
				if diff := cmp.Diff(h, h.WithDefaults(), sameSpec); diff != "" {
					t.Errorf("host %s:\n%s", h.Name, diff)
				}
				if err := h.Validate(); err != nil {
					t.Error(err)
				}
				members = append(members, lifecycle.Member{Name: h.Name, DependsOn: h.Start.DependsOn})
			}
			if _, err := lifecycle.Order(members); err != nil {
				t.Error(err)
			}
		}
	})
	if diff := cmp.Diff(supervisor.HostSpec{Protocol: protocols[defaultProtocol](speech{})}.WithDefaults().Limits, defaultHost().Limits); diff != "" {
		t.Errorf("limits of messages:\n%s", diff)
	}
}
