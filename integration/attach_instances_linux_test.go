package integration

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/hostsup/hostsup/attach"
	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/jsonrpc"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/supervisor"
)

// patternHost is a language server of which programs get instances.
func patternHost(t testing.TB, rule attach.Rule) supervisor.HostSpec {
	t.Helper()
	h, _ := textServer(t, incremental)
	h.Features = []supervisor.Feature{rule}
	h.Env["ROOT"], h.Dir = "root is "+attach.Root+"/src", attach.Root
	return h
}

// project is a folder that an editor works in.
func project(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "src"), 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

// opens attaches an editor that works in a folder.
func opens(t testing.TB, sup *supervisor.Supervisor, host, dir string) *attached {
	t.Helper()
	a := attachTo(t, sup, host, jsonrpc.Headers(jsonrpc.Options{}))
	a.must("initialize", opening(dir))
	a.tell("initialized", dict{})
	return a
}

func names(sup *supervisor.Supervisor) (out []string) {
	for _, h := range sup.Hosts() {
		out = append(out, h.Name())
	}
	slices.Sort(out)
	return out
}

func isTree(t testing.TB, sup *supervisor.Supervisor, want ...string) {
	t.Helper()
	eventually(t, func() bool { return slices.Equal(names(sup), want) }, "the hosts are not ", want)
}

// Two editors in two folders have a server each, in its folder; a third one shares that of
// its folder. What happens to one server is not noticed at the other.
func TestInstancePerRoot(t *testing.T) {
	t.Parallel()
	h := patternHost(t, attach.Rule{Instances: attach.PerRoot})
	sup, pattern := alone(t, h)
	one, two := project(t), project(t)
	a, b, c := opens(t, sup, "ls", one), opens(t, sup, "ls", two), opens(t, sup, "ls", one)
	isTree(t, sup, "ls", "ls@1", "ls@2")
	for n, dir := range []string{one, two} {
		pid := *host(t, sup, fmt.Sprintf("ls@%d", n+1)).Status().PID
		env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if err != nil || !strings.Contains(string(env), "ROOT=root is "+dir+"/src") {
			t.Errorf("environment of %d: %q, %v", n+1, env, err)
		}
		if cwd, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid)); err != nil || cwd != dir {
			t.Errorf("working folder of %d: %s, %v", n+1, cwd, err)
		}
	}
	open := func(e *attached, dir, text string) {
		e.tell("textDocument/didOpen", dict{"textDocument": dict{"uri": "file://" + dir + "/a", "languageId": "x", "version": 1, "text": text}})
	}
	text := func(e *attached, dir string) string {
		return e.must("test/text", dict{"textDocument": dict{"uri": "file://" + dir + "/a"}})
	}
	open(a, one, "of one")
	open(b, two, "of two")
	if got := text(c, one); got != `"of one"` {
		t.Errorf("the third editor's server has %s", got)
	}
	if got := text(b, one); got != "null" {
		t.Errorf("the other server has %s", got)
	}
	signal(t, host(t, sup, "ls@1"), syscall.SIGKILL)
	runs(t, host(t, sup, "ls@1"), 2)
	if got := text(a, one); got != `"of one"` {
		t.Errorf("after a crash: %s", got)
	}
	if s := host(t, sup, "ls@2").Status(); s.Life != 1 || text(b, two) != `"of two"` {
		t.Errorf("the other server is in life %d", s.Life)
	}
	s := pattern.Status()
	if s.State != lifecycle.Stopped || s.Life != 0 || s.Reason == nil || *s.Reason != "runs as instances: one for each root, 2 now" {
		t.Errorf("the host itself: %+v", s)
	}
	// One is named, for the folder that it has.
	d := opens(t, sup, "ls@2", two)
	d.leaves()
	e := attachTo(t, sup, "ls@2", h.Protocol)
	e.begin("initialize", opening(one))
	if err := <-e.served; !errors.Is(err, attach.ErrInstances) {
		t.Errorf("an editor of another folder: %v", err)
	}
}

// Of too many instances the one goes that has been without an editor for the longest time.
func TestInstancesAreBounded(t *testing.T) {
	t.Parallel()
	h := patternHost(t, attach.Rule{Instances: attach.PerRoot, MaxInstances: 2})
	sup, _ := alone(t, h)
	one, two, three := project(t), project(t), project(t)
	a, b := opens(t, sup, "ls", one), opens(t, sup, "ls", two)
	refused := attachTo(t, sup, "ls", h.Protocol)
	refused.begin("initialize", opening(three))
	if err := <-refused.served; !errors.Is(err, attach.ErrInstances) || !strings.Contains(err.Error(), `host "ls" has 2 instances`) {
		t.Fatalf("a third one: %v", err)
	}
	first := *host(t, sup, "ls@1").Status().PID
	a.leaves()
	opens(t, sup, "ls", three)
	isTree(t, sup, "ls", "ls@1", "ls@2")
	if pid := *host(t, sup, "ls@1").Status().PID; pid == first || syscall.Kill(first, 0) == nil {
		t.Errorf("process %d goes on", first)
	}
	b.must("test/opening", nil)
	if s := host(t, sup, "ls@2").Status(); s.Life != 1 {
		t.Errorf("the other one is in life %d", s.Life)
	}
}

// An instance without editors is removed after a time, one for a single program with it.
func TestInstancesEnd(t *testing.T) {
	t.Parallel()
	for per, after := range map[attach.Sharing]attach.Rule{attach.PerRoot: {Instances: attach.PerRoot, IdleStop: idleAfter}, attach.PerClient: {Instances: attach.PerClient}} {
		t.Run(string(per), func(t *testing.T) {
			t.Parallel()
			sup, _ := alone(t, patternHost(t, after))
			dir := project(t)
			a, b := opens(t, sup, "ls", dir), opens(t, sup, "ls", dir)
			if per == attach.PerClient {
				isTree(t, sup, "ls", "ls@1", "ls@2")
			} else {
				isTree(t, sup, "ls", "ls@1")
			}
			a.leaves()
			b.must("test/opening", nil)
			b.leaves()
			isTree(t, sup, "ls")
			opens(t, sup, "ls", dir).must("test/opening", nil)
			isTree(t, sup, "ls", "ls@1")
		})
	}
}

// A change of the host is one of its instances, whose editors stay; without the host they go.
func TestInstancesFollowTheirHost(t *testing.T) {
	t.Parallel()
	h := patternHost(t, attach.Rule{Instances: attach.PerRoot})
	sup, _ := alone(t, h)
	a := opens(t, sup, "ls", project(t))
	changed := h
	changed.Env = map[string]string{"MORE": "x"}
	for name, value := range h.Env {
		changed.Env[name] = value
	}
	next := supervisor.Spec{Groups: []supervisor.GroupSpec{supervisor.Alone(changed)}}
	now, err := supervisor.Present(ctx(t), sup)
	if err != nil {
		t.Fatal(err)
	}
	next.Parts, next.Secrets = now.Parts, now.Secrets
	plan, err := supervisor.Apply(ctx(t), sup, next)
	if err != nil || plan.Count(supervisor.ActionRemove) != 0 || plan.Count(supervisor.ActionNone) != 0 {
		t.Fatalf("%+v, %v", plan, err)
	}
	runs(t, host(t, sup, "ls@1"), 2)
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", *host(t, sup, "ls@1").Status().PID))
	if err != nil || !strings.Contains(string(env), "MORE=x") {
		t.Errorf("%q, %v", env, err)
	}
	a.must("test/opening", nil)
	if err := sup.Remove(ctx(t), "ls"); err != nil {
		t.Fatal(err)
	}
	if err := <-a.served; !errors.Is(err, supervisor.ErrNoHost) {
		t.Errorf("the editor is told %v", err)
	}
	if got := names(sup); len(got) != 0 {
		t.Errorf("%v are left", got)
	}
}

// What an instance cannot be made of is said.
func TestInstanceWithoutRoot(t *testing.T) {
	t.Parallel()
	h := patternHost(t, attach.Rule{Instances: attach.PerRoot})
	sup, _ := alone(t, h)
	for hello, want := range map[string]string{
		"":                          "the program has named none",
		"file:///no/such/folder":    "is not the whole path of a folder",
		"https://example.com/other": "is not a file: URI",
	} {
		a := attachTo(t, sup, "ls", h.Protocol)
		p := dict{"capabilities": dict{}}
		if hello != "" {
			p["rootUri"] = hello
		}
		a.begin("initialize", p)
		if err := <-a.served; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", hello, err)
		}
	}
	isTree(t, sup, "ls")
}

// Two editors that work on two projects by one configuration have a pyright each. That of one
// is killed, and the other one does not notice.
func TestInstancesOfPyright(t *testing.T) {
	t.Parallel()
	l := languages["pyright"]
	h := server(t, "pyright", jsonrpc.Headers(jsonrpc.Options{}), l.argv...)
	h.Attach, h.Dir, h.Features = true, attach.Root, []supervisor.Feature{attach.Rule{Instances: attach.PerRoot}}
	sup, _ := alone(t, h)
	var editors []*attached
	var files []string
	for range 2 {
		dir := project(t)
		a := attachTo(t, sup, "pyright", h.Protocol)
		a.setReply(func(string, codec.Raw) (codec.Raw, *codec.Error) { return codec.Raw(`[{},{},{}]`), nil })
		a.must("initialize", opening(dir))
		a.tell("initialized", dict{})
		uri := "file://" + filepath.Join(dir, l.file)
		a.tell("textDocument/didOpen", dict{"textDocument": dict{"uri": uri, "languageId": l.id, "version": 1, "text": l.text}})
		editors, files = append(editors, a), append(files, uri)
	}
	hovers := func(when string) {
		t.Helper()
		for n, a := range editors {
			if out := a.must(l.asks, dict{"textDocument": dict{"uri": files[n]}, "position": l.at}); !strings.Contains(out, l.says) {
				t.Errorf("%s, editor %d: %s", when, n+1, out)
			}
		}
	}
	hovers("at first")
	signal(t, host(t, sup, "pyright@1"), syscall.SIGKILL)
	runs(t, host(t, sup, "pyright@1"), 2)
	hovers("after a crash")
	if s := host(t, sup, "pyright@2").Status(); s.Life != 1 {
		t.Errorf("the other one is in life %d", s.Life)
	}
}
