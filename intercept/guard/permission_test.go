package guard

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
)

func TestParsePermission(t *testing.T) {
	if len(permissions) != 28 {
		t.Errorf("%d permissions", len(permissions))
	}
	for i, p := range permissions {
		if got, err := ParsePermission(string(p)); got != p || err != nil {
			t.Errorf("%s: %s, %v", p, got, err)
		}
		if slices.Contains(permissions[i+1:], p) {
			t.Errorf("%s is there twice", p)
		}
	}
	for name, want := range map[string]string{
		"filesystem.read":           `no such permission: "filesystem.read"; did you mean "fileSystem.read"?`,
		"fileSystem.reed":           `no such permission: "fileSystem.reed"; did you mean "fileSystem.read"?`,
		"network.websocket":         `no such permission: "network.websocket"; did you mean "network.webSocket"?`,
		"authentication.getsession": `no such permission: "authentication.getsession"; did you mean "authentication.getSession"?`,
		"everything":                `no such permission: "everything"`,
		"":                          `no such permission: ""`,
		"*":                         `no such permission: "*"`,
		strings.Repeat("x", 1000):   `no such permission: "` + strings.Repeat("x", 64) + `"`,
	} {
		if got, err := ParsePermission(name); got != "" || !errors.Is(err, ErrUnknownPermission) || err.Error() != want {
			t.Errorf("%.70s: %q, %v", name, got, err)
		}
	}
}

func TestGrants(t *testing.T) {
	g, err := ParseGrants([]string{"workspace.read", "fileSystem.write", "workspace.read"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !maps.Equal(g.granted, map[Permission]bool{FileSystemWrite: true, WorkspaceRead: true}) {
		t.Errorf("%v", g.granted)
	}
	for method, takes := range map[string]Permission{
		"workspace/configuration": "", "fs/writeFile": "", "fileSystem.write": "", "unheard/of": "", "": "", "client/registerCapability": "",
		"workspace/applyEdit": WorkspaceWrite, "fs/readFile": FileSystemRead, "fileSystem/read/text": FileSystemRead,
		"window/showMessageRequest": UINotifications, "window/showDocument": UIDialogs, "$fileSystem.delete": FileSystemDelete,
	} {
		err := g.Check(method)
		if takes == "" {
			if err != nil {
				t.Errorf("%s: %v", method, err)
			}
			continue
		}
		var denied *DeniedError
		if !errors.As(err, &denied) || !errors.Is(err, ErrDenied) || denied.Permission != takes || denied.Method != method {
			t.Errorf("%s: %v", method, err)
		}
	}
	if err := g.Check("fs/readFile"); err == nil || err.Error() != `permission denied: "fs/readFile" takes fileSystem.read, which is not granted` {
		t.Errorf("%v", err)
	}
	_, err = ParseGrants([]string{"workspace.read", "nope", "network.htps"}, nil)
	if !errors.Is(err, ErrUnknownPermission) || strings.Count(err.Error(), "no such permission") != 2 {
		t.Errorf("%v", err)
	}
	// Nothing is granted that was not named.
	var none Grants
	for _, p := range permissions {
		if none.granted[p] || !errors.Is(none.Check(string(p)), ErrDenied) {
			t.Errorf("%s is granted", p)
		}
	}
}

// Every permission can be asked for by a method of its own name; the rules are
// well-formed and none is another's.
func TestDefaultRules(t *testing.T) {
	r, err := NewRules(DefaultRules())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range permissions {
		for _, method := range []string{string(p), strings.Replace(string(p), ".", "/", 1), string(p) + "/more"} {
			if got, takes := r.Permission(method); !takes || got != p {
				t.Errorf("%s takes %q", method, got)
			}
		}
	}
	for _, rule := range DefaultRules() {
		name, _ := strings.CutSuffix(rule.Method, "*")
		if got, _ := r.Permission(name); got != rule.Permission {
			t.Errorf("%s takes %q, not %q", rule.Method, got, rule.Permission)
		}
	}
}

func TestRules(t *testing.T) {
	r, err := NewRules([]Rule{
		{"db/*", WorkspaceRead}, {"db/write*", WorkspaceWrite}, {"db/writers", SecretsRead}, {"db/write*", WorkspaceWrite},
	})
	if err != nil {
		t.Fatal(err)
	}
	for method, want := range map[string]Permission{
		"db/": WorkspaceRead, "db.get": WorkspaceRead, "db": "", "dbs/get": "", "db/write": WorkspaceWrite, "db/written": WorkspaceRead,
		"db/write/all": WorkspaceWrite, "db/writers": SecretsRead, "db/writers/2": WorkspaceWrite,
	} {
		if got, takes := r.Permission(method); got != want || takes != (want != "") {
			t.Errorf("%s takes %q", method, got)
		}
	}
	all, err := NewRules([]Rule{{"*", CommandsExecute}})
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := all.Permission("any/thing"); got != CommandsExecute {
		t.Errorf("%q", got)
	}
	g, err := ParseGrants(nil, all)
	if err != nil || !errors.Is(g.Check("any/thing"), ErrDenied) {
		t.Errorf("%v", err)
	}
	for _, bad := range [][]Rule{
		{{"", WorkspaceRead}}, {{"a*b", WorkspaceRead}}, {{"**", WorkspaceRead}}, {{"a", "nope"}},
		{{"a/b", WorkspaceRead}, {"a.b", WorkspaceWrite}}, {{"a*", WorkspaceRead}, {"a*", WorkspaceWrite}},
	} {
		if _, err := NewRules(bad); err == nil {
			t.Errorf("%v is taken", bad)
		}
	}
}
