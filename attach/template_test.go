package attach

import (
	"strings"
	"testing"
)

// TestKeyInPath says what may stand for a key in a path.
func TestKeyInPath(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, path string
		ok            bool
	}{
		{"/srv/${key}/x", "/srv/ada/x", true},
		{"/srv/u-${key}", "/srv/u-..", true},
		{"/srv/a b", "/srv/a b", true},
		{"/srv/*/x", "/srv/*/x", true},
		{"/srv/${key}", "/srv/..", false},
		{"/srv/.${key}", "/srv/..", false},
		{"/srv/${key}", "/srv/", false},
		{"/srv/${key}", "/srv/a/b", false},
		{"/srv/${key}", "/srv/*", false},
		{"/srv/${key}", `/srv/a\b`, false},
		{"${key}", "/bin/sh", false},
	} {
		if got := sameDepth(c.pattern, c.path); got != c.ok {
			t.Errorf("%s for %s: %v", c.path, c.pattern, got)
		}
	}
}

// TestNamesOfKeysDiffer holds that no two keys, and no process for another generation of MCP,
// have the same name.
func TestNamesOfKeysDiffer(t *testing.T) {
	t.Parallel()
	names := map[string]want{}
	add := func(w want) {
		name := w.suffix()
		if other, taken := names[strings.ToLower(name)]; taken {
			t.Errorf("%+v and %+v are %s", w, other, name)
		}
		names[strings.ToLower(name)] = w
	}
	keys := []string{"ada", "Ada", "ADA", "_ada", "a", "a b", "key ada", "MCP 2025-11-25 key ada", strings.Repeat("x", 63), strings.Repeat("x", 64)}
	for _, key := range keys {
		add(want{id: key, key: keyOf(key)})
		add(want{id: key, key: "MCP 2025-11-25 " + keyOf(key)})
	}
	hashed := want{id: "Ada", key: keyOf("Ada")}.suffix()
	add(want{id: strings.TrimPrefix(hashed, "_"), key: keyOf(strings.TrimPrefix(hashed, "_"))})
	add(want{id: hashed, key: keyOf(hashed)})
	if got := (want{id: "ada", key: keyOf("ada")}).suffix(); got != "ada" || len(hashed) != 33 {
		t.Errorf("%s, %s", got, hashed)
	}
}
