package simulation

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// mutant is a defect that is planted in the rules or the link. In what stands for the
// text, mutant("name") is true while the defect is in force.
type mutant struct{ name, file, text, planted string }

var mutants = []mutant{
	{"window", "lifecycle/host_end.go", `if now.Sub(t) < h.rules.Restart.Window {`, `if now.Sub(t) < h.rules.Restart.Window || mutant("window") {`},
	{"budget", "lifecycle/host_end.go", `case len(s.crashes) >= r.MaxCrashes:`, `case len(s.crashes) >= r.MaxCrashes && !(mutant("budget") && len(s.crashes) == r.MaxCrashes):`},
	{"backoff", "lifecycle/rules.go", "	if n <= 0 {\n		return 0", "	if n <= 0 || mutant(\"backoff\") {\n		return 0"},
	{"healthy", "lifecycle/host_end.go", `if s.now.Sub(s.spawnedAt) >= s.rules.Restart.Backoff.Healthy {`, `if s.now.Sub(s.spawnedAt) >= s.rules.Restart.Backoff.Healthy && !mutant("healthy") {`},
	{"twins", "lifecycle/host_start.go", "	if s.Present() {\n		s.again, s.againBy = true, by", "	if s.Present() && !mutant(\"twins\") {\n		s.again, s.againBy = true, by"},
	{"dependency", "lifecycle/group.go", `return m.state.Up()`, `return m.state.Up() || mutant("dependency")`},
	{"killed", "lifecycle/host_step.go", `if s.rules.KillAfter > 0 {`, `if s.rules.KillAfter > 0 && !mutant("killed") {`},
	{"silence", "lifecycle/liveness.go", `case !l.hung && silence >= l.after:`, `case !l.hung && silence >= l.after && !(mutant("silence") && silence < 3*l.after):`},
	{"resent", "actors/life.go", `case q.idempotent && !q.resent && !expected:`, `case (q.idempotent || mutant("resent")) && !q.resent && !expected:`},
	{"answer", "link/pending/table.go", "	if t.closed {\n		return nil\n	}\n	return t.open[id]", "	if t.closed {\n		return nil\n	}\n	if e := t.open[id-1]; e != nil && mutant(\"answer\") {\n		return e\n	}\n	return t.open[id]"},
	{"rest", "link/outbox.go", `if rest := mine[n:]; len(o.buf) == 0 {`, `if rest := mine[n:]; len(o.buf) == 0 || mutant("rest") {`},
	{"wake", "link/outbox.go", "		if !o.state.CompareAndSwap(busy, idle) {\n			o.wakeLoop() // for what was put meanwhile", "		if !o.state.CompareAndSwap(busy, idle) {\n			if mutant(\"wake\") {\n				o.state.Store(idle)\n				return\n			}\n			o.wakeLoop() // for what was put meanwhile"},
	{"deadline", "link/deadlines.go", `	if d.head != nil {
		d.timer.Reset`, `	if d.head != nil && !mutant("deadline") {
		d.timer.Reset`},
	{"closed", "link/pending/table.go", `	t.listed = t.list(func(*Entry) bool { return true })`, `	t.listed = t.list(func(e *Entry) bool { return e.acked || !mutant("closed") })`},
	// Of requests of hosts.
	{"bound", "link/pending/incoming.go", `t.bounds.Open > 0 && open >= t.bounds.Open:`, `t.bounds.Open > 0 && open >= t.bounds.Open && !mutant("bound"):`},
	{"withdrawn", "link/incoming.go", `	case pending.Stops:
		j.Owner.(*Incoming).cancel(c.takenBack)`, `	case pending.Stops:
		if !mutant("withdrawn") {
			j.Owner.(*Incoming).cancel(c.takenBack)
		}`},
	{"relayed", "intercept/answer/answer.go", `		if err := target.Call(ctx, in.Method`, `		if mutant("relayed") {
			ctx = context.WithoutCancel(ctx)
		}
		if err := target.Call(ctx, in.Method`},
	// Of results in items.
	{"granted", "link/pending/table.go", `i.taken < Window/2 || e.late`, `i.taken < Window/2 || mutant("granted") && i.seq > Window || e.late`},
	{"spent", "link/pending/incoming.go", `return j.begun, j.credit > 0 && !j.over`, `return j.begun, (j.credit > 0 || mutant("spent")) && !j.over`},
	{"overtaken", "link/items.go", `case !now || len(s.held) > 0:`, `case !now || len(s.held) > 0 && !mutant("overtaken"):`},
	// Of interceptors.
	{"heard", "actors/aftermath.go", `	if a.before != nil {`, `	if a.before != nil && !mutant("heard") {`},
	{"greeting", "actors/host_intercept.go", `publish = func() { i.Up(&h.up.line, then) }`, `publish = func() {
				if mutant("greeting") {
					then()
					then = func() {}
				}
				i.Up(&h.up.line, then)
			}`},
	{"checked", "intercept/health/health.go", `case err != nil && (what == isUnhealthy`, `case err != nil && !mutant("checked") && (what == isUnhealthy`},
	// Of hosts that outlive their supervisor.
	{"late", "survive/starter_linux.go", `	link.Inherit(c, firstID(s.life.Epoch))`, `	if !mutant("late") {
		link.Inherit(c, firstID(s.life.Epoch))
	}`},
	{"forgotten", "survive/host_linux.go", `	lifecycle.Resume(m, h.past())`, `	p := h.past()
	if mutant("forgotten") {
		p.Crashes = nil
	}
	lifecycle.Resume(m, p)`},
	{"apart", "survive/wire_linux.go", `	w.whole = w.framing.scan(p[:n])`, `	if w.whole += uint64(n); !mutant("apart") {
		w.whole = w.framing.scan(p[:n])
	}`},
	{"stranger", "survive/host_linux.go", `	left := h.left
	if n := h.next`, `	left := h.left
	if mutant("stranger") {
		left = nil
	}
	if n := h.next`},
	{"spell", "survive/host_linux.go", `p.Life, p.Spawned = last.Life-1, last.Started`, `p.Life, p.Spawned = last.Life-1, map[bool]time.Time{false: last.Started}[mutant("spell")]`},
	{"unasked", "survive/files.go", `	case spec.Protocol != nil && !l.Open:`, `	case spec.Protocol != nil && (!l.Open || mutant("unasked") && len(l.Opening) > 0):`},
	// Of hosts that programs share.
	{"renewed", "attach/documents.go", `"version": d.version, "text": d.text,
	}})
}

// changed`, `"version": d.version, "text": map[bool]string{true: d.views[0].text, false: d.text}[mutant("renewed")],
	}})
}

// changed`},
	{"together", "attach/documents.go", `case !together, parts && t.whole:`, `case !together && !mutant("together"), parts && t.whole:`},
	{"departed", "attach/documents.go", `	if len(d.views) > 0 {
		return d.follow()`, `	if len(d.views) > 0 {
		if mutant("departed") {
			return outcome{}
		}
		return d.follow()`},
	{"progress", "attach/progress.go", `		delete(h.works, token)
	}
	return to, mine`, `		delete(h.works, token)
	}
	if mutant("progress") {
		to = nil
	}
	return to, mine`},
	{"once", "attach/questions.go", `if how == repeats && !q.another && !old`, `if (how == repeats || lost && mutant("once")) && !q.another && !old`},
}

const planted = `package %

import "os"

var planted = os.Getenv("HOSTSUP_MUTANT")

func mutant(name string) bool { return planted == name }
`

// The simulation sees each of the mutants, which is what it is for.
func TestMutants(t *testing.T) {
	if !*plant {
		t.Skip("it builds the tree anew; ./test simulation does it, with -mutants")
	}
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	texts := make(map[string]string)
	for _, m := range mutants {
		if texts[m.file] == "" {
			b, err := os.ReadFile(filepath.Join(root, m.file))
			if err != nil {
				t.Fatal(err)
			}
			texts[m.file] = string(b)
		}
		if n := strings.Count(texts[m.file], m.text); n != 1 {
			t.Fatalf("%s: the text is %d times in %s: %s", m.name, n, m.file, m.text)
		}
		texts[m.file] = strings.Replace(texts[m.file], m.text, m.planted, 1)
		own := filepath.Join(filepath.Dir(m.file), "mutant_planted.go")
		texts[own] = strings.Replace(planted, "%", filepath.Base(filepath.Dir(m.file)), 1)
	}
	for file, text := range texts {
		to := filepath.Join(dir, strings.ReplaceAll(file, "/", "_"))
		if err := os.WriteFile(to, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		overlay.Replace[filepath.Join(root, file)] = to
	}
	raw, err := json.Marshal(overlay)
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(list, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "mutants.test")
	if out, err := exec.CommandContext(t.Context(), "go", "test", "-vet=off", "-overlay", list, "-c", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, m := range append(mutants, mutant{}) {
		name := m.name
		if name == "" {
			name = "none"
		}
		t.Run(name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), program, "-test.run", "^TestSeeds$", "-seeds", "1000", "-plain")
			cmd.Env = append(os.Environ(), "HOSTSUP_MUTANT="+m.name)
			out, err := cmd.CombinedOutput()
			if found := err != nil; found != (m.name != "") {
				t.Fatalf("%v\n%s", err, out)
			}
			t.Logf("%s", regexp.MustCompile(`(?m)^.*seed \d+.*$`).Find(out))
		})
	}
}
