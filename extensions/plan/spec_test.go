package plan

import (
	"strings"
	"testing"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/extensions"
	"github.com/hostsup/hostsup/extensions/blame"
	"github.com/hostsup/hostsup/extensions/manifest"
)

func TestValidate(t *testing.T) {
	t.Parallel()
	good := Spec{
		Folders: []manifest.Root{{Dir: "a"}, {Dir: "b", Origin: extensions.Builtin}}, Disabled: []string{"Some.Body"},
		Affinity: map[string]int{"a.b": 1}, Events: []string{"onLanguage:go"}, Workspace: []string{"/w"},
	}
	var none *Spec
	for _, s := range []*Spec{none, {}, &good} {
		if err := s.Validate(VSCode); err != nil {
			t.Errorf("%+v: %v", s, err)
		}
	}
	for want, s := range map[string]Spec{
		"a folder has no path":                    {Folders: []manifest.Root{{}}},
		`origin "elsewhere" is unknown`:           {Folders: []manifest.Root{{Dir: "a", Origin: "elsewhere"}}},
		`disabled: "body" is not an extension id`: {Disabled: []string{"body"}},
		`affinity: ".x" is not an extension id`:   {Affinity: map[string]int{".x": 1}},
		`affinity of "a.b": 0`:                    {Affinity: map[string]int{"a.b": 0}},
		"an event is empty":                       {Events: []string{"*", ""}},
		`workspace: "w" is not an absolute path`:  {Workspace: []string{"w"}},
		"window: it is negative":                  {Blame: blame.Rules{Window: -1}},
		"max_lives: it is negative":               {Blame: blame.Rules{MaxLives: -1}},
		"startup: it is negative":                 {Startup: -1},
		"deactivate: it is negative":              {Deactivate: -1},
		"found in folders, not declared":          {Declared: []codec.Announced{{ID: "a.b"}}},
		`declared: "b" is not an extension id`:    {Declared: []codec.Announced{{ID: "b"}}},
		`declared a.b: depends_on: "c" is`:        {Declared: []codec.Announced{{ID: "a.b", DependsOn: []string{"c"}}}},
		`declared: "A.b" is listed twice`:         {Declared: []codec.Announced{{ID: "a.b"}, {ID: "A.b"}}},
		`"a.b": an event or a method`:             {Declared: []codec.Announced{{ID: "a.b", Methods: []string{""}}}},
	} {
		if err := s.Validate(VSCode); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if err := good.Validate("lsp"); err == nil || !strings.Contains(err.Error(), "only hosts of protocol hostsup or vscode") {
		t.Errorf("%v", err)
	}
	own := Spec{Declared: []codec.Announced{{ID: "a.b", Events: []string{"*"}, Methods: []string{"m"}}}, Deactivate: 1}
	if err := own.Validate(Hostsup); err != nil {
		t.Error(err)
	}
	if err := good.Validate(Hostsup); err == nil || !strings.Contains(err.Error(), "no folders") {
		t.Errorf("%v", err)
	}
}
