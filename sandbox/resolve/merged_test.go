//go:build unix

package resolve

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/internal/require"
	"github.com/hostsup/hostsup/sandbox/policy"
)

// A grant in /usr includes the links of the root that lead there, and no others.
func TestMergedLinks(t *testing.T) {
	var links []string // of this machine
	for _, link := range rootFolders {
		if text, err := os.Readlink(link); err == nil && strings.HasPrefix(strings.TrimPrefix(text, "/"), "usr/") {
			links = append(links, link)
		}
	}
	for _, c := range []struct {
		policy policy.Policy
		want   func(link string) bool
	}{
		{policy.Policy{Read: []string{"/usr"}, Exec: []string{"/usr"}}, func(string) bool { return true }},
		{policy.Policy{Exec: []string{"/usr/bin"}}, func(link string) bool { return link == "/bin" }},
		{policy.Policy{Read: []string{"/usr/bin"}}, func(link string) bool { return link == "/bin" }},
		{policy.Policy{Read: []string{"/usr"}}, func(string) bool { return true }},
		{policy.Policy{Read: []string{"/usr/bin/env"}}, func(link string) bool { return link == "/bin" }},
		{policy.Policy{Exec: []string{"/usr"}, Deny: []string{"/lib"}}, func(link string) bool { return link != "/lib" }},
		{policy.Policy{Read: []string{"/usr/share"}}, func(string) bool { return false }},
		{policy.Policy{}, func(string) bool { return false }},
	} {
		p := c.policy
		p.Level = policy.NoCgroup
		r, err := Policy(&p, policy.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		for _, link := range links {
			i := slices.IndexFunc(r.Grants, func(g policy.Grant) bool { return g.Path == link && g.Link != "" })
			if (i >= 0) != c.want(link) {
				t.Errorf("%v: %s is granted: %v", p, link, i >= 0)
			}
			if i >= 0 && r.Grants[i].Access != Access(r, link) && Access(r, link) != 0 {
				t.Errorf("%v: %s is granted for %s, and what it leads to for %s", p, link, r.Grants[i].Access, Access(r, link))
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

// The path of the loader is granted only if the folder of the loader is granted for
// running.
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
		policy policy.Policy
		want   policy.Access
	}{
		{policy.Policy{Exec: []string{filepath.Dir(real)}}, policy.Exec},
		{policy.Policy{Exec: []string{real}}, policy.Exec},
		{policy.Policy{Read: []string{filepath.Dir(real)}}, policy.Read},
		{policy.Policy{Exec: []string{"/usr/share"}}, 0},
	} {
		p := c.policy
		p.Level = policy.NoCgroup
		r, err := Policy(&p, policy.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if got := Access(r, name); got != c.want {
			t.Errorf("%v: %s has %s, want %s", p, name, got, c.want)
		}
		shown := true // through the links from one name to the next
		trace, err := trace(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range trace.links {
			shown = shown && slices.ContainsFunc(r.Grants, func(g policy.Grant) bool { return g.Path == l.path && g.Link != "" })
		}
		if shown != (c.want == policy.Exec) {
			t.Errorf("%v: %s is shown: %v", p, name, shown)
		}
	}
}
