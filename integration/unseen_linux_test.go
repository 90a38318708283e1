package integration

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/extensions/manifest"
	"github.com/hostsup/hostsup/extensions/plan"
	"github.com/hostsup/hostsup/extensions/vscode"
	"github.com/hostsup/hostsup/lifecycle/record"
)

// A command that creates a webview panel has no error to tell, because its extension gets none: an event
// tells that no window shows the panel.
func TestPanelOfSimpleBrowserIsUnseen(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		sup, h := alone(t, edited(t, version, "hello", func(s *plan.Spec, _ *vscode.Options) {
			s.Folders = []manifest.Root{{Dir: builtinExtension(t, version, "simple-browser")}}
		}))
		if err := executes(t, h, nil, "simpleBrowser.show", "http://localhost:1"); err != nil {
			t.Fatal(err)
		}
		want := []string{`vscode.simple-browser has created the webview panel "Simple Browser" (simpleBrowser.view), which no window shows`}
		if got := eventsOf(sup, record.KindUnseen); !slices.Equal(got, want) {
			t.Errorf("%q, expected %q", got, want)
		}
	})
}

// Each kind of panel is told once in each life, and 100 of them.
func TestUnseenPanelsAreToldOnce(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		sup, h, _ := shows(t, version)
		panels := func(n int) {
			t.Helper()
			if err := executes(t, h, nil, "shows.panels", n); err != nil {
				t.Fatal(err)
			}
		}
		panels(3)
		var want []string
		for i := range 3 {
			want = append(want, fmt.Sprintf(`acme.shows has created the webview panel "Panel %[1]d" (kind%[1]d), which no window shows`, i))
		}
		if got := eventsOf(sup, record.KindUnseen); !slices.Equal(got, want) {
			t.Errorf("%s, expected %s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		panels(120)
		if got := eventsOf(sup, record.KindUnseen); len(got) != 100 {
			t.Errorf("%d events, expected 100", len(got))
		}
		if err := h.Restart(ctx(t)); err != nil {
			t.Fatal(err)
		}
		ready(t, h)
		panels(3)
		if got := eventsOf(sup, record.KindUnseen); len(got) != 103 || !slices.Equal(got[100:], want) {
			t.Errorf("%d events, expected 103: %s", len(got), strings.Join(got[100:], "\n"))
		}
	})
}
