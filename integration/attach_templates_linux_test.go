package integration

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/hostsup/hostsup/attach"
	"github.com/hostsup/hostsup/codec/jsonrpc"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/supervisor"
)

// templateHost is a template whose instances get the value of token, and a folder each.
func templateHost(t testing.TB, rule attach.Rule) (h supervisor.HostSpec, folders string) {
	t.Helper()
	folders = t.TempDir()
	h = demoHost("github")
	rule.Instances, rule.Vars = attach.PerKey, []string{"token"}
	h.Features = []supervisor.Feature{rule}
	h.Start.Lazy = true
	h.Dir = filepath.Join(folders, attach.KeyName)
	h.Env = maps.Clone(h.Env)
	h.Env["TOKEN"], h.Env["WHO"] = "is "+attach.Var("token"), attach.Key
	return h, folders
}

// folder makes the folder of a key whose name is plain.
func folder(t testing.TB, folders, key string) {
	t.Helper()
	if err := os.Mkdir(filepath.Join(folders, key), 0o700); err != nil {
		t.Fatal(err)
	}
}

func token(value string) map[string]string { return map[string]string{"token": value} }

// instanceFor returns the instance of a key, which runs.
func instanceFor(t testing.TB, sup *supervisor.Supervisor, key, value string) *supervisor.Host {
	t.Helper()
	h, release, err := attach.Instance(ctx(t), sup, "github", key, token(value))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	echoes(t, h)
	return h
}

// has reports whether the process of a host has a variable of this value and no other.
func has(t testing.TB, h *supervisor.Host, name, value string) {
	t.Helper()
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", *h.Status().PID))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for v := range bytes.SplitSeq(env, []byte{0}) {
		if v, is := bytes.CutPrefix(v, []byte(name+"=")); is {
			got = append(got, string(v))
		}
	}
	if !slices.Equal(got, []string{value}) {
		t.Errorf("%s: %s is %q, and not %q", h.Name(), name, got, value)
	}
}

// Two keys have a process each, with their own values and folder, over crashes and other
// values; a template without them has no process.
func TestInstancePerKey(t *testing.T) {
	t.Parallel()
	spec, folders := templateHost(t, attach.Rule{})
	sup, template := alone(t, spec)
	isTree(t, sup, "github")
	if err := template.Start(ctx(t)); err == nil {
		t.Error("the template itself is started")
	}
	folder(t, folders, "ada")
	folder(t, folders, "bob")
	ada, bob := instanceFor(t, sup, "ada", "secret-of-ada"), instanceFor(t, sup, "bob", "secret-of-bob")
	isTree(t, sup, "github", "github@ada", "github@bob")
	check := func() {
		t.Helper()
		for h, key := range map[*supervisor.Host]string{ada: "ada", bob: "bob"} {
			has(t, h, "TOKEN", "is secret-of-"+key)
			has(t, h, "WHO", key)
			if cwd, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", *h.Status().PID)); err != nil || cwd != filepath.Join(folders, key) {
				t.Errorf("working folder of %s: %s, %v", key, cwd, err)
			}
			if k := h.Status().Key; k == nil || *k != key {
				t.Errorf("status of %s has the key %v", h.Name(), k)
			}
		}
	}
	check()
	signal(t, ada, syscall.SIGKILL)
	runs(t, ada, 2)
	check()
	if again := instanceFor(t, sup, "ada", "secret-of-ada"); again != ada || ada.Status().Life != 2 || bob.Status().Life != 1 {
		t.Errorf("the same key has %s in life %d", again.Name(), ada.Status().Life)
	}
	// Other values are those of its next life.
	if again := instanceFor(t, sup, "ada", "another"); again != ada {
		t.Errorf("the same key has %s", again.Name())
	}
	runs(t, ada, 3)
	has(t, ada, "TOKEN", "is another")
	has(t, bob, "TOKEN", "is secret-of-bob")
}

// A key is any text, and says nothing of a path but its own name.
func TestKeysAreNames(t *testing.T) {
	t.Parallel()
	spec, folders := templateHost(t, attach.Rule{MaxInstances: 20})
	sup, _ := alone(t, spec)
	hosts := map[string]string{}
	for _, key := range []string{"ada", "Ada", "..", "../ada", "/ada", "${var.token}", "MCP 2025-11-25 key ada", "ключ", "a b", "_ada"} {
		_, release, err := attach.Instance(ctx(t), sup, "github", key, token("secret"))
		if err != nil {
			t.Fatalf("%q: %v", key, err)
		}
		release()
	}
	for _, h := range sup.Hosts() {
		if h.Name() == "github" {
			continue
		}
		dir, key := h.Spec().Dir, *h.Status().Key
		if other, taken := hosts[dir]; taken || filepath.Dir(dir) != folders || strings.ContainsAny(h.Name()[len("github@"):], "~@/") {
			t.Errorf("host %s of key %q has the folder %s, as %q has", h.Name(), key, dir, other)
		}
		if hosts[dir] = key; h.Spec().Env["WHO"] != key {
			t.Errorf("key %q is %q in the environment", key, h.Spec().Env["WHO"])
		}
	}
	if len(hosts) != 10 {
		t.Errorf("%d hosts", len(hosts))
	}
	for key, want := range map[string]string{"": "1 to 256 bytes", strings.Repeat("x", 257): "1 to 256 bytes", "a\nb": "not printable", "\xff": "not printable"} {
		if _, _, err := attach.Instance(ctx(t), sup, "github", key, token("secret")); !errors.Is(err, attach.ErrKey) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", key, err)
		}
	}
	for want, vars := range map[string]map[string]string{
		`needs a value for its variable "token"`:     nil,
		`has no variable "tokn"; it has token`:       {"token": "x", "tokn": "y"},
		`value of variable "token" has several line`: token("a\nb"),
		`have more than`: token(strings.Repeat("x", 20<<10)),
	} {
		if _, _, err := attach.Instance(ctx(t), sup, "github", "ada", vars); !errors.Is(err, attach.ErrKey) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", vars, err)
		}
	}
	// In a path the key itself goes where it is the name of a file.
	spec.Dir = filepath.Join(folders, "u", attach.Key)
	if err := sup.Replace(ctx(t), spec); err != nil {
		t.Fatal(err)
	}
	for key, ok := range map[string]bool{"..": false, "../ada": false, "a*": false, "Bob": true} {
		_, release, err := attach.Instance(ctx(t), sup, "github", key, token("secret"))
		if (err == nil) != ok || !ok && !errors.Is(err, attach.ErrKey) {
			t.Errorf("%q: %v", key, err)
		}
		if err == nil {
			release()
		}
	}
}

// Of 200 keys, whose processes are killed meanwhile, each has its own values, however many go
// for others.
func TestManyKeys(t *testing.T) {
	t.Parallel()
	const keys, most = 200, 8
	spec, folders := templateHost(t, attach.Rule{MaxInstances: most})
	spec.Restart.MaxCrashes = 1000
	sup, _ := alone(t, spec)
	for n := range keys {
		folder(t, folders, fmt.Sprint("user-", n))
	}
	next := make(chan int)
	var all sync.WaitGroup
	for worker := range most / 2 { // each has one, and the others are idle
		all.Go(func() {
			for n := range next {
				key := fmt.Sprint("user-", n)
				h, release, err := attach.Instance(ctx(t), sup, "github", key, token("secret-of-"+key))
				if err != nil {
					t.Errorf("%s: %v", key, err)
					continue
				}
				if h.Name() != "github@"+key || *h.Status().Key != key {
					t.Errorf("%s has %s", key, h.Name())
				}
				if _, err := supervisor.Call[string](ctx(t), h, "echo", key); err != nil {
					t.Errorf("%s: %v", key, err)
				}
				has(t, h, "TOKEN", "is secret-of-"+key)
				if pid := h.Status().PID; (n+worker)%5 == 0 && pid != nil {
					_ = syscall.Kill(*pid, syscall.SIGKILL)
					runs(t, h, 2)
					has(t, h, "TOKEN", "is secret-of-"+key)
				}
				release()
			}
		})
	}
	for n := range keys {
		next <- n
	}
	close(next)
	all.Wait()
	if got := sup.Hosts(); len(got) != most+1 {
		t.Errorf("%v are there", names(sup))
	}
}

// When all instances are used, a further key is refused; one that is not used goes after a time.
func TestKeysAreBounded(t *testing.T) {
	t.Parallel()
	spec, folders := templateHost(t, attach.Rule{MaxInstances: 1, IdleStop: idleAfter})
	sup, _ := alone(t, spec)
	folder(t, folders, "ada")
	folder(t, folders, "bob")
	_, release, err := attach.Instance(ctx(t), sup, "github", "ada", token("secret"))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := attach.Instance(ctx(t), sup, "github", "bob", token("secret")); !errors.Is(err, attach.ErrInstances) {
		t.Errorf("a second key: %v", err)
	}
	release()
	release()
	isTree(t, sup, "github")
	instanceFor(t, sup, "bob", "secret")
	isTree(t, sup, "github", "github@bob")
}

// A reload of the template is one of its instances; without it, or if it asks for other values,
// they go.
func TestInstancesFollowTheirTemplate(t *testing.T) {
	t.Parallel()
	spec, folders := templateHost(t, attach.Rule{})
	sup, template := alone(t, spec)
	folder(t, folders, "ada")
	ada := instanceFor(t, sup, "ada", "secret-of-ada")
	apply := func(groups ...supervisor.GroupSpec) supervisor.Plan {
		t.Helper()
		now, err := supervisor.Present(ctx(t), sup)
		if err != nil {
			t.Fatal(err)
		}
		plan, err := supervisor.Apply(ctx(t), sup, supervisor.Spec{Groups: groups, Parts: now.Parts, Secrets: now.Secrets})
		if err != nil {
			t.Fatal(err)
		}
		return plan
	}
	changed := spec
	changed.Env = maps.Clone(spec.Env)
	changed.Env["MORE"] = attach.Key
	plan := apply(supervisor.Alone(changed))
	if text, err := json.Marshal(plan); err != nil || bytes.Contains(text, []byte("secret-of-ada")) || plan.Count(supervisor.ActionRestart) != 1 {
		t.Errorf("plan %s, %v", text, err)
	}
	runs(t, ada, 2)
	has(t, ada, "MORE", "ada")
	has(t, ada, "TOKEN", "is secret-of-ada")
	other := changed
	other.Features = []supervisor.Feature{attach.Rule{Instances: attach.PerKey, Vars: []string{"token", "team"}}}
	apply(supervisor.Alone(other))
	isTree(t, sup, "github")
	if _, _, err := attach.Instance(ctx(t), sup, "github", "ada", token("x")); !errors.Is(err, attach.ErrKey) || !strings.Contains(err.Error(), `"team"`) {
		t.Errorf("without the new value: %v", err)
	}
	apply(supervisor.Alone(spec))
	instanceFor(t, sup, "ada", "secret-of-ada")
	apply()
	isTree(t, sup)
	if _, _, err := attach.Instance(ctx(t), sup, template.Name(), "ada", token("x")); !errors.Is(err, supervisor.ErrNoHost) {
		t.Errorf("without the template: %v", err)
	}
}

// Editors of one key share a server; that of another key has another one, also if it names
// the first; when the template is removed they are told.
func TestAttachToKey(t *testing.T) {
	t.Parallel()
	h, _ := textServer(t, incremental)
	h.Name = "github"
	h.Features = []supervisor.Feature{attach.Rule{Instances: attach.PerKey, Vars: []string{"token"}}}
	h.Env["TOKEN"] = attach.Var("token")
	sup, _ := alone(t, h)
	with := func(key, value, name string) *attached {
		t.Helper()
		a := attachWith(t, attach.WithKey(context.Background(), key, token(value)), sup, name, jsonrpc.Headers(jsonrpc.Options{}))
		return a
	}
	dir := project(t)
	open := func(a *attached) *attached {
		a.must("initialize", opening(dir))
		a.tell("initialized", dict{})
		return a
	}
	a, b, c := open(with("ada", "secret-of-ada", "github")), open(with("bob", "secret-of-bob", "github")), open(with("ada", "secret-of-ada", "github@ada"))
	isTree(t, sup, "github", "github@ada", "github@bob")
	has(t, host(t, sup, "github@ada"), "TOKEN", "secret-of-ada")
	has(t, host(t, sup, "github@bob"), "TOKEN", "secret-of-bob")
	a.tell("textDocument/didOpen", dict{"textDocument": dict{"uri": "file:///a", "languageId": "x", "version": 1, "text": "of ada"}})
	at := dict{"textDocument": dict{"uri": "file:///a"}}
	if one, two, other := a.must("test/text", at), c.must("test/text", at), b.must("test/text", at); one != `"of ada"` || two != one || other != "null" {
		t.Errorf("the servers have %s, %s, and %s", one, two, other)
	}
	for name, wrong := range map[string]*attached{"the key of another": with("bob", "x", "github@ada"), "no key": attachTo(t, sup, "github@ada", h.Protocol), "no key for the template": attachTo(t, sup, "github", h.Protocol)} {
		if err := <-wrong.served; !errors.Is(err, attach.ErrInstances) && !errors.Is(err, attach.ErrKey) {
			t.Errorf("%s: %v", name, err)
		}
	}
	signal(t, host(t, sup, "github@ada"), syscall.SIGKILL)
	runs(t, host(t, sup, "github@ada"), 2)
	if got := a.must("test/text", at); got != `"of ada"` {
		t.Errorf("after a crash: %s", got)
	}
	if err := sup.Remove(ctx(t), "github"); err != nil {
		t.Fatal(err)
	}
	for _, e := range []*attached{a, b, c} {
		if err := <-e.served; !errors.Is(err, supervisor.ErrNoHost) {
			t.Errorf("an editor is told %v", err)
		}
	}
	isTree(t, sup)
}

// What an instance is given is in nothing that is kept or shown of it.
func TestValuesAreNotShown(t *testing.T) {
	t.Parallel()
	const value = "tok-9f2b-3c"
	spec, folders := templateHost(t, attach.Rule{})
	spec.Restart.MaxCrashes = 1
	state := t.TempDir()
	log := &lockedBuffer{}
	sup := start(t, supervisor.Spec{Groups: []supervisor.GroupSpec{supervisor.Alone(spec)}, StateDir: state},
		supervisor.WithLogger(hclog.New(&hclog.LoggerOptions{Level: hclog.Trace, Output: log})))
	folder(t, folders, "ada")
	ada := instanceFor(t, sup, "ada", value)
	if err := ada.Call(ctx(t), "print", dict{"stdout": "it is " + value, "stderr": "and " + value}, nil); err != nil {
		t.Fatal(err)
	}
	_ = ada.Call(ctx(t), "crash", dict{"signal": "SIGKILL"}, nil)
	until(t, ada, lifecycle.Failed)
	report := crash(t, sup, "github@ada")
	lines, err := ada.History(100)
	if err != nil {
		t.Fatal(err)
	}
	st := sup.Status()
	shown, err := json.Marshal([]any{report, lines, st, sup.History()})
	if err != nil {
		t.Fatal(err)
	}
	shown = append(shown, log.String()...)
	_ = filepath.WalkDir(state, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			text, _ := os.ReadFile(path)
			shown = append(shown, text...)
		}
		return nil
	})
	if bytes.Contains(shown, []byte(value)) || !bytes.Contains(shown, []byte("[redacted: var.token]")) {
		at := max(0, bytes.Index(shown, []byte(value))-200)
		t.Errorf("the value is shown, or nothing in its place: %s", shown[at:min(len(shown), at+600)])
	}
}
