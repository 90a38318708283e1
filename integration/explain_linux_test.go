//go:build linux

package integration

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A policy that lets nothing be run is refined to one under which the command does
// its work, and what its result does not depend on stays denied.
func TestRefinedPolicyRuns(t *testing.T) {
	observable(t)
	git := peer(t, "git")
	users(t, func(t *testing.T, uid int) {
		dir := place(t, uid)
		writtenFor(t, uid, dir, "data", "some data\n")
		first := writtenFor(t, uid, dir, "first.hcl", "sandbox {\n  level = \"no-cgroup\"\n}\nlimits {\n  files = 64\n}\n")
		for _, command := range [][]string{
			{"cat", "data"},
			{"/bin/sh", "-c", "cat data /etc/shadow 2>/dev/null; echo done"},
			{git, "init", "-q", "repo"},
		} {
			out := filepath.Join(dir, "refined.hcl")
			refined := hostsupAs(t, uid, dir, append([]string{"sandbox", "explain", "--refine", first, "-o", out, "--"}, command...)...)
			if refined.code != 0 {
				t.Fatalf("%q: %+v", command, refined)
			}
			text, err := os.ReadFile(out)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.RemoveAll(filepath.Join(dir, "repo")); err != nil {
				t.Fatal(err)
			}
			r := hostsupAs(t, uid, dir, append([]string{"sandbox", "run", "--policy", out, "--"}, command...)...)
			if r.code != 0 || !strings.HasSuffix(refined.out, r.out) {
				t.Errorf("%q: %+v, and while it was refined %q, with\n%s", command, r, refined.out, text)
			}
			if !strings.Contains(string(text), "files = 64") || strings.Contains(string(text), `"/etc/shadow"`+",\n") && uid != 0 {
				t.Errorf("%q: %s", command, text)
			}
			same := hostsupAs(t, uid, dir, "sandbox", "explain", "--diff", out, out)
			if same != (ran{}) {
				t.Errorf("%+v", same)
			}
			if more := hostsupAs(t, uid, dir, "sandbox", "explain", "--diff", first, out); !strings.Contains(more.out, "+ exec = [\"") || strings.Contains(more.out, "\n- ") {
				t.Errorf("%+v", more)
			}
		}
		never := hostsupAs(t, uid, dir, "sandbox", "explain", "--refine", first, "--", "/bin/false")
		if never.code != 1 || !strings.Contains(never.err, "it exited with 1 although it is denied nothing that a policy could grant") {
			t.Errorf("%+v", never)
		}
	})
}

// What explain makes of a run does not depend on what is in /tmp already, has room
// enough there, and names no port of the command's own.
func TestExplainedPolicyIsOfTheRun(t *testing.T) {
	observable(t)
	python := peer(t, "/usr/bin/python3")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	script := `
import os, socket, sys, tempfile
home = os.environ["HOME"]
assert not os.path.exists(home + "/.cache")
os.makedirs(home + "/.cache/x")
with open(home + "/.cache/x/large", "wb") as f:
    f.write(b"x" * (80 << 20))
server = socket.socket()
server.bind(("127.0.0.1", 0))
server.listen()
socket.create_connection(server.getsockname(), 5).close()
socket.create_connection(("127.0.0.1", int(sys.argv[1])), 5).close()
os.listdir(".")
print(open("data").read())
`
	users(t, func(t *testing.T, uid int) {
		dir := place(t, uid)
		writtenFor(t, uid, dir, "data", "some data\n")
		program := writtenFor(t, uid, dir, "program.py", script)
		out := filepath.Join(dir, "policy.hcl")
		_, port, _ := net.SplitHostPort(l.Addr().String())
		command := []string{python, program, port}
		if r := hostsupAs(t, uid, dir, append([]string{"sandbox", "explain", "-o", out, "--"}, command...)...); r.code != 0 || r.out != "some data\n\n" {
			t.Fatalf("%+v", r)
		}
		text, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{`size   = "256MiB"`, `allow = ["` + l.Addr().String() + `"]`, `"` + dir + `/data"`} {
			if !strings.Contains(strings.ReplaceAll(string(text), "allow   =", "allow ="), want) {
				t.Errorf("there is no %s in %s", want, text)
			}
		}
		for _, never := range []string{`"` + dir + `"`, "/tmp/hostsup-home", `write`} {
			if strings.Contains(string(text), never) {
				t.Errorf("%s is in %s", never, text)
			}
		}
		if r := hostsupAs(t, uid, dir, append([]string{"sandbox", "run", "--quiet", "--level", "no-cgroup", "--policy", out, "--"}, command...)...); r != (ran{0, "some data\n\n", ""}) {
			t.Errorf("%+v, with %s", r, text)
		}
		based := hostsupAs(t, uid, dir, "sandbox", "explain", "--profile", "python", "--level", "no-cgroup", "--", python, "-c", "open('"+dir+"/data')")
		if strings.Contains(based.out, `"-/usr"`) || !strings.Contains(based.out, `"`+dir+`/data"`) || !strings.Contains(based.out, `profile = "python"`) {
			t.Errorf("the profile is repeated, or something is missing: %+v", based)
		}
	})
}

// The policy that explain prints is enough for the command that it was made of,
// and grants files where few of a folder were used.
func TestExplainedPolicyRuns(t *testing.T) {
	observable(t)
	python, node, git := peer(t, "/usr/bin/python3"), peer(t, "node"), peer(t, "git")
	users(t, func(t *testing.T, uid int) {
		dir := place(t, uid)
		data := writtenFor(t, uid, dir, "data", "some data\n")
		for _, command := range [][]string{
			{"cat", "/etc/hostname"},
			{"/bin/sh", "-c", "cat " + data + " && echo done"},
			{python, "-c", "import json, ssl; print(json.dumps([open('" + data + "').read()]))"},
			{node, "-e", "console.log(require('fs').readFileSync('" + data + "', 'utf8'))"},
			{git, "--version"},
			{"awk", "{print $1}", data},
		} {
			t.Run(filepath.Base(command[0]), func(t *testing.T) {
				// Its own output goes to standard error.
				explained := hostsupAs(t, uid, dir, append([]string{"sandbox", "explain", "--"}, command...)...)
				if explained.code != 0 {
					t.Fatalf("%+v", explained)
				}
				policy := writtenFor(t, uid, dir, "policy.hcl", explained.out)
				r := hostsupAs(t, uid, dir, append([]string{"sandbox", "run", "--level", "no-cgroup", "--policy", policy, "--"}, command...)...)
				if r.code != 0 || r.out == "" || r.out != explained.err {
					t.Errorf("confined it comes to %+v, and else says %q, with\n%s", r, explained.err, explained.out)
				}
				for _, folder := range []string{"/bin", "/lib", "/lib64", "/usr/bin", "/usr/lib", "/usr/share", "/etc"} {
					if strings.Contains(explained.out, `"`+folder+`"`) {
						t.Errorf("all of %s is granted:\n%s", folder, explained.out)
					}
				}
			})
		}
	})
}
