package server

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/hostsup/hostsup/execserver/wire"
	"github.com/hostsup/hostsup/sandbox/policy"
)

const (
	projectWrite = `{"path":{"type":"special","value":{"kind":"project_roots"}},"access":"write"}`
	rootWrite    = `{"path":{"type":"special","value":{"kind":"root"}},"access":"write"}`
)

// pathEntry is an entry for a path.
func pathEntry(path, access string) string {
	return fmt.Sprintf(`{"path":{"type":"path","path":"file://%s"},"access":%q}`, path, access)
}

// closedHome is a folder that nobody but the user may look into, as /root is, with
// a repository in it.
func closedHome(t *testing.T) string {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"work", "work/.git"} {
		if err := os.Mkdir(filepath.Join(home, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{"secret": "mine\n", "work/.git/HEAD": "ref: refs/heads/main\n", "work/file": "text\n"} {
		if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{"work/.git/objects", "work/.git/refs"} {
		if err := os.Mkdir(filepath.Join(home, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(home, 0o700); err != nil {
		t.Fatal(err)
	}
	return home
}

// What a confined command sees of its user, files and machine is what an
// unconfined one sees.
func TestConfinedCommandsSeeWhatTheUserSees(t *testing.T) {
	home := closedHome(t)
	work := filepath.Join(home, "work")
	free := confining(t, Options{})
	// A sandbox of the server's own, which lets nothing run that was written.
	own := &policy.Policy{Level: policy.NoCgroup, Exec: wholeMachine(), Write: []string{work}}
	bounded := confining(t, Options{Sandbox: own})
	run := func(c *client, id, script, object string) string {
		p := shell(id, script)
		p.TTY = strings.HasPrefix(id, "own terminal")
		p.Cwd = wire.FileURI(work)
		p.Env = map[string]string{"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": home}
		if object != "" {
			p = sandboxed(t, p, object)
		}
		if g := c.answer(c.ask(wire.MethodProcessStart, p)); g.Kind == wire.KindError {
			t.Errorf("%s: %v", id, g.Err)
			return ""
		}
		e := c.awaitExit(id)
		c.awaitClose(id)
		out := c.output(id)
		return fmt.Sprintf("%s%s%s%d", out[wire.Stdout], out[wire.Stderr], out[wire.PTY], e.ExitCode)
	}
	levels := map[string]struct {
		c      *client
		object string
	}{
		"read only":                    {free, entries(rootRead)},
		"workspace write":              {free, entries(rootRead, projectWrite)},
		"root write":                   {free, entries(rootWrite)},
		"the server's own":             {bounded, ""},
		"root write within the server": {bounded, entries(rootWrite)},
		"limits alone":                 {confining(t, Options{Limits: policy.Limits{FileSize: 1 << 30}}), ""},
	}
	for name, script := range map[string]string{
		"user":           "id -u; id -g; id -un; stat -c '%u %U' . /usr",
		"own files":      "cat ../secret; stat -c '%u %a' ../secret ..",
		"closed folder":  "cd ..; ls",
		"machine's name": "uname -n",
		"memory":         "grep MemTotal /proc/meminfo",
		"processors":     "grep -c ^processor /proc/cpuinfo; nproc; getconf _NPROCESSORS_CONF; cat /sys/devices/system/cpu/possible",
		"clocks":         "grep btime /proc/stat; test -r /proc/uptime && test -r /proc/loadavg",
		"kernel":         "cat /proc/version /proc/sys/kernel/osrelease",
		"own process":    "ps -o user= -p $$ 2>/dev/null || echo no ps",
		"terminals":      "command -v script >/dev/null || { echo none; exit; }; script -qec 'test -t 0 && echo terminal' /dev/null </dev/null",
		"own streams":    "echo out >/dev/stdout; echo err >/dev/stderr; echo in | cat /dev/stdin",
		"shared memory":  "echo x >/dev/shm/hostsup-$$ && rm /dev/shm/hostsup-$$",
		"no input":       "cat /dev/stdin; head -c 1 </proc/self/fd/0 | wc -c; echo x >/dev/null",
		"own terminal":   "tty | grep -o ^/dev/; test -c $(tty) && echo named; echo out >$(tty); echo more >/dev/tty; stty size; ps -o stat= -p $$ | grep -o +; sh -c 'trap \"echo caught; exit 3\" INT; kill -INT 0; sleep 60'; echo $?",
		"repository":     "command -v git >/dev/null || { echo none; exit; }; git status --short --branch",
	} {
		want := run(free, name, script, "")
		for level, by := range levels {
			if got := run(by.c, name+", "+level, script, by.object); got != want {
				t.Errorf("%s, %s: %q, unconfined %q", name, level, got, want)
			}
		}
	}
	// Who made a file is seen outside.
	here, err := os.Stat(home)
	if err != nil {
		t.Fatal(err)
	}
	for level, by := range levels {
		if level == "read only" {
			continue
		}
		if got := run(by.c, "made, "+level, "rm -f made; echo x >made", by.object); got != "0" {
			t.Errorf("%s: %s", level, got)
		}
		made, err := os.Stat(filepath.Join(work, "made"))
		if err != nil {
			t.Fatal(err)
		}
		if a, b := ownerOf(made), ownerOf(here); a != b {
			t.Errorf("%s: it made a file of %s in a folder of %s", level, a, b)
		}
	}
}

// What tells of the kernel and of others stays closed, and nothing is changed.
func TestConfinedCommandsSeeNoMoreOfTheMachine(t *testing.T) {
	script := `
for f in /proc/cmdline /proc/kallsyms /proc/keys /proc/devices /proc/kcore /proc/kmsg /proc/iomem /proc/1/environ; do
	cat $f >/dev/null 2>&1 && echo read $f
done
ls /proc/bus /proc/acpi /sys/fs /sys/class /sys/kernel/debug >/dev/null 2>&1 && echo listed
for f in /proc/sys/kernel/hostname /proc/sys/kernel/core_pattern /proc/sys/vm/overcommit_memory /proc/sysrq-trigger /proc/self/oom_score_adj /sys/devices/system/cpu/online; do
	{ cat $f >$f; } 2>/dev/null && echo wrote $f
done
{ : >/dev/pts/x || mkdir /proc/x || mkdir /dev/x; } 2>/dev/null && echo made
test "$(ls /dev/pts)" = ptmx || ls /dev/pts
`
	for name, by := range map[string]struct {
		own *policy.Policy
		p   wire.ProcessStartParams
	}{
		"a client's":              {nil, sandboxed(t, shell("p", script), entries(rootRead))},
		"the server's own":        {&policy.Policy{Level: policy.NoCgroup, Exec: wholeMachine()}, shell("p", script)},
		"within the server's own": {&policy.Policy{Level: policy.NoCgroup, Exec: wholeMachine()}, sandboxed(t, shell("p", script), entries(rootWrite))},
	} {
		c := confining(t, Options{Sandbox: by.own})
		if g := c.answer(c.ask(wire.MethodProcessStart, by.p)); g.Kind == wire.KindError {
			t.Fatal(name, g.Err)
		}
		c.awaitClose("p")
		if out := c.output("p"); out[wire.Stdout] != "" {
			t.Error(name, out)
		}
	}
}

// What a client asks for is had within the sandbox of the server, by processes and
// by requests about files.
func TestClientsSandboxesAreWithinTheServers(t *testing.T) {
	root := tree(t, "w/in", "w/sub/in", "w/secret", "secret", "w/link->../secret", "w/kept/in")
	own := strict(filepath.Join(root, "w"))
	own.Level, own.Deny, own.ReadOnly = policy.NoCgroup, []string{filepath.Join(root, "w/secret")}, []string{filepath.Join(root, "w/kept")}
	c := confining(t, Options{Sandbox: own})
	const rw = "rw"
	for i, tt := range []struct {
		rules string
		may   map[string]string
	}{
		{"root write", map[string]string{"w/in": rw, "w/sub/in": rw, "w/kept/in": "r"}},
		{"root read", map[string]string{"w/in": "r", "w/sub/in": "r", "w/kept/in": "r"}},
		{"minimal read, /w/sub write", map[string]string{"w/sub/in": rw}},
		{"root read, /w/sub write", map[string]string{"w/in": "r", "w/sub/in": rw, "w/kept/in": "r"}},
		{"root read, /w write, /w/sub deny", map[string]string{"w/in": rw, "w/kept/in": "r"}},
		{"root write, /w/secret write", map[string]string{"w/in": rw, "w/sub/in": rw, "w/kept/in": "r"}},
		{"minimal read, /secret write", map[string]string{}},
	} {
		rules := strings.ReplaceAll(object(tt.rules), "/ROOT", root)
		id := fmt.Sprint(i)
		all := []string{"w/in", "w/sub/in", "w/secret", "secret", "w/link", "w/kept/in"}
		p := sandboxed(t, shell(id, "cd "+root+` 2>/dev/null; for f in `+strings.Join(all, " ")+`; do
	m=; cat $f >/dev/null && m=r; [ -e $f ] && true >>$f && m=${m}w; echo "$f=$m"
done 2>/dev/null; echo x >/etc/hostsup-new && echo etc=w`), rules)
		p.Cwd = wire.FileURI("/")
		if g := c.answer(c.ask(wire.MethodProcessStart, p)); g.Kind == wire.KindError {
			t.Errorf("%s: %v", tt.rules, g.Err)
			continue
		}
		c.awaitClose(id)
		out := c.output(id)[wire.Stdout]
		for _, f := range all {
			files := ""
			if got := c.text(root, wire.MethodFSReadFile, `{"path":"file:///ROOT/`+f+`","sandbox":`+rules+`}`); strings.HasPrefix(got, "{") {
				files = "r"
			}
			open := `{"handleId":"` + id + f + `","path":"file:///ROOT/` + f + `","mode":"replace","sandbox":` + rules + `}`
			if got := c.text(root, wire.MethodFSOpen, open); strings.HasPrefix(got, "{") {
				files += "w"
				if err := os.WriteFile(filepath.Join(root, f), []byte("again"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if want := tt.may[f]; files != want || !strings.Contains(out, f+"="+want+"\n") {
				t.Errorf("%s: %s: %q of it is granted; requests may %q, and a process: %q", tt.rules, f, want, files, out)
			}
		}
		if strings.Contains(out, "etc=w") {
			t.Errorf("%s: %q", tt.rules, out)
		}
	}
	if text, err := os.ReadFile(filepath.Join(root, "secret")); err != nil || string(text) != "secret" {
		t.Errorf("%q %v", text, err)
	}
}

// A user that the sandbox of the server names is who its commands are, and what is
// root's stays closed to them.
func TestServersSandboxNamesAUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can change the user")
	}
	root := tree(t, "w/")
	if err := os.WriteFile(filepath.Join(root, "w/mine"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	own := &policy.Policy{Level: policy.NoCgroup, Exec: append(wholeMachine(), filepath.Join(root, "w")), User: "65534"}
	c := confining(t, Options{Sandbox: own})
	for id, p := range map[string]wire.ProcessStartParams{
		"own": shell("own", "id -u; cat "+root+"/w/mine; cat /etc/shadow; test -c /dev/ptmx && grep -c MemTotal /proc/meminfo"),
	} {
		if g := c.answer(c.ask(wire.MethodProcessStart, p)); g.Kind == wire.KindError {
			t.Fatal(g.Err)
		}
		c.awaitClose(id)
		if out := c.output(id); out[wire.Stdout] != "65534\n1\n" {
			t.Errorf("%s: %q", id, out)
		}
	}
}

// An entry of what is not there grants nothing, and refuses nothing.
func TestMissingEntriesRefuseNothing(t *testing.T) {
	root := tree(t, "w/in", "dangling->nowhere/x", "w/inner->sub", "w/sub/")
	t.Setenv("TMPDIR", filepath.Join(root, "no/tmp"))
	c := confining(t, Options{})
	for i, entry := range []string{
		pathEntry(root+"/missing", "write"), pathEntry(root+"/missing", "read"), pathEntry(root+"/w/missing", "write"),
		pathEntry(root+"/w/in/deeper", "write"), pathEntry(root+"/dangling", "write"), pathEntry(root+"/dangling", "read"),
		pathEntry(root+"/w/inner", "write"), pathEntry("/dev/shm", "write"), pathEntry("/proc", "read"), pathEntry("/dev", "read"),
		`{"path":{"type":"special","value":{"kind":"tmpdir"}},"access":"write"}`,
	} {
		id := fmt.Sprint(i)
		p := sandboxed(t, shell(id, "echo x >in && cat in"), entries(rootRead, projectWrite, entry))
		p.Cwd = wire.FileURI(root + "/w")
		if g := c.answer(c.ask(wire.MethodProcessStart, p)); g.Kind == wire.KindError {
			t.Errorf("%s: %v", entry, g.Err)
			continue
		}
		c.awaitClose(id)
		if out := c.output(id); out[wire.Stdout] != "x\n" {
			t.Errorf("%s: %q", entry, out)
		}
	}
}

// A client knows its sandbox object, and no policy of this program's.
func TestUnenforcedSandboxesAreToldToClients(t *testing.T) {
	root := tree(t, "w/", "outside/", "w/out->../outside")
	c := confining(t, Options{})
	for entry, want := range map[string]string{
		pathEntry(root+"/w/out", "write"): root + "/w/out",
		pathEntry("/dev", "write"):        "/dev: ",
		pathEntry("/proc", "write"):       "/proc: ",
	} {
		p := sandboxed(t, shell("p", "true"), entries(rootRead, projectWrite, entry))
		p.Cwd = wire.FileURI(root + "/w")
		bad := c.refused(wire.MethodProcessStart, p)
		if !strings.HasPrefix(bad.Message, "the sandbox cannot be enforced: ") || !strings.Contains(bad.Message, want) {
			t.Errorf("%s: %s", entry, bad.Message)
		}
		for _, hint := range []string{"write[", "exec[", "= [", "doctor", "level =", "start exec."} {
			if strings.Contains(bad.Message, hint) {
				t.Errorf("%s: a client can do nothing with %q: %s", entry, hint, bad.Message)
			}
		}
	}
}

// ownerOf is the user and group of a file.
func ownerOf(info os.FileInfo) string {
	st := info.Sys().(*syscall.Stat_t)
	return fmt.Sprint(st.Uid, " ", st.Gid)
}
