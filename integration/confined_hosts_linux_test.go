//go:build linux

package integration

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hostsup/hostsup/internal/require"
)

// confinedPage shows the hosts that TestConfinedHosts runs.
const confinedPage = "docs/confined-hosts.md"

// realHost is a host of that page, with command lines that call it.
type realHost struct {
	name    string
	calls   []cli  // run in each life, in this order
	outside []cli  // the last one asks for path
	path    string // of a file that is not granted
}

// cli is a command line of the program.
type cli struct {
	args []string
	want string // a regular expression that its output matches
}

// TestConfinedHosts runs real programs as supervised hosts, each with the policy
// that the documentation gives it: they work, before and after a SIGKILL, reach
// nothing that is not granted, and leave nothing behind.
func TestConfinedHosts(t *testing.T) {
	t.Parallel()
	observable(t)
	for _, program := range []string{"/usr/bin/node", "/usr/bin/nvim"} {
		peer(t, program)
	}
	pynvim(t, "")
	for _, program := range []string{"mcp-server-filesystem", "typescript-language-server", "code-server", "codex"} {
		npm(t, program)
	}
	users(t, func(t *testing.T, uid int) {
		g := newGround(t, uid)
		hosts := g.hosts()
		open := g.config(t, "open.hcl", g.unconfined(t))
		confined := g.config(t, "confined.hcl", g.blocks)
		if v := hostsupAs(t, uid, g.dir, "validate", "-c", confined); v.code != 0 || v.err != "" {
			t.Fatalf("validate: %+v", v)
		}

		// A refusal by the sandbox proves something only if the call succeeds without.
		_, stop := serves(t, uid, g.dir, open)
		for _, h := range hosts {
			g.runAll(t, h.calls)
			if out := g.runLast(t, h.outside).out; !strings.Contains(out, g.secret) {
				t.Errorf("%s without a sandbox: the secret does not come out: %s", h.name, out)
			}
		}
		stop()

		pid, stop := serves(t, uid, g.dir, confined)
		for _, h := range hosts {
			t.Run(h.name, func(t *testing.T) { g.checkHost(t, h) })
		}
		if n := len(having("TREE=" + g.mark)); os.Getuid() == 0 && n < len(hosts) { // others' environments are closed to users
			t.Errorf("%d processes of %d hosts", n, len(hosts))
		}
		if kill := g.status(t, "files").kill; (kill == "cgroup") != (len(cgroupsOf(pid)) > 0) {
			t.Errorf("trees are ended by %s, and cgroups are %v", kill, cgroupsOf(pid))
		}
		stop()
		g.checkLeftovers(t, pid)
	})
}

// checkHost checks that a host answers, is refused what is not granted, and
// answers again after SIGKILL.
func (g *ground) checkHost(t *testing.T, h realHost) {
	s := g.status(t, h.name)
	g.runAll(t, h.calls)
	r := g.runLast(t, h.outside)
	if last := h.outside[len(h.outside)-1]; strings.Contains(r.out+r.err, g.secret) || !regexp.MustCompile(last.want).MatchString(r.out+r.err) {
		t.Fatalf("asked for %s: %+v", h.path, r)
	}
	denied := regexp.MustCompile(`(?m)^ +denied: \w+ ` + regexp.QuoteMeta(h.path) + `\b`)
	eventually(t, func() bool { return denied.MatchString(g.run(t, "status", h.name).out) }, "status tells that it was denied", h.path)
	if s = g.status(t, h.name); s.State != "running" || s.Restarts != 0 || s.Sandbox.Level == "" || s.Sandbox.Level == "none" {
		t.Fatalf("%+v", s)
	}

	pid, err := strconv.Atoi(strings.TrimSpace(g.run(t, "status", h.name, "--pid").out))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	life := s.Life + 1
	eventually(t, func() bool { s = g.status(t, h.name); return s.Life == life && s.State == "running" }, h.name, "is running again")
	if s.Restarts != 1 || s.LastExit.Signal != "SIGKILL" {
		t.Errorf("%+v", s)
	}
	g.runAll(t, h.calls)
}

// checkLeftovers fails the test for what a supervisor and its hosts have left.
func (g *ground) checkLeftovers(t *testing.T, supervisor int) {
	t.Helper()
	if left := having("TREE=" + g.mark); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
	if left := cgroupsOf(supervisor); len(left) > 0 {
		t.Errorf("cgroups are left: %v", left)
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil || strings.Contains(string(mounts), g.dir) {
		t.Errorf("a mount is left: %s, %v", mounts, err)
	}
	for _, name := range []string{"tmp", "run"} {
		if left, err := os.ReadDir(filepath.Join(g.dir, name)); err != nil || len(left) > 0 {
			t.Errorf("left in %s: %v, %v", name, left, err)
		}
	}
}

// cgroupsOf lists the cgroups that the supervisor with this pid has made.
func cgroupsOf(supervisor int) []string {
	var out []string
	_ = filepath.WalkDir("/sys/fs/cgroup", func(path string, _ fs.DirEntry, _ error) error { // others come and go
		if strings.HasPrefix(filepath.Base(path), fmt.Sprintf("hostsup-%d-", supervisor)) {
			out = append(out, path)
		}
		return nil
	})
	return out
}

// ground is a user's folder with the files that the hosts work on, and the
// blocks of the page with the paths of that folder.
type ground struct {
	uid    int
	dir    string
	secret string
	mark   string // TREE in the environment of each host
	url    string // of the exec server
	blocks string
}

func newGround(t *testing.T, uid int) *ground {
	t.Helper()
	g := &ground{uid: uid, dir: place(t, uid), url: "ws://" + freePort(t)}
	g.secret = fmt.Sprintf("secret%d", time.Now().UnixNano())
	g.mark = filepath.Base(g.dir)
	putAs(t, uid, g.path("secret.ts"), []byte("export const secret = \""+g.secret+"\";\n"), 0o644)
	putAs(t, uid, g.path("project/.env"), []byte(g.secret), 0o644)
	putAs(t, uid, g.path("plugins/words.py"), []byte(readingPlugin), 0o644)
	if err := os.CopyFS(g.path("extensions"), os.DirFS("testdata/vscode/editor")); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"project", "storage"} {
		if err := os.MkdirAll(g.path(dir), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(g.path(dir), uid, uid); err != nil {
			t.Fatal(err)
		}
	}
	packages, err := filepath.Abs(peerDir)
	if err != nil {
		t.Fatal(err)
	}
	if out, err := as(uid, exec.Command("/bin/ls", packages)).CombinedOutput(); err != nil {
		require.Missing(t, "what ./test peers has installed, for user %d: %s", uid, out)
	}
	var page strings.Builder
	for _, m := range regexp.MustCompile("(?s)```hcl\n(.*?)```").FindAllStringSubmatch(string(read(t, filepath.Join("..", confinedPage))), -1) {
		page.WriteString(m[1])
	}
	g.blocks = strings.NewReplacer(
		"/opt/node_modules", packages, "/opt/codex/bin", filepath.Dir(require.Codex(t)), "/srv/", g.dir+"/", "ws://"+shownAddress, g.url,
		`HOME = "/tmp"`, fmt.Sprintf(`HOME = "/tmp", TREE = %q`, g.mark),
	).Replace(page.String())
	return g
}

func (g *ground) path(name string) string { return filepath.Join(g.dir, name) }

// sandboxBlock is one of a host, in a group or not.
var sandboxBlock = regexp.MustCompile(`(?ms)^  sandbox \{\n.*?^  \}\n|^    sandbox \{\n.*?^    \}\n`)

// unconfined are the blocks without sandboxes. What has a /tmp of its own there
// keeps its files in a folder of the test here.
func (g *ground) unconfined(t *testing.T) string {
	t.Helper()
	home := g.path("home")
	if err := os.Mkdir(home, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(home, g.uid, g.uid); err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(sandboxBlock.ReplaceAllString(g.blocks, ""), `HOME = "/tmp"`, fmt.Sprintf("HOME = %q, TMPDIR = %[1]q", home))
}

func (g *ground) config(t *testing.T, name, blocks string) string {
	t.Helper()
	return writtenFor(t, g.uid, g.dir, name, withState(blocks))
}

func (g *ground) run(t *testing.T, args ...string) ran {
	t.Helper()
	return hostsupAs(t, g.uid, g.dir, args...)
}

// runAll runs the command lines, each of which must print what is wanted.
func (g *ground) runAll(t *testing.T, list []cli) {
	t.Helper()
	for _, a := range list {
		var r ran
		// With protocol = "none" a host is running before its program listens.
		eventually(t, func() bool { r = g.run(t, a.args...); return r.code != 4 }, a.args)
		if r.code != 0 || !regexp.MustCompile(a.want).MatchString(r.out) {
			t.Fatalf("%q: %+v", a.args, r)
		}
	}
}

// runLast is runAll for all command lines but the last, whose result it returns.
func (g *ground) runLast(t *testing.T, list []cli) ran {
	t.Helper()
	last := len(list) - 1
	g.runAll(t, list[:last])
	return g.run(t, list[last].args...)
}

// hostStatus is a part of what status tells of a host.
type hostStatus struct {
	State    string
	Life     uint64
	Restarts int
	Sandbox  struct{ Level string }
	LastExit struct{ Signal string } `json:"last_exit"`
	kill     string                  // how its tree is ended
}

func (g *ground) status(t *testing.T, name string) hostStatus {
	t.Helper()
	var all struct {
		Supervisor struct{ Kill string }
		Hosts      []hostStatus
	}
	r := g.run(t, "status", name, "--json")
	if err := json.Unmarshal([]byte(r.out), &all); err != nil || len(all.Hosts) != 1 {
		t.Fatalf("%v: %+v", err, r)
	}
	all.Hosts[0].kill = all.Supervisor.Kill
	return all.Hosts[0]
}

// readingPlugin is a plugin of Neovim: "Read" reads a file in the plugin's own
// process, "Ask" has Neovim evaluate an expression.
const readingPlugin = `import pynvim

@pynvim.plugin
class Plugin:
    def __init__(self, nvim):
        self.nvim = nvim

    @pynvim.function("Read", sync=True)
    def read(self, args):
        return open(args[0]).read()

    @pynvim.function("Ask", sync=True)
    def ask(self, args):
        return self.nvim.eval(args[0])
`

// hosts returns the hosts of the page, in the order in which they are called.
func (g *ground) hosts() []realHost {
	in := func(name string) string { return g.path("project/" + name) }
	sent := func(verb, want, host, method string, params any) cli {
		b, _ := json.Marshal(params) // strings, numbers, maps and lists of them
		args := []string{verb, host, method, string(b)}
		if verb == "call" {
			args = append(args, "--timeout", "5m") // a language server shares the machine with the other tests
		}
		return cli{args, want}
	}
	tool := func(want, name string, args object) cli {
		return sent("call", want, "files", "tools/call", object{"name": name, "arguments": args})
	}
	document := func(name, text, want string) []cli {
		at := object{"textDocument": object{"uri": "file://" + in(name)}, "position": object{"line": 0, "character": 10}}
		opened := object{"textDocument": object{"uri": "file://" + in(name), "languageId": "typescript", "version": 1, "text": text}}
		return []cli{
			sent("notify", "", "typescript", "textDocument/didOpen", opened),
			sent("call", want, "typescript", "textDocument/hover", at),
		}
	}
	evaluated := func(want, format string, args ...any) cli {
		return sent("call", want, "nvim", "nvim_eval", []any{fmt.Sprintf(format, args...)})
	}
	plugin := func(want, function, arg string) cli {
		return sent("call", want, "plugins", g.path("plugins/words.py")+":function:"+function, []any{[]string{arg}})
	}
	memo := func(want string, args ...any) cli { return sent("call", want, "code", execute, args) }
	command := func(want string, argv ...string) cli {
		return cli{append([]string{"exec", "--url", g.url, "--"}, argv...), want}
	}
	secret, missing := g.path("secret.ts"), "ENOENT|EACCES|E484|No such file|Permission denied"
	return []realHost{
		{"files", []cli{
			tool("Successfully wrote", "write_file", object{"path": in("notes"), "content": "from the server"}),
			tool("from the server", "read_text_file", object{"path": in("notes")}),
		}, []cli{tool(missing, "read_text_file", object{"path": in(".env")})}, in(".env")},
		{"nvim", []cli{
			evaluated("0a line", "writefile(['a line'], '%s') . join(readfile('%[1]s'))", in("buffer")),
		}, []cli{evaluated(missing, "join(readfile('%s'))", secret)}, secret},
		{"plugins", []cli{
			plugin("", "Ask", "1"), // pynvim 0.4.2 answers the first call, which makes the plugin, with nil
			plugin("^42\n", "Ask", "6*7"),
			plugin("a line", "Read", in("buffer")),
		}, []cli{plugin(missing, "Read", secret)}, secret},
		{"typescript", document("a.ts", "const answer = 42;\n", "const answer: 42"),
			document("b.ts", "import { secret } from \"../secret\";\nsecret;\n", "import secret"), secret},
		{"code", []cli{
			{[]string{"activate", "onCommand:memo.run"}, "hostsup.memo"},
			memo("", "memo.write", in("memo"), "from an extension"),
			memo("from an extension", "memo.read", in("memo")),
		}, []cli{memo(missing, "memo.read", secret)}, secret},
		{"codex", []cli{command("^made\n", "/bin/sh", "-c", "echo made > "+in("made")+" && /bin/cat "+in("made"))},
			[]cli{command(missing, "/bin/cat", secret)}, secret},
	}
}
