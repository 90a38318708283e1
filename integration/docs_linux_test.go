//go:build linux

package integration

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostsup/hostsup/internal/leaktest"
)

// TestShownCommands runs every command that the documentation shows, in a folder
// of its own, as root and as an ordinary user.
func TestShownCommands(t *testing.T) {
	repo, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pages() {
		t.Run(strings.ReplaceAll(p.path, "/", "_"), func(t *testing.T) {
			commands := commandsOf(t, repo, p.path)
			p.stale(t, commands)
			if p.root {
				t.Run("go", func(t *testing.T) { t.Parallel(); p.run(t, repo, os.Getuid(), commands) })
				return
			}
			users(t, func(t *testing.T, uid int) { p.run(t, repo, uid, commands) })
		})
	}
}

// stale fails for entries about commands that the page does not show.
func (p page) stale(t *testing.T, commands []shown) {
	t.Helper()
	said := slices.Concat(slices.Collect(maps.Keys(p.until)), slices.Collect(maps.Keys(p.exits)),
		slices.Collect(maps.Keys(p.loose)), slices.Collect(maps.Keys(p.skip)))
	for _, text := range said {
		if !slices.ContainsFunc(commands, func(c shown) bool { return c.text == text || fmt.Sprintf("%s #%d", c.text, c.count) == text }) {
			t.Errorf("%s does not show: %s", p.path, text)
		}
	}
}

// TestPagesWithCommands fails for a page that shows commands and is not run, and for a
// block or a line in it of which this does not know whether it is a command.
func TestPagesWithCommands(t *testing.T) {
	repo := ".."
	var found []string
	for _, pattern := range []string{"README.md", "docs/*.md", "docs/*/*.md", "examples/*/*.md", "examples/*/main.go", "config.hcl"} {
		paths, err := filepath.Glob(filepath.Join(repo, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			rel, err := filepath.Rel(repo, path)
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasSuffix(rel, ".md") {
				for _, wrong := range unclear(rel, string(read(t, path))) {
					t.Error(wrong)
				}
			}
			if len(commandsOf(t, repo, rel)) > 0 {
				found = append(found, rel)
			}
		}
	}
	run := []string{"docs/walk/README.md"} // by TestWalk
	for _, p := range pages() {
		run = append(run, p.path)
	}
	slices.Sort(found)
	slices.Sort(run)
	if got := unclear("x.md", "```\nmake it\n```\n```sh\nls\n```\n```console\nls\n```\n```\nhostsup run\n```\n"); len(got) != 3 {
		t.Errorf("of three blocks that are unclear: %q", got)
	}
	if diff := cmp.Diff(found, run); diff != "" {
		t.Errorf("pages that show commands, and those that are run (-show +run):\n%s", diff)
	}
}

// TestWalk runs the walk and compares it with its recording.
func TestWalk(t *testing.T) {
	repo, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(repo, "docs/walk/README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, recorded, _ := strings.Cut(string(text), "```console\n")
	recorded, _, _ = strings.Cut(recorded, "```")
	users(t, func(t *testing.T, uid int) {
		dir := place(t, uid)
		for _, name := range []string{"docs/walk/walk", "docs/walk/config.hcl"} {
			putAs(t, uid, filepath.Join(dir, name), read(t, filepath.Join(repo, name)), 0o755)
		}
		cmd := exec.Command(filepath.Join(dir, "docs/walk/walk"))
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir, "HOSTSUP=" + hostsupBinary(t)}
		out := shell(t, uid, cmd)
		folder := regexp.MustCompile(regexp.QuoteMeta(dir) + `/tmp\.\w+`)
		got := plain(strings.Split(folder.ReplaceAllString(out, "DIR"), "\n"))
		if diff := cmp.Diff(plain(strings.Split(recorded, "\n")), got); diff != "" {
			t.Errorf("docs/walk/README.md has another recording (-page +walk):\n%s\nprinted:\n%s", diff, out)
		}
	})
}

// begins marks where a command's output begins and the code of the one before.
const begins = "\x1e"

// shownAddress is where the exec servers of the documentation listen.
const shownAddress = "127.0.0.1:4500"

// prelude is what every shell has: a supervisor that a page starts in the
// foreground of another terminal runs beside it, one at a time.
const prelude = `exec 2>&1 </dev/null
server=
leave() { [ -z "$server" ] || { kill "$server"; wait "$server"; }; server=; } 2>/dev/null
trap 'kill $(jobs -p); server=; wait' EXIT
await() { # until the output of a command matches
  for i in $(seq 500); do "${@:2}" | grep -q -- "$1" && return; sleep 0.02; done
  echo "${*:2} never prints $1:"; "${@:2}"
}
serve() {
  leave
  conf=config.hcl; for a; do case $a in *.hcl) conf=$a;; esac; done
  grep -q '^supervisor' "$conf" || printf 'supervisor {\n  state_dir = "state"\n}\n' >> "$conf"
  : > run.log
  "$@" >> run.log 2>&1 & server=$!
  until grep -q '^hostsup: ready' run.log; do kill -0 "$server" || { cat run.log; return 1; }; sleep 0.02; done
  grep '^hostsup: ready' run.log
}
`

// run runs the commands of a page as a user.
func (p page) run(t *testing.T, repo string, uid int, commands []shown) {
	dir := place(t, uid)
	copyFile(t, hostsupBinary(t), filepath.Join(dir, "hostsup"))
	addr := freePort(t)
	local := func(text string) string { return strings.ReplaceAll(text, shownAddress, addr) }
	for name, text := range p.programs {
		program, source := filepath.Join(t.TempDir(), name), filepath.Join(t.TempDir(), "main.go")
		putAs(t, os.Getuid(), source, []byte(text), 0o644)
		build := exec.CommandContext(t.Context(), "go", "build", "-o", program, source)
		build.Dir = repo                                  // for its modules
		build.Env = append(os.Environ(), "CGO_ENABLED=0") // as other tests build, so that only this program is compiled
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		copyFile(t, program, filepath.Join(dir, name))
	}
	switch {
	case p.config == "@":
		putAs(t, uid, filepath.Join(dir, "config.hcl"), read(t, filepath.Join(repo, "config.hcl")), 0o644)
	case strings.HasSuffix(p.path, ".go"):
		putAs(t, uid, filepath.Join(dir, "config.hcl"), []byte(hostOf(t, repo, p.path)), 0o644)
	}
	for name, text := range p.files {
		putAs(t, uid, filepath.Join(dir, name), []byte(text), 0o644)
	}

	var script strings.Builder
	script.WriteString(prelude + local(p.before) + "\n")
	if p.config == "@" && p.before == "" && p.path != "README.md" {
		script.WriteString("serve ./hostsup run\n")
	}
	var run []shown
	for _, c := range commands {
		if _, skipped := of(p.skip, c); skipped {
			continue
		}
		if file, ok := strings.CutPrefix(c.text, "cat "); ok && !strings.ContainsAny(file, " /") {
			putAs(t, uid, filepath.Join(dir, file), []byte(local(strings.Join(c.output, "\n")+"\n")), 0o644)
		}
		run = append(run, c)
		until, _ := of(p.until, c)
		fmt.Fprintf(&script, "__code=$?\n%s\nprintf '%s%%d\\n' $__code\n(exit $__code)\n%s\n", until, begins, local(p.typed(c)))
	}
	fmt.Fprintf(&script, "__code=$?; printf '%s%%d\\n' $__code\n", begins)

	cmd := exec.Command("bash", "-c", script.String())
	cmd.Dir = dir
	if p.root {
		compiled(t, dir, repo, "./"+filepath.Dir(p.path))
	}
	socket := filepath.Join(dir, "hostsup.sock")
	cmd.Env = []string{"PATH=" + dir + ":" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir, "HOSTSUP_SOCKET=" + socket, "REPO=" + repo, "LC_ALL=C.UTF-8"}
	out := shell(t, uid, cmd)
	parts := strings.Split(out, begins)
	if len(parts) != len(run)+2 {
		t.Fatalf("%d of %d commands were run:\n%s", len(parts)-2, len(run), out)
	}
	for i, c := range run {
		_, printed, _ := strings.Cut(parts[i+1], "\n")
		var code int
		if _, err := fmt.Sscan(parts[i+2], &code); err != nil {
			t.Fatal(err)
		}
		if want := p.codes(c); !slices.Contains(want, code) {
			t.Errorf("%s:%d: %s\nexit code %d, want one of %v; it printed\n%s", c.page, c.line, c.text, code, want, printed)
			continue
		}
		if _, loose := of(p.loose, c); loose || len(c.output) == 0 {
			continue
		}
		printed = strings.NewReplacer(socket, "/run/hostsup.sock", dir, "DIR", addr, shownAddress).Replace(printed)
		if diff := cmp.Diff(plain(c.output), plain(strings.Split(printed, "\n"))); diff != "" {
			t.Errorf("%s:%d: %s\nprints something else (-page +program):\n%s", c.page, c.line, c.text, diff)
		}
	}
}

// compiled makes go run quick for a user with this home folder: the program is
// compiled, which no command is to wait for.
func compiled(t *testing.T, home, repo, program string) {
	t.Helper()
	goSettings(t, home)
	build := exec.CommandContext(t.Context(), "go", "build", "-o", os.DevNull, program)
	build.Dir = repo
	build.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + home}
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// goSettings gives Go the caches and proxies in a home folder that it has here, and the
// flags that what it compiles is the same with in every folder.
func goSettings(t *testing.T, home string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "env", "-json", "GOCACHE", "GOMODCACHE", "GOPATH", "GOPROXY", "GOSUMDB", "GOPRIVATE", "GOTOOLCHAIN").Output()
	if err != nil {
		t.Fatal(err)
	}
	var here map[string]string
	if err := json.Unmarshal(out, &here); err != nil {
		t.Fatal(err)
	}
	here["CGO_ENABLED"], here["GOFLAGS"] = "0", "-trimpath -buildvcs=false"
	var settings strings.Builder
	for name, value := range here {
		fmt.Fprintf(&settings, "%s=%s\n", name, value)
	}
	putAs(t, os.Getuid(), filepath.Join(home, ".config/go/env"), []byte(settings.String()), 0o644)
}

// typed is a command as the test types it.
func (p page) typed(c shown) string {
	text := c.text
	for word, is := range p.with {
		text = regexp.MustCompile(`\b`+word+`\b`).ReplaceAllLiteralString(text, is)
	}
	switch {
	case strings.HasPrefix(text, "go build -o hostsup "):
		return "test -x hostsup" // it was built so
	case strings.HasPrefix(text, "go run ./cmd/hostsup run"):
		return "serve ./hostsup run"
	case strings.HasPrefix(text, "go run "):
		return `(cd "$REPO" && ` + text + `)`
	case regexp.MustCompile(`^(\./)?hostsup run\b`).MatchString(text):
		return "serve " + text
	case strings.HasPrefix(text, "kill "):
		return text + "\n__kill=$?; " + ended + "; (exit $__kill)"
	case regexp.MustCompile(` (-f|--watch)\b`).MatchString(text):
		return "timeout 1 " + text + "; test $? = 124"
	}
	return text
}

// codes are the exit codes that a command may have.
func (p page) codes(c shown) []int {
	if want, ok := of(p.exits, c); ok {
		return want
	}
	if len(c.output) > 0 && strings.HasPrefix(c.output[0], "hostsup: ") && !strings.HasPrefix(c.output[0], "hostsup: ready") {
		return []int{1}
	}
	return []int{0}
}

var (
	changing  = regexp.MustCompile(`\d[\w.:µ+-]*`)
	versionOf = regexp.MustCompile(`^hostsup \S+, pid`)
	session   = regexp.MustCompile(`\b[0-9a-f]{8}\b`)
	killWay   = regexp.MustCompile(`process trees ended by \w+`)
	stamped   = regexp.MustCompile(`^\S+ (?:\S+ )?(\S+) (?:.* → |supervisor|escalated)`)
)

// plain is output without what differs from run to run: numbers, times, the width
// of columns, and in which order things happened to different hosts.
func plain(lines []string) []string {
	var out []string
	for _, l := range lines {
		if regexp.MustCompile(`^  (cgroup|pidns|keeper): `).MatchString(l) { // what the way to end process trees lacks
			continue
		}
		l = strings.Join(strings.Fields(l), " ")
		l = versionOf.ReplaceAllString(l, "hostsup V, pid")
		l = killWay.ReplaceAllString(l, "process trees ended by W")
		l = session.ReplaceAllString(l, "#")
		l = changing.ReplaceAllString(l, "#")
		if l != "" {
			out = append(out, l)
		}
	}
	slices.SortStableFunc(out, func(a, b string) int {
		x, y := stamped.FindStringSubmatch(a), stamped.FindStringSubmatch(b)
		if x == nil || y == nil || !strings.HasPrefix(a, "#") || !strings.HasPrefix(b, "#") {
			return 0
		}
		return strings.Compare(x[1], y[1])
	})
	return out
}

// shell runs a command as a user and returns what it prints.
func shell(t *testing.T, uid int, cmd *exec.Cmd) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	as(uid, cmd)
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true // what it started ends with it
	cmd.WaitDelay = 10 * time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stop := context.AfterFunc(ctx, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	err := cmd.Wait()
	stop()
	if ctx.Err() != nil {
		t.Fatalf("it has not ended; it printed\n%s", out.String())
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%v; it printed\n%s", err, out.String())
	}
	return out.String()
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// putAs writes a file of a user's.
func putAs(t *testing.T, uid int, path string, text []byte, mode os.FileMode) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = leaktest.WriteProgram(path, text, mode)
	}
	if err == nil {
		err = os.Chown(path, uid, uid)
	}
	if err != nil {
		t.Fatal(err)
	}
}
