package policy

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "write the section on system calls of docs/security.md")

// TestSyscallsAreDocumented compares docs/security.md with the table. `go test
// ./sandbox/policy -run Documented -rewrite` rewrites the section.
func TestSyscallsAreDocumented(t *testing.T) {
	const path, begin, end = "../../docs/security.md", "<!-- system calls: begin -->\n", "<!-- system calls: end -->\n"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(text), begin)
	got, tail, also := strings.Cut(rest, end)
	if !ok || !also {
		t.Fatalf("%s has no markers for the system calls", path)
	}
	want := syscallSection()
	if *rewrite {
		if err := os.WriteFile(path, []byte(head+begin+want+end+tail), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if got != want {
		t.Errorf("%s differs from the table; rewrite it with `go test ./sandbox/policy -run Documented -rewrite`", path)
	}
}

// syscallSection returns the section on system calls, the same on amd64 and arm64.
func syscallSection() string {
	var b strings.Builder
	names := func(kind standing) string {
		var out []string
		for _, e := range syscallTable {
			if e.treatment.standing == kind && len(e.treatment.checks) == 0 && max(e.amd64, e.arm64) <= NewestSyscall {
				out = append(out, "`"+e.name+"`")
			}
		}
		return wrapped(strings.Join(out, " "))
	}
	list := func(title string, kind standing) {
		groups := map[string][]string{}
		for _, e := range syscallTable {
			if e.treatment.standing == kind {
				key := e.treatment.why + " | " + e.treatment.answer.String()
				groups[key] = append(groups[key], "`"+e.name+"`")
			}
		}
		fmt.Fprintf(&b, "%s\n\n| why | answer | calls |\n| --- | --- | --- |\n", title)
		for _, why := range slices.Sorted(maps.Keys(groups)) {
			fmt.Fprintf(&b, "| %s | %s |\n", why, strings.Join(groups[why], " "))
		}
		b.WriteString("\n")
	}
	list("Refused whatever the policy says:", standingNever)
	list("Refused unless `syscalls { allow = […] }` names them:", standingRefused)

	b.WriteString("Allowed or refused by their arguments; the first row of a call that matches decides:\n\n" +
		"| calls | where | arguments | answer | why |\n| --- | --- | --- | --- | --- |\n")
	type lines struct {
		calls []string
		text  string
	}
	var rows []*lines
	for _, e := range syscallTable {
		text := e.treatment.lines()
		if text == "" {
			continue
		}
		i := slices.IndexFunc(rows, func(l *lines) bool { return l.text == text })
		if i < 0 {
			i, rows = len(rows), append(rows, &lines{text: text})
		}
		rows[i].calls = append(rows[i].calls, "`"+e.name+"`")
	}
	for _, r := range rows {
		b.WriteString(strings.Replace(r.text, "CALLS", strings.Join(r.calls, " "), 1))
	}
	fmt.Fprintf(&b, "\nAllowed, and no policy may refuse them, because no program can start or end without them:\n%s\n", names(standingNeeded))
	fmt.Fprintf(&b, "\nAllowed unless `syscalls { deny = […] }` names them:\n%s\n", names(standingFree))
	fmt.Fprintf(&b, "\nOther numbers, and all above %d, do not exist for a confined process (ENOSYS): calls that a newer kernel adds are refused\nuntil they are in the table.\n", NewestSyscall)
	return b.String()
}

// wrapped breaks text into lines of the page's width.
func wrapped(text string) string {
	const width = 120
	var b strings.Builder
	n := 0
	for _, word := range strings.Fields(text) {
		switch {
		case n == 0:
		case n+1+len(word) > width:
			b.WriteString("\n")
			n = 0
		default:
			b.WriteString(" ")
			n++
		}
		b.WriteString(word)
		n += len(word)
	}
	return b.String()
}

// lines returns the rows of a call that depends on arguments, with CALLS in the
// position of its names.
func (t treatment) lines() string {
	if len(t.checks) == 0 {
		return ""
	}
	var b strings.Builder
	call, why := "CALLS", t.why
	if t.standing == standingRefused {
		call += " (when allowed)"
	}
	line := func(when, args string, answer Answer) {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", call, when, args, answer, why)
		call, why = "", ""
	}
	all := false
	for i := 0; i < len(t.checks); i++ {
		c := t.checks[i]
		args := c.text()
		// Checks that differ in one argument only share a row.
		for i+1 < len(t.checks) && len(c.Tests) == 1 && c.Answer == AnswerAllow && t.checks[i+1].when == c.when && t.checks[i+1].Answer == c.Answer &&
			len(t.checks[i+1].Tests) == 1 && t.checks[i+1].Tests[0].Arg == c.Tests[0].Arg && !c.Tests[0].Differ {
			i++
			_, values, _ := strings.Cut(t.checks[i].text(), " is ")
			args += ", " + values
		}
		line(c.when.String(), args, c.Answer)
		all = len(c.Tests) == 0 && c.when == always
	}
	if !all {
		line("", "any other", t.otherwise)
	}
	return b.String()
}

func (c ArgCheck) text() string {
	var parts []string
	for _, t := range c.Tests {
		if t.text != "" {
			parts = append(parts, t.text)
		}
	}
	if len(parts) == 0 {
		return "any"
	}
	return strings.Join(parts, " and ")
}

// decide returns the answer of rules to a call with arguments.
func decide(t *testing.T, rules []SyscallRule, name string, args ...uint64) Answer {
	t.Helper()
	n, ok := SyscallNumber(name)
	if !ok {
		t.Skipf("this processor has no %s", name)
	}
	i := slices.IndexFunc(rules, func(r SyscallRule) bool { return r.Number == n })
	if i < 0 {
		return AnswerAllow
	}
checks:
	for _, c := range rules[i].Checks {
		for _, x := range c.Tests {
			v := uint64(0)
			if x.Arg < len(args) {
				v = args[x.Arg]
			}
			if x.High {
				v >>= 32
			}
			bits := uint32(v) & x.Mask
			if (bits >= x.First && bits <= x.Last) == x.Differ {
				continue checks
			}
		}
		return c.Answer
	}
	return rules[i].Otherwise
}

func TestArgumentsDecide(t *testing.T) {
	strict := SyscallScope{Level: Full, Network: NetworkNone, Protected: true}
	landlock := SyscallScope{Level: Landlock, Network: NetworkNone, Protected: true}
	jit, old, sampled, open := strict, strict, strict, landlock
	jit.JIT, old.Protected, sampled.Sampled, open.Network = true, false, true, NetworkHost
	sampled.JIT = true
	const private, anonymous, sharedMap = 2, 0x20, 1
	const read, write, exec = 1, 2, 4
	allow := func(names ...string) *Policy { return &Policy{Syscalls: Syscalls{Allow: names}} }
	for _, test := range []struct {
		policy *Policy
		scope  SyscallScope
		want   Answer
		name   string
		args   []uint64
	}{
		{nil, strict, AnswerAllow, "read", nil},
		{nil, strict, AnswerNotPermitted, "mount", nil},
		{nil, strict, AnswerNoSuchCall, "io_uring_setup", nil},
		{nil, strict, AnswerNoSuchCall, "io_setup", nil},
		{allow("io_setup"), strict, AnswerAllow, "io_setup", nil},
		{nil, strict, AnswerNoSuchCall, "openat2", nil},
		{nil, strict, AnswerNoSuchCall, "clone3", nil},
		{&Policy{Syscalls: Syscalls{Deny: []string{"fcntl"}}}, strict, AnswerNotPermitted, "fcntl", []uint64{0, 1}},

		{nil, strict, AnswerAllow, "mmap", []uint64{0, 4096, read | exec, private}},
		{nil, strict, AnswerNotPermitted, "mmap", []uint64{0, 4096, read | exec, private | anonymous}},
		{nil, strict, AnswerNotPermitted, "mmap", []uint64{0, 4096, exec, sharedMap}},
		{nil, strict, AnswerAllow, "mmap", []uint64{0, 4096, read | write, private | anonymous}},
		{nil, jit, AnswerAllow, "mmap", []uint64{0, 4096, read | write | exec, private | anonymous}},
		{nil, old, AnswerNotPermitted, "mmap", []uint64{0, 4096, write | exec, private}},
		{nil, old, AnswerNotPermitted, "mprotect", []uint64{0, 4096, exec}},
		{nil, strict, AnswerAllow, "mprotect", []uint64{0, 4096, exec}}, // the kernel's own check
		{nil, strict, AnswerNotPermitted, "shmat", []uint64{0, 0, 0o100000}},
		{nil, landlock, AnswerNotPermitted, "shmat", []uint64{0, 0, 0}},
		{nil, strict, AnswerNotPermitted, "memfd_create", nil},
		{nil, jit, AnswerAllow, "memfd_create", nil},
		{nil, sampled, AnswerNotPermitted, "memfd_create", nil},
		{nil, sampled, AnswerNotPermitted, "shmget", nil},
		{nil, strict, AnswerAllow, "shmget", nil},
		{allow("personality"), strict, AnswerNotPermitted, "personality", []uint64{0x400000}},
		{allow("personality"), strict, AnswerAllow, "personality", []uint64{0xffffffff}},
		{allow("personality"), jit, AnswerAllow, "personality", []uint64{0x400000}},
		{nil, strict, AnswerInvalid, "madvise", []uint64{0, 0, 12}},

		{nil, strict, AnswerAllow, "socket", []uint64{1, 5}},
		{nil, strict, AnswerAllow, "socket", []uint64{2, 1 | 0o2000000, 6}},
		{nil, strict, AnswerAllow, "socket", []uint64{10, 2, 58}},
		{nil, strict, AnswerNoSuchFamily, "socket", []uint64{2, 1, 132}},
		{nil, strict, AnswerNoSuchFamily, "socket", []uint64{2, 3, 1}},
		{nil, strict, AnswerNoSuchFamily, "socket", []uint64{16, 3, 9}},
		{nil, strict, AnswerNoSuchFamily, "socket", []uint64{0, 1}},
		{nil, landlock, AnswerNotPermitted, "socket", []uint64{1, 1}},
		{nil, open, AnswerAllow, "socket", []uint64{2, 1}},
		{nil, landlock, AnswerAllow, "socketpair", []uint64{1, 1}},
		{nil, strict, AnswerNoSuchFamily, "socketpair", []uint64{30, 1}},

		{nil, strict, AnswerAllow, "fcntl", []uint64{0, 1030}},
		{nil, strict, AnswerInvalid, "fcntl", []uint64{0, 1024}},
		{nil, strict, AnswerInvalid, "fcntl", []uint64{0, 12}},
		{nil, strict, AnswerInvalid, "fcntl", []uint64{0, 1039}},
		{nil, strict, AnswerAllow, "prctl", []uint64{15}},
		{nil, strict, AnswerInvalid, "prctl", []uint64{67}},
		{nil, strict, AnswerInvalid, "prctl", []uint64{35}},

		{nil, strict, AnswerNotPermitted, "prlimit64", []uint64{2, 7, 1}},
		{nil, strict, AnswerAllow, "prlimit64", []uint64{0, 7, 1 << 40}},
		{nil, strict, AnswerAllow, "prlimit64", []uint64{0, 4, 0, 1}},
		{nil, strict, AnswerIgnore, "prlimit64", []uint64{0, 4, 1 << 40, 0}},
		{nil, strict, AnswerNotPermitted, "prlimit64", []uint64{0, 4, 1, 1 << 40}},
		{nil, strict, AnswerIgnore, "setrlimit", []uint64{4}},
		{nil, strict, AnswerAllow, "setrlimit", []uint64{7}},
		{nil, strict, AnswerNotPermitted, "sched_setaffinity", []uint64{1}},
		{nil, strict, AnswerAllow, "sched_setaffinity", []uint64{9}},
		{nil, landlock, AnswerNotPermitted, "sched_setaffinity", []uint64{9}},
		{nil, strict, AnswerAllow, "setpriority", []uint64{0, 9}},
		{nil, strict, AnswerNotPermitted, "setpriority", []uint64{0, 1}},
		{nil, strict, AnswerNotPermitted, "setpriority", []uint64{2, 9}},
		{nil, landlock, AnswerAllow, "ioprio_set", []uint64{1, 0}},
		{nil, landlock, AnswerNotPermitted, "ioprio_set", []uint64{1, 9}},

		{nil, strict, AnswerNotPermitted, "fchmodat", []uint64{0, 0, 0o4755}},
		{nil, strict, AnswerNotPermitted, "openat", []uint64{0, 0, 0o101, 0o6755}},
		{nil, strict, AnswerAllow, "openat", []uint64{0, 0, 0, 0o6755}}, // there is no mode
		{nil, strict, AnswerAllow, "mknodat", []uint64{0, 0, 0o010644}},
		{nil, strict, AnswerNotPermitted, "mknodat", []uint64{0, 0, 0o020644}},
		{nil, strict, AnswerNotPermitted, "mknodat", []uint64{0, 0, 0o104755}},
		{nil, strict, AnswerNotPermitted, "clone", []uint64{0x10000000}},
		{nil, strict, AnswerAllow, "clone", []uint64{0x3d0f00}},
		{nil, strict, AnswerNotPermitted, "ioctl", []uint64{0, 0x5412}},
	} {
		p := test.policy
		if p == nil {
			p = &Policy{}
		}
		r := &Resolved{RefusedSyscalls: p.Refused()}
		if got := decide(t, r.SyscallRules(test.scope, nil), test.name, test.args...); got != test.want {
			t.Errorf("%s%#x in %+v: %s, want %s", test.name, test.args, test.scope, got, test.want)
		}
	}
}

func TestUnknownCallsAreRefused(t *testing.T) {
	r := &Resolved{RefusedSyscalls: new(Policy).Refused()}
	rules := r.SyscallRules(SyscallScope{Level: Full}, nil)
	for n := range NewestSyscall + 1 {
		_, known := SyscallName(n)
		i := slices.IndexFunc(rules, func(r SyscallRule) bool { return r.Number == n })
		if refused := i >= 0 && rules[i].Otherwise == AnswerNoSuchCall && rules[i].Name == ""; refused == known {
			t.Errorf("number %d: known %v, refused as unknown %v", n, known, refused)
		}
	}
}
