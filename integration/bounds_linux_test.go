//go:build linux

package integration

import (
	"errors"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/lifecycle/hostspec"
	"github.com/hostsup/hostsup/supervisor"
	bench "github.com/hostsup/hostsup/workbench"
	"github.com/hostsup/hostsup/workbench/documents"
	benchlanguages "github.com/hostsup/hostsup/workbench/languages"
	"github.com/hostsup/hostsup/workbench/terminals"
	"github.com/hostsup/hostsup/workbench/tools"
)

// A host that registers without an end gets an error that names the API, and the supervisor keeps no
// more than the bound.
func TestAHostCannotGrowTheWorkbench(t *testing.T) {
	t.Parallel()
	_, h := alone(t, supervisor.HostSpec{Name: "greedy", Command: []string{"true"}, Start: hostspec.StartRule{Lazy: true}})
	long := strings.Repeat("x", 2<<20)
	docs := documents.New(documents.Options{})
	defer docs.Close()
	for _, test := range []struct {
		service bench.Service
		method  string
		args    func(n int) []any
		fits    int // calls that succeed
		api     string
	}{
		{&benchlanguages.Service{}, "MainThreadLanguages.$setLanguageStatus", func(n int) []any { return []any{n, benchlanguages.Status{ID: "a"}} }, 1000, "languages.createLanguageStatusItem"},
		{&benchlanguages.Service{}, "MainThreadLanguages.$setLanguageStatus", func(int) []any { return []any{1, benchlanguages.Status{Detail: long}} }, 0, "languages.createLanguageStatusItem"},
		{docs, "MainThreadDocumentContentProviders.$registerTextContentProvider", func(n int) []any { return []any{n, long} }, 0, "workspace.registerTextDocumentContentProvider"},
		{terminals.New(terminals.Options{}), "MainThreadTask.$registerTaskProvider", func(n int) []any { return []any{n, "type"} }, 1000, "tasks.registerTaskProvider"},
		{terminals.New(terminals.Options{}), "MainThreadTask.$registerTaskProvider", func(n int) []any { return []any{n, long} }, 0, "tasks.registerTaskProvider"},
		{terminals.New(terminals.Options{}), "MainThreadTerminalService.$setEnvironmentVariableCollection", func(n int) []any {
			return []any{strings.Repeat("e", n+1), false, [][2]any{{"A", map[string]any{"variable": "A", "value": "b", "type": 1}}}}
		}, 1000, "environmentVariableCollection"},
		{terminals.New(terminals.Options{}), "MainThreadTerminalService.$setEnvironmentVariableCollection", func(int) []any {
			return []any{"e", false, [][2]any{{"A", map[string]any{"variable": "A", "value": long, "type": 1}}}}
		}, 0, "environmentVariableCollection"},
		{terminals.New(terminals.Options{}), "MainThreadTerminalService.$createTerminal", func(int) []any { return []any{"1", map[string]any{"name": long}} }, 0, "window.createTerminal"},
		{tools.New(tools.Options{}), "MainThreadLanguageModelTools.$registerToolWithDefinition", func(n int) []any { return []any{"e", tools.Tool{ID: long}} }, 0, "lm.registerToolDefinition"},
	} {
		call := func(n int) error {
			_, err := test.service.Methods()[test.method].Now(bench.NewCall(h.Ref(), 1, test.method, bench.Params(test.args(n)...)))
			return err
		}
		for n := range test.fits {
			if err := call(n); err != nil {
				t.Fatalf("%s: call %d: %v", test.method, n+1, err)
			}
		}
		err := call(test.fits)
		var e *codec.Error
		if !errors.As(err, &e) || e.Name != codec.NameInvalidParams || !strings.Contains(err.Error(), test.api) || !strings.Contains(err.Error(), "limit") {
			t.Errorf("%s: %v", test.method, err)
		}
		if test.fits > 0 { // what is known is changed
			if err := call(0); err != nil {
				t.Errorf("%s: %v", test.method, err)
			}
		}
	}
}
