package resolve

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/hostsup/hostsup/sandbox/policy"
)

// A policy within another one grants exactly what both grant.
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
	random := func() *policy.Policy {
		p := &policy.Policy{Level: policy.NoCgroup, JIT: r.IntN(2) == 0, Read: some(2, entries), Exec: some(2, entries), Write: some(2, entries), ReadOnly: some(1, paths), Deny: some(1, paths)}
		if r.IntN(3) == 0 {
			p.Absent = []string{paths[r.IntN(len(paths))] + "/missing"}
		}
		return p
	}
	compared, granted := 0, 0
	for range 3000 {
		p, q := random(), random()
		rp, err1 := Policy(p, policy.Limits{})
		rq, err2 := Policy(q, policy.Limits{})
		if err1 != nil || err2 != nil {
			continue
		}
		both := *p
		both.Within = q
		rb, err := Policy(&both, policy.Limits{})
		if err != nil {
			t.Fatalf("%+v within %+v: %v", p, q, err)
		}
		compared++
		for _, path := range slices.Concat(paths, []string{root + "/a/missing", root + "/e/f/file"}) {
			want := effective(rp, Access(rp, path)) & effective(rq, Access(rq, path))
			got := effective(rb, Access(rb, path))
			if filepath.Base(path) == "missing" { // missing: there is nothing to read
				want, got = want&(policy.Write&^policy.Read), got&(policy.Write&^policy.Read)
			}
			if got != want {
				t.Fatalf("%s: %s, of %s and %s\n%+v\nwithin %+v\nis %+v %+v", path, got, Access(rp, path), Access(rq, path), p, q, rb.Grants, rb.Denied)
			}
			if want != 0 {
				granted++
			}
		}
		for i, g := range rb.Grants {
			in := above(rb.Grants[:i], g.Path)
			if loses := in != nil && g.Link == "" && in.Access.Has(policy.Write) && !g.Access.Has(policy.Write); loses != g.ReadOnly {
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
		p, q policy.Policy
		want string
	}{
		"nothing":                  {policy.Policy{}, policy.Policy{}, "none [] [] 67108864 false [] no-cgroup"},
		"hosts network":            {policy.Policy{Network: policy.NetworkHost, JIT: true}, policy.Policy{Network: policy.NetworkHost, JIT: true}, "host [] [] 67108864 true [] no-cgroup"},
		"no network around":        {policy.Policy{Network: policy.NetworkHost}, policy.Policy{}, "none [] [] 67108864 false [] no-cgroup"},
		"no network within":        {policy.Policy{JIT: true}, policy.Policy{Network: policy.NetworkHost, JIT: true}, "none [] [] 67108864 true [] no-cgroup"},
		"a list around":            {policy.Policy{Network: policy.NetworkHost, JIT: true}, policy.Policy{Network: policy.NetworkAllow, Allow: []string{"a:1"}, Listen: []string{"127.0.0.1:1"}}, "allow [a:1] [127.0.0.1:1] 67108864 false [] no-cgroup"},
		"a list within":            {policy.Policy{Network: policy.NetworkAllow, Allow: []string{"a:1"}}, policy.Policy{Network: policy.NetworkHost}, "allow [a:1] [] 67108864 false [] no-cgroup"},
		"two lists":                {policy.Policy{Network: policy.NetworkAllow, Allow: []string{"a:1", "b:2"}}, policy.Policy{Network: policy.NetworkAllow, Allow: []string{"b:2", "c:3"}}, "allow [b:2] [] 67108864 false [] no-cgroup"},
		"lists without the same":   {policy.Policy{Network: policy.NetworkAllow, Allow: []string{"a:1"}}, policy.Policy{Network: policy.NetworkAllow, Allow: []string{"c:3"}}, "none [] [] 67108864 false [] no-cgroup"},
		"a list and no network":    {policy.Policy{Network: policy.NetworkAllow, Allow: []string{"a:1"}}, policy.Policy{}, "none [] [] 67108864 false [] no-cgroup"},
		"a large /tmp around":      {policy.Policy{}, policy.Policy{Tmp: policy.Tmp{Size: 1 << 30}}, "none [] [] 1073741824 false [] no-cgroup"},
		"a small /tmp around":      {policy.Policy{Tmp: policy.Tmp{Size: 1 << 30}}, policy.Policy{Tmp: policy.Tmp{Size: 1 << 20}}, "none [] [] 1048576 false [] no-cgroup"},
		"calls":                    {policy.Policy{Syscalls: policy.Syscalls{Deny: []string{"kcmp"}, Allow: []string{"ptrace"}}}, policy.Policy{Syscalls: policy.Syscalls{Deny: []string{"uname"}}}, "none [] [] 67108864 false [kcmp ptrace uname] no-cgroup"},
		"calls that both allow":    {policy.Policy{Syscalls: policy.Syscalls{Allow: []string{"ptrace"}}}, policy.Policy{Syscalls: policy.Syscalls{Allow: []string{"ptrace"}}}, "none [] [] 67108864 false [kcmp] no-cgroup"},
		"a stronger level around":  {policy.Policy{}, policy.Policy{Level: policy.Full}, "none [] [] 67108864 false [] full"},
		"two that accept a weaker": {policy.Policy{Level: policy.Landlock}, policy.Policy{Level: policy.None}, "none [] [] 67108864 false [] no-cgroup"},
	} {
		p := tt.p
		q := tt.q
		for _, one := range []*policy.Policy{&p, &q} {
			if one.Level == "" {
				one.Level = policy.NoCgroup
			}
		}
		p.Within = &q
		r, err := Policy(&p, policy.Limits{})
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
	r, err := Policy(&policy.Policy{Level: policy.NoCgroup, Read: []string{dir}, Within: &policy.Policy{Level: policy.NoCgroup, Read: []string{dir}, Work: policy.Work{Path: work}}}, policy.Limits{})
	if err != nil || r.Policy.Work.Path != work {
		t.Errorf("the bounded folder of the policy around: %+v, %v", r, err)
	}
	for name, p := range map[string]*policy.Policy{
		"a folder of its own":                {Level: policy.NoCgroup, Work: policy.Work{Path: work}, Within: &policy.Policy{Level: policy.NoCgroup, Write: []string{dir}}},
		"a policy around it that is wrong":   {Level: policy.NoCgroup, Within: &policy.Policy{Level: "weak"}},
		"a folder around it that is missing": {Level: policy.NoCgroup, Within: &policy.Policy{Level: policy.NoCgroup, Read: []string{dir + "/missing"}}},
		"another user":                       {Level: policy.NoCgroup, User: "65534", Within: &policy.Policy{Level: policy.NoCgroup}},
	} {
		if name == "another user" && os.Geteuid() != 0 {
			continue // refused before that
		}
		if r, err := Policy(p, policy.Limits{}); err == nil || len(policy.Errors(err)) != 1 {
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
