package settings

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"
)

// properties returns a schema as JSON objects.
func properties(t *testing.T, s *Service, name string) (all map[string]any, own map[string]any) {
	t.Helper()
	text, ok := s.Schema(name)
	if !ok {
		t.Fatalf("no schema %s", name)
	}
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	return all, all["properties"].(map[string]any)
}

// The schema of a settings file has the settings that may be in that file.
func TestSchemas(t *testing.T) {
	t.Parallel()
	one, two := New(Options{Home: t.TempDir(), Folders: []string{"/a"}}), New(Options{Home: t.TempDir(), Folders: []string{"/a", "/b"}})
	opened(t, one, "h")
	opened(t, two, "h")
	for _, c := range []struct {
		of   *Service
		name string
		want []string // of a.app, a.shell, a.text, editor.tabSize, files.associations
	}{
		{one, SchemaDefault, []string{"a.app", "a.shell", "a.text", "editor.tabSize", "files.associations"}},
		{one, SchemaUser, []string{"a.app", "a.shell", "a.text", "editor.tabSize", "files.associations"}},
		{one, SchemaProfile, []string{"a.shell", "a.text", "editor.tabSize", "files.associations"}},
		{one, SchemaMachine, []string{"a.shell", "a.text", "editor.tabSize", "files.associations"}},
		{one, SchemaWorkspace, []string{"a.shell", "a.text", "editor.tabSize", "files.associations"}},
		{one, SchemaFolder, []string{"a.shell", "a.text", "editor.tabSize", "files.associations"}},
		{two, SchemaFolder, []string{"a.shell", "editor.tabSize"}},
		{one, SchemaResourceLanguage, []string{"editor.tabSize"}},
	} {
		all, has := properties(t, c.of, c.name)
		var got []string
		for _, key := range slices.Sorted(maps.Keys(has)) {
			if slices.Contains([]string{"a.app", "a.shell", "a.text", "editor.tabSize", "files.associations"}, key) {
				got = append(got, key)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		if _, restricts := all["additionalProperties"]; restricts {
			t.Errorf("%s allows no other settings", c.name)
		}
		if _, languages := all["patternProperties"]; languages == (c.name == SchemaResourceLanguage) {
			t.Errorf("%s has settings of languages: %v", c.name, languages)
		}
	}
	_, has := properties(t, one, SchemaUser)
	if got, _ := json.Marshal(has["a.text"]); string(got) != `{"default":"x","type":"string"}` {
		t.Errorf("a.text is %s", got)
	}
	if _, ok := one.Schema("other"); ok {
		t.Error("there is a schema of another name")
	}
	if got := len(Schemas()); got != len(one.schemaScopes()) {
		t.Errorf("%d names of schemas", got)
	}
}

// A change of what extensions contribute is told once, and others are not.
func TestChangedSchemasAreTold(t *testing.T) {
	t.Parallel()
	s := New(Options{Home: t.TempDir()})
	told := 0
	s.OnSchema(func() {
		if _, ok := s.Schema(SchemaUser); ok {
			told++
		}
	})
	for i, c := range []struct {
		descriptions string
		want         int
	}{{described, 1}, {described, 1}, {`{"contributes":{}}`, 2}} {
		if _, err := s.Opening("h", uint64(i+1), []json.RawMessage{json.RawMessage(c.descriptions)}); err != nil {
			t.Fatal(err)
		}
		if told != c.want {
			t.Errorf("told %d times, want %d", told, c.want)
		}
	}
}
