package integration

import (
	"bufio"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A server that runs confined is reached at the addresses in listen, and at no
// others, whichever loopback address it listens at.
func TestConfinedServerIsReached(t *testing.T) {
	confinable(t)
	python := peer(t, "/usr/bin/python3")
	const script = `
import socket, sys
s = socket.socket(socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET)
s.bind((sys.argv[1], int(sys.argv[2])))
s.listen()
print("ready", flush=True)
while True:
    c, _ = s.accept()
    c.sendall(b"hello " + c.recv(100))
    c.close()
`
	users(t, func(t *testing.T, uid int) {
		for _, inside := range []string{"127.0.0.1", "::1"} {
			dir := place(t, uid)
			free, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			at := free.Addr().String()
			_, port, _ := net.SplitHostPort(at)

			// An address that is taken is told, with the address.
			taken := hostsupAs(t, uid, dir, "sandbox", "run", "--profile", "python", "--level", "no-cgroup", "--listen", at, "--", "true")
			if taken.code != 125 || !strings.Contains(taken.err, "listen at "+at+": ") {
				t.Errorf("%+v", taken)
			}
			free.Close()

			cmd := as(uid, exec.Command(hostsupBinary(t), "sandbox", "run", "--quiet", "--profile", "python", "--level", "no-cgroup", "--listen", at, "--",
				python, "-c", script, inside, port))
			cmd.Dir, cmd.Env = dir, []string{"PATH=/usr/bin:/bin", "XDG_RUNTIME_DIR=" + dir}
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			cmd.Stdout, cmd.Stderr = w, w
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			w.Close()
			if line, err := bufio.NewReader(r).ReadString('\n'); line != "ready\n" {
				t.Fatalf("%q %v", line, err)
			}
			for range 3 {
				c, err := net.Dial("tcp", at)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := c.Write([]byte("you")); err != nil {
					t.Error(err)
				}
				answer := make([]byte, 100)
				n, err := c.Read(answer)
				if string(answer[:n]) != "hello you" {
					t.Errorf("%q %v", answer[:n], err)
				}
				c.Close()
			}
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Error(err)
			}
			_ = cmd.Wait() // ended by the signal
			r.Close()
			if c, err := net.Dial("tcp", at); err == nil {
				c.Close()
				t.Error("the address is listened at after the end")
			}
		}
	})
}

// What is less than the strongest level, or than was asked for, is said on standard
// error, and written to the report whether or not it is said.
func TestWeakerIsSaid(t *testing.T) {
	confinable(t)
	users(t, func(t *testing.T, uid int) {
		dir := place(t, uid)
		policy := writtenFor(t, uid, dir, "policy.hcl", "sandbox {\n  profile = \"strict\"\n  level = \"no-cgroup\"\n}\nlimits {\n  enforce = \"best-effort\"\n  cpu = 1\n}\n")
		report := filepath.Join(dir, "report.json")
		type written struct {
			Level   string
			Missing []string
			Weaker  []struct{ Limit string }
			Code    *int
			Error   string
		}
		read := func() (w written) {
			text, err := os.ReadFile(report)
			if err == nil {
				err = json.Unmarshal(text, &w)
			}
			if err != nil {
				t.Errorf("%v: %s", err, text)
			}
			return w
		}
		for _, quiet := range []bool{false, true} {
			args := []string{"sandbox", "run", "--report", report, "--policy", policy}
			if quiet {
				args = append(args, "--quiet")
			}
			r := hostsupAs(t, uid, dir, append(args, "--", "sh", "-c", "exit 3")...)
			got := read()
			if r.code != 3 || got.Code == nil || *got.Code != 3 || got.Level == "" {
				t.Errorf("%+v %+v", r, got)
			}
			if quiet {
				if r.err != "" {
					t.Errorf("--quiet says %q", r.err)
				}
				continue
			}
			if less := got.Level != "full"; less != strings.Contains(r.err, "hostsup: sandbox: level "+got.Level+" is in force, which is less than full\n") {
				t.Errorf("at level %s it says %q", got.Level, r.err)
			}
			for _, weaker := range got.Weaker {
				if !strings.Contains(r.err, "hostsup: sandbox: limit "+weaker.Limit+": ") {
					t.Errorf("it does not say that %s is weaker: %q", weaker.Limit, r.err)
				}
			}
			for _, m := range got.Missing {
				if got.Level != "full" && !strings.Contains(r.err, m) {
					t.Errorf("it does not say %q: %q", m, r.err)
				}
			}
		}
		r := hostsupAs(t, uid, dir, "sandbox", "run", "--report", report, "--profile", "strict", "--level", "no-cgroup", "--", "/usr/bin/env", "/nosuch")
		if got := read(); r.code != 127 || got.Code == nil || *got.Code != 127 {
			t.Errorf("%+v %+v", r, got)
		}
		// It is written when nothing is started, too.
		wrong := writtenFor(t, uid, dir, "wrong.hcl", "sandbox {\n  read = [\"/nosuch\"]\n}\n")
		for _, args := range [][]string{{"--policy", wrong, "--", "true"}, {"--policy", dir + "/nosuch", "--", "true"}, {"--profile", "strict", "--", "/nosuch"}} {
			r := hostsupAs(t, uid, dir, append([]string{"sandbox", "run", "--report", report}, args...)...)
			if got := read(); r.code < 125 || got.Code != nil || got.Error == "" || got.Level != "none" {
				t.Errorf("%q: %+v %+v", args, r, got)
			}
		}
	})
}

// TestReportLeadsNowhere holds that a confined command does not have its report
// written to a file of its choice, and that a report which cannot be written
// refuses the start.
func TestReportLeadsNowhere(t *testing.T) {
	confinable(t)
	users(t, func(t *testing.T, uid int) {
		dir := place(t, uid)
		out := writtenFor(t, uid, dir, "out", "precious")
		work := filepath.Join(dir, "work")
		if err := os.Mkdir(work, 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(work, uid, uid); err != nil {
			t.Fatal(err)
		}
		report := filepath.Join(work, "report")
		run := func(command string) ran {
			return hostsupAs(t, uid, dir, "sandbox", "run", "--quiet", "--report", report, "--profile", "strict", "--level", "no-cgroup", "--write", work, "--", "sh", "-c", command)
		}
		for _, command := range []string{"rm -f " + report + "; ln -s " + out + " " + report, "touch " + work + "/ran"} {
			_ = run(command)
			if text, err := os.ReadFile(out); err != nil || string(text) != "precious" {
				t.Errorf("%s: %q, %v", command, text, err)
			}
		}
		if r := run("true"); r.code != 125 || !strings.Contains(r.err, "the report cannot be written: open "+report) {
			t.Errorf("a report at a link: %+v", r)
		}
		if _, err := os.Stat(work + "/ran"); err == nil {
			t.Error("the command ran")
		}
		explained := hostsupAs(t, uid, dir, "sandbox", "explain", "--output", report, "--profile", "strict", "--level", "no-cgroup", "--write", work, "--", "true")
		if text, err := os.ReadFile(out); err != nil || string(text) != "precious" || explained.code == 0 {
			t.Errorf("a policy written to a link: %q, %v, %+v", text, err, explained)
		}
	})
}
