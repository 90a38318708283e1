package commands

import (
	"errors"
	"slices"
	"testing"

	"github.com/hostsup/hostsup/codec"
	wire "github.com/hostsup/hostsup/codec/vscode"
	"github.com/hostsup/hostsup/internal/leaktest"
	"github.com/hostsup/hostsup/workbench"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func TestExecute(t *testing.T) {
	s := New(map[string]workbench.Method{"twice": {Now: func(c *workbench.Call) (any, error) {
		var n int
		err := c.Args(&n)
		return 2 * n, err
	}}})
	s.Find(func(name string) (m workbench.Method, ok bool) {
		m.Now = func(*workbench.Call) (any, error) { return "shown", nil }
		return m, name == "view.focus"
	})
	execute := func(params string) (any, error) {
		return s.Methods()[methodExecute].Do(t.Context(), workbench.NewCall(nil, 1, methodExecute, codec.Raw(params)))
	}
	if out, err := execute(`["twice",[4],true]`); out != 8 || err != nil {
		t.Errorf("%v, %v", out, err)
	}
	if out, err := execute(`["twice",{"$object":[5]},true]`); out != 10 || err != nil {
		t.Errorf("%v, %v", out, err)
	}
	if out, err := execute(`["setContext",["a",true]]`); out != nil || err != nil {
		t.Errorf("%v, %v", out, err)
	}
	if out, err := execute(`["view.focus"]`); out != "shown" || err != nil || !s.Has("view.focus") || s.Has("other.focus") {
		t.Errorf("%v, %v", out, err)
	}
	if names, err := s.Methods()[methodList].Now(nil); err != nil || !slices.Equal(names.([]string), []string{"_setContext", "setContext", "twice"}) {
		t.Errorf("%v, %v", names, err)
	}
	for name, want := range map[string]string{
		"workbench.action.openSettings": wire.NameNotSupported, "vscode.diff": wire.NameNotSupported,
		"editor.action.formatDocument": wire.NameNotSupported, "_workbench.diff": wire.NameNotSupported,
		"mine.go": codec.NameMethodNotFound, "workbench": codec.NameMethodNotFound,
	} {
		_, err := execute(`["` + name + `",[]]`)
		var e *codec.Error
		if !errors.As(err, &e) || e.Name != want {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
}
