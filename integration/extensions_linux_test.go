//go:build linux

package integration

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hostsup/hostsup/extensions"
	"github.com/hostsup/hostsup/extensions/manifest"
	"github.com/hostsup/hostsup/extensions/plan"
	"github.com/hostsup/hostsup/extensions/service"
	"github.com/hostsup/hostsup/extensions/vscode"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/record"
	"github.com/hostsup/hostsup/supervisor"
)

// extended is the real extension host with the extensions of a folder.
func extended(t testing.TB, folder string, with ...func(*plan.Spec)) supervisor.HostSpec {
	t.Helper()
	return extendedOf(t, "1.100.3", folder, with...)
}

// extendedOf is that of a release.
func extendedOf(t testing.TB, version, folder string, with ...func(*plan.Spec)) supervisor.HostSpec {
	t.Helper()
	dir, err := filepath.Abs("testdata/vscode/" + folder)
	if err != nil {
		t.Fatal(err)
	}
	spec := &plan.Spec{Folders: []manifest.Root{{Dir: dir}}}
	for _, w := range with {
		w(spec)
	}
	return vscodeHost(t, version, func(s *supervisor.HostSpec) {
		root, _ := vscode.Root(s.Command)
		s.Protocol = vscode.New(vscode.Options{Root: root, State: filepath.Join(t.TempDir(), "state")})
		s.Extensions = spec
	})
}

// extensionOf is the status of one.
func extensionOf(t testing.TB, sup *supervisor.Supervisor, name string) extensions.Status {
	t.Helper()
	return extensionStatus(t, sup, "hostsup."+name)
}

// extensionStatus is the status of an extension, by its id.
func extensionStatus(t testing.TB, sup *supervisor.Supervisor, id string) extensions.Status {
	t.Helper()
	all, err := sup.Extensions("")
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(all, func(s extensions.Status) bool { return s.ID == id })
	if i < 0 {
		t.Fatalf("there is no %s: %+v", id, all)
	}
	return all[i]
}

// activates requests the event of an extension's command.
func activates(t testing.TB, sup *supervisor.Supervisor, names ...string) {
	t.Helper()
	for _, name := range names {
		if err := sup.Activate(ctx(t), "", "onCommand:"+name+".run"); err != nil {
			t.Fatal(err)
		}
		if s := extensionOf(t, sup, name); s.State != "active" {
			t.Fatalf("%+v", s)
		}
	}
}

// ranIn calls the command of an extension where it lives and returns the host.
func ranIn(t testing.TB, sup *supervisor.Supervisor, name string, args ...any) (*supervisor.Host, error) {
	t.Helper()
	h, err := sup.Host(extensionOf(t, sup, name).Place)
	if err != nil {
		t.Fatal(err)
	}
	return h, executes(t, h, nil, slices.Concat([]any{name + ".run"}, args)...)
}

// told is what the journal says of a kind.
func told(t testing.TB, sup *supervisor.Supervisor, kind string) (out []string) {
	t.Helper()
	for _, e := range sup.History() {
		if e.Kind == kind {
			out = append(out, e.Reason)
		}
	}
	return out
}

func says(t testing.TB, lines []string, parts ...string) {
	t.Helper()
	if !slices.ContainsFunc(lines, func(line string) bool {
		return !slices.ContainsFunc(parts, func(p string) bool { return !strings.Contains(line, p) })
	}) {
		t.Errorf("nothing has all of %q:\n%s", parts, strings.Join(lines, "\n"))
	}
}

func TestExtensions(t *testing.T) {
	t.Parallel()
	sup, h := alone(t, extended(t, "many"))
	if err := sup.Activate(ctx(t), "", "onCommand:nobody.run"); err != nil {
		t.Error(err)
	}
	if s := h.Status(); s.State != lifecycle.Stopped || s.Life != 0 {
		t.Errorf("it runs although nobody has asked: %+v", s)
	}
	activates(t, sup, "needs")
	var exported string
	if err := executes(t, h, &exported, "needs.run"); err != nil || exported != "a" {
		t.Errorf("%q, %v: what it needs was not active before it", exported, err)
	}
	if s := extensionOf(t, sup, "needs"); s.Activation == nil || s.Activation.Event != "onCommand:needs.run" || s.Place != "vs" || s.Version != "1.0.0" {
		t.Errorf("%+v", s)
	}
	if s := extensionOf(t, sup, "b"); s.State != "inactive" {
		t.Errorf("%+v", s)
	}
	says(t, told(t, sup, record.KindExtension), "hostsup.needs is active", "onCommand:needs.run")
}

func TestExtensionFailures(t *testing.T) {
	t.Parallel()
	sup, _ := alone(t, extended(t, "broken"))
	problems := told(t, sup, record.KindExtension)
	says(t, problems, "hostsup.ying: loop of dependencies: hostsup.ying → hostsup.yang → hostsup.ying")
	says(t, problems, "hostsup.orphan", "hostsup.nowhere")
	err := sup.Activate(ctx(t), "vs", "onCommand:orphan.run")
	var list *service.ActivationError
	if !errors.Is(err, service.ErrNotActive) || !errors.As(err, &list) || len(list.Errs) != 1 {
		t.Fatalf("%v", err)
	}
	mentions(t, err.Error(), "hostsup.orphan", "unknown dependency hostsup.nowhere")
	err = sup.Activate(ctx(t), "vs", "onCommand:throws.run")
	if !errors.Is(err, service.ErrNotActive) {
		t.Fatalf("%v", err)
	}
	mentions(t, err.Error(), "hostsup.throws", "on purpose")
	if s := extensionOf(t, sup, "throws"); s.State != "failed" || !strings.Contains(s.Why, "on purpose") {
		t.Errorf("%+v", s)
	}
	says(t, told(t, sup, record.KindExtension), "hostsup.throws has failed", "on purpose")
	if err := sup.SetExtension(ctx(t), "", "hostsup.ghost", extensions.Disable); !errors.Is(err, extensions.ErrUnknown) {
		t.Errorf("%v", err)
	}
}

// Extensions come, go and move while the hosts run: without a restart as long as
// they have never begun.
func TestExtensionVerbs(t *testing.T) {
	t.Parallel()
	for version := range releases {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			spec := extended(t, "many", func(s *plan.Spec) { s.Disabled = []string{"hostsup.b"} })
			other := vscodeHost(t, version)
			root, _ := vscode.Root(other.Command)
			spec.Command, spec.Protocol = other.Command, vscode.New(vscode.Options{Root: root, State: filepath.Join(t.TempDir(), "state")})
			sup, h := alone(t, spec)
			set := func(name string, verb extensions.Verb) {
				t.Helper()
				if err := sup.SetExtension(ctx(t), "vs", "hostsup."+name, verb); err != nil {
					t.Fatal(err)
				}
			}
			activates(t, sup, "a")
			if s := extensionOf(t, sup, "b"); s.State != "disabled" || s.Place != "" {
				t.Errorf("%+v", s)
			}
			if err := sup.Activate(ctx(t), "", "onCommand:b.run"); err != nil {
				t.Error(err)
			}
			// Somebody has asked for it before.
			set("b", extensions.Enable)
			eventually(t, func() bool { return extensionOf(t, sup, "b").State == "active" }, "b")
			if _, err := ranIn(t, sup, "b"); err != nil {
				t.Error(err)
			}
			set("c", extensions.Disable)
			set("d", extensions.Isolate)
			runs(t, h, 1)
			activates(t, sup, "d")
			if in, err := ranIn(t, sup, "d"); err != nil || in.Name() != "vs~hostsup.d" {
				t.Errorf("%s, %v", in.Name(), err)
			}
			if s := extensionOf(t, sup, "d"); !s.Blame.Quarantined || s.Blame.Decision == "" {
				t.Errorf("%+v", s)
			}
			runs(t, h, 1)

			// One that is active cannot leave without a restart of its host.
			set("b", extensions.Disable)
			runs(t, h, 2)
			if s := extensionOf(t, sup, "b"); s.State != "disabled" {
				t.Errorf("%+v", s)
			}
			eventually(t, func() bool { return extensionOf(t, sup, "a").State == "active" }, "a")
			set("d", extensions.Release)
			eventually(t, func() bool { s := extensionOf(t, sup, "d"); return s.Place == "vs" && s.State == "active" }, "d is home")
			if in, err := ranIn(t, sup, "d"); err != nil || in.Name() != "vs" {
				t.Errorf("%s, %v", in.Name(), err)
			}
			runs(t, h, 2)
			if _, err := sup.Host("vs~hostsup.d"); !errors.Is(err, supervisor.ErrNoHost) {
				t.Errorf("the cell is still there: %v", err)
			}
			set("a", extensions.Isolate)
			runs(t, h, 3)
			activates(t, sup, "needs")
			for _, name := range []string{"a", "needs"} {
				eventually(t, func() bool { s := extensionOf(t, sup, name); return s.Place == "vs~hostsup.a" && s.State == "active" }, name)
			}
			if err := sup.SetExtension(ctx(t), "vs", "hostsup.a", "praise"); !errors.Is(err, extensions.ErrVerb) {
				t.Errorf("%v", err)
			}
		})
	}
}

// Extensions of another number are in a host of their own, with what they need;
// when that dies the others notice nothing.
func TestExtensionAffinity(t *testing.T) {
	t.Parallel()
	sup, h := alone(t, extended(t, "many", func(s *plan.Spec) {
		s.Affinity = map[string]int{"hostsup.bad": 2, "hostsup.needs": 3}
		s.Events = []string{"onCommand:b.run"}
	}))
	runs(t, h, 1)
	eventually(t, func() bool { return extensionOf(t, sup, "b").State == "active" }, "b")
	second, third := host(t, sup, "vs-2"), host(t, sup, "vs-3")
	for _, other := range []*supervisor.Host{second, third} {
		if s := other.Status(); s.State != lifecycle.Stopped || s.Group != "vs" {
			t.Errorf("%+v", s)
		}
	}
	activates(t, sup, "bad", "needs")
	for name, place := range map[string]string{"a": "vs-3", "needs": "vs-3", "bad": "vs-2", "b": "vs"} {
		if s := extensionOf(t, sup, name); s.Place != place || s.State != "active" {
			t.Errorf("%+v, want %s", s, place)
		}
	}
	if _, err := ranIn(t, sup, "bad", "abort"); !errors.Is(err, supervisor.ErrCrashed) {
		t.Errorf("%v", err)
	}
	runs(t, second, 2)
	eventually(t, func() bool { return extensionOf(t, sup, "bad").State == "active" }, "bad")
	runs(t, h, 1)
	runs(t, third, 1)
	if err := sup.Remove(ctx(t), "vs"); err != nil {
		t.Error(err)
	}
	if left := sup.Hosts(); len(left) != 0 {
		t.Errorf("%d hosts are left of one that was removed", len(left))
	}
	if _, err := sup.Extensions("vs"); !errors.Is(err, supervisor.ErrNoHost) {
		t.Errorf("%v", err)
	}
}

// One that hangs is put apart like one that crashes.
func TestExtensionHangs(t *testing.T) {
	t.Parallel()
	spec := extended(t, "many")
	spec.Liveness.After, spec.Liveness.KillAfter = 3*time.Second, 12*time.Second // a profile takes more than a second on a busy machine, and tells bad from a
	sup, h := alone(t, spec)
	activates(t, sup, "a")
	for life := uint64(1); life <= 2; life++ {
		activates(t, sup, "bad")
		if _, err := ranIn(t, sup, "bad", "spin"); !errors.Is(err, supervisor.ErrUnresponsive) {
			t.Fatalf("%v", err)
		}
		runs(t, h, life+1)
	}
	eventually(t, func() bool { return extensionOf(t, sup, "bad").Place == "vs~hostsup.bad" }, "it lives alone")
	eventually(t, func() bool { return extensionOf(t, sup, "a").State == "active" }, "a")
	says(t, told(t, sup, record.KindBlame), "isolated hostsup.bad")
}

// What belongs to the startup is activated by itself, and the host started for
// it.
func TestExtensionStartup(t *testing.T) {
	t.Parallel()
	work := t.TempDir()
	if err := errors.Join(os.Mkdir(filepath.Join(work, "deep"), 0o700), os.WriteFile(filepath.Join(work, "deep", "a.wanted"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	spec := extended(t, "eager", func(s *plan.Spec) { s.Workspace = []string{work} })
	root, _ := vscode.Root(spec.Command)
	spec.Protocol = vscode.New(vscode.Options{
		Root: root, State: filepath.Join(t.TempDir(), "state"), Workspace: &vscode.Workspace{Name: "work", Folders: []string{work}},
	})
	sup, h := alone(t, spec)
	runs(t, h, 1)
	for _, name := range []string{"calm", "late", "finds"} {
		eventually(t, func() bool { s := extensionOf(t, sup, name); return s.State == "active" && s.Activation != nil }, name)
	}
	if s := extensionOf(t, sup, "calm"); !s.Activation.Startup || s.Activation.Event != "*" {
		t.Errorf("%+v", s.Activation)
	}
	for _, name := range []string{"misses", "boom"} {
		if s := extensionOf(t, sup, name); s.State != "inactive" {
			t.Errorf("%+v", s)
		}
	}
}

// A host that a person has stopped is not started by an event; when it is
// started again, what was active is so again.
func TestExtensionHostIsStopped(t *testing.T) {
	t.Parallel()
	sup, h := alone(t, extended(t, "many"))
	activates(t, sup, "a", "needs")
	if err := h.Stop(ctx(t)); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool { return extensionOf(t, sup, "a").State == "inactive" }, "a")
	err := sup.Activate(ctx(t), "", "onCommand:b.run")
	if !errors.Is(err, service.ErrNotActive) {
		t.Fatalf("%v", err)
	}
	mentions(t, err.Error(), "hostsup.b", "host is down")
	if s := h.Status(); s.State != lifecycle.Stopped || s.Life != 1 {
		t.Errorf("%+v", s)
	}
	back := func() {
		t.Helper()
		for _, name := range []string{"a", "b", "needs"} {
			eventually(t, func() bool { return extensionOf(t, sup, name).State == "active" }, name)
			if _, err := ranIn(t, sup, name); err != nil {
				t.Error(err)
			}
		}
	}
	if err := h.Start(ctx(t)); err != nil {
		t.Fatal(err)
	}
	back()
	if err := h.Restart(ctx(t)); err != nil {
		t.Fatal(err)
	}
	runs(t, h, 3)
	back()
	if found, _ := sup.Crashes("vs"); len(found) > 0 {
		t.Errorf("%+v", found)
	}
	if got := told(t, sup, record.KindBlame); len(got) > 0 {
		t.Errorf("%q", got)
	}
}

// A host without extensions is told from one that is not there.
func TestNoExtensions(t *testing.T) {
	t.Parallel()
	sup, _ := alone(t, demoHost("plain"))
	if _, err := sup.Extensions("plain"); !errors.Is(err, extensions.ErrNoExtensions) {
		t.Errorf("%v", err)
	}
	if err := sup.Activate(ctx(t), "nobody", "*"); !errors.Is(err, supervisor.ErrNoHost) {
		t.Errorf("%v", err)
	}
	if list, err := sup.Extensions(""); err != nil || len(list) != 0 {
		t.Errorf("%v, %v", list, err)
	}
	if err := sup.Activate(ctx(t), "", "*"); err != nil {
		t.Error(err)
	}
	if err := sup.SetExtension(ctx(t), "", "a.b", extensions.Disable); !errors.Is(err, extensions.ErrUnknown) {
		t.Errorf("%v", err)
	}
	bad := demoHost("plain2")
	bad.Extensions = &plan.Spec{Folders: []manifest.Root{{Dir: "/srv"}}} // which such hosts do not have
	if _, err := sup.Add(ctx(t), "", bad); !errors.Is(err, supervisor.ErrSpec) {
		t.Errorf("%v", err)
	}
}
