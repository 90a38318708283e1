//go:build linux

package integration

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hostsup/hostsup/execserver"
	"github.com/hostsup/hostsup/execserver/wire"
	"github.com/hostsup/hostsup/integration/conformance"
	"github.com/hostsup/hostsup/integration/everyday"
	"github.com/hostsup/hostsup/internal/require"
	"github.com/hostsup/hostsup/sandbox"
	confine "github.com/hostsup/hostsup/sandbox/policy"
)

const (
	everydayList = "testdata/everyday/list.txt"
	everydayPage = "../docs/everyday.md"
)

var (
	updateEveryday = flag.Bool("everyday.update", false, "write the table of ordinary things into "+everydayPage)
	onlyEveryday   = flag.String("everyday", "", "only the ordinary things with this in their names")
)

func everydaySuite(t testing.TB) *everyday.Suite {
	t.Helper()
	text, err := os.ReadFile(everydayList)
	if err != nil {
		t.Fatal(err)
	}
	s, err := everyday.Parse(text)
	if err != nil {
		t.Fatalf("%s: %v", everydayList, err)
	}
	return s
}

// TestEveryday does ordinary things through our exec server, without
// confinement and at each level of it, and where there is one also through the
// program whose protocol it is.
func TestEveryday(t *testing.T) {
	t.Parallel()
	if level := sandbox.Probe().Level; level != confine.Full && level != confine.NoCgroup {
		require.Missing(t, "confinement in namespaces")
	}
	suite := everydaySuite(t)
	// Not t.Parallel: Go begins parallel subtests behind all tests that wait for a place, and
	// these would come last and alone. So they run beside tests that leave the machine idle.
	slots := make(chan struct{}, runtime.NumCPU())
	all := newCommon(t)
	var days sync.WaitGroup
	for name, uid := range accounts() {
		days.Go(func() {
			t.Run(name, func(t *testing.T) {
				d := newDay(t, all, uid, suite.Home)
				var things sync.WaitGroup
				defer things.Wait()
				for _, g := range suite.Groups {
					for _, thing := range g.Things {
						if strings.Contains(thing.Name, *onlyEveryday) {
							things.Go(func() {
								slots <- struct{}{}
								defer func() { <-slots }()
								t.Run(thing.Name, func(t *testing.T) { d.plays(t, thing) })
							})
						}
					}
				}
			})
		})
	}
	days.Wait()
}

// TestEverydayTable holds the page to the list.
func TestEverydayTable(t *testing.T) {
	t.Parallel()
	holdsTable(t, everydayPage, "<!-- everyday -->\n", everydaySuite(t).Table(), *updateEveryday, "-everyday.update")
}

// TestEverydayNeeds holds ./test to the list: it installs what things need.
func TestEverydayNeeds(t *testing.T) {
	t.Parallel()
	script, err := os.ReadFile("../test")
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range everydaySuite(t).Groups {
		for _, thing := range g.Things {
			for _, n := range thing.Needs {
				word := regexp.MustCompile(`[\s:(]` + regexp.QuoteMeta(n.Package) + `[\s;)]`)
				if installs := word.Match(script); installs == n.Optional {
					t.Errorf("%s needs %s (optional: %t); that ./test installs it is %t", thing.Name, n.Package, n.Optional, installs)
				}
			}
		}
	}
}

// common is what both users have.
type common struct {
	shared             string            // folder that all may write to
	env                map[string]string // of scripts
	allowed, elsewhere string            // URLs of two servers on loopback
	mu                 sync.Mutex
	once               map[string]func() error // by script
}

func newCommon(t *testing.T) *common {
	t.Helper()
	peers, err := filepath.Abs(peerDir)
	if err != nil {
		t.Fatal(err)
	}
	c := &common{shared: outsideTmp(t), once: map[string]func() error{}}
	for _, name := range []string{".git", ".agents", ".codex", ".aws"} { // nothing stands for them while a process runs
		if err := os.Mkdir(filepath.Join(c.shared, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	serves := func(text string) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, text) }))
		t.Cleanup(s.Close)
		return s.URL
	}
	c.allowed, c.elsewhere = serves("hello from the list"), serves("hello from elsewhere")
	c.env = map[string]string{
		"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "TZ": "UTC", "TERM": "xterm",
		"PEERS": peers, "SHARED": c.shared, "ALLOWED": c.allowed, "ELSEWHERE": c.elsewhere,
	}
	if path, err := exec.LookPath("go"); err == nil { // where Go is put is everybody's own affair
		c.env["PATH"] = filepath.Dir(path) + ":" + c.env["PATH"]
	}
	return c
}

// prepare runs a script in the shared folder, once.
func (c *common) prepare(script string) error {
	c.mu.Lock()
	f := c.once[script]
	if f == nil {
		f = sync.OnceValue(func() error {
			cmd := exec.Command("/bin/bash", "-ec", script+"\nchmod -R a+rwX "+c.shared)
			cmd.Dir, cmd.Env = c.shared, []string{"HOME=" + c.shared}
			for name, value := range c.env {
				cmd.Env = append(cmd.Env, name+"="+value)
			}
			if out, err := cmd.CombinedOutput(); err != nil {
				return fmt.Errorf("%w: %s", err, out)
			}
			return nil
		})
		c.once[script] = f
	}
	c.mu.Unlock()
	return f()
}

// outsideTmp is a folder that is neither in /tmp, where tests have others, nor
// closed to others.
func outsideTmp(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "everyday-") //nolint:usetesting // the test's own folder is closed to others
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// day is a user with servers to do things with.
type day struct {
	*common
	name   string // root or user
	uid    int
	dir    string // home/ is closed to others; work/ has a workspace for each run; tmp/ is $TMPDIR
	env    map[string]string
	ours   *execserver.Client
	allows *execserver.Client // with a sandbox of its own, for the list of addresses
	theirs *execserver.Client // nil: not here
}

// outcome is how a script has ended.
type outcome struct {
	Refused string // why it was not started
	Exit    int
	Out     string // or all of it, with a terminal
	Err     string
}

func newDay(t *testing.T, all *common, uid int, home string) *day {
	t.Helper()
	hostsup := hostsupBinary(t)
	d := &day{common: all, name: "user", uid: uid, dir: outsideTmp(t)}
	if uid == 0 {
		d.name = "root"
	}
	for name, mode := range map[string]os.FileMode{"home": 0o700, "work": 0o755, "tmp": 0o700, "codex": 0o700} {
		if err := errors.Join(os.Mkdir(d.path(name), mode), os.Chown(d.path(name), uid, uid)); err != nil {
			t.Fatal(err)
		}
	}
	d.env = maps.Clone(all.env)
	d.env["HOME"], d.env["TMPDIR"] = d.path("home"), d.path("tmp")
	d.ours = d.client(t, "ours", hostsup, "exec-server")
	d.allows = d.client(t, "allows", hostsup, "run", "-c", d.policy(t, strings.TrimPrefix(all.allowed, "http://")))
	var codex string
	t.Run("codex", func(t *testing.T) { codex = require.Codex(t) }) // which may end it; ours is played all the same
	if codex != "" && as(uid, exec.Command("/usr/bin/test", "-x", codex)).Run() == nil {
		d.theirs = d.client(t, "theirs", codex, "exec-server")
	}
	if o := d.does(t, d.ours, d.dir, "set -e\n"+home, false, nil); o.Exit != 0 || o.Refused != "" {
		t.Fatalf("the home folder: %+v", o)
	}
	return d
}

func (d *day) path(elem ...string) string {
	return filepath.Join(append([]string{d.dir}, elem...)...)
}

// policy is a configuration for the level that the protocol has no word for.
func (d *day) policy(t testing.TB, allow string) string {
	t.Helper()
	entries, err := os.ReadDir("/")
	if err != nil {
		t.Fatal(err)
	}
	var read []string
	for _, e := range entries {
		if !slices.Contains([]string{"proc", "sys", "dev", "lost+found"}, e.Name()) {
			read = append(read, fmt.Sprintf("%q", "/"+e.Name()))
		}
	}
	file := d.path("config.hcl")
	text := fmt.Sprintf(`
supervisor {
  socket    = %q
  state_dir = %q
}
exec_server {
  listen = %q
  sandbox {
    network = "allow"
    allow   = [%q]
    exec    = [%s]
    write   = [%q, %q, %q]
    jit     = true
  }
}
`, d.path("codex/control"), d.path("codex/state"), "unix://"+d.path("codex/allows"), allow, strings.Join(read, ", "), d.path("work"), d.path("tmp"), d.shared)
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// client starts a server and connects to it.
func (d *day) client(t *testing.T, mark string, argv ...string) *execserver.Client {
	t.Helper()
	listen := "unix://" + d.path("codex", mark)
	if argv[1] == "exec-server" {
		listen = "ws://127.0.0.1:0"
		argv = append(argv, "--listen", listen)
	}
	cmd := as(d.uid, exec.Command(argv[0], argv[1:]...))
	cmd.Dir, cmd.Env = d.dir, []string{"CODEX_HOME=" + d.path("codex")}
	for name, value := range d.env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	e, err := execserver.ParseEndpoint(listening(t, mark, listen, cmd).url)
	if err != nil {
		t.Fatal(err)
	}
	c, err := execserver.Connect(ctx(t), e, execserver.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// plays does a thing everywhere and compares what comes of it.
func (d *day) plays(t *testing.T, thing *everyday.Thing) {
	for _, n := range thing.Needs {
		if o := d.does(t, d.ours, d.dir, "command -v "+n.Program, false, nil); o.Exit != 0 {
			if n.Optional {
				t.Skipf("not here: %s, of Debian's package %s", n.Program, n.Package)
			}
			require.Missing(t, "%s, of Debian's package %s; ./test peers installs it", n.Program, n.Package)
		}
	}
	if thing.Account && d.does(t, d.ours, d.dir, "id -un", false, nil).Exit != 0 {
		t.Skip("this user has no account")
	}
	if thing.Once != "" {
		if err := d.prepare(thing.Once); err != nil {
			t.Fatal(err)
		}
	}
	free, _ := d.plain(t, d.ours, thing, "free", "")
	if free.Refused != "" {
		t.Fatalf("without confinement: %s", free.Refused)
	}
	t.Logf("without confinement: %+v", free)
	for _, level := range everyday.Levels {
		c := d.ours
		if level == everyday.AllowList {
			c = d.allows
		}
		ours, took := d.plain(t, c, thing, string(level), level)
		judges(t, "ours at "+string(level), free, ours, thing.For(everyday.Denied, level, d.name), thing.For(everyday.Differs, level, d.name))
		if d.theirs == nil || level == everyday.AllowList {
			continue
		}
		theirs, otook := d.plain(t, d.theirs, thing, string(level)+"-codex", level)
		judges(t, "theirs at "+string(level), free, theirs, thing.For(everyday.Denied, level, d.name), thing.For(everyday.Real, level, d.name))
		t.Logf("%s: ours %s, theirs %s", level, took, otook)
	}
}

// judges fails the test unless a thing ends as without confinement, or is denied
// where the policy says so, or ends otherwise as the exception says.
func judges(t *testing.T, what string, free, got outcome, denied, other *everyday.Exception) {
	t.Helper()
	shows := func(e *everyday.Exception) bool {
		return (got != free || denied != nil && e == other) && e.Reason.Shows.MatchString(fmt.Sprintf("%s\nexit %d\n%s%s", got.Refused, got.Exit, got.Out, got.Err))
	}
	as := got == free
	if denied != nil {
		as = shows(denied)
	}
	switch {
	case other == nil && !as:
		t.Errorf("%s: it should end %s:\n  free %+v\n  got  %+v", what, ends(denied), free, got)
	case other != nil && as:
		t.Errorf("%s: it ends %s, and is listed to end otherwise: %s %s", what, ends(denied), other.Kind, other.Reason.Name)
	case other != nil && !shows(other):
		t.Errorf("%s: it is listed to end otherwise: %s %s, and shows no %q:\n  free %+v\n  got  %+v", what, other.Kind, other.Reason.Name, other.Reason.Shows, free, got)
	}
}

func ends(denied *everyday.Exception) string {
	if denied == nil {
		return "as without confinement"
	}
	return "denied because of " + denied.Reason.Name
}

// plain does a thing in a workspace of its own and returns what came of it,
// without what differs at every run.
func (d *day) plain(t *testing.T, c *execserver.Client, thing *everyday.Thing, mark string, level everyday.Level) (outcome, time.Duration) {
	t.Helper()
	dir := d.path("work", fmt.Sprintf("%d-%s", thing.Line, mark))
	if err := errors.Join(os.Mkdir(dir, 0o755), os.Chown(dir, d.uid, d.uid)); err != nil {
		t.Fatal(err)
	}
	if thing.Setup != "" {
		if o := d.does(t, d.ours, dir, "set -e\n"+thing.Setup, false, nil); o.Exit != 0 || o.Refused != "" {
			t.Fatalf("setup: %+v", o)
		}
	}
	begun := time.Now()
	o := d.does(t, c, dir, thing.Run, thing.TTY, d.box(level, dir))
	took := time.Since(begun).Round(time.Millisecond)
	for _, s := range []*string{&o.Refused, &o.Out, &o.Err} {
		*s = conformance.Plain(*s, dir, "$DIR", d.dir, "$DAY", d.shared, "$SHARED")
	}
	return o, took
}

// does runs a script and returns what came of it.
func (d *day) does(t *testing.T, c *execserver.Client, dir, script string, tty bool, box *wire.SandboxContext) (o outcome) {
	t.Helper()
	within, cancel := context.WithTimeout(t.Context(), patience/2)
	defer cancel()
	params := wire.ProcessStartParams{Argv: []string{"/bin/bash", "-c", script}, Cwd: wire.URI("file://" + dir), Env: d.env, TTY: tty, Sandbox: box}
	p, sub, err := c.StartSubscribed(within, params, execserver.Keep)
	if err != nil {
		return outcome{Refused: err.Error(), Exit: -1}
	}
	for {
		e, err := sub.Next(within)
		if err != nil {
			running, end := p.Terminate(t.Context(), time.Second)
			t.Errorf("%v after %+v; it was running: %t, %v", err, o, running, end)
			return o
		}
		switch e.Kind {
		case execserver.Output:
			if e.Stream == wire.Stderr {
				o.Err += string(e.Data)
			} else {
				o.Out += string(e.Data)
			}
		case execserver.Exited:
			o.Exit = e.ExitCode
		case execserver.Closed:
			return o
		case execserver.Failed:
			return outcome{Refused: e.Err.Error(), Exit: -1}
		}
	}
}

// box makes the sandbox object of a level for a workspace, as the client of the
// protocol sends it. It is nil without a level, and for the one that the
// protocol has no word for.
func (d *day) box(level everyday.Level, dir string) *wire.SandboxContext {
	if level == "" || level == everyday.AllowList {
		return nil
	}
	special := func(kind wire.SpecialKind, access wire.Access) wire.PermissionEntry {
		return wire.PermissionEntry{Path: wire.PermissionPath{Type: wire.PathSpecial, Special: wire.SpecialPath{Kind: kind}}, Access: access}
	}
	uri := wire.URI("file://" + dir)
	files := &wire.FileSystemPermissions{Type: wire.FileSystemRestricted, Entries: []wire.PermissionEntry{special(wire.SpecialRoot, wire.AccessRead)}}
	if level != everyday.ReadOnly {
		// Not /tmp, where others may do the same at this moment.
		files.Entries = append(files.Entries, special(wire.SpecialProjectRoots, wire.AccessWrite), special(wire.SpecialTmpdir, wire.AccessWrite),
			wire.PermissionEntry{Path: wire.PermissionPath{Type: wire.PathPlain, Path: "file://" + d.shared}, Access: wire.AccessWrite})
		for _, name := range []string{".git", ".agents", ".codex", ".aws"} {
			e, skip := special(wire.SpecialProjectRoots, wire.AccessRead), wire.MissingSkip
			e.Path.Special.Subpath, e.MissingPathBehavior = &name, &skip
			files.Entries = append(files.Entries, e)
		}
	}
	network := wire.NetworkRestricted
	if level == everyday.Network {
		network = wire.NetworkEnabled
	}
	return &wire.SandboxContext{
		Permissions:         wire.Permissions{Type: wire.PermissionsManaged, Network: network, FileSystem: files},
		WindowsSandboxLevel: "disabled", Cwd: &uri, WorkspaceRoots: []wire.URI{uri},
	}
}
