package supervisor

import (
	"context"
	"reflect"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/msgpackrpc"
	"github.com/hostsup/hostsup/codec/native"
	"github.com/hostsup/hostsup/extensions/plan"
	"github.com/hostsup/hostsup/extensions/vscode"
	"github.com/hostsup/hostsup/intercept/answer"
	"github.com/hostsup/hostsup/intercept/throttle"
	"github.com/hostsup/hostsup/lifecycle/hostspec"
	"github.com/hostsup/hostsup/sandbox/policy"
)

func TestEqualSpecs(t *testing.T) {
	full := func() HostSpec {
		return HostSpec{
			Name: "a", Command: []string{"x", "y"}, Protocol: native.New(), Env: map[string]string{"K": "v"},
			Init: map[string]any{"deep": []any{1, "two"}}, Sandbox: &policy.Policy{Read: []string{"/usr"}},
			Prepare: func(context.Context, uint64) (Prepared, error) { return Prepared{}, nil },
			Healthy: func(context.Context, *Host) error { return nil },
			Answers: AnswerRule{Handlers: map[string]actors.Handler{"m": func(context.Context, *actors.Incoming) (any, error) { return 1, nil }}},
		}
	}
	if !full().Equal(full()) {
		t.Error("specs that were made alike differ")
	}
	if explicit := (HostSpec{Name: "a", Requests: hostspec.RequestRule{Timeout: 30 * time.Second}}); !explicit.Equal(HostSpec{Name: "a"}) {
		t.Error("a default that is written differs from one that is not")
	}
	a, b := HostSpec{Name: "a", Sandbox: &policy.Policy{Source: map[string]string{"read": "f:1"}}}, HostSpec{Name: "a", Sandbox: &policy.Policy{}}
	a.Resources.Enforce = policy.Strict
	if !a.Equal(b) {
		t.Error("where a policy stands, or a default of the limits that is written, makes a difference")
	}
	for name, change := range map[string]func(*HostSpec){
		"init":     func(s *HostSpec) { s.Init = map[string]any{"deep": []any{1, "three"}} },
		"env":      func(s *HostSpec) { s.Env = map[string]string{"K": "w"} },
		"sandbox":  func(s *HostSpec) { s.Sandbox = &policy.Policy{Read: []string{"/usr", "/etc"}} },
		"protocol": func(s *HostSpec) { s.Protocol = msgpackrpc.New(msgpackrpc.Options{}) },
		"prepare":  func(s *HostSpec) { s.Prepare = nil },
		"healthy":  func(s *HostSpec) { s.Healthy = nil },
		"handler":  func(s *HostSpec) { s.Answers.Handlers = nil },
		"pattern": func(s *HostSpec) {
			s.Answers.Handlers = map[string]actors.Handler{"n": s.Answers.Handlers["m"]}
		},
	} {
		s := full()
		change(&s)
		if s.Equal(full()) || full().Equal(s) {
			t.Errorf("another %s makes no difference", name)
		}
	}
}

// TestEqualLooksAtEveryField changes each field of a spec that can be changed without
// knowing what it means, also within rules.
func TestEqualLooksAtEveryField(t *testing.T) {
	var fields [][]int
	var walk func(t reflect.Type, at []int)
	walk = func(t reflect.Type, at []int) {
		for i := range t.NumField() {
			f := t.Field(i)
			path := append(append([]int(nil), at...), i)
			switch f.Type.Kind() {
			case reflect.Struct:
				walk(f.Type, path)
			case reflect.Bool, reflect.String, reflect.Slice, reflect.Pointer,
				reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint32, reflect.Uint64, reflect.Float64:
				fields = append(fields, path)
			}
		}
	}
	walk(reflect.TypeFor[HostSpec](), nil)
	if len(fields) < 40 {
		t.Fatalf("%d fields found", len(fields))
	}
	for _, path := range fields {
		var s HostSpec
		switch v := reflect.ValueOf(&s).Elem().FieldByIndex(path); v.Kind() {
		case reflect.Bool:
			v.SetBool(true)
		case reflect.String:
			v.SetString("x")
		case reflect.Slice:
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		case reflect.Pointer:
			v.Set(reflect.New(v.Type().Elem()))
		case reflect.Uint32, reflect.Uint64:
			v.SetUint(77)
		case reflect.Float64:
			v.SetFloat(7.5)
		default:
			v.SetInt(77)
		}
		if s.Equal(HostSpec{}) {
			t.Errorf("field %s makes no difference", reflect.TypeFor[HostSpec]().FieldByIndex(path).Name)
		}
	}
}

func TestEqualProtocols(t *testing.T) {
	options := func(root string) codec.Protocol { return vscode.New(vscode.Options{Root: root}) }
	for _, c := range []struct {
		a, b codec.Protocol
		want bool
	}{
		{nil, nil, true}, {nil, native.New(), false}, {native.New(), native.New(), true},
		{options("/a"), options("/a"), true}, {options("/a"), options("/b"), false}, {options("/a"), native.New(), false},
		{msgpackrpc.New(msgpackrpc.Options{}), msgpackrpc.New(msgpackrpc.Options{Ping: "p"}), false},
	} {
		if got := (HostSpec{Name: "a", Protocol: c.a}).Equal(HostSpec{Name: "a", Protocol: c.b}); got != c.want {
			t.Errorf("%v and %v: %v", c.a, c.b, got)
		}
	}
}

// A host keeps each field of its spec.
func TestSpecIsKeptWhole(t *testing.T) {
	full := HostSpec{
		Name: "a", Command: []string{"x"}, Protocol: native.New(), Attach: true,
		Throttle:   []throttle.Rule{{Method: "m", Every: time.Second}},
		Answers:    AnswerRule{Forwards: []answer.Forward{{Method: "m", To: "b"}}},
		Guard:      GuardRule{Roots: []string{"/r"}},
		Secrets:    SecretRule{Owned: []string{"s"}},
		Extensions: &plan.Spec{Eager: true},
		Prepare:    func(context.Context, uint64) (Prepared, error) { return Prepared{}, nil },
		Healthy:    func(context.Context, *Host) error { return nil },
	}.WithDefaults()
	host := actors.Detached(&actors.World{Log: hclog.NewNullLogger()}, actors.HostSpec{Spec: full.core(), Origin: full.rest()})
	if got := specOf(host); !got.Equal(full) {
		t.Errorf("%+v", got)
	}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[HostSpec]()) {
		_, core := reflect.TypeFor[hostspec.Spec]().FieldByName(f.Name)
		_, beside := reflect.TypeFor[rest]().FieldByName(f.Name)
		if core == beside {
			t.Errorf("%s is kept twice, or not at all", f.Name)
		}
	}
}
