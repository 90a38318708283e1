package policy

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// A policy within another one grants what both do, and nothing else.
func TestWithinGrantsWhatBothDo(t *testing.T) {
	root := tempRoot(t)
	paths := []string{"", "/a", "/a/b", "/a/b/c", "/a/d", "/e", "/e/f", "/e/f/g"}
	for i, p := range paths {
		paths[i] = root + p
		if err := os.MkdirAll(paths[i], 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("a/b", root+"/link"); err != nil {
		t.Fatal(err)
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	entries := append(slices.Clone(paths), root+"/link")
	some := func(most int, of []string) (out []string) {
		for range r.IntN(most + 1) {
			out = append(out, of[r.IntN(len(of))])
		}
		return out
	}
	random := func() *Policy {
		p := &Policy{Level: NoCgroup, JIT: r.IntN(2) == 0, Read: some(2, entries), Exec: some(2, entries), Write: some(2, entries), ReadOnly: some(1, paths), Deny: some(1, paths)}
		if r.IntN(3) == 0 {
			p.Absent = []string{paths[r.IntN(len(paths))] + "/missing"}
		}
		return p
	}
	compared, granted := 0, 0
	for range 3000 {
		p, q := random(), random()
		rp, err1 := Resolve(p, Limits{})
		rq, err2 := Resolve(q, Limits{})
		if err1 != nil || err2 != nil {
			continue
		}
		both := *p
		both.Within = q
		rb, err := Resolve(&both, Limits{})
		if err != nil {
			t.Fatalf("%+v within %+v: %v", p, q, err)
		}
		compared++
		for _, path := range slices.Concat(paths, []string{root + "/a/missing", root + "/e/f/file"}) {
			want := rp.effective(rp.Access(path)) & rq.effective(rq.Access(path))
			got := rb.effective(rb.Access(path))
			if filepath.Base(path) == "missing" { // what cannot come to be is there to be read by nobody
				want, got = want&(Write&^Read), got&(Write&^Read)
			}
			if got != want {
				t.Fatalf("%s: %s, of %s and %s\n%+v\nwithin %+v\nis %+v %+v", path, got, rp.Access(path), rq.Access(path), p, q, rb.Grants, rb.Denied)
			}
			if want != 0 {
				granted++
			}
		}
		for i, g := range rb.Grants {
			in := above(rb.Grants[:i], g.Path)
			if loses := in != nil && g.Link == "" && in.Access.Has(Write) && !g.Access.Has(Write); loses != g.ReadOnly {
				t.Fatalf("%+v in %+v", g, in)
			}
		}
	}
	if compared < 300 || granted < 300 {
		t.Errorf("only %d policies and %d grants were compared", compared, granted)
	}
}

func TestWithinNarrowsEverythingElse(t *testing.T) {
	dir := tempRoot(t)
	for name, tt := range map[string]struct {
		p, q Policy
		want string
	}{
		"nothing":                  {Policy{}, Policy{}, "none [] [] 67108864 false [] no-cgroup"},
		"hosts network":            {Policy{Network: NetworkHost, JIT: true}, Policy{Network: NetworkHost, JIT: true}, "host [] [] 67108864 true [] no-cgroup"},
		"no network around":        {Policy{Network: NetworkHost}, Policy{}, "none [] [] 67108864 false [] no-cgroup"},
		"no network within":        {Policy{JIT: true}, Policy{Network: NetworkHost, JIT: true}, "none [] [] 67108864 true [] no-cgroup"},
		"a list around":            {Policy{Network: NetworkHost, JIT: true}, Policy{Network: NetworkAllow, Allow: []string{"a:1"}, Listen: []string{"127.0.0.1:1"}}, "allow [a:1] [127.0.0.1:1] 67108864 false [] no-cgroup"},
		"a list within":            {Policy{Network: NetworkAllow, Allow: []string{"a:1"}}, Policy{Network: NetworkHost}, "allow [a:1] [] 67108864 false [] no-cgroup"},
		"two lists":                {Policy{Network: NetworkAllow, Allow: []string{"a:1", "b:2"}}, Policy{Network: NetworkAllow, Allow: []string{"b:2", "c:3"}}, "allow [b:2] [] 67108864 false [] no-cgroup"},
		"lists without the same":   {Policy{Network: NetworkAllow, Allow: []string{"a:1"}}, Policy{Network: NetworkAllow, Allow: []string{"c:3"}}, "none [] [] 67108864 false [] no-cgroup"},
		"a list and no network":    {Policy{Network: NetworkAllow, Allow: []string{"a:1"}}, Policy{}, "none [] [] 67108864 false [] no-cgroup"},
		"a large /tmp around":      {Policy{}, Policy{Tmp: Tmp{Size: 1 << 30}}, "none [] [] 1073741824 false [] no-cgroup"},
		"a small /tmp around":      {Policy{Tmp: Tmp{Size: 1 << 30}}, Policy{Tmp: Tmp{Size: 1 << 20}}, "none [] [] 1048576 false [] no-cgroup"},
		"calls":                    {Policy{Syscalls: Syscalls{Deny: []string{"kcmp"}, Allow: []string{"ptrace"}}}, Policy{Syscalls: Syscalls{Deny: []string{"uname"}}}, "none [] [] 67108864 false [kcmp ptrace uname] no-cgroup"},
		"calls that both allow":    {Policy{Syscalls: Syscalls{Allow: []string{"ptrace"}}}, Policy{Syscalls: Syscalls{Allow: []string{"ptrace"}}}, "none [] [] 67108864 false [kcmp] no-cgroup"},
		"a stronger level around":  {Policy{}, Policy{Level: Full}, "none [] [] 67108864 false [] full"},
		"two that accept a weaker": {Policy{Level: Landlock}, Policy{Level: None}, "none [] [] 67108864 false [] no-cgroup"},
	} {
		p := tt.p
		q := tt.q
		for _, one := range []*Policy{&p, &q} {
			if one.Level == "" {
				one.Level = NoCgroup
			}
		}
		p.Within = &q
		r, err := Resolve(&p, Limits{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var calls []string
		if tt.p.Syscalls.Deny != nil || tt.p.Syscalls.Allow != nil {
			for _, call := range []string{"kcmp", "ptrace", "uname"} {
				if slices.Contains(r.RefusedSyscalls, call) {
					calls = append(calls, call)
				}
			}
		}
		s := &r.Policy
		if got := fmt.Sprint(s.Network, " ", s.Allow, " ", s.Listen, " ", s.Tmp.Size, " ", s.JIT, " ", calls, " ", s.Level); got != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, tt.want)
		}
	}
	work := filepath.Join(dir, "work")
	r, err := Resolve(&Policy{Level: NoCgroup, Read: []string{dir}, Within: &Policy{Level: NoCgroup, Read: []string{dir}, Work: Work{Path: work}}}, Limits{})
	if err != nil || r.Policy.Work.Path != work {
		t.Errorf("the bounded folder of the policy around: %+v, %v", r, err)
	}
	for name, p := range map[string]*Policy{
		"a folder of its own":                {Level: NoCgroup, Work: Work{Path: work}, Within: &Policy{Level: NoCgroup, Write: []string{dir}}},
		"a policy around it that is wrong":   {Level: NoCgroup, Within: &Policy{Level: "weak"}},
		"a folder around it that is missing": {Level: NoCgroup, Within: &Policy{Level: NoCgroup, Read: []string{dir + "/missing"}}},
		"another user":                       {Level: NoCgroup, User: "65534", Within: &Policy{Level: NoCgroup}},
	} {
		if name == "another user" && os.Geteuid() != 0 {
			continue // refused before that
		}
		if r, err := Resolve(p, Limits{}); err == nil || len(Errors(err)) != 1 {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
}

func tempRoot(t *testing.T) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return root
}
