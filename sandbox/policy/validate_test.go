package policy

import (
	"errors"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// texts returns the errors of Validate or Resolve, one line each.
func texts(err error) []string {
	var out []string
	for _, e := range Errors(err) {
		out = append(out, e.Error())
	}
	return out
}

func TestValidate(t *testing.T) {
	for name, c := range map[string]struct {
		p    Policy
		l    Limits
		want []string // prefixes of the errors, in order
	}{
		"nothing":        {},
		"a whole policy": {p: Policy{Profile: "node", Level: NoCgroup, User: "auto", Read: []string{"/srv", "-/opt/x"}, Write: []string{"/srv/w"}, Deny: []string{"/srv/.env", "/srv/**/*.pem"}, Network: NetworkAllow, Allow: []string{"db.example:5432", "127.0.0.1:8080"}, Syscalls: Syscalls{Deny: []string{"kcmp", "inotify_init1"}, Allow: []string{"ptrace"}}, Tmp: Tmp{Size: 1 << 20}, Work: Work{Path: "/srv/work", Size: 1 << 20}}, l: Limits{Memory: 64 << 20, Tasks: 3, CPU: 0.5, Files: 64, FileSize: 1 << 20, AddressSpace: 1 << 30}},
		"profile":        {p: Policy{Profile: "loose"}, want: []string{`profile "loose": there is no such profile (use one of strict, git,`}},
		"level":          {p: Policy{Level: "most"}, want: []string{`level "most": it is not a level (use one of full, no-cgroup, landlock, none)`}},
		"user":           {p: Policy{User: "0"}, want: []string{`user "0": nothing runs confined as root`}},
		"user root":      {p: Policy{User: "root"}, want: []string{`user "root": nothing runs`}},
		"user invalid":   {p: Policy{User: "a b"}, want: []string{`user "a b": it is neither`}},
		"user -1":        {p: Policy{User: "4294967295"}, want: []string{`user "4294967295": it is neither`}},
		"paths": {p: Policy{Read: []string{"", "srv", "~/x", "/a/../b", "/x\x00", "-"}}, want: []string{
			`read[0]: it is empty`, `read[1] "srv": it is not absolute`, `read[2] "~/x": it would be a folder named ~`, `read[3] "/a/../b": it goes up by .. (write the path that is meant: /b)`,
			`read[4] "/x�": it contains a NUL`, `read[5]: it is empty`}},
		"whole machine":                {p: Policy{Read: []string{"/"}, Write: []string{"-//"}}, want: []string{`read[0] "/": it would grant the whole machine`, `write[0] "-//": it would grant`}},
		"own folders":                  {p: Policy{Read: []string{"/proc", "/sys"}, Exec: []string{"/dev/shm"}, Write: []string{"/sys/devices"}}, want: []string{`read[0] "/proc": a confined process has a /proc`, `read[1] "/sys": it holds the limits`, `exec[0] "/dev/shm": a confined process has a /dev`, `write[0] "/sys/devices": writing there`}},
		"deny":                         {p: Policy{Level: Full, Deny: []string{"-/x", "x", "/a/[b"}}, want: []string{`deny[0] "-/x": a path that is denied`, `deny[1] "x": it is not absolute`, `deny[2] "/a/[b": a bracket`}},
		"landlock":                     {p: Policy{Level: Landlock, Deny: []string{"/a"}, ReadOnly: []string{"/b"}, Network: NetworkAllow, Allow: []string{"a:1"}, Tmp: Tmp{Inodes: 64}, Work: Work{Path: "/srv/w"}}, want: []string{`deny[0] "/a": it cannot be enforced at level landlock, which this policy accepts: without mounts`, `read_only[0] "/b": it cannot be enforced at level landlock`, `network "allow": it cannot be enforced`, `tmp: it cannot`, `work "/srv/w": it cannot`}},
		"a profile's tmp is no demand": {p: Policy{Profile: "build-tool", Level: Landlock, Tmp: Tmp{Size: 1 << 30, Inodes: 262144}}},
		"network":                      {p: Policy{Network: "some"}, want: []string{`network "some": it is unknown (use one of none, host, allow)`}},
		"allow by itself":              {p: Policy{Allow: []string{"a:1"}}, want: []string{`allow: it has no meaning with network = "none" (set network = "allow")`}},
		"allow nothing":                {p: Policy{Level: Full, Network: NetworkAllow}, want: []string{`network "allow": nothing is named in allow`}},
		"allow wrong":                  {p: Policy{Level: Full, Network: NetworkAllow, Allow: []string{"a:1", "http://x/", "b"}}, want: []string{`allow[1] "http://x/": it is a URL`, `allow[2] "b": `}},
		"devices":                      {p: Policy{Devices: []string{"/dev", "/etc/passwd", "/dev/mem", "/dev/dri"}}, want: []string{`devices[0] "/dev": it is not in /dev`, `devices[1] "/etc/passwd": it is not in /dev`, `devices[2] "/dev/mem": it is the memory`}},
		"unknown syscall":              {p: Policy{Syscalls: Syscalls{Deny: []string{"opennat", "PTRACE", "nosuch", "execve"}}}, want: []string{`syscalls.deny[0] "opennat": there is no system call of that name (did you mean openat?)`, `syscalls.deny[1] "PTRACE": there is no system call of that name (names are in small letters)`, `syscalls.deny[2] "nosuch": there is`, `syscalls.deny[3] "execve": no program can start`}},
		"syscalls to give":             {p: Policy{Syscalls: Syscalls{Allow: []string{"mount", "read", "ptrace"}, Deny: []string{"ptrace"}}}, want: []string{`syscalls.deny[0] "ptrace": it is both`, `syscalls.allow[0] "mount": no policy may allow it: it changes what is mounted`, `syscalls.allow[1] "read": it is not refused`}},
		"tmp":                          {p: Policy{Write: []string{"/tmp"}, Tmp: Tmp{Size: 1, Inodes: -1}}, want: []string{`tmp.size "1": it is less than`, `tmp.inodes "-1": it is negative`, `write[0] "/tmp": it grants the machine's /tmp`}},
		"work without":                 {p: Policy{Work: Work{Size: 1 << 20}}, want: []string{`work: it has no path`}},
		"work of the system":           {p: Policy{Level: Full, Work: Work{Path: "/usr/x"}}, want: []string{`work.path "/usr/x": /usr belongs to the system`}},
		"work kept where it is written": {p: Policy{Level: Full, Write: []string{"/srv/x", "-/srv/p"}, Work: Work{Path: "/srv/p/work/", Keep: true}},
			want: []string{`work.keep "true": /srv/p/work.image would hold its file system, and write[1] lets /srv/p be written (put work.path in a folder that root alone`}},
		"work kept beside what is written": {p: Policy{Level: Full, Write: []string{"/srv/p/x"}, Work: Work{Path: "/srv/p/work", Keep: true}}},
		"work too wide":                    {p: Policy{Level: Full, Work: Work{Path: "/srv"}}, want: []string{`work.path "/srv": it would cover`}},
		"a grant of work":                  {p: Policy{Level: Full, Write: []string{"/srv/w", "/srv/w/x", "/srv"}, Work: Work{Path: "/srv/w/"}}, want: []string{`write[0] "/srv/w": it grants the folder that work bounds`, `write[1] "/srv/w/x": it lies in the folder`}},
		"limits":                           {l: Limits{Memory: 5, Tasks: -1, CPU: math.NaN(), Files: 2, FileSize: -5, AddressSpace: 1, Enforce: "maybe"}, want: []string{`limits.enforce "maybe": it is unknown (use one of strict, best-effort)`, `limits.memory "5": it is less`, `limits.tasks "-1": it is negative`, `limits.files "2": it is less`, `limits.file_size "-5": it is neg`, `limits.address_space "1": it is less`, `limits.cpu "NaN": it is not a share`}},
	} {
		t.Run(name, func(t *testing.T) {
			if name != "landlock" && c.p.Level == "" {
				c.p.Level = Full
			}
			err := c.p.Validate(c.l)
			got := texts(err)
			if len(got) != len(c.want) || !slices.EqualFunc(got, c.want, strings.HasPrefix) {
				t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(c.want, "\n  "))
			}
			if (err != nil) != errors.Is(err, ErrInvalid) {
				t.Errorf("%v is ErrInvalid: %v", err, errors.Is(err, ErrInvalid))
			}
		})
	}
}

func TestValidateWithoutPolicy(t *testing.T) {
	var p *Policy
	if err := p.Validate(Limits{Memory: 64 << 20}); err != nil {
		t.Error(err)
	}
	if err := p.Validate(Limits{Memory: -1}); !errors.Is(err, ErrInvalid) {
		t.Error(err)
	}
}

func TestWhere(t *testing.T) {
	p := Policy{Level: Full, Deny: []string{"x"}, User: "root", Read: []string{"y"}, Tmp: Tmp{Size: -1},
		Source: map[string]string{"": "f:1", "deny": "f:3", "deny[0]": "f:4", "tmp": "f:7", "read": "f:9"}}
	want := []string{"f:1", "f:9", "f:4", "f:7"}
	var got []string
	for _, e := range Errors(p.Validate(Limits{})) {
		got = append(got, e.Where)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestLevels(t *testing.T) {
	all := Levels()
	for i, a := range all {
		for j, b := range all {
			if a.AtLeast(b) != (i <= j) {
				t.Errorf("%s at least %s: %v", a, b, a.AtLeast(b))
			}
		}
	}
	if Level("x").AtLeast(None) || Level("x").Valid() {
		t.Error("an unknown level counts for something")
	}
	for root, want := range map[bool]Level{true: Full, false: NoCgroup} {
		if got := (&Policy{}).Weakest(root); got != want {
			t.Error("default is", got)
		}
		if (*Policy)(nil).Weakest(root) != None || (&Policy{Level: Landlock}).Weakest(root) != Landlock {
			t.Error("Weakest does not follow the policy")
		}
	}
}

func TestProfiles(t *testing.T) {
	if d := cmp.Diff([]string{"strict", "git", "python", "node", "mcp-server", "language-server", "vscode-extensions", "go-build", "npm-install", "build-tool"}, Profiles()); d != "" {
		t.Error(d)
	}
	for _, name := range Profiles() {
		p, ok := Profile(name)
		if !ok || p.Profile != name || ProfileDoc(name) == "" {
			t.Fatalf("%s: %v %+v", name, ok, p)
		}
		if err := p.Validate(Limits{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if len(p.Write) > 0 || p.Network != NetworkNone || len(p.Devices) > 0 {
			t.Errorf("%s grants more than a profile should: %+v", name, p)
		}
		p.Exec[0] = "changed"
		if again, _ := Profile(name); again.Exec[0] == "changed" {
			t.Errorf("%s can be changed through what Profile returns", name)
		}
	}
	if _, ok := Profile("nosuch"); ok || ProfileDoc("nosuch") != "" {
		t.Error("an unknown profile was found")
	}
}

func TestMerge(t *testing.T) {
	base := Policy{Profile: "strict", Level: Full, Read: []string{"/a", "/b"}, JIT: true, Tmp: Tmp{Size: 1, Inodes: 2}, Source: map[string]string{"read[0]": "base:1", "level": "base:2", "tmp.size": "base:3"}}
	over := Policy{Level: NoCgroup, Read: []string{"/b", "/c"}, Deny: []string{"/d"}, Network: NetworkHost, Tmp: Tmp{Size: 5}, Work: Work{Path: "/w", Keep: true},
		Source: map[string]string{"read[0]": "over:1", "read[1]": "over:2", "deny[0]": "over:3", "level": "over:4", "": "over:0"}}
	got := Merge(base, over)
	want := Policy{Profile: "strict", Level: NoCgroup, Read: []string{"/b", "/c", "/a"}, Deny: []string{"/d"}, Network: NetworkHost, JIT: true, Tmp: Tmp{Size: 5, Inodes: 2},
		Work:   Work{Path: "/w", Keep: true},
		Source: map[string]string{"": "over:0", "read[0]": "over:1", "read[1]": "over:2", "read[2]": "base:1", "deny[0]": "over:3", "level": "over:4", "tmp.size": "base:3"}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if len(base.Source) != 3 || len(base.Read) != 2 {
		t.Error("base was changed")
	}
	if d := cmp.Diff(base, Merge(base, Policy{})); d != "" {
		t.Error(d)
	}
}

func TestSyscallTable(t *testing.T) {
	if !slices.IsSortedFunc(syscallTable[:], func(a, b syscallRow) int { return strings.Compare(a.name, b.name) }) {
		t.Fatal("the table is not sorted")
	}
	p := Policy{Syscalls: Syscalls{Deny: []string{"inotify_init1"}, Allow: []string{"ptrace"}}}
	got := p.Refused()
	for name, want := range map[string]bool{"inotify_init1": true, "ptrace": false, "mount": true, "kcmp": true, "read": false} {
		if slices.Contains(got, name) != want {
			t.Errorf("%s is refused: %v", name, !want)
		}
	}
	if n, ok := SyscallNumber("read"); runtime.GOARCH == "amd64" && (!ok || n != 0) || runtime.GOARCH == "arm64" && (!ok || n != 63) {
		t.Error(n, ok)
	}
	if _, ok := SyscallNumber("nosuch"); ok {
		t.Error("nosuch has a number")
	}
}
