package folders

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/extensions/vscode"
	"github.com/hostsup/hostsup/internal/leaktest"
	"github.com/hostsup/hostsup/workbench"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func update(s *Service, args string) error {
	c := workbench.NewCall(nil, 1, "MainThreadWorkspace.$updateWorkspaceFolders", codec.Raw(args))
	_, err := s.Methods()[c.Method].Do(context.Background(), c)
	return err
}

func TestFoldersAreReplaced(t *testing.T) {
	t.Parallel()
	var events []string
	s := New(Options{
		Workspace: &vscode.Workspace{Folders: []string{"/a", "/b"}},
		Changing:  func(dirs []string) { events = append(events, "changing "+strings.Join(dirs, " ")) },
		Changed:   func(dirs []string) { events = append(events, "changed "+strings.Join(dirs, " ")) },
		Report:    func(reason string) { events = append(events, reason) },
	})
	id := s.Workspace().Identity()
	if err := update(s, `["x",1,1,[{"uri":{"scheme":"file","path":"/c"},"name":"see"}]]`); err != nil {
		t.Fatal(err)
	}
	if w := s.Workspace(); !slices.Equal(w.Folders, []string{"/a", "/c"}) || w.Titles["/c"] != "see" || w.Identity() != id {
		t.Errorf("%+v", w)
	}
	if want := []string{"changing /a /c", "changed /a /c", "workspace folders by x: /a, /c"}; !slices.Equal(events, want) {
		t.Errorf("%q", events)
	}
	for args, want := range map[string]string{
		`["x",0,3,[]]`:                   "there are 2",
		`["x",-1,1,[]]`:                  "there are 2",
		`["x",9223372036854775807,1,[]]`: "there are 2",
		`["x",2,0,[{"uri":{"scheme":"memfs","path":"/d"}}]]`:           "NotSupported",
		`["x",2,0,[{"uri":{"scheme":"file","path":"/a"},"name":"a"}]]`: "twice",
		`["x",2,0,7]`: "argument 4",
	} {
		if err := update(s, args); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", args, err, want)
		}
	}
	if w := s.Workspace(); len(w.Folders) != 2 {
		t.Errorf("%+v", w)
	}
}

// Without a workspace the first folder makes one.
func TestFirstFolder(t *testing.T) {
	t.Parallel()
	s := New(Options{})
	if s.Workspace() != nil {
		t.Error("there is a workspace")
	}
	if err := update(s, `["x",0,0,[{"uri":{"scheme":"file","path":"/c"}}]]`); err != nil {
		t.Fatal(err)
	}
	if w := s.Workspace(); !slices.Equal(w.Folders, []string{"/c"}) || w.Identity() == "" {
		t.Errorf("%+v", w)
	}
}

// What the configuration does not trust is refused, and that is reported.
func TestTrust(t *testing.T) {
	t.Parallel()
	for _, untrusted := range []bool{false, true} {
		reports := 0
		s := New(Options{
			Workspace: &vscode.Workspace{Folders: []string{"/a"}, Untrusted: untrusted}, Report: func(string) { reports++ },
		})
		for _, method := range []string{"$requestWorkspaceTrust", "$requestResourceTrust", "$isResourceTrusted"} {
			c := workbench.NewCall(nil, 1, "MainThreadWorkspace."+method, codec.Raw("[{}]"))
			if got, err := s.Methods()[c.Method].Now(c); err != nil || got != !untrusted {
				t.Errorf("%s: %v, %v", method, got, err)
			}
		}
		if want := map[bool]int{false: 0, true: 2}[untrusted]; reports != want {
			t.Errorf("%d reports, want %d", reports, want)
		}
	}
}
