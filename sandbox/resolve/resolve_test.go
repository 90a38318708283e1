//go:build unix

package resolve

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostsup/hostsup/sandbox/policy"
)

// tree makes files and folders below a new one: "a/" is a folder, "a" a file,
// "a -> b" a link.
func tree(t *testing.T, entries ...string) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		name, target, link := strings.Cut(e, " -> ")
		path := filepath.Join(root, name)
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		switch {
		case err != nil:
		case link:
			err = os.Symlink(strings.ReplaceAll(target, "ROOT", root), path)
		case strings.HasSuffix(name, "/"):
			err = os.MkdirAll(path, 0o755)
		default:
			err = os.WriteFile(path, nil, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// lines renders r with paths relative to root, one line each.
func lines(r *policy.Resolved, root string) []string {
	short := func(p string) string { return strings.TrimPrefix(p, root) }
	var out []string
	for _, g := range r.Grants {
		s := fmt.Sprintf("%s %s", g.Access, short(g.Path))
		if g.Dir {
			s += "/"
		}
		if g.Link != "" {
			s += " -> " + short(g.Link)
		}
		if g.Device {
			s += " device"
		}
		out = append(out, s)
	}
	for i, g := range r.Grants {
		if g.ReadOnly {
			out[i] += " fixed"
		}
		for _, p := range g.Pinned {
			out[i] += " pinned " + short(p)
		}
	}
	for _, d := range r.Denied {
		s := "deny " + short(d.Path)
		if d.Dir {
			s += "/"
		}
		if d.Link {
			s += " link"
		}
		if d.Missing {
			s += " missing from " + short(d.Anchor)
		}
		if d.Pattern != "" {
			s += " by " + short(d.Pattern)
		}
		if len(d.Pinned) > 0 {
			s += " pinned"
			for _, p := range d.Pinned {
				s += " " + short(p)
			}
		}
		if d.Absent {
			s += " empty"
		}
		out = append(out, s)
	}
	return out
}

func TestResolve(t *testing.T) {
	for name, c := range map[string]struct {
		tree []string
		p    policy.Policy // with paths relative to the tree
		want []string
	}{
		"nothing": {},
		"files and folders": {
			tree: []string{"a/x", "b/", "c"},
			p:    policy.Policy{Read: []string{"/a"}, Exec: []string{"/c"}, Write: []string{"/b/"}},
			want: []string{"read /a/", "write /b/", "exec /c"},
		},
		"missing where it may be": {
			tree: []string{"a/"},
			p:    policy.Policy{Read: []string{"-/a", "-/b", "-/a/b/c"}},
			want: []string{"read /a/"},
		},
		"grants of one path are one": {
			tree: []string{"a/"},
			p:    policy.Policy{Read: []string{"/a", "/a/"}, Exec: []string{"/a"}},
			want: []string{"exec /a/"},
		},
		"grants add up": {
			tree: []string{"a/b/c/d"},
			p:    policy.Policy{JIT: true, Write: []string{"/a"}, Exec: []string{"/a/b"}, Read: []string{"/a/b/c"}},
			want: []string{"write /a/", "exec+write /a/b/"},
		},
		"what is written is not run": {
			tree: []string{"a/b/c/"},
			p:    policy.Policy{Exec: []string{"/a"}, Write: []string{"/a/b"}},
			want: []string{"exec /a/", "write /a/b/"},
		},
		"a neighbour is not inside": {
			tree: []string{"a/", "a-b/", "a/c/"},
			p:    policy.Policy{Read: []string{"/a/c", "/a-b", "/a"}},
			want: []string{"read /a/", "read /a-b/"},
		},
		"links on the way": {
			tree: []string{"usr/bin/dash", "usr/bin/sh -> dash", "bin -> usr/bin"},
			p:    policy.Policy{Exec: []string{"/bin/sh"}},
			want: []string{"exec /bin -> usr/bin", "exec /usr/bin/dash", "exec /usr/bin/sh -> dash"},
		},
		"a link to a folder that is granted": {
			tree: []string{"usr/bin/dash", "usr/bin/sh -> dash", "bin -> ROOT/usr/bin"},
			p:    policy.Policy{Exec: []string{"/usr", "/bin", "/usr/bin/sh"}},
			want: []string{"exec /bin -> /usr/bin", "exec /usr/"},
		},
		"a link that goes up": {
			tree: []string{"a/b/l -> ../../c", "c/d"},
			p:    policy.Policy{Read: []string{"/a/b/l/d"}},
			want: []string{"read /a/b/l -> ../../c", "read /c/d"},
		},
		"deny in a grant": {
			tree: []string{"a/.env", "a/b/"},
			p:    policy.Policy{Read: []string{"/a"}, Deny: []string{"/a/.env", "/a/b"}},
			want: []string{"read /a/", "deny /a/.env", "deny /a/b/"},
		},
		"deny outside of all grants has no effect": {
			tree: []string{"a/", "b/c", "bin -> b"},
			p:    policy.Policy{Read: []string{"/a"}, Deny: []string{"/b", "/bin/c", "/d"}},
			want: []string{"read /a/"},
		},
		"deny of what is missing": {
			tree: []string{"a/b/", "r/"},
			p:    policy.Policy{Read: []string{"/r"}, Write: []string{"/a"}, Deny: []string{"/a/b/c/.env", "/a/.env", "/r/.env"}},
			want: []string{"write /a/", "read /r/", "deny /a/.env missing from /a/.env", "deny /a/b/c/.env missing from /a/b/c pinned /a/b"},
		},
		"deny below a file": {
			tree: []string{"a/f", "a/b/f", "a/l -> b/f/none", "r/f", "w"},
			p:    policy.Policy{Read: []string{"/r"}, Write: []string{"/a", "/w"}, Deny: []string{"/a/f/x", "/a/b/f/x/y", "/a/l*", "/a/f/*", "/r/f/x", "/w/x"}},
			want: []string{"write /a/", "read /r/", "write /w", "deny /a/b/f pinned /a/b", "deny /a/f"},
		},
		"a grant below a file": {
			tree: []string{"a/f"},
			p:    policy.Policy{Read: []string{"-/a/f/x"}, Write: []string{"/a"}, ReadOnly: []string{"-/a/f/x/y"}},
			want: []string{"write /a/"},
		},
		"deny wins over a grant in it": {
			tree: []string{"a/b/c/", "d/"},
			p:    policy.Policy{Read: []string{"/a", "/a/b/c", "/d"}, Write: []string{"/a/b"}, Deny: []string{"/a/b", "/d"}},
			want: []string{"read /a/", "deny /a/b/"},
		},
		"deny in a deny": {
			tree: []string{"a/b/c", "a/b-c"},
			p:    policy.Policy{Read: []string{"/a"}, Deny: []string{"/a/b/c", "/a/b", "/a/b-c"}},
			want: []string{"read /a/", "deny /a/b/", "deny /a/b-c"},
		},
		"deny of a link": {
			tree: []string{"a/l -> s/t", "a/s/t", "a/m -> s"},
			p:    policy.Policy{Read: []string{"/a"}, Deny: []string{"/a/l", "/a/m/t"}},
			want: []string{"read /a/", "deny /a/l link", "deny /a/s/t"},
		},
		"deny of a link that leads nowhere granted": {
			tree: []string{"a/l -> ROOT/b/t", "b/t"},
			p:    policy.Policy{Write: []string{"/a"}, Deny: []string{"/a/l"}},
			want: []string{"write /a/", "deny /a/l link"},
		},
		"globs": {
			tree: []string{"a/x.pem", "a/.env", "a/b/y.pem", "a/b/c/z.pem", "a/l -> b", "c/no.pem", "a/b/q[1].pem"},
			p:    policy.Policy{Read: []string{"/a"}, Deny: []string{"/**/*.pem", "/a/.e?v", `/a/b/q\[1\].pem`, "/c/*"}},
			want: []string{"read /a/", "deny /a/.env by /a/.e?v", "deny /a/b/c/z.pem by /**/*.pem", "deny /a/b/q[1].pem by /**/*.pem", "deny /a/b/y.pem by /**/*.pem", "deny /a/x.pem by /**/*.pem"},
		},
		"a glob through a link that leads to itself": {
			tree: []string{"a/l -> l", "a/x"},
			p:    policy.Policy{Read: []string{"/a"}, Deny: []string{"/a/l/*", "/a/*/y", "/a/l/**/y"}},
			want: []string{"read /a/"},
		},
		"a glob that matches a link to a granted file": {
			tree: []string{"a/l -> ROOT/b/x", "b/x"},
			p:    policy.Policy{Read: []string{"/a/l"}, Deny: []string{"/a/*"}},
			want: nil,
		},
		"a glob for folders": {
			tree: []string{"a/x/.git/hooks/", "a/y/.git/hooks/", "a/z/"},
			p:    policy.Policy{Write: []string{"/a"}, Deny: []string{"/a/*/.git/hooks"}},
			want: []string{"write /a/",
				"deny /a/x/.git/hooks/ by /a/*/.git/hooks pinned /a/x /a/x/.git", "deny /a/y/.git/hooks/ by /a/*/.git/hooks pinned /a/y /a/y/.git"},
		},
		"pinned": {
			tree: []string{"a/b/c/.env", "a/d/"},
			p:    policy.Policy{Write: []string{"/a", "/a/b"}, Deny: []string{"/a/b/c/.env", "/a/d/e/f", "/a/x"}},
			want: []string{"write /a/", "deny /a/b/c/.env pinned /a/b /a/b/c", "deny /a/d/e/f missing from /a/d/e pinned /a/d", "deny /a/x missing from /a/x"},
		},
		"read only in what is written": {
			tree: []string{"a/.git/hooks/x", "a/.git/w/", "a/b/c/.git/"},
			p: policy.Policy{JIT: true, Exec: []string{"/a"}, Write: []string{"/a", "/a/.git/w"}, Read: []string{"/a/.git"},
				ReadOnly: []string{"/a/.git", "/a/.git/hooks", "/a/b/c/.git", "-/a/none"}},
			want: []string{"exec+write /a/", "exec /a/.git/ fixed", "exec+write /a/.git/w/", "exec /a/b/c/.git/ fixed pinned /a/b pinned /a/b/c"},
		},
		"read only is run": {
			tree: []string{"a/bin/x"},
			p:    policy.Policy{Exec: []string{"/a/bin"}, Write: []string{"/a"}, ReadOnly: []string{"/a/bin"}},
			want: []string{"write /a/", "exec /a/bin/ fixed"},
		},
		"absent": {
			tree: []string{"a/here/x", "a/b/", "r/"},
			p:    policy.Policy{Read: []string{"/r"}, Write: []string{"/a"}, Absent: []string{"/a/.git", "/a/here", "/a/b/.codex", "/r/.git"}},
			want: []string{"write /a/", "read /r/", "deny /a/.git missing from /a/.git empty", "deny /a/b/.codex missing from /a/b/.codex pinned /a/b empty"},
		},
		"read only where nothing is written": {
			tree: []string{"a/b/", "c/"},
			p:    policy.Policy{Read: []string{"/a"}, ReadOnly: []string{"/a/b", "/c"}},
			want: []string{"read /a/"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			root := tree(t, c.tree...)
			p := c.p
			p.Level = policy.Full
			for _, l := range paths(&p) {
				for i, s := range *l {
					s, optional := policy.Optional(s)
					(*l)[i] = root + s
					if optional {
						(*l)[i] = "-" + root + s
					}
				}
			}
			r, err := Policy(&p, policy.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, lines(r, root)); d != "" {
				t.Error(d)
			}
			for _, g := range r.Grants {
				if g.Field == "" {
					t.Errorf("%s comes from nowhere", g.Path)
				}
			}
		})
	}
}

// The own grants of a path apply before those of its folder, also if another user
// owns it.
func TestGrantsAddUpInAnyOrder(t *testing.T) {
	for name, owned := range map[string][]policy.Access{"read first": {policy.Read, policy.Write}, "write first": {policy.Write, policy.Read}} {
		t.Run(name, func(t *testing.T) {
			r := resolver{out: &policy.Resolved{Policy: policy.Policy{Level: policy.NoCgroup}, Grants: []policy.Grant{{Path: "/a", Dir: true, Access: policy.Exec}}}}
			for _, access := range owned {
				r.out.Grants = append(r.out.Grants, policy.Grant{Path: "/a/f", Access: access, UID: 4242})
			}
			r.addUp()
			if err := r.bad.Err(); err != nil {
				t.Fatal(err)
			}
			if got, want := lines(r.out, ""), []string{"exec /a/", "write /a/f"}; !slices.Equal(got, want) {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}

// paths returns the lists of a policy that contain paths.
func paths(p *policy.Policy) []*[]string {
	return []*[]string{&p.Read, &p.Exec, &p.Write, &p.ReadOnly, &p.Deny, &p.Absent}
}

func texts(err error) []string {
	var out []string
	for _, e := range policy.Errors(err) {
		out = append(out, e.Error())
	}
	return out
}

func TestResolveRefuses(t *testing.T) {
	root := tree(t, "g/link -> ../a", "a/f", "l -> l", "up -> /", "w/x", "e/", "dev -> /dev/null")
	uid := os.Geteuid()
	for name, c := range map[string]struct {
		p    policy.Policy
		want []string
	}{
		"missing":                {policy.Policy{Read: []string{"/nosuch/b"}}, []string{`read[0] "ROOT/nosuch/b": it does not exist: there is no ROOT/nosuch (make it first, or write "-ROOT/nosuch/b"`}},
		"not a folder":           {policy.Policy{Read: []string{"/a/f/g"}}, []string{`read[0] "ROOT/a/f/g": ROOT/a/f/g: not a directory`}},
		"a glob":                 {policy.Policy{Read: []string{"/a/*"}}, []string{`read[0] "ROOT/a/*": it does not exist (patterns are for deny`}},
		"a circle":               {policy.Policy{Read: []string{"/l"}, Deny: []string{"/l"}}, []string{`read[0] "ROOT/l": it passes too many links`, `deny[0] "ROOT/l": it passes`}},
		"a link to the top":      {policy.Policy{Write: []string{"/up"}}, []string{`write[0] "ROOT/up": it leads to /: it would grant`}},
		"a link to proc":         {policy.Policy{Read: []string{"/up/proc/1"}}, []string{`read[0] "ROOT/up/proc/1": it leads to /proc/1: a confined process has`}},
		"a device":               {policy.Policy{Read: []string{"/dev"}}, []string{`read[0] "ROOT/dev": it leads to /dev/null: a confined process has a /dev`}},
		"written and run":        {policy.Policy{Exec: []string{"/a"}, Write: []string{"/a"}}, []string{`exec[0] "ROOT/a": it can be written too (write[0])`}},
		"run what is written":    {policy.Policy{Exec: []string{"/a/f"}, Write: []string{"/a"}}, []string{`exec[0] "ROOT/a/f": it can be written too (write[0])`}},
		"held apart by Landlock": {policy.Policy{Level: policy.Landlock, Exec: []string{"/a"}, Write: []string{"/a/f"}}, []string{`write[0] "ROOT/a/f": what is written there could be run`}},
		"work is not empty":      {policy.Policy{Work: policy.Work{Path: "/w"}}, []string{`work.path "ROOT/w": there are files in it (x)`}},
		"work is a file":         {policy.Policy{Work: policy.Work{Path: "/a/f"}}, []string{`work.path "ROOT/a/f": ROOT/a/f is not a folder, and work.path needs one there (move it away, or name another folder)`}},
		"work below a file":      {policy.Policy{Work: policy.Work{Path: "/a/f/g/work"}}, []string{`work.path "ROOT/a/f/g/work": ROOT/a/f is not a folder, and work.path needs one there (move`}},
		"deny in work":           {policy.Policy{Work: policy.Work{Path: "/e"}, Deny: []string{"/e/.env"}}, []string{`deny[0] "ROOT/e/.env": it lies in work`}},
		"work in what is denied": {policy.Policy{Write: []string{"/a"}, Deny: []string{"/a/in"}, Work: policy.Work{Path: "/a/in/w"}}, []string{`deny[0] "ROOT/a/in": it holds the folder that work bounds, ROOT/a/in/w`}},
		"a grant through a link": {policy.Policy{Work: policy.Work{Path: "/nosuch"}, Read: []string{"/up/ROOT/nosuch"}}, []string{`read[0] "ROOT/up/ROOT/nosuch": it does not exist`}},
		"written and fixed":      {policy.Policy{Write: []string{"/a"}, ReadOnly: []string{"/a"}}, []string{`write[0] "ROOT/a": it is in read_only too`}},
		"a link that is written": {policy.Policy{Write: []string{"/a", "/g"}, ReadOnly: []string{"/g/link/f"}}, []string{`read_only[0] "ROOT/g/link/f": ROOT/g/link is a symbolic link to ../a, which is not followed: write[1] lets ROOT/g be written`}},
		"a link that is denied":  {policy.Policy{Write: []string{"/a", "/g"}, Deny: []string{"/g/link/f"}}, []string{`deny[0] "ROOT/g/link/f": ROOT/g/link is a symbolic link to ../a, which is not followed: write[1] lets ROOT/g be written (name its target`}},
		"nothing to fix":         {policy.Policy{Write: []string{"/a"}, ReadOnly: []string{"/a/none"}}, []string{`read_only[0] "ROOT/a/none": it does not exist`}},
		"no device":              {policy.Policy{Devices: []string{"/dev/fd"}}, nil},
		"no user":                {policy.Policy{User: "nobody-at-all"}, []string{`user "nobody-at-all": there is no such user on this machine`}},
	} {
		t.Run(name, func(t *testing.T) {
			p := c.p
			if p.Level == "" {
				p.Level = policy.Full
			}
			for _, l := range paths(&p) {
				for i, s := range *l {
					(*l)[i] = root + strings.ReplaceAll(s, "ROOT", root[1:])
				}
			}
			if p.Work.Path != "" {
				p.Work.Path = root + p.Work.Path
			}
			r, err := Policy(&p, policy.Limits{})
			if err == nil {
				t.Fatalf("resolved to %q", lines(r, root))
			}
			got := texts(err)
			for i := range got {
				got[i] = strings.ReplaceAll(strings.ReplaceAll(got[i], root, "ROOT"), root[1:], "ROOT")
			}
			want := c.want
			for i := range want {
				want[i] = strings.ReplaceAll(want[i], "/ROOT", "ROOT")
			}
			for i := range got {
				got[i] = strings.ReplaceAll(got[i], "/ROOT", "ROOT")
			}
			if want != nil && (len(got) != len(want) || !slices.EqualFunc(got, want, strings.HasPrefix)) {
				t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
			}
		})
	}
	if uid != 0 {
		if _, err := Policy(&policy.Policy{Level: policy.Full, Work: policy.Work{Path: root + "/e", Keep: true}}, policy.Limits{}); err == nil {
			t.Error("only root can keep a work folder")
		}
		if _, err := Policy(&policy.Policy{Level: policy.Full, User: strconv.Itoa(uid + 1)}, policy.Limits{}); err == nil {
			t.Error("only root can change the user")
		}
	}
}

func TestResolveDefaults(t *testing.T) {
	root := tree(t, "x/l -> ROOT/y", "y/")
	p := policy.Policy{Devices: []string{"/dev/tty", "-/dev/nosuch"}, Work: policy.Work{Path: root + "/x/l/w"}, Level: policy.Full, Syscalls: policy.Syscalls{Allow: []string{"ptrace"}}}
	r, err := Policy(&p, policy.Limits{Files: 64})
	if err != nil {
		t.Fatal(err)
	}
	q := r.Policy
	want := map[bool]string{true: "auto", false: ""}[os.Geteuid() == 0]
	if q.User != want || q.Network != policy.NetworkNone || q.Level != policy.Full || r.UID != -1 || r.GID != -1 || r.Limits.Files != 64 || !r.PrivateTmp {
		t.Errorf("%+v", r)
	}
	if d := cmp.Diff(policy.Tmp{Size: policy.DefaultTmpSize, Inodes: policy.DefaultTmpInodes}, q.Tmp); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(policy.Work{Path: root + "/y/w", Size: policy.DefaultWorkSize, Inodes: policy.DefaultWorkInodes}, q.Work); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"write /dev/tty device"}, lines(r, "")); d != "" {
		t.Error(d)
	}
	if slices.Contains(r.RefusedSyscalls, "ptrace") || !slices.Contains(r.RefusedSyscalls, "mount") {
		t.Error(r.RefusedSyscalls)
	}
	if p.Work.Path != root+"/x/l/w" || p.User != "" {
		t.Error("the policy was changed")
	}
	if r, err = Policy(nil, policy.Limits{Tasks: 3}); err != nil || r.Policy.Level != policy.None || r.Limits.Tasks != 3 {
		t.Errorf("%+v %v", r, err)
	}
	p = policy.Policy{Level: policy.Full, Write: []string{"/tmp"}}
	if r, err = Policy(&p, policy.Limits{}); err != nil || r.PrivateTmp {
		t.Errorf("the machine's own /tmp was granted: %+v %v", r, err)
	}
}

func TestAccess(t *testing.T) {
	root := tree(t, "r/f", "w/", "x/p", "w/.env", "l -> x", "e/")
	at := func(s string) string { return root + s }
	p := policy.Policy{Level: policy.Full, Read: []string{at("/r")}, Write: []string{at("/w")}, Exec: []string{at("/x")}, Deny: []string{at("/w/.env")}, Work: policy.Work{Path: at("/e")}}
	r, err := Policy(&p, policy.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]policy.Access{
		"/r": policy.Read, "/r/f": policy.Read, "/r/missing/too": policy.Read, "/w": policy.Write, "/w/.env": 0, "/w/.env2": policy.Write, "/x/p": policy.Exec, "/l/p": policy.Exec, "/e/any": policy.Write, "/": 0, "/q": 0,
	} {
		if got := Access(r, at(path)); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	for dir, want := range map[string]bool{"/r": true, "": true, "/x": true, "/l": true, "/q": false, "/w/.env": false, "/../nosuch": false} {
		if Reaches(r, at(dir)) != want {
			t.Errorf("%s is reached: %v", dir, !want)
		}
	}
	if Access(r, "relative") != 0 {
		t.Error("a relative path is granted")
	}
}

// Each profile must resolve on this machine, whichever of its paths are missing.
func TestProfilesResolve(t *testing.T) {
	for _, name := range policy.Profiles() {
		p, _ := policy.Profile(name)
		r, err := Policy(&p, policy.Limits{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if sh, err := filepath.EvalSymlinks("/bin/sh"); err == nil && !Access(r, "/bin/sh").Has(policy.Exec) {
			t.Errorf("%s does not let /bin/sh (%s) run: %q", name, sh, lines(r, ""))
		}
		for _, secret := range []string{"/root/.ssh/id_rsa", "/home/ada/.env", "/etc/shadow", "/etc/ssl/private", "/var/lib/x"} {
			if a := Access(r, secret); a != 0 {
				t.Errorf("%s grants %s of %s", name, a, secret)
			}
		}
	}
}
