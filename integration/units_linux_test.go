//go:build linux

package integration

import (
	"context"
	"errors"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/extensions"
	"github.com/hostsup/hostsup/extensions/activation"
	"github.com/hostsup/hostsup/extensions/plan"
	"github.com/hostsup/hostsup/extensions/service"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/record"
	"github.com/hostsup/hostsup/sdk"
	"github.com/hostsup/hostsup/supervisor"
)

// demoUnits are the extensions of the demo host, as its user would declare them.
func demoUnits() []codec.Announced {
	return []codec.Announced{
		{ID: "demo.words", Events: []string{"onLanguage:plaintext"}, Methods: []string{"words.count"}},
		{ID: "demo.greeter", Events: []string{"onLanguage:plaintext"}, DependsOn: []string{"demo.words"}, Methods: []string{"greeter.greet"}},
		{ID: "demo.clock", Methods: []string{"clock.ticks"}},
		{ID: "demo.moody", Methods: []string{"moody.run"}},
	}
}

// units is the demo host with its extensions told apart.
func units(spec plan.Spec, moods ...string) supervisor.HostSpec {
	return demoHost("app", func(h *supervisor.HostSpec) {
		h.Extensions = &spec
		h.Start.Timeout = patience
		if len(moods) > 0 {
			moody := map[string]any{}
			for _, m := range moods {
				key, value, _ := strings.Cut(m, "=")
				moody[key] = value
			}
			h.Init = map[string]any{"demo.moody": moody}
		}
	})
}

// unit is the status of one.
func unit(t testing.TB, sup *supervisor.Supervisor, name string) extensions.Status {
	t.Helper()
	return extensionStatus(t, sup, "demo."+name)
}

// becomes waits for the state of some.
func becomes(t testing.TB, sup *supervisor.Supervisor, state string, list ...string) {
	t.Helper()
	for _, name := range list {
		eventually(t, func() bool { return unit(t, sup, name).State == state }, name, state)
	}
}

// in calls a method of an extension where it lives.
func in(t testing.TB, sup *supervisor.Supervisor, name, method string, params, out any) (*supervisor.Host, error) {
	t.Helper()
	h := host(t, sup, unit(t, sup, name).Place)
	return h, h.Call(ctx(t), method, params, out)
}

func mood(name string) map[string]any { return map[string]any{"mood": name} }

func set(t testing.TB, sup *supervisor.Supervisor, name string, verb extensions.Verb) {
	t.Helper()
	if err := sup.SetExtension(ctx(t), "app", "demo."+name, verb); err != nil {
		t.Fatal(err)
	}
}

// The host is started by the first event that concerns one of its extensions,
// and what that needs is active before it.
func TestUnits(t *testing.T) {
	t.Parallel()
	sup, h := alone(t, units(plan.Spec{Declared: demoUnits()}))
	if err := sup.Activate(ctx(t), "", "onLanguage:nothing"); err != nil {
		t.Error(err)
	}
	if s := h.Status(); s.State != lifecycle.Stopped || s.Life != 0 {
		t.Errorf("it runs although nobody has asked: %+v", s)
	}
	if err := sup.Activate(ctx(t), "", "onCommand:greeter.greet"); err != nil {
		t.Fatal(err)
	}
	greeter, words := unit(t, sup, "greeter"), unit(t, sup, "words")
	if greeter.State != "active" || words.State != "active" || greeter.Activation.Event != "onCommand:greeter.greet" || greeter.Version != "1.1.0" || greeter.Place != "app" {
		t.Errorf("%+v\n%+v", greeter, words)
	}
	if s := unit(t, sup, "clock"); s.State != "inactive" {
		t.Errorf("%+v", s)
	}
	var order []string
	for _, e := range sup.History() {
		if e.Kind == record.KindExtension && strings.Contains(e.Reason, "is active") {
			order = append(order, e.Extension)
		}
	}
	if !slices.Equal(order, []string{"demo.words", "demo.greeter"}) {
		t.Errorf("active in the order %v", order)
	}
	// A call activates by itself, as does one of the host's own methods nothing.
	var text string
	if _, err := in(t, sup, "greeter", "greeter.greet", "you", &text); err != nil || text != "hello you" {
		t.Errorf("%q, %v", text, err)
	}
	echoes(t, h)
	if _, err := in(t, sup, "moody", "moody.run", nil, &text); err != nil || text != "fine" {
		t.Errorf("%q, %v", text, err)
	}
	if s := unit(t, sup, "moody"); s.State != "active" || s.Activation.Event != "onCommand:moody.run" {
		t.Errorf("%+v", s)
	}
	if err := sup.SetExtension(ctx(t), "", "demo.ghost", extensions.Disable); !errors.Is(err, extensions.ErrUnknown) {
		t.Errorf("%v", err)
	}
}

// Without declarations it is what the host says of itself.
func TestUnitsAreAnnounced(t *testing.T) {
	t.Parallel()
	sup, h := alone(t, units(plan.Spec{Eager: true, Events: []string{"onCommand:clock.ticks"}}))
	runs(t, h, 1)
	becomes(t, sup, "active", "clock")
	if all, err := sup.Extensions("app"); err != nil || len(all) != 4 {
		t.Errorf("%v, %+v", err, all)
	}
	if s := unit(t, sup, "greeter"); s.State != "inactive" || s.Version != "1.1.0" {
		t.Errorf("%+v", s)
	}
	eventually(t, func() bool {
		var n int
		_, err := in(t, sup, "clock", "clock.ticks", nil, &n)
		return err == nil && n > 0
	}, "it ticks")
}

// What is declared and what is announced have to be the same.
func TestUnitsThatAreDeclaredWrongly(t *testing.T) {
	t.Parallel()
	list := demoUnits()
	list[0].Version, list[0].Events = "9", []string{"onLanguage:klingon"}
	list[1].ID = "demo.greeting"
	list = slices.Delete(list, 2, 3) // clock
	sup, h := alone(t, units(plan.Spec{Declared: list, Eager: true}))
	runs(t, h, 1)
	problems := func() []string { return told(t, sup, record.KindExtension) }
	eventually(t, func() bool { return len(problems()) >= 5 }, "they are told")
	says(t, problems(), `demo.words: version: "9" is declared, and host app announces "1.0.0"`)
	says(t, problems(), `demo.words: events: "onLanguage:klingon" are declared, and host app announces "onLanguage:plaintext"`)
	says(t, problems(), "demo.greeting: it is declared, and host app does not announce it: announced are demo.words, demo.greeter, demo.clock, demo.moody")
	says(t, problems(), "demo.greeter: host app announces it, and it is not declared: declared are demo.words, demo.greeting, demo.moody")
	err := sup.Activate(ctx(t), "", "onCommand:greeter.greet")
	if !errors.Is(err, service.ErrNotActive) {
		t.Fatalf("%v", err)
	}
	mentions(t, err.Error(), "demo.greeting", "there is no such extension in this host")
	err = h.Call(ctx(t), "greeter.greet", "you", nil)
	if !errors.Is(err, service.ErrNotActive) {
		t.Fatalf("%v", err)
	}
	// Of one that nobody has declared the host has to ask.
	err = h.Call(ctx(t), "clock.ticks", nil, nil)
	var failure *codec.Error
	if !errors.As(err, &failure) || failure.Name != codec.NameNotActive {
		t.Fatalf("%v", err)
	}
	mentions(t, err.Error(), "demo.clock: it is not among the extensions of host app")
	if err := sup.Activate(ctx(t), "", "onLanguage:klingon"); err != nil {
		t.Errorf("what is declared counts: %v", err)
	}
}

func TestUnitFails(t *testing.T) {
	t.Parallel()
	for mood, want := range map[string]string{"fail": "DemoMood: it fails on request", "panic": "Panic: it panics on request"} {
		t.Run(mood, func(t *testing.T) {
			t.Parallel()
			declared := demoUnits()
			declared[2].DependsOn = []string{"demo.nobody"}
			sup, h := alone(t, units(plan.Spec{Declared: declared}, "activate="+mood))
			err := sup.Activate(ctx(t), "app", "onCommand:moody.run")
			var list *service.ActivationError
			if !errors.As(err, &list) || len(list.Errs) != 1 {
				t.Fatalf("%v", err)
			}
			mentions(t, err.Error(), "demo.moody", want)
			if s := unit(t, sup, "moody"); s.State != "failed" || !strings.Contains(s.Why, want) {
				t.Errorf("%+v", s)
			}
			says(t, told(t, sup, record.KindExtension), "demo.moody has failed", want)
			if _, err = in(t, sup, "moody", "moody.run", nil, nil); !errors.Is(err, service.ErrNotActive) || !strings.Contains(err.Error(), want) {
				t.Errorf("%v", err)
			}
			err = sup.Activate(ctx(t), "app", "onCommand:clock.ticks")
			if !errors.Is(err, service.ErrNotActive) {
				t.Fatalf("%v", err)
			}
			mentions(t, err.Error(), "demo.clock", "unknown dependency demo.nobody")
			runs(t, h, 1)
		})
	}
}

// Active extensions end, move and come back while their host runs on.
func TestUnitVerbs(t *testing.T) {
	t.Parallel()
	sup, h := alone(t, units(plan.Spec{Declared: demoUnits(), Disabled: []string{"demo.clock"}}))
	if s := unit(t, sup, "clock"); s.State != "disabled" || s.Place != "" {
		t.Errorf("%+v", s)
	}
	if err := errors.Join(sup.Activate(ctx(t), "", "onCommand:clock.ticks"), sup.Activate(ctx(t), "", "onLanguage:plaintext"), sup.Activate(ctx(t), "", "onCommand:moody.run")); err != nil {
		t.Fatal(err)
	}
	set(t, sup, "clock", extensions.Enable) // somebody has asked for it before
	becomes(t, sup, "active", "clock")

	set(t, sup, "moody", extensions.Disable)
	if s := unit(t, sup, "moody"); s.State != "disabled" {
		t.Errorf("%+v", s)
	}
	err := h.Call(ctx(t), "moody.run", nil, nil)
	if !errors.Is(err, service.ErrNotActive) {
		t.Fatalf("%v", err)
	}
	mentions(t, err.Error(), "demo.moody", "disabled by a person")
	set(t, sup, "moody", extensions.Enable)
	becomes(t, sup, "active", "moody")
	if _, err := in(t, sup, "moody", "moody.run", nil, nil); err != nil {
		t.Error(err)
	}

	set(t, sup, "words", extensions.Isolate) // and who needs it
	for _, name := range []string{"words", "greeter"} {
		eventually(t, func() bool { s := unit(t, sup, name); return s.Place == "app~demo.words" && s.State == "active" }, name)
	}
	var text string
	if cell, err := in(t, sup, "greeter", "greeter.greet", "you", &text); err != nil || cell.Name() != "app~demo.words" {
		t.Errorf("%s: %v", cell.Name(), err)
	}
	set(t, sup, "words", extensions.Release)
	for _, name := range []string{"words", "greeter"} {
		eventually(t, func() bool { s := unit(t, sup, name); return s.Place == "app" && s.State == "active" }, name)
	}
	if _, err := sup.Host("app~demo.words"); !errors.Is(err, supervisor.ErrNoHost) {
		t.Errorf("the cell is still there: %v", err)
	}

	// Who needs what is disabled ends, too, and says why when it is asked for.
	set(t, sup, "words", extensions.Disable)
	becomes(t, sup, "failed", "greeter")
	err = sup.Activate(ctx(t), "", "onCommand:greeter.greet")
	if !errors.Is(err, service.ErrNotActive) {
		t.Fatalf("%v", err)
	}
	mentions(t, err.Error(), "demo.greeter", "unknown dependency demo.words")
	set(t, sup, "words", extensions.Enable)
	becomes(t, sup, "active", "words", "greeter", "clock", "moody")
	runs(t, h, 1)
	done := told(t, sup, record.KindExtension)
	says(t, done, "demo.greeter is deactivated")
	says(t, done, "demo.words is deactivated")
	if slices.ContainsFunc(done, func(s string) bool { return strings.Contains(s, "restarted") }) {
		t.Errorf("%q", done)
	}
}

// One that does not end, or not well, costs its host a life.
func TestUnitDoesNotEnd(t *testing.T) {
	t.Parallel()
	for mood, want := range map[string]string{"hang": "its Deactivate does not return", "fail": "DemoMood: it fails on request", "abort": ""} {
		t.Run(mood, func(t *testing.T) {
			t.Parallel()
			sup, h := alone(t, units(plan.Spec{Declared: demoUnits(), Deactivate: 500 * time.Millisecond}, "deactivate="+mood))
			if err := errors.Join(sup.Activate(ctx(t), "", "onLanguage:plaintext"), sup.Activate(ctx(t), "", "onCommand:moody.run")); err != nil {
				t.Fatal(err)
			}
			set(t, sup, "moody", extensions.Disable)
			runs(t, h, 2)
			becomes(t, sup, "active", "words", "greeter")
			if s := unit(t, sup, "moody"); s.State != "disabled" {
				t.Errorf("%+v", s)
			}
			if want == "" {
				says(t, told(t, sup, record.KindBlame), "noted demo.moody: killed by SIGABRT")
			} else {
				says(t, told(t, sup, record.KindExtension), "the host is restarted: demo.moody is to end, and does not", want)
			}
		})
	}
}

// A handler that waits for something is ended with its extension.
func TestUnitEndsWithItsCalls(t *testing.T) {
	t.Parallel()
	sup, h := alone(t, units(plan.Spec{Declared: demoUnits(), Deactivate: 10 * time.Second}))
	if err := sup.Activate(ctx(t), "", "onCommand:moody.run"); err != nil {
		t.Fatal(err)
	}
	call, err := h.Go(ctx(t), "moody.run", mood("wait"))
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool { return h.Status().Pending == 1 }, "it is on its way") // it is looked where to first
	echoes(t, h)                                                                      // so that it has been taken
	set(t, sup, "moody", extensions.Disable)
	var failure *codec.Error
	if err := call.Result(nil); !errors.As(err, &failure) || failure.Name != codec.NameNotActive {
		t.Errorf("%v", err)
	}
	runs(t, h, 1)
}

// Numbers make processes of the same program, each told who lives there.
func TestUnitAffinity(t *testing.T) {
	t.Parallel()
	sup, h := alone(t, units(plan.Spec{Declared: demoUnits(), Affinity: map[string]int{"demo.moody": 2}}))
	if err := errors.Join(sup.Activate(ctx(t), "", "onLanguage:plaintext"), sup.Activate(ctx(t), "", "onCommand:moody.run")); err != nil {
		t.Fatal(err)
	}
	second := host(t, sup, "app-2")
	if s := unit(t, sup, "moody"); s.Place != "app-2" || s.State != "active" {
		t.Errorf("%+v", s)
	}
	if err := second.Call(ctx(t), "moody.run", mood("abort"), nil); !errors.Is(err, supervisor.ErrCrashed) {
		t.Errorf("%v", err)
	}
	runs(t, second, 2)
	becomes(t, sup, "active", "moody", "words", "greeter")
	runs(t, h, 1)
	if err := sup.Remove(ctx(t), "app"); err != nil {
		t.Error(err)
	}
	if left := sup.Hosts(); len(left) != 0 {
		t.Errorf("%d hosts are left of one that was removed", len(left))
	}
}

// What an extension does by itself and does not catch is told of it.
func TestUnitUncaught(t *testing.T) {
	t.Parallel()
	sup, h := alone(t, units(plan.Spec{Declared: demoUnits()}))
	if err := sup.Activate(ctx(t), "", "onCommand:moody.run"); err != nil {
		t.Fatal(err)
	}
	if _, err := in(t, sup, "moody", "moody.run", mood("beside"), nil); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool {
		return slices.ContainsFunc(told(t, sup, record.KindExtension), func(s string) bool {
			return strings.Contains(s, "demo.moody has an error that nobody catches: Panic: nobody has asked for this")
		})
	}, "it is told")
	runs(t, h, 1)
}

// Extensions need no other capability.
func TestUnitsWithoutOtherCapabilities(t *testing.T) {
	t.Parallel()
	spec := units(plan.Spec{Declared: demoUnits()})
	spec.Env["HOSTSUP_DEMO_START"] = "nocaps"
	sup, _ := alone(t, spec)
	if err := sup.Activate(ctx(t), "", "onCommand:moody.run"); err != nil {
		t.Error(err)
	}
}

func init() {
	roles["without extensions"] = func() int {
		if err := sdk.New(sdk.Info{Name: "plain"}).Serve(context.Background()); err != nil {
			return 1
		}
		return 0
	}
}

// A host that knows nothing of extensions goes on, and says so when one is asked
// for.
func TestUnitsOfAHostWithout(t *testing.T) {
	t.Parallel()
	spec := units(plan.Spec{Declared: demoUnits()})
	spec.Env = hostEnv("without extensions")
	sup, h := alone(t, spec)
	err := sup.Activate(ctx(t), "", "onCommand:moody.run")
	if !errors.Is(err, service.ErrNotActive) {
		t.Fatalf("%v", err)
	}
	mentions(t, err.Error(), "demo.moody", "the host does not speak of extensions")
	says(t, told(t, sup, record.KindExtension), "host app has extensions by its configuration, and does not speak of any")
	runs(t, h, 1)
}

// What is requested while the host starts for the first time is answered when it
// has told which extensions live in it.
func TestUnitsAreAwaited(t *testing.T) {
	t.Parallel()
	sup := begin(t, supervisor.Spec{Groups: []supervisor.GroupSpec{supervisor.Alone(units(plan.Spec{Eager: true}))}})
	if err := sup.Activate(ctx(t), "", "onLanguage:plaintext"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"words", "greeter"} {
		if s := unit(t, sup, name); s.State != "active" {
			t.Errorf("%+v", s)
		}
	}
}

// A host that does not start is the reason why nothing is activated.
func TestUnitsOfNoHost(t *testing.T) {
	t.Parallel()
	h := units(plan.Spec{Eager: true})
	h.Command, h.Restart.MaxCrashes = []string{"/bin/sleep", "1000"}, 1 // which never shakes hands
	sup := begin(t, supervisor.Spec{Groups: []supervisor.GroupSpec{supervisor.Alone(h)}})
	app := host(t, sup, "app")
	eventually(t, func() bool { return app.Status().PID != nil })
	killed, pid := make(chan error, 1), *app.Status().PID
	go func() { killed <- syscall.Kill(pid, syscall.SIGKILL) }()
	err := sup.Activate(ctx(t), "app", "*")
	if err := <-killed; err != nil {
		t.Fatal(err)
	}
	if !errors.Is(err, service.ErrNotActive) || !errors.Is(err, activation.ErrHostDown) || !strings.Contains(err.Error(), "SIGKILL") {
		t.Errorf("%v", err)
	}
}
