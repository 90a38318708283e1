package denial

import (
	"reflect"
	"slices"
	"testing"

	"github.com/hostsup/hostsup/sandbox/policy"
)

func of(kind Kind, paths ...string) []Denial {
	log := NewLog(0)
	for _, p := range paths {
		log.Add(Denial{Kind: kind, Path: p})
	}
	return log.List()
}

func TestSuggest(t *testing.T) {
	for _, c := range []struct {
		what string
		list []Denial
		want policy.Policy
	}{
		{"nothing", nil, policy.Policy{}},
		{"files stay files", of(Read, "/etc/passwd", "/srv/a/b", "/home/u/.config/x"),
			policy.Policy{Read: []string{"/etc/passwd", "/home/u/.config/x", "/srv/a/b"}}},
		{"many files are a folder", of(Read, "/srv/a/1", "/srv/a/2", "/srv/a/3", "/srv/a/4", "/srv/b/1"),
			policy.Policy{Read: []string{"/srv/a", "/srv/b/1"}}},
		{"many folders are one", of(Read, "/srv/a/b/1/x", "/srv/a/b/2", "/srv/a/b/3", "/srv/a/b/1", "/srv/a/b/4"),
			policy.Policy{Read: []string{"/srv/a/b"}}},
		{"not in crowded folders", of(Read, "/etc/1", "/etc/2", "/etc/3", "/etc/4", "/home/u/1", "/home/u/2", "/home/u/3", "/home/u/4"),
			policy.Policy{Read: []string{"/etc/1", "/etc/2", "/etc/3", "/etc/4", "/home/u/1", "/home/u/2", "/home/u/3", "/home/u/4"}}},
		{"nor in secret ones", of(Read, "/home/u/.ssh/1", "/home/u/.ssh/2", "/home/u/.ssh/3", "/home/u/.ssh/4"),
			policy.Policy{Read: []string{"/home/u/.ssh/1", "/home/u/.ssh/2", "/home/u/.ssh/3", "/home/u/.ssh/4"}}},
		{"the system", slices.Concat(of(Exec, "/usr/bin/python3", "/usr/lib/x/libc.so.6", "/lib64/ld.so"), of(Read, "/usr/lib/python3/os.py", "/usr/share/x")),
			policy.Policy{Exec: []string{"/lib64/ld.so", "/usr/bin/python3", "/usr/lib/x/libc.so.6"}, Read: []string{"/usr/lib/python3/os.py", "/usr/share/x"}}},
		{"much of the system", slices.Concat(of(Exec, "/usr/bin/1", "/usr/bin/2", "/usr/bin/3", "/usr/bin/4"), of(Read, "/usr/lib/p/1", "/usr/lib/p/2", "/usr/lib/p/3", "/usr/lib/p/4", "/usr/share/x")),
			policy.Policy{Exec: []string{"/usr/bin"}, Read: []string{"/usr/lib/p", "/usr/share/x"}}},
		{"links bring what they lead to", slices.Concat(of(Exec, "/usr/bin/vi"), []Denial{{Kind: Exec, Path: "/etc/alternatives/vi", Via: "/usr/bin/vi", Field: "exec"}, {Kind: Exec, Path: "/usr/lib/vim/vim", Via: "/etc/alternatives/vi", Field: "exec"}}),
			policy.Policy{Exec: []string{"/usr/bin/vi"}}},
		{"their folders do not", slices.Concat(of(Exec, "/usr/bin/vi", "/usr/bin/1", "/usr/bin/2", "/usr/bin/3"), []Denial{{Kind: Exec, Path: "/etc/alternatives/vi", Via: "/usr/bin/vi", Field: "exec"}, {Kind: Exec, Path: "/usr/lib/vim/vim", Via: "/etc/alternatives/vi", Field: "exec"}}),
			policy.Policy{Exec: []string{"/etc/alternatives/vi", "/usr/bin"}}},
		{"nor what is in the same folder", slices.Concat(of(Exec, "/usr/bin/vi", "/usr/bin/1", "/usr/bin/2", "/usr/bin/3"), []Denial{{Kind: Exec, Path: "/usr/bin/vim", Via: "/usr/bin/vi", Field: "exec"}, {Kind: Exec, Path: "/opt/vim", Via: "/usr/bin/vim", Field: "exec"}}),
			policy.Policy{Exec: []string{"/opt/vim", "/usr/bin"}}},
		{"one of a package", of(Read, "/srv/ts/node_modules/a/index.js"), policy.Policy{Read: []string{"/srv/ts/node_modules/a/index.js"}}},
		{"packages", of(Read, "/srv/ts/node_modules/a/index.js", "/srv/ts/node_modules/b/node_modules/c/x", "/srv/ts/node_modules/c/1", "/srv/ts/node_modules/d/1", "/srv/ts/host.js"),
			policy.Policy{Read: []string{"/srv/ts/host.js", "/srv/ts/node_modules"}}},
		{"write has read, and only what was written is written", slices.Concat(of(Write, "/srv/w/1", "/srv/w/2"), of(Read, "/srv/w/1", "/srv/w/3")),
			policy.Policy{Write: []string{"/srv/w/1", "/srv/w/2"}, Read: []string{"/srv/w/3"}}},
		{"what is made needs its folder", []Denial{{Kind: Write, Path: "/srv/w/new", Grant: "/srv/w", Field: "write"}},
			policy.Policy{Write: []string{"/srv/w"}}},
		{"running what is written", slices.Concat(of(Write, "/srv/w"), of(Exec, "/srv/w/a.out")),
			policy.Policy{Write: []string{"/srv/w"}, JIT: true}},
		{"looking", slices.Concat(of(Read, "/srv/a/b/c"), of(Stat, "/", "/srv", "/srv/a", "/srv/a/b/c", "/srv/a/b/d", "/home", "/home/u", "/home/u/.x", "/usr/bin/no")),
			policy.Policy{Read: []string{"/home/u/.x", "/srv/a/b/c", "/srv/a/b/d", "/usr/bin/no"}}},
		{"looking at what holds much else", of(Stat, "/run", "/home", "/srv/x"), policy.Policy{Read: []string{"/srv/x"}}},
		{"its own", slices.Concat(of(Read, "/proc/self/maps", "/dev/null", "/"), of(Write, "/dev/tty"), of(Process, "1 init"), of(Limit, "memory")),
			policy.Policy{}},
		{"what no policy may grant", slices.Concat(of(Read, "/sys/fs/cgroup/memory/x", "/dev/kvm", "relative", "/a/../b"), of(Write, "/sys/kernel/x"),
			[]Denial{{Kind: Connect, Path: "nonsense", Field: "allow"}, {Kind: Connect, Path: "1.2.3.4:0", Field: "allow"}}), policy.Policy{}},
		{"devices", of(Device, "/dev/kvm", "/dev/dri/card0"), policy.Policy{Devices: []string{"/dev/dri/card0", "/dev/kvm"}}},
		{"network", []Denial{{Kind: Connect, Path: "db.example:5432", Field: "allow"}, {Kind: Connect, Path: "127.0.0.1:80", Field: "allow"}, {Kind: Connect, Path: "db.example:5432", Field: "allow"}},
			policy.Policy{Network: policy.NetworkAllow, Allow: []string{"127.0.0.1:80", "db.example:5432"}}},
		{"all of the network", []Denial{{Kind: Connect, Path: "unix @x", Field: "network"}, {Kind: Connect, Path: "1.1.1.1:1", Field: "allow"}},
			policy.Policy{Network: policy.NetworkHost}},
		{"calls", []Denial{callDenial(must("ptrace")), callDenial(must("mount")), callDenial(must("memfd_create")), callDenial(9999)},
			policy.Policy{JIT: true, Syscalls: policy.Syscalls{Allow: []string{"ptrace"}}}},
	} {
		if c.want.Network == "" {
			c.want.Network = policy.NetworkNone
		}
		got := Suggest(c.list)
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s:\n%+v, want\n%+v", c.what, got, c.want)
		}
		slices.Reverse(c.list)
		if again := Suggest(c.list); !reflect.DeepEqual(got, again) {
			t.Errorf("%s: the result depends on the order", c.what)
		}
		if err := got.Validate(policy.Limits{}); err != nil {
			t.Errorf("%s: %v", c.what, err)
		}
	}
}

func must(name string) int {
	n, _ := policy.SyscallNumber(name)
	return n
}
