package integration

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostsup/hostsup/config"
	"github.com/hostsup/hostsup/internal/require"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/sandbox"
	"github.com/hostsup/hostsup/supervisor"
)

// fileText is a configuration as people write it: blocks in their order.
type fileText []hostText

// hostText is a host, with the group that it stands in; hosts of the same group need
// not follow each other here.
type hostText struct {
	name, group string // group "": it stands alone
	strategy    string // of the group: that of its first host holds
	demo        bool   // the demo host, else a process without a protocol
	arg         int    // of its command
	mark        int    // in its environment
	lazy        bool
	needs       []string
	crashes     int
	policy      string
	window      string
	tasks       int // 0: no limit
	files       int
	instances   int    // 0: it is one host
	kind        string // job or cron, which stand alone; "": neither
	checked     bool   // by a command
	hooks       string // pre_start, post_stop or both
}

// randomFile is some configuration out of a few names and values, so that two of them have
// much in common.
func randomFile(r *rand.Rand) fileText {
	var out fileText
	of := func(words ...string) string { return words[r.IntN(len(words))] }
	rarely := func(n int) int { return max(0, r.IntN(4)-2) * n }
	groups := map[string][]string{} // names that others may depend on
	for _, i := range r.Perm(7) {
		h := hostText{
			name: fmt.Sprintf("h%d", i), group: of("red", "green", "blue", ""), strategy: of("one_for_one", "one_for_all", "rest_for_one"),
			demo: r.IntN(4) == 0, arg: rarely(1), mark: r.IntN(2), lazy: r.IntN(6) == 0,
			checked: r.IntN(6) == 0, hooks: of("", "", "", "", "pre_start", "post_stop", "pre_start post_stop"),
			crashes: 50 + r.IntN(2), policy: of("on_crash", "on_crash", "always"), window: of("5m", "5m", "6m"), tasks: rarely(64), files: rarely(512),
		}
		if f, _ := sandbox.Probe().Feature("memory limit"); !f.Have {
			h.tasks = 0 // no cgroup would enforce it
		}
		switch {
		case r.IntN(4) == 0:
			continue
		case i == 0:
			h.name, h.instances, h.lazy = "web", 1+r.IntN(3), false
		case i == 1:
			h.kind = of("job", "cron")
			h.name, h.group, h.demo, h.lazy, h.policy = h.kind, "", false, h.kind == "cron", "on_crash"
		case h.group != "":
			for _, other := range groups[h.group] {
				if r.IntN(2) == 0 {
					h.needs = append(h.needs, other)
				}
			}
			groups[h.group] = append(groups[h.group], h.name)
		}
		at := len(out)
		if r.IntN(2) == 0 { // the order of declaration is not that of the dependencies
			at = r.IntN(at + 1)
		}
		out = slices.Insert(out, at, h)
	}
	return out
}

// hcl is the text of the file.
func (w fileText) hcl() string {
	var b strings.Builder
	host := func(h hostText) {
		fmt.Fprintf(&b, "host %q {\n", h.name)
		if h.instances > 0 {
			fmt.Fprintf(&b, "  instances = %d\n", h.instances)
		}
		if h.kind != "" {
			fmt.Fprintf(&b, "  kind = %q\n", h.kind)
		}
		if h.kind == "cron" {
			fmt.Fprintf(&b, "  schedule = \"30 2 %d 1 *\"\n", 1+h.arg)
		}
		for hook := range strings.FieldsSeq(h.hooks) {
			fmt.Fprintf(&b, "  %s = [\"true\"]\n", hook)
		}
		if h.checked && h.kind == "" {
			b.WriteString("  healthy {\n    exec = [\"true\"]\n  }\n")
		}
		switch {
		case h.kind != "":
			fmt.Fprintf(&b, "  command = [\"true\", \"%d\"]\n  protocol = \"none\"\n  env = { TEST_MARK = \"%d\" }\n", h.arg, h.mark)
		case h.demo:
			fmt.Fprintf(&b, "  command = [self, \"%d\"]\n  env = { TEST_ROLE = \"demo\", GORACE = \"atexit_sleep_ms=0\", TEST_MARK = \"%d\" }\n", h.arg, h.mark)
		default:
			fmt.Fprintf(&b, "  command = [\"sleep\", \"%d\"]\n  protocol = \"none\"\n  env = { TEST_MARK = \"%d\" }\n", 1000+h.arg, h.mark)
		}
		if h.kind != "cron" { // which starts at its times only
			fmt.Fprintf(&b, "  start {\n    eager = %t\n    depends_on = [%s]\n  }\n", !h.lazy, quoted(h.needs))
		}
		fmt.Fprintf(&b, "  restart {\n    policy = %q\n    max_crashes = %d\n    window = %q\n  }\n", h.policy, h.crashes, h.window)
		if h.tasks+h.files > 0 {
			b.WriteString("  limits {\n")
			if h.tasks > 0 {
				fmt.Fprintf(&b, "    tasks = %d\n", h.tasks)
			}
			if h.files > 0 {
				fmt.Fprintf(&b, "    files = %d\n", h.files)
			}
			b.WriteString("  }\n")
		}
		b.WriteString("}\n")
	}
	done := map[string]bool{}
	for _, h := range w {
		switch {
		case h.group == "":
			host(h)
		case !done[h.group]:
			done[h.group] = true
			fmt.Fprintf(&b, "group %q {\n  strategy = %q\n", h.group, h.strategy)
			for _, other := range w {
				if other.group == h.group {
					host(other)
				}
			}
			b.WriteString("}\n")
		}
	}
	return b.String()
}

// quoted is the inside of a list of strings.
func quoted(list []string) string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = strconv.Quote(s)
	}
	return strings.Join(out, ", ")
}

// spec is the content of the file. A file without hosts cannot be read.
func (w fileText) spec(t testing.TB) supervisor.Spec {
	t.Helper()
	if len(w) == 0 {
		return supervisor.Spec{}
	}
	f, diags := config.Parse([]byte(w.hcl()), "config.hcl", config.Options{Self: self})
	if diags.HasErrors() {
		t.Fatalf("%v in\n%s", diags, w.hcl())
	}
	for _, g := range f.Spec.Groups {
		for i, h := range g.Hosts {
			env := map[string]string{}
			for name, value := range h.Env {
				if strings.HasPrefix(name, "TEST_") { // a file may not have those that begin with HOSTSUP_
					name = "HOSTSUP_" + name
				}
				env[name] = value
			}
			g.Hosts[i].Env = env
		}
	}
	return supervisor.Spec{Groups: f.Spec.Groups}
}

// without returns the file without one of its hosts, which others then do not need.
func (w fileText) without(i int) fileText {
	out := slices.Delete(slices.Clone(w), i, i+1)
	for j, h := range out {
		out[j].needs = slices.DeleteFunc(slices.Clone(h.needs), func(n string) bool { return n == w[i].name })
	}
	return out
}

// seen is what can be seen of a tree, with what is equal in every tree of a Spec. Specs are
// compared by themselves.
func seen(t testing.TB, sup *supervisor.Supervisor) (out []string, specs map[string]supervisor.HostSpec) {
	t.Helper()
	now, err := supervisor.Present(ctx(t), sup)
	if err != nil {
		t.Fatal(err)
	}
	specs = map[string]supervisor.HostSpec{}
	for _, g := range now.Groups {
		out = append(out, fmt.Sprintf("group %s %s", g.Name, g.Strategy))
		for _, h := range g.Hosts {
			s := host(t, sup, h.Name).Status()
			specs[h.Name] = h
			out = append(out, fmt.Sprintf("host %s of %s: %s %s, %d crashes, eager %t, needs %v, scheduled %t, health %t, liveness %s, sandbox %s, missing %v", h.Name, s.Group, s.Protocol, s.State, s.MaxCrashes, s.Eager,
				s.DependsOn, s.NextRun != nil, s.Health != nil, s.Liveness, s.Sandbox.Level, s.Sandbox.Missing))
		}
	}
	return out, specs
}

// reload has a tree that runs from changed to the configuration to, and returns what is not
// as it has to be. With disturb, another change was begun and given up before, and hosts
// were killed.
func reload(t testing.TB, sup *supervisor.Supervisor, from, to fileText, disturb *rand.Rand) (wrong []string) {
	t.Helper()
	failed := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	old, next := from.spec(t), to.spec(t)
	before := pidsOf(sup)
	if disturb != nil {
		c, cancel := context.WithTimeout(ctx(t), time.Duration(disturb.IntN(3000))*time.Microsecond)
		if _, err := supervisor.Apply(c, sup, randomFile(disturb).spec(t)); err != nil && !errors.Is(err, context.DeadlineExceeded) {
			failed("the change that was given up: %v", err)
		}
		cancel()
		for _, pid := range pidsOf(sup) {
			if disturb.IntN(3) == 0 {
				_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
			}
		}
	}
	plan, err := supervisor.Apply(ctx(t), sup, next)
	if err != nil {
		failed("apply: %v", err)
	}
	again, err := supervisor.PlanFor(ctx(t), sup, next)
	again.NeedsStart = nil // what start adds to a Spec
	if err != nil || again.Changes() {
		failed("there is something left to do: %+v, %v", again, err)
	}
	awake := needed(next)
	for name := range awake {
		runsAgain(t, sup, name)
	}
	for _, c := range plan.Hosts {
		if added := c.Action == supervisor.ActionAdd || c.Action == supervisor.ActionMove; added && !awake[c.Host] && disturb == nil {
			if s := host(t, sup, c.Host).State(); s != lifecycle.Stopped {
				failed("%s is lazy, new, and %s", c.Host, s)
			}
		}
	}
	settled(t, sup, next)
	fresh := start(t, next)
	defer end(t, fresh)
	settled(t, fresh, next)
	got, specs := seen(t, sup)
	want, wanted := seen(t, fresh)
	if diff := cmp.Diff(want, got); diff != "" {
		failed("not as a tree that was started so:\n%s", diff)
	}
	for name, h := range wanted {
		if !h.Equal(specs[name]) {
			failed("%s has another configuration: %+v, not %+v", name, specs[name], h)
		}
	}
	after := pidsOf(sup)
	kept := equals(old, next)
	for _, c := range plan.Hosts {
		was, ran := before[c.Host]
		switch {
		case disturb != nil || !ran:
		case (kept[c.Host] || c.Action == supervisor.ActionNone || c.Action == supervisor.ActionUpdate) && was != after[c.Host]:
			failed("%+v: the process is another", c)
		case (c.Action == supervisor.ActionRestart || c.Action == supervisor.ActionMove) && was == after[c.Host]:
			failed("%+v: the process is the same", c)
		case c.Action == supervisor.ActionRemove && syscall.Kill(was, 0) == nil:
			failed("%+v: the process is left", c)
		}
	}
	for _, h := range sup.Hosts() {
		if !h.Spec().Job && label(t, h) != h.Spec().Env["HOSTSUP_TEST_MARK"] {
			failed("%s runs with another environment", h.Name())
		}
	}
	return wrong
}

// equals are the hosts that are the same in two configurations, and in the same group.
func equals(a, b supervisor.Spec) map[string]bool {
	type host struct{ group, name string }
	old := map[host]supervisor.HostSpec{}
	for _, g := range a.Groups {
		for _, h := range g.Hosts {
			old[host{g.Name, h.Name}] = h
		}
	}
	out := map[string]bool{}
	for _, g := range b.Groups {
		for _, h := range g.Hosts {
			if was, ok := old[host{g.Name, h.Name}]; ok && was.Equal(h) {
				out[h.Name] = true
			}
		}
	}
	return out
}

// shrink returns the smallest files it finds that still go wrong, as two new trees see them.
func shrink(t testing.TB, from, to fileText) (fileText, fileText) {
	t.Helper()
	wrong := func(from, to fileText) bool {
		sup := start(t, from.spec(t))
		defer end(t, sup)
		settled(t, sup, from.spec(t))
		return len(reload(t, sup, from, to, nil)) > 0
	}
	if !wrong(from, to) {
		return from, to // it takes what was before
	}
	for again := true; again; {
		again = false
		for i := len(from) - 1; i >= 0; i-- {
			if less := from.without(i); wrong(less, to) {
				from, again = less, true
			}
		}
		for i := len(to) - 1; i >= 0; i-- {
			if less := to.without(i); wrong(from, less) {
				to, again = less, true
			}
		}
	}
	return from, to
}

// After a reload a tree is as one that was started with the same file, and what is equal has
// kept its process; the same holds when a change was given up half-way, or hosts were killed
// meanwhile. HOSTSUP_RELOADS has another number of reloads than 30, or 10 in a plain ./test;
// HOSTSUP_RELOAD_SEED those of a run that failed.
func TestReloadProperty(t *testing.T) {
	t.Parallel()
	number := func(name string, n uint64) uint64 {
		if text := os.Getenv(name); text != "" {
			var err error
			if n, err = strconv.ParseUint(text, 10, 64); err != nil {
				t.Fatal(err)
			}
		}
		return n
	}
	rounds, seed := number("HOSTSUP_RELOADS", uint64(require.Rounds(30, 10))), number("HOSTSUP_RELOAD_SEED", uint64(time.Now().UnixNano()))
	r := rand.New(rand.NewPCG(seed, 0))
	from := randomFile(r)
	sup := start(t, from.spec(t))
	settled(t, sup, from.spec(t))
	for round := range rounds {
		to := randomFile(r)
		var disturb *rand.Rand
		if round%3 == 2 {
			disturb = r
		}
		if wrong := reload(t, sup, from, to, disturb); len(wrong) > 0 {
			t.Errorf("round %d of HOSTSUP_RELOAD_SEED=%d, disturbed %t:\n%s", round, seed, disturb != nil, strings.Join(wrong, "\n"))
			if disturb == nil {
				from, to = shrink(t, from, to)
			}
			t.Fatalf("from\n%s\nto\n%s", from.hcl(), to.hcl())
		}
		from = to
	}
}
