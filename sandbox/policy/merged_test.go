//go:build unix

package policy

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/internal/require"
)

// What is granted in /usr comes with the links of the root that lead there, and
// with no others.
func TestMergedLinks(t *testing.T) {
	var links []string // of this machine
	for _, link := range rootFolders {
		if text, err := os.Readlink(link); err == nil && strings.HasPrefix(strings.TrimPrefix(text, "/"), "usr/") {
			links = append(links, link)
		}
	}
	for _, c := range []struct {
		policy Policy
		want   func(link string) bool
	}{
		{Policy{Read: []string{"/usr"}, Exec: []string{"/usr"}}, func(string) bool { return true }},
		{Policy{Exec: []string{"/usr/bin"}}, func(link string) bool { return link == "/bin" }},
		{Policy{Read: []string{"/usr/bin"}}, func(link string) bool { return link == "/bin" }},
		{Policy{Read: []string{"/usr"}}, func(string) bool { return true }},
		{Policy{Read: []string{"/usr/bin/env"}}, func(link string) bool { return link == "/bin" }},
		{Policy{Exec: []string{"/usr"}, Deny: []string{"/lib"}}, func(link string) bool { return link != "/lib" }},
		{Policy{Read: []string{"/usr/share"}}, func(string) bool { return false }},
		{Policy{}, func(string) bool { return false }},
	} {
		p := c.policy
		p.Level = NoCgroup
		r, err := Resolve(&p, Limits{})
		if err != nil {
			t.Fatal(err)
		}
		for _, link := range links {
			i := slices.IndexFunc(r.Grants, func(g Grant) bool { return g.Path == link && g.Link != "" })
			if (i >= 0) != c.want(link) {
				t.Errorf("%v: %s is granted: %v", p, link, i >= 0)
			}
			if i >= 0 && r.Grants[i].Access != r.Access(link) && r.Access(link) != 0 {
				t.Errorf("%v: %s is granted for %s, and what it leads to for %s", p, link, r.Grants[i].Access, r.Access(link))
			}
		}
	}
	for _, link := range links {
		if got := Unmerged(link + "/x"); !strings.HasPrefix(got, "/usr/") || !strings.HasSuffix(got, "/x") {
			t.Errorf("%s/x leads to %s", link, got)
		}
	}
	for _, same := range []string{"/usr/bin/x", "/srv/bin", "/library/x", "bin/x", "/"} {
		if got := Unmerged(same); got != same {
			t.Errorf("%s leads to %s", same, got)
		}
	}
}

// The loader is found by the name that programs have for it where the folder that
// it lies in is granted for running, and nowhere else.
func TestLoaderLinks(t *testing.T) {
	name, real := "", ""
	for _, l := range loaders {
		if at, err := filepath.EvalSymlinks(l); err == nil && at != l {
			name, real = l, at
			break
		}
	}
	if name == "" {
		require.Missing(t, "a loader that is a link")
	}
	for _, c := range []struct {
		policy Policy
		want   Access
	}{
		{Policy{Exec: []string{filepath.Dir(real)}}, Exec},
		{Policy{Exec: []string{real}}, Exec},
		{Policy{Read: []string{filepath.Dir(real)}}, Read},
		{Policy{Exec: []string{"/usr/share"}}, 0},
	} {
		p := c.policy
		p.Level = NoCgroup
		r, err := Resolve(&p, Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Access(name); got != c.want {
			t.Errorf("%v: %s has %s, want %s", p, name, got, c.want)
		}
		shown := true // by the links that lead from one name to the next
		trace, err := trace(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range trace.links {
			shown = shown && slices.ContainsFunc(r.Grants, func(g Grant) bool { return g.Path == l.path && g.Link != "" })
		}
		if shown != (c.want == Exec) {
			t.Errorf("%v: %s is shown: %v", p, name, shown)
		}
	}
}
