//go:build unix

package resolve

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/sandbox/policy"
)

// TestResolverDistrusts checks which links are followed and which changes of granted
// folders are accepted, from one start to the next.
func TestResolverDistrusts(t *testing.T) {
	type start struct {
		owner  string
		p      policy.Policy
		accept bool
		want   []string // of the error; nil: it is resolved
	}
	relink := func(root, from, to string) error {
		return errors.Join(os.RemoveAll(root+from), os.Symlink(to, root+from))
	}
	own := policy.Policy{Write: []string{"/p", "/p/out"}}
	alone, kept := policy.Policy{Write: []string{"/p"}}, policy.Policy{Work: policy.Work{Path: "/p/w", Keep: true}}
	reads := policy.Policy{Read: []string{"/p/out"}}
	for name, c := range map[string]struct {
		tree     []string
		announce *policy.Policy
		first    []start
		change   func(root string) error
		next     []start
	}{
		"a link in an own folder": {
			tree:   []string{"p/out/", "etc/"},
			first:  []start{{owner: "a", p: own}},
			change: func(root string) error { return relink(root, "/p/out", root+"/etc") },
			next: []start{
				{owner: "a", p: own, want: []string{`write[1] "ROOT/p/out": ROOT/p/out is a symbolic link to ROOT/etc, which is not followed: write[0] lets ROOT/p be written`}},
				{owner: "a", p: own, accept: true, want: []string{"is not followed"}},
				{owner: "a", p: policy.Policy{Write: []string{"/p/out", "/p"}}, want: []string{`write[0] "ROOT/p/out"`}},
				{owner: "a", p: policy.Policy{Write: []string{"/p"}, Work: policy.Work{Path: "/p/out"}}, want: []string{`work.path "ROOT/p/out": ROOT/p/out is a symbolic link`}},
				{owner: "a", p: policy.Policy{Write: []string{"/p"}, Work: policy.Work{Path: "/p/out/new"}}, want: []string{`work.path "ROOT/p/out/new": ROOT/p/out is a symbolic link`}},
				{owner: "a", p: policy.Policy{Write: []string{"/p"}, Read: []string{"-/p/out/x"}}},
				{owner: "a", p: policy.Policy{Write: []string{"/p"}}},
			},
		},
		"a file where work needs a folder": {
			tree:   []string{"p/"},
			first:  []start{{owner: "a", p: policy.Policy{Write: []string{"/p"}, Work: policy.Work{Path: "/p/f/work"}}}},
			change: func(root string) error { return os.WriteFile(root+"/p/f", []byte("a user's"), 0o600) },
			next: []start{
				{owner: "a", p: policy.Policy{Write: []string{"/p"}, Work: policy.Work{Path: "/p/f/work"}}, want: []string{
					`work.path "ROOT/p/f/work": ROOT/p/f is not a folder, and work.path needs one there; a host may have put it there: write[0] lets ROOT/p be written (move it away, or put work.path in`,
				}},
				{owner: "a", p: policy.Policy{Write: []string{"/p"}, Work: policy.Work{Path: "/p/f"}}, want: []string{`work.path "ROOT/p/f": ROOT/p/f is not a folder`}},
				{owner: "b", p: policy.Policy{Work: policy.Work{Path: "/p/f/work"}}, want: []string{"the sandbox of a lets ROOT/p be written"}},
			},
		},
		"a circle": {
			tree:   []string{"p/"},
			first:  []start{{owner: "a", p: policy.Policy{Write: []string{"/p"}}}},
			change: func(root string) error { return os.Symlink("f", root+"/p/f") },
			next: []start{
				{owner: "a", p: policy.Policy{Write: []string{"/p"}, Work: policy.Work{Path: "/p/f/work"}}, want: []string{
					`work.path "ROOT/p/f/work": ROOT/p/f is a symbolic link to f, which is not followed: write[0] lets ROOT/p be written`,
				}},
				{owner: "b", p: policy.Policy{Read: []string{"/p/f/x"}}, want: []string{
					`read[0] "ROOT/p/f/x": ROOT/p/f is a symbolic link to f, which is not followed: the sandbox of a lets ROOT/p be written`,
				}},
			},
		},
		"a link in the folder of another host": {
			tree:   []string{"p/out/x", "etc/x"},
			first:  []start{{owner: "a", p: policy.Policy{Write: []string{"/p"}}}, {owner: "b", p: reads}},
			change: func(root string) error { return relink(root, "/p/out", root+"/etc") },
			next: []start{
				{owner: "b", p: reads, want: []string{"the sandbox of a lets ROOT/p be written"}},
				{owner: "b", p: policy.Policy{Read: []string{"/p/out/x"}}, want: []string{"ROOT/p/out is a symbolic link"}},
				{owner: "a", p: reads, want: []string{"its own sandbox has let ROOT/p be written"}},
			},
		},
		"a link in the folder of a host that has not been started": {
			tree:     []string{"p/", "etc/", "p/out -> ../etc"},
			announce: &own,
			next:     []start{{owner: "b", p: reads, want: []string{"the sandbox of another lets ROOT/p be written"}}},
		},
		"a link where nobody else may write": {
			tree: []string{"home/link -> ../p", "p/", "out -> p/../etc", "etc/"},
			next: []start{{owner: "a", p: policy.Policy{Write: []string{"/home/link"}, Read: []string{"/out"}}}},
		},
		"a link where everybody may write": {
			tree:   []string{"p/out -> ../etc", "etc/"},
			change: func(root string) error { return os.Chmod(root+"/p", 0o777) },
			next:   []start{{p: reads, want: []string{"other users may write ROOT/p (drwxrwxrwx)"}}},
		},
		"a link of our own in a sticky folder": {
			tree:   []string{"p/out -> ../etc", "etc/"},
			change: func(root string) error { return os.Chmod(root+"/p", 0o777|fs.ModeSticky) },
			next:   []start{{p: reads}},
		},
		"another folder": {
			tree:  []string{"p/out/", "old/"},
			first: []start{{owner: "a", p: own}},
			change: func(root string) error {
				return errors.Join(os.Rename(root+"/p/out", root+"/old/out"), os.Mkdir(root+"/p/out", 0o755))
			},
			next: []start{
				{owner: "a", p: own, want: []string{`write[1] "ROOT/p/out": ROOT/p/out is another folder than before (device `, "it was a folder: device ", "write[0] lets ROOT/p be written", "hostsup start a accepts it"}},
				{owner: "a", p: own, want: []string{"another folder"}},
				{owner: "b", p: own},
				{p: own},
				{owner: "a", p: own, accept: true},
				{owner: "a", p: own},
			},
		},
		"another folder where nobody else may write": {
			tree:  []string{"p/out/", "old/"},
			first: []start{{owner: "a", p: reads}},
			change: func(root string) error {
				return errors.Join(os.Rename(root+"/p/out", root+"/old/out"), os.Mkdir(root+"/p/out", 0o755))
			},
			next: []start{{owner: "a", p: reads}},
		},
		"a file that is saved": {
			tree:   []string{"p/out", "p/new"},
			first:  []start{{owner: "a", p: own}},
			change: func(root string) error { return os.Rename(root+"/p/new", root+"/p/out") },
			next:   []start{{owner: "a", p: own}},
		},
		"a file with a second name": {
			tree:  []string{"p/out", "etc/x"},
			first: []start{{owner: "a", p: own}},
			change: func(root string) error {
				return errors.Join(os.Remove(root+"/p/out"), os.Link(root+"/etc/x", root+"/p/out"))
			},
			next: []start{{owner: "a", p: own, want: []string{"another file than before"}}},
		},
		"an image in the folder of another host": {
			tree:  []string{"p/"},
			first: []start{{owner: "a", p: alone}},
			next:  []start{{owner: "b", p: kept, want: []string{`work.keep "true": ROOT/p/w.image would hold`, "the sandbox of a lets ROOT/p be written"}}},
		},
		"an image where everybody may write": {
			tree:   []string{"p/"},
			change: func(root string) error { return os.Chmod(root+"/p", 0o777) },
			next:   []start{{owner: "b", p: kept, want: []string{"other users may write ROOT/p (drwxrwxrwx)"}}},
		},
		"an image that another host would write": {
			tree:     []string{"p/in/", "q/"},
			announce: &kept,
			next: []start{
				{owner: "b", p: alone, want: []string{`write[0] "ROOT/p": ROOT/p/w.image holds the file system of the work folder of another`}},
				{owner: "b", p: policy.Policy{Write: []string{"/p/in", "/q"}, Read: []string{"/p"}}},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			root := tree(t, c.tree...)
			real, err := filepath.EvalSymlinks(root)
			if err != nil {
				t.Fatal(err)
			}
			placed := func(p policy.Policy) *policy.Policy {
				p.Level = policy.Full
				for _, l := range []*[]string{&p.Read, &p.Write} {
					list := make([]string, len(*l))
					for i, s := range *l {
						s, optional := policy.Optional(s)
						if list[i] = real + s; optional {
							list[i] = "-" + list[i]
						}
					}
					*l = list
				}
				if p.Work.Path != "" {
					p.Work.Path = real + p.Work.Path
				}
				return &p
			}
			var r Resolver
			if c.announce != nil {
				r.Announce("another", placed(*c.announce))
			}
			run := func(s *start) {
				t.Helper()
				_, err := r.Resolve(Owned{Owner: s.owner, Accept: s.accept}, placed(s.p), policy.Limits{})
				if (err != nil) != (s.want != nil) || err != nil && (!errors.Is(err, policy.ErrUntrusted) || !errors.Is(err, policy.ErrInvalid)) {
					t.Errorf("%+v: %v", s, err)
					return
				}
				for _, w := range s.want {
					if got := strings.ReplaceAll(err.Error(), real, "ROOT"); !strings.Contains(got, w) {
						t.Errorf("%+v: got\n%s\nwithout\n%s", s, got, w)
					}
				}
			}
			for i := range c.first {
				run(&c.first[i])
			}
			if c.change != nil {
				if err := c.change(real); err != nil {
					t.Fatal(err)
				}
			}
			for i := range c.next {
				run(&c.next[i])
			}
		})
	}
}
