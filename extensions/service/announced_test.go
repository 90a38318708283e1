package service

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/mpack"
	"github.com/hostsup/hostsup/codec/native"
	"github.com/hostsup/hostsup/extensions"
	"github.com/hostsup/hostsup/extensions/plan"
)

// A declaration applies, the host announces the omitted fields, and differences are
// reported with both values.
func TestDeclaredAndAnnounced(t *testing.T) {
	t.Parallel()
	announced := []codec.Announced{
		{ID: "acme.base", Version: "1", Events: []string{"*"}, Methods: []string{"base.run"}},
		{ID: "Acme.Fmt", Version: "2", Events: []string{"b", "a"}, DependsOn: []string{"ACME.base"}, Methods: []string{}},
		{ID: "acme.new"},
	}
	for name, tc := range map[string]struct {
		declared, want []codec.Announced
		wrong          []mistake
	}{
		"all is left out": {
			[]codec.Announced{{ID: "acme.base"}, {ID: "acme.fmt"}, {ID: "acme.new"}},
			[]codec.Announced{announced[0], {ID: "acme.fmt", Version: "2", Events: []string{"b", "a"}, DependsOn: []string{"ACME.base"}, Methods: []string{}}, announced[2]},
			nil,
		},
		"the same, in another order and case": {
			[]codec.Announced{{ID: "acme.base", Version: "1"}, {ID: "acme.fmt", Events: []string{"a", "b", "a"}, DependsOn: []string{"acme.base"}}, {ID: "acme.new"}},
			[]codec.Announced{announced[0], {ID: "acme.fmt", Version: "2", Events: []string{"a", "b", "a"}, DependsOn: []string{"acme.base"}, Methods: []string{}}, announced[2]},
			nil,
		},
		"everything is different": {
			[]codec.Announced{{ID: "acme.base", Version: "9", Events: []string{}, Methods: []string{"x", "y"}, DependsOn: []string{"acme.old"}}, {ID: "acme.old"}},
			[]codec.Announced{{ID: "acme.base", Version: "9", Events: []string{}, Methods: []string{"x", "y"}, DependsOn: []string{"acme.old"}}, {ID: "acme.old"}},
			[]mistake{
				{"acme.fmt", "acme.fmt: host h announces it, and it is not declared: declared are acme.base, acme.old"},
				{"acme.new", "acme.new: host h announces it, and it is not declared: declared are acme.base, acme.old"},
				{"acme.base", `acme.base: version: "9" is declared, and host h announces "1"`},
				{"acme.base", `acme.base: events: none are declared, and host h announces "*"`},
				{"acme.base", `acme.base: methods: "x", "y" are declared, and host h announces "base.run"`},
				{"acme.base", `acme.base: depends_on: "acme.old" are declared, and host h announces none`},
				{"acme.old", "acme.old: it is declared, and host h does not announce it: announced are acme.base, Acme.Fmt, acme.new"},
			},
		},
	} {
		got, wrong := compared(tc.declared, announced, "h")
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
		if diff := cmp.Diff(tc.wrong, wrong, cmp.AllowUnexported(mistake{})); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
	if _, wrong := compared([]codec.Announced{{ID: "a.b"}}, nil, "h"); len(wrong) != 1 || wrong[0].text != "a.b: it is declared, and host h does not announce it: announced are none" {
		t.Errorf("%+v", wrong)
	}
	got, wrong := valid([]codec.Announced{{ID: "fmt"}, {ID: "a.b", Version: "1"}, {ID: "A.B"}, {}}, "h")
	if diff := cmp.Diff([]codec.Announced{{ID: "a.b", Version: "1"}}, got); diff != "" || len(wrong) != 3 || wrong[1] != (mistake{"a.b", "host h announces A.B twice"}) {
		t.Errorf("%s\n%+v", diff, wrong)
	}
}

// Each method is a command, and each extension can be activated.
func TestUnitsAreExtensions(t *testing.T) {
	t.Parallel()
	got := programs{plan.Spec{Declared: []codec.Announced{
		{ID: "Acme.Fmt", Version: "1", Events: []string{"*", "onCommand:run", "*"}, DependsOn: []string{"Acme.Base"}, Methods: []string{"run", "stop", "run"}},
	}}}.find(t.Context(), nil)
	want := []extensions.Extension{{
		ID: "acme.fmt", Value: "Acme.Fmt", Version: "1", Origin: extensions.Builtin, Main: "Acme.Fmt",
		Dependencies: []extensions.ID{"acme.base"}, Events: []string{"*", "onCommand:run", "onCommand:stop"},
	}}
	if diff := cmp.Diff(want, got.list); diff != "" || len(got.problems) > 0 {
		t.Errorf("%s\n%v", diff, got.problems)
	}
	if !got.list[0].HasCode() {
		t.Error("there is nothing to activate")
	}
}

func TestMillis(t *testing.T) {
	t.Parallel()
	for in, want := range map[float64]time.Duration{1.5: 1500 * time.Microsecond, 0: 0, -1: 0, 1e300: 0, math.Inf(1): 0, math.NaN(): 0} {
		if got := millis(in); got != want {
			t.Errorf("%v: %s", in, got)
		}
	}
}

// Any report of a host on its extensions is parsed without a panic.
func FuzzAnnounced(f *testing.F) {
	f.Add("acme.base", "1", "*", "acme.fmt", "run")
	f.Add("", "", "", "", "")
	f.Add(" A.b", "1", "onCommand:x", "a.B", "x")
	f.Fuzz(func(t *testing.T, id, version, event, needs, method string) {
		a := codec.Announced{ID: id, Version: version, Events: []string{event}, DependsOn: []string{needs}, Methods: []string{method, method}}
		fit, wrong := valid([]codec.Announced{a, a}, "h")
		if len(fit)+len(wrong) != 2 || len(fit) > 1 {
			t.Fatalf("%+v, %+v", fit, wrong)
		}
		for _, a := range fit {
			if x := unit(a); !x.ID.Valid() || !x.HasCode() || len(x.Events) > 2 {
				t.Fatalf("%+v", x)
			}
			if _, wrong := compared([]codec.Announced{a}, fit, "h"); len(wrong) > 0 {
				t.Fatalf("it differs from itself: %+v", wrong)
			}
		}
		raw, err := mpack.Encoding{}.Marshal(native.Need{ID: id, Event: event})
		if err != nil {
			t.Fatal(err)
		}
		var back native.Need
		if err := (mpack.Encoding{}).Unmarshal(raw, &back); err != nil || back.ID != id || back.Event != event {
			t.Fatalf("%+v, %v", back, err)
		}
	})
}
