package integration

import (
	"net"
	"strings"
	"testing"
)

// What a host tries to reach under network = "none" is told by sandbox run, the
// status, the events and the crash report, each with the lines that would allow
// it: a server of this machine, an address, and a name, also where the file that
// names the name server is granted.
func TestDenialsWithoutNetwork(t *testing.T) {
	observable(t)
	python := peer(t, "/usr/bin/python3")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	server := l.Addr().String()
	_, port, _ := net.SplitHostPort(server)
	script := `
import socket
own = socket.socket()
own.bind(("127.0.0.1", 0))
own.listen()
for f in (lambda: socket.create_connection(("127.0.0.1", ` + port + `), 5), lambda: socket.create_connection(own.getsockname(), 5),
          lambda: socket.create_connection(("192.0.2.1", 443), 5), lambda: socket.getaddrinfo("db.example", 443)):
    try:
        f()
    except OSError:
        pass
raise SystemExit(7)
`
	line := func(what, entry string) string {
		return what + `: add to sandbox: network = "allow" and allow = ["` + entry + `"]`
	}
	want := []string{line("connect "+server, server), line("connect 192.0.2.1:443", "192.0.2.1:443"), line("resolve db.example (2 times)", "db.example:*")}
	told := func(t *testing.T, by, text string) {
		t.Helper()
		for _, w := range want {
			if strings.HasPrefix(by, "events") {
				w = strings.Replace(w, " (2 times)", "", 1) // told at the first
			}
			if !strings.Contains(text, w) {
				t.Errorf("%s: %q is not told:\n%s", by, w, text)
			}
		}
		if n := strings.Count(text, "connect 127.0.0.1:"); n != 1 {
			t.Errorf("%s: %d connections to this machine are told:\n%s", by, n, text)
		}
	}
	users(t, func(t *testing.T, uid int) {
		dir := place(t, uid)
		program := writtenFor(t, uid, dir, "host.py", script)
		for _, read := range []string{"-/nosuch", "/etc"} {
			policy := writtenFor(t, uid, dir, "policy.hcl", "sandbox {\n  profile = \"python\"\n  level = \"no-cgroup\"\n  read = [\""+program+"\", \""+read+"\"]\n}\n")
			r := hostsupAs(t, uid, dir, "sandbox", "run", "--denials", "--policy", policy, "--", python, program)
			if r.code != 7 {
				t.Errorf("%+v", r)
			}
			told(t, "sandbox run", r.err)
		}
		config := writtenFor(t, uid, dir, "config.hcl", `
supervisor { state_dir = "`+dir+`/state" }
host "idle" {
  protocol = "none"
  command  = ["`+python+`", "`+program+`"]
  restart { policy = "never" }
  sandbox {
    profile = "python"
    level   = "no-cgroup"
    read    = ["`+program+`"]
    observe = "always"
  }
}
`)
		whileHost(t, uid, dir, config, "stopped", nil, func() {
			told(t, "status", hostsupAs(t, uid, dir, "status", "idle").out)
			told(t, "events", hostsupAs(t, uid, dir, "events").out)
			crashes := strings.Fields(hostsupAs(t, uid, dir, "crashes", "idle", "--json").out)
			_, id, ok := strings.Cut(strings.Join(crashes, ""), `"id":"`)
			id, _, _ = strings.Cut(id, `"`)
			if !ok {
				t.Fatalf("there is no crash report: %s", crashes)
			}
			report, _, _ := strings.Cut(hostsupAs(t, uid, dir, "crashes", "show", id).out, "\nthe 10s before") // which has them as events
			told(t, "crash report", report)
		})
	})
}
