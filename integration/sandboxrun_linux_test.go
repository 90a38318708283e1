//go:build linux

package integration

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hostsup/hostsup/internal/require"
	"github.com/hostsup/hostsup/sandbox"
	confine "github.com/hostsup/hostsup/sandbox/policy"
)

// confinable skips a test where nothing can be confined in namespaces of its
// own, which fails it where nothing may be missing.
func confinable(t *testing.T) {
	t.Helper()
	if m := sandbox.Probe(); !m.Level.AtLeast(confine.NoCgroup) {
		require.Missing(t, "confinement in namespaces: this machine has level %s; see hostsup sandbox doctor", m.Level)
	}
}

// observable is confinable, where what a command tries can be seen.
func observable(t *testing.T) {
	t.Helper()
	confinable(t)
	if f, _ := sandbox.Probe().Feature(sandbox.FeatureObserving); !f.Have {
		require.Missing(t, "observing: %s", f.Detail)
	}
}

// ran is what came of a command line of the shipped program.
type ran struct {
	code     int
	out, err string
}

// hostsupAs runs the shipped program to its end, in a folder of the user's.
func hostsupAs(t *testing.T, uid int, dir string, args ...string) ran {
	t.Helper()
	cmd := as(uid, exec.CommandContext(t.Context(), hostsupBinary(t), args...))
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.Dir = &out, &errs, dir
	cmd.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME=" + dir, "HOSTSUP_SOCKET=" + filepath.Join(dir, "sock"), "XDG_STATE_HOME=" + dir}
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return ran{cmd.ProcessState.ExitCode(), out.String(), errs.String()}
}

// writtenFor is a new file of a user's.
func writtenFor(t *testing.T, uid int, dir, name, text string) string {
	t.Helper()
	path := written(t, dir, name, text)
	if err := errors.Join(os.Chown(path, uid, uid), os.Chmod(path, 0o644)); err != nil { // a confined process of root's has a user of its own
		t.Fatal(err)
	}
	return path
}

// holdsLimits reports whether the cgroups of a user hold limits.
func holdsLimits(t *testing.T, uid int, dir string) bool {
	t.Helper()
	doctor := hostsupAs(t, uid, dir, "sandbox", "doctor")
	for line := range strings.Lines(doctor.out) {
		if f := strings.Fields(line); strings.HasPrefix(line, "cpu limit ") && len(f) > 2 {
			return f[2] == "yes"
		}
	}
	t.Fatalf("doctor does not tell of the cpu limit:\n%s", doctor.out)
	return false
}

// A limit that no cgroup holds is refused, with what to do about it; with
// best-effort it is run and told. validate and status say the same.
func TestLimitsAreHeldOrRefused(t *testing.T) {
	confinable(t)
	users(t, func(t *testing.T, uid int) {
		dir := place(t, uid)
		policy := func(enforce string) string {
			return "sandbox {\n  profile = \"strict\"\n  level   = \"no-cgroup\"\n}\nlimits {\n  cpu = 0.2\n" + enforce + "}\n"
		}
		const bestEffort = "  enforce = \"best-effort\"\n"
		strict := writtenFor(t, uid, dir, "strict.hcl", policy(""))
		weak := writtenFor(t, uid, dir, "weak.hcl", policy(bestEffort))
		config := func(enforce string) string {
			return withState("host \"idle\" {\n  command = [\"/bin/sleep\", \"1000\"]\n  protocol = \"none\"\n  restart {\n max_crashes = 1 \n}\n  limits {\n    cpu = 0.2\n" + enforce + "  }\n}\n")
		}
		strictHost := writtenFor(t, uid, dir, "strict-host.hcl", config(""))
		weakHost := writtenFor(t, uid, dir, "weak-host.hcl", config(bestEffort))
		held := holdsLimits(t, uid, dir)

		r := hostsupAs(t, uid, dir, "sandbox", "run", "--policy", strict, "--", "echo", "ran")
		v := hostsupAs(t, uid, dir, "validate", "-c", strictHost)
		if held {
			if r != (ran{0, "ran\n", ""}) || v.code != 0 || v.err != "" {
				t.Errorf("it can be held, and comes to %+v, %+v", r, v)
			}
			return
		}
		for _, want := range []string{"strict.hcl:6: limits.cpu", "no cgroup can hold it here", "systemd-run --user --scope -p Delegate=yes", `enforce = "best-effort"`} {
			if r.code != 125 || r.out != "" || !strings.Contains(r.err, want) {
				t.Errorf("%q is not in %+v", want, r)
			}
		}
		if v.code != 3 || !strings.Contains(v.err, "strict-host.hcl:8") || !strings.Contains(v.err, "No cgroup can hold it here") {
			t.Errorf("validate: %+v", v)
		}
		if r := hostsupAs(t, uid, dir, "sandbox", "run", "--policy", weak, "--", "echo", "ran"); r.code != 0 || r.out != "ran\n" ||
			!strings.Contains(r.err, "hostsup: sandbox: limit cpu: not limited, because ") {
			t.Errorf("best effort: %+v", r)
		}
		if v := hostsupAs(t, uid, dir, "validate", "-c", weakHost); v.code != 0 || !strings.Contains(v.err, "warning: weaker than limits.cpu says") {
			t.Errorf("validate: %+v", v)
		}

		status := runHost(t, uid, dir, strictHost, "failed")
		if !strings.Contains(status, "no cgroup can hold it here") {
			t.Errorf("status of a host that is refused:\n%s", status)
		}
		status = runHost(t, uid, dir, weakHost, "running")
		if !strings.Contains(status, "limit cpu not held as asked") || !strings.Contains(status, "missing: limit cpu: not limited, because ") {
			t.Errorf("status of a host with best effort:\n%s", status)
		}
	})
}

// withState is a configuration whose supervisor has its state folder beside it.
func withState(config string) string {
	return config + "supervisor {\n  state_dir = \"state\"\n}\n"
}

// serves runs a configuration as a user until it is ready and the log has a line
// with each of the texts. It returns the supervisor's pid, and a function that
// stops it.
func serves(t *testing.T, uid int, dir, config string, logged ...string) (pid int, stop func()) {
	t.Helper()
	cmd := as(uid, exec.CommandContext(t.Context(), hostsupBinary(t), "run", "-c", config))
	cmd.Dir = dir
	cmd.Env = []string{"PATH=/usr/bin:/bin", "HOSTSUP_SOCKET=" + filepath.Join(dir, "sock"), "XDG_RUNTIME_DIR=" + filepath.Join(dir, "run"), "TMPDIR=" + filepath.Join(dir, "tmp")}
	for _, name := range []string{"run", "tmp"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(filepath.Join(dir, name), uid, uid); err != nil {
			t.Fatal(err)
		}
	}
	var errs bytes.Buffer
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = w
	err = cmd.Start()
	w.Close()
	if err != nil {
		r.Close()
		t.Fatal(err)
	}
	read := make(chan struct{})
	t.Cleanup(func() { // it ends with the test's context
		_ = cmd.Wait()
		<-read
		r.Close()
	})
	in := bufio.NewReader(r)
	for ready := false; ; {
		line, err := in.ReadString('\n')
		errs.WriteString(line)
		ready = ready || strings.HasPrefix(line, "hostsup: ready")
		logged = slices.DeleteFunc(logged, func(text string) bool { return strings.Contains(line, text) })
		if ready && len(logged) == 0 {
			break
		}
		if err != nil {
			close(read)
			t.Fatalf("it does not get ready: %v\n%s", err, errs.Bytes())
		}
	}
	go func() { // ends with the supervisor
		defer close(read)
		_, _ = io.Copy(logWriter{t}, in)
	}()
	return cmd.Process.Pid, func() {
		t.Helper()
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("the supervisor ends with %v", err)
		}
	}
}

// runHost runs a configuration until its host idle is in a state and the log has
// a line with each of the texts, and returns what status then says of the host.
func runHost(t *testing.T, uid int, dir, config, state string, logged ...string) string {
	t.Helper()
	var status string
	whileHost(t, uid, dir, config, state, logged, func() { status = hostsupAs(t, uid, dir, "status", "idle").out })
	return status
}

// whileHost has ask called while a supervisor runs whose host idle has reached a
// state, and after the texts were logged.
func whileHost(t *testing.T, uid int, dir, config, state string, logged []string, ask func()) {
	t.Helper()
	_, stop := serves(t, uid, dir, config, logged...)
	if w := hostsupAs(t, uid, dir, "wait", "idle", "--state", state, "--timeout", "30s"); w.code != 0 {
		t.Errorf("%+v", w)
	}
	ask()
	stop()
}

// A command that does not end when we are asked to is killed with its tree:
// after the grace, or with the second signal; one that does is not.
func TestSandboxRunEnds(t *testing.T) {
	confinable(t)
	const (
		deaf    = `trap "echo asked" TERM; trap "" INT HUP; setsid sh -c 'trap "" TERM; echo up; while :; do sleep 1; done' & while :; do wait; done`
		stopped = `sh -c 'echo up; kill -STOP $$'; exit 3`
		polite  = `trap "exit 7" TERM; echo up; while :; do sleep 0.05; done`
	)
	users(t, func(t *testing.T, uid int) {
		dir := place(t, uid)
		for _, test := range []struct {
			name, script, grace string
			again               syscall.Signal // 0: none
			code                int
			says                string
		}{
			{"deaf", deaf, "300ms", 0, 137, "did not end within 300ms of SIGTERM"},
			{"second", deaf, "1h", syscall.SIGTERM, 137, "asked to end by SIGTERM and then SIGTERM"},
			{"interrupted", deaf, "1h", syscall.SIGINT, 137, "asked to end by SIGTERM and then SIGINT"},
			{"stopped child", stopped, "300ms", 0, 143, ""},
			{"stopped", `echo up; kill -STOP $$; exit 3`, "1h", 0, 143, ""},
			{"polite", polite, "1h", 0, 7, ""},
		} {
			t.Run(test.name, func(t *testing.T) {
				cmd := as(uid, exec.Command(hostsupBinary(t), "sandbox", "run", "--quiet", "--profile", "strict", "--level", "no-cgroup", "--grace", test.grace, "--", "sh", "-c", test.script))
				cmd.Dir, cmd.Env = dir, []string{"PATH=/usr/bin:/bin"}
				r, w, err := os.Pipe()
				if err != nil {
					t.Fatal(err)
				}
				defer r.Close()
				var errs bytes.Buffer
				cmd.Stdout, cmd.Stderr = w, &errs
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				w.Close()
				ended := make(chan struct{})
				late := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
				go func() {
					defer close(ended)
					_ = cmd.Wait() // its code is looked at
					late.Stop()
				}()
				in := bufio.NewReader(r)
				if line, err := in.ReadString('\n'); line != "up\n" {
					t.Fatalf("%q, %v", line, err)
				}
				signal := func(s syscall.Signal) {
					if err := cmd.Process.Signal(s); err != nil {
						t.Error(err)
					}
				}
				signal(syscall.SIGTERM)
				if test.again != 0 {
					if line, err := in.ReadString('\n'); line != "asked\n" {
						t.Fatalf("%q, %v", line, err)
					}
					signal(test.again)
				}
				<-ended
				if got := cmd.ProcessState.ExitCode(); got != test.code || !strings.Contains(errs.String(), test.says) || test.says == "" && errs.Len() > 0 {
					t.Errorf("exit %d (%v), want %d: %s", got, cmd.ProcessState, test.code, errs.Bytes())
				}
				if err := r.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
					t.Fatal(err)
				}
				// The end comes when no process has it open for writing.
				if rest, err := io.ReadAll(in); err != nil {
					t.Errorf("a process of it is left: %v, %q", err, rest)
				}
			})
		}
	})
}

// A policy that grants /usr runs what lies there by the names that the root has
// for it, and a message names what is missing of one that grants less.
func TestMergedUsr(t *testing.T) {
	confinable(t)
	users(t, func(t *testing.T, uid int) {
		dir := place(t, uid)
		policy := func(name, body string) string {
			return writtenFor(t, uid, dir, name, "sandbox {\n  level = \"no-cgroup\"\n"+body+"}\n")
		}
		all := policy("all.hcl", "  read = [\"/usr\"]\n  exec = [\"/usr\"]\n")
		for _, command := range [][]string{{"/bin/sh", "-c", "echo ran"}, {"sh", "-c", "/bin/echo ran"}, {"/usr/bin/env", "echo", "ran"}} {
			if r := hostsupAs(t, uid, dir, append([]string{"sandbox", "run", "--quiet", "--policy", all, "--"}, command...)...); r != (ran{0, "ran\n", ""}) {
				t.Errorf("%q: %+v", command, r)
			}
		}
		folders := policy("folders.hcl", "  exec = [\"/usr/bin\", \"/usr/lib\"]\n")
		if r := hostsupAs(t, uid, dir, "sandbox", "run", "--quiet", "--policy", folders, "--", "/usr/bin/env", "echo", "ran"); r != (ran{0, "ran\n", ""}) {
			t.Errorf("%+v", r)
		}
		only := policy("only.hcl", "  exec = [\"/usr/bin/env\"]\n")
		r := hostsupAs(t, uid, dir, "sandbox", "run", "--policy", only, "--", "/usr/bin/env")
		if r.code != 126 || !strings.Contains(r.err, "its interpreter /lib") || !strings.Contains(r.err, "is not granted; add to sandbox: exec = [\"/lib") {
			t.Errorf("%+v", r)
		}
		script := writtenFor(t, uid, dir, "script", "#!/usr/bin/env sh\n")
		if err := os.Chmod(script, 0o755); err != nil {
			t.Fatal(err)
		}
		r = hostsupAs(t, uid, dir, "sandbox", "run", "--policy", policy("script.hcl", "  exec = [\"script\"]\n"), "--", script)
		if r.code != 126 || !strings.Contains(r.err, "its interpreter /usr/bin/env is not granted") {
			t.Errorf("%+v", r)
		}
	})
}

// What a command is refused is told with the line of policy that would allow it:
// by sandbox run, by explain, and by status for a host.
func TestDenialsAreTold(t *testing.T) {
	observable(t)
	python := peer(t, "/usr/bin/python3")
	const script = `
import os, signal, socket, subprocess
def tried(f):
    try:
        f()
    except OSError as e:
        pass
tried(lambda: socket.create_connection(("192.0.2.1", 443), timeout=5))
tried(lambda: socket.create_connection(("192.0.2.2", 80), timeout=5))
for send in (lambda s: s.sendto(b"x", ("192.0.2.3", 123)), lambda s: s.sendmsg([b"x"], [], 0, ("192.0.2.4", 123)), lambda s: s.connect(("192.0.2.5", 99))):
    tried(lambda: send(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)))
with open("/tmp/own", "w") as f:
    f.write("#!/bin/sh\necho ran\n")
os.chmod("/tmp/own", 0o755)
tried(lambda: subprocess.run(["/tmp/own"]))
tried(lambda: os.memfd_create("x"))
print("end", flush=True)
if os.environ.get("EAT"):
    x = b"x" * (300 << 20)
    signal.pause()  # a sample has to see it
`
	want := []string{
		`connect 192.0.2.1:443 (directly; what allow names is reached by the proxy, or by its name and port): add to sandbox: network = "host"`,
		`connect 192.0.2.2:80 (directly; what allow names is reached by the proxy, or by its name and port): add to sandbox: network = "host"`,
		`connect udp 192.0.2.3:123: add to sandbox: network = "host"`,
		`connect udp 192.0.2.4:123: add to sandbox: network = "host"`,
		`connect udp 192.0.2.5:99: add to sandbox: network = "host"`,
		`exec /tmp/own (it can write this file): add to sandbox: jit = true`,
		`syscall memfd_create: add to sandbox: jit = true`,
	}
	const memory = `limit memory: limits { memory = "256MiB" }`
	const blocks = `
sandbox {
  profile = "python"
  level   = "no-cgroup"
  network = "allow"
  allow   = ["192.0.2.1:443"]
  observe = "always"
}
limits {
  enforce = "best-effort"
  memory  = "128MiB"
}
`
	users(t, func(t *testing.T, uid int) {
		dir := place(t, uid)
		policy := writtenFor(t, uid, dir, "policy.hcl", blocks)
		r := hostsupAs(t, uid, dir, "sandbox", "run", "--denials", "--env", "EAT=1", "--policy", policy, "--", python, "-c", script)
		if r.code != 137 || r.out != "end\n" {
			t.Errorf("%+v", r)
		}
		for _, line := range append([]string{memory}, want...) {
			if !strings.Contains(r.err, "hostsup: denied: "+line+"\n") {
				t.Errorf("sandbox run does not say %q: %s", line, r.err)
			}
		}
		r = hostsupAs(t, uid, dir, "sandbox", "explain", "--policy", policy, "--", python, "-c", script)
		for _, line := range want {
			if r.code != 0 || !strings.Contains(r.out, "#   "+line+"\n") {
				t.Errorf("explain does not say %q: %+v", line, r)
			}
		}
		for _, line := range []string{`network = "host"`, "jit     = true"} {
			if !strings.Contains(r.out, "\n  "+line) {
				t.Errorf("the policy of explain does not say %q: %s", line, r.out)
			}
		}

		program := writtenFor(t, uid, dir, "host.py", script+"\nimport time; time.sleep(1000)\n")
		host := "host \"idle\" {\n  protocol = \"none\"\n  command = [\"" + python + "\", \"" + program + "\"]\n" +
			strings.Replace(blocks, "sandbox {", "sandbox {\n  read = [\""+program+"\"]", 1) + "}\n"
		config := writtenFor(t, uid, dir, "config.hcl", withState(host))
		status := runHost(t, uid, dir, config, "running", want[len(want)-1])
		for _, line := range want {
			if !strings.Contains(status, "denied: "+line+"\n") {
				t.Errorf("status does not say %q:\n%s", line, status)
			}
		}
		if !strings.Contains(status, "things denied") {
			t.Errorf("the table does not tell of denials:\n%s", status)
		}
	})
}
