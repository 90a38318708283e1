//go:build linux

package integration

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/extensions/plan"
	"github.com/hostsup/hostsup/extensions/vscode"
	"github.com/hostsup/hostsup/workbench/tools"
)

// Language model tools are invoked in the host of their extension, which is activated first, by
// extensions of other hosts and by programs.
func TestLanguageModelTools(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		_, h := alone(t, edited(t, version, "tools", func(s *plan.Spec, _ *vscode.Options) {
			s.Affinity = map[string]int{"acme.adder": 2}
		}))
		want := `[[acme_add Adds numbers. numbers numbers] [acme_missing Is never registered.  ]]`
		if got := resultOf[any](t, h, "asker.list"); fmt.Sprint(got) != want {
			t.Errorf("%v", got)
		}
		if got := resultOf[string](t, h, "asker.add", 1, 2, 3.5); got != "6.5 3" {
			t.Errorf("%q", got)
		}
		for name, want := range map[string]string{"acme_missing": "has not registered it", "acme_none": `there is no tool "acme_none"`} {
			if got := resultOf[string](t, h, "asker.refused", name, map[string]any{}); !strings.Contains(got, want) {
				t.Errorf("%s: %q", name, got)
			}
		}
		resultOf[string](t, h, "asker.cancel") // it ends

		all := serviceOf[*tools.Service](t, h)
		if list := all.Tools(); len(list) != 2 || list[0].ID != "acme_add" || !json.Valid(list[0].InputSchema) || list[0].Source.Label != "Adder" {
			t.Errorf("%+v", list)
		}
		invoke := func(input string) string {
			out, err := all.Invoke(ctx(t), "acme_add", json.RawMessage(input), nil)
			return fmt.Sprint(string(out), err)
		}
		if got := invoke(`{"numbers":[20,22]}`); !strings.Contains(got, `"42 0"`) {
			t.Errorf("%s", got)
		}
		// A host that ends in the middle fails the invocation; the next life has the tool again.
		if got := invoke(`{"numbers":[],"die":true}`); !strings.Contains(got, "crashed") {
			t.Errorf("%s", got)
		}
		eventually(t, func() bool { return strings.Contains(invoke(`{"numbers":[1,1]}`), `"2 0"`) }, "the next life")
	})
}
