//go:build linux

package integration

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec/vscode"
	"github.com/hostsup/hostsup/extensions/manifest"
	"github.com/hostsup/hostsup/extensions/service"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/supervisor"
)

// extended is the real extension host with the extensions of a folder.
func extended(t testing.TB, folder string, with ...func(*service.Spec)) supervisor.HostSpec {
	t.Helper()
	dir, err := filepath.Abs("testdata/vscode/" + folder)
	if err != nil {
		t.Fatal(err)
	}
	spec := &service.Spec{Folders: []manifest.Root{{Dir: dir}}}
	for _, w := range with {
		w(spec)
	}
	return vscodeHost(t, "1.100.3", func(s *supervisor.HostSpec) {
		root, _ := vscode.Root(s.Command)
		s.Protocol = vscode.New(vscode.Options{Root: root, State: filepath.Join(t.TempDir(), "state")})
		s.Extensions = spec
	})
}

// extensionOf is the status of one.
func extensionOf(t testing.TB, sup *supervisor.Supervisor, name string) service.Status {
	t.Helper()
	all, err := sup.Extensions("")
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(all, func(s service.Status) bool { return s.ID == "hostsup."+name })
	if i < 0 {
		t.Fatalf("there is no %s: %+v", name, all)
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
	for e := range sup.Events(ctx(t), false) {
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
	says(t, told(t, sup, actors.KindExtension), "hostsup.needs is active", "onCommand:needs.run")
}

func TestExtensionFailures(t *testing.T) {
	t.Parallel()
	sup, _ := alone(t, extended(t, "broken"))
	problems := told(t, sup, actors.KindExtension)
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
	says(t, told(t, sup, actors.KindExtension), "hostsup.throws has failed", "on purpose")
	if err := sup.SetExtension(ctx(t), "", "hostsup.ghost", service.Disable); !errors.Is(err, service.ErrUnknownExtension) {
		t.Errorf("%v", err)
	}
}

// What was active is active again after the host was killed, which is nobody's
// fault.
func TestExtensionsComeBack(t *testing.T) {
	t.Parallel()
	sup, h := alone(t, extended(t, "many"))
	activates(t, sup, "a", "needs")
	for life := uint64(1); life < 3; life++ {
		signal(t, h, syscall.SIGKILL)
		runs(t, h, life+1)
		for _, name := range []string{"a", "needs"} {
			eventually(t, func() bool { return extensionOf(t, sup, name).State == "active" }, name)
			if _, err := ranIn(t, sup, name); err != nil {
				t.Error(err)
			}
		}
	}
	if s := extensionOf(t, sup, "b"); s.State != "inactive" {
		t.Errorf("%+v", s)
	}
	says(t, told(t, sup, actors.KindBlame), "no extension's fault")
	var found []supervisor.CrashReport
	eventually(t, func() bool {
		found, _ = sup.Crashes("vs")
		return len(found) == 2
	}, "crash reports")
	r := found[0]
	if r.Extensions == nil || fmt.Sprint(r.Extensions.Begun) != "[hostsup.a hostsup.needs]" || len(r.Extensions.Decisions) != 1 {
		t.Errorf("%+v", r.Extensions)
	}
}

// Six extensions, one of which aborts in its command: after two crashes it lives
// alone, and the others never restart again.
func TestExtensionIsPutApart(t *testing.T) {
	t.Parallel()
	sup, h := alone(t, extended(t, "many"))
	others := []string{"a", "b", "c", "d", "needs"}
	activates(t, sup, others...)
	for life := uint64(1); life <= 2; life++ {
		activates(t, sup, "bad")
		if _, err := ranIn(t, sup, "bad", "abort"); !errors.Is(err, supervisor.ErrCrashed) {
			t.Fatalf("%v", err)
		}
		runs(t, h, life+1)
	}
	eventually(t, func() bool { return extensionOf(t, sup, "bad").Place == "vs~hostsup.bad" }, "it lives alone")
	if s := extensionOf(t, sup, "bad"); !s.Blame.Quarantined || s.Blame.SuspectIn != 2 || !strings.HasPrefix(s.Blame.Decision, "isolated") {
		t.Errorf("%+v", s)
	}
	if n := h.Status().CrashesInWindow; n != 0 {
		t.Errorf("%d crashes are still on the account of the others", n)
	}
	for range 2 { // within the budget of its own
		activates(t, sup, "bad")
		cell, err := ranIn(t, sup, "bad", "abort")
		if !errors.Is(err, supervisor.ErrCrashed) || cell.Name() != "vs~hostsup.bad" {
			t.Errorf("%s: %v", cell.Name(), err)
		}
		runs(t, cell, cell.Life()+1)
	}
	for _, name := range others {
		eventually(t, func() bool { return extensionOf(t, sup, name).State == "active" }, name)
		if _, err := ranIn(t, sup, name); err != nil {
			t.Error(err)
		}
		if s := extensionOf(t, sup, name); s.Place != "vs" {
			t.Errorf("%+v", s)
		}
	}
	if s := h.Status(); s.Life != 3 || s.State != lifecycle.Running {
		t.Errorf("the others have been restarted: %+v", s)
	}
	decisions := told(t, sup, actors.KindBlame)
	says(t, decisions, "noted hostsup.bad", "killed by SIGABRT")
	says(t, decisions, "isolated hostsup.bad", "it alone is a suspect in 2 of 2 crashes")
	says(t, decisions, "confirmed hostsup.bad")
	says(t, told(t, sup, actors.KindExtension), "hostsup.bad moves from host vs to host vs~hostsup.bad")
}
