package secret_test

import (
	"slices"
	"testing"

	"github.com/hostsup/hostsup/intercept/secret"
)

func TestJoin(t *testing.T) {
	t.Parallel()
	for name, parts := range map[string][]string{
		"vscode/code/acme.preview/token":                   {"vscode", "code", "acme.preview", "token"},
		"vscode/code/acme.preview/https:3a:2f:2facme.test": {"vscode", "code", "acme.preview", "https://acme.test"},
		"a/:3a2f/..":  {"a", ":2f", ".."},
		"a//:c3:a4:0": {},
		"a/:c3:a4:00": {"a", "ä\x00"},
		"a//":         {"a", "", ""},
		"a/:2F":       {},
		"a/:61":       {},
		"a/:":         {},
		"a/b c":       {},
		"a/:+1":       {},
	} {
		got, ok := secret.Split(name)
		if ok != (len(parts) > 0) || ok && (!slices.Equal(got, parts) || secret.Join(parts...) != name) {
			t.Errorf("%s: %q, %v, and %s", name, got, ok, secret.Join(parts...))
		}
	}
}

// Different parts have different names, which lead back to them and fit.
func FuzzJoin(f *testing.F) {
	f.Add("code", "acme.preview", "a/b:2f")
	f.Add("code/acme", "x", "")
	f.Fuzz(func(t *testing.T, host, owner, key string) {
		name := secret.Join("vscode", host, owner, key)
		got, ok := secret.Split(name)
		if !ok || !slices.Equal(got, []string{"vscode", host, owner, key}) {
			t.Errorf("%q: %q, %v", name, got, ok)
		}
		if err := secret.CheckName(name); (err == nil) != (len(name) <= 128) {
			t.Errorf("%q, %d bytes: %v", name, len(name), err)
		}
	})
}
