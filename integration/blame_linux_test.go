//go:build linux

package integration

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hostsup/hostsup/extensions/blame"
	"github.com/hostsup/hostsup/extensions/manifest"
	"github.com/hostsup/hostsup/extensions/plan"
	"github.com/hostsup/hostsup/extensions/service"
	"github.com/hostsup/hostsup/extensions/vscode"

	"github.com/hostsup/hostsup/internal/require"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/record"
	confine "github.com/hostsup/hostsup/sandbox/policy"
	"github.com/hostsup/hostsup/supervisor"
)

// courtCase is a way in which hostsup.guilty ends its host, and what hostsup.misled is
// doing then.
type courtCase struct {
	name   string
	crime  string // the argument of guilty.run; "" if misled calls it
	misled string // the argument of misled.run
	slow   bool   // hostsup.slow is being activated as well
	native bool   // hostsup.guilty has native code
	spec   change // of the host; may be nil
	reason string // is in the reason of the crashes
	trace  string // is in the evidence against guilty
}

const (
	// stackTrace is the evidence of an abort whose stack node has printed.
	stackTrace = "was on the stack when it aborted"
	// callTrace is that of a host that waits in a call.
	callTrace = "called what the host waited for"
)

// hangsFast makes a host that hangs end after 4 s.
func hangsFast(s *supervisor.HostSpec) {
	s.Liveness.After, s.Liveness.KillAfter = 3*time.Second, time.Second
}

var courtCases = []courtCase{
	{name: "call in flight", crime: "abort", misled: "wait", reason: "SIGABRT", trace: stackTrace},
	{name: "rejections", crime: "abort", misled: "rejects", reason: "SIGABRT", trace: stackTrace},
	{name: "uncaught error", crime: "uncaught", misled: "wait", reason: "SIGABRT", trace: stackTrace},
	{name: "calls the command", misled: "calls", reason: "SIGABRT", trace: stackTrace},
	{name: "slow to activate", crime: "abort", slow: true, reason: "SIGABRT", trace: stackTrace},
	{name: "execSync", crime: "execSync", misled: "wait", reason: "unresponsive", trace: callTrace, spec: hangsFast},
	{name: "read of a pipe", crime: "pipe", misled: "wait", reason: "unresponsive", trace: callTrace, spec: hangsFast},
	{name: "native code", crime: "native", misled: "wait", reason: "SIGSEGV", trace: "had loaded native code", native: true},
	{name: "heap", crime: "heap", misled: "wait", reason: "out of memory", spec: func(s *supervisor.HostSpec) {
		s.Command = append([]string{s.Command[0], "--max-old-space-size=128"}, s.Command[1:]...)
	}},
	{name: "limit of memory", crime: "memory", misled: "wait", reason: "out of memory", spec: func(s *supervisor.HostSpec) {
		s.Resources = confine.Limits{Memory: 512 << 20, Enforce: confine.BestEffort}
	}},
	{name: "leak in the heap", crime: "leak", misled: "wait", reason: "out of memory", trace: "allocated", spec: func(s *supervisor.HostSpec) {
		s.Command = append([]string{s.Command[0], "--max-old-space-size=256"}, s.Command[1:]...)
	}},
	{name: "leak of buffers", crime: "buffers", misled: "wait", reason: "out of memory", trace: "allocated", spec: func(s *supervisor.HostSpec) {
		s.Resources = confine.Limits{Memory: 512 << 20, Enforce: confine.BestEffort}
	}},
	{name: "message over the bound", crime: "message", misled: "wait", reason: "MainThreadCommands.$executeCommand", trace: "sent the message"},
	{name: "stored value over the bound", crime: "state", misled: "wait", reason: "limit", trace: "sent the message"},
	{name: "answer over the bound", crime: "answer", misled: "wait", reason: "in the answer to request", trace: "sent the message"},
}

// However it misleads: the guilty extension is in quarantine in the end, the innocent ones
// never are, and their host has not spent its budget.
func TestCourt(t *testing.T) {
	t.Parallel()
	for version := range releases {
		for _, c := range courtCases {
			t.Run(version+" "+c.name, func(t *testing.T) {
				t.Parallel()
				spec := extendedOf(t, version, "court", func(s *plan.Spec) {
					if c.native {
						s.Folders = []manifest.Root{{Dir: withNative(t, s.Folders[0].Dir)}}
					}
				})
				if c.spec != nil {
					c.spec(&spec)
				}
				sup, h := alone(t, spec)
				for range 8 {
					if extensionOf(t, sup, "guilty").Blame.Quarantined {
						break
					}
					c.commits(t, sup)
					for _, name := range []string{"misled", "calm", "slow"} {
						if s := extensionOf(t, sup, name); s.Blame.Quarantined {
							t.Fatalf("%+v\n%s", s, strings.Join(told(t, sup, record.KindBlame), "\n"))
						}
					}
				}
				decisions := told(t, sup, record.KindBlame)
				if s := extensionOf(t, sup, "guilty"); !s.Blame.Quarantined {
					t.Errorf("%+v", s)
				}
				says(t, decisions, " hostsup.guilty: ", c.reason)
				if c.trace != "" {
					c.led(t, sup)
				}
				if s := h.Status(); s.State == lifecycle.Failed {
					t.Errorf("%+v", s)
				}
				t.Log(strings.Join(decisions, "\n"))
			})
		}
	}
}

// withNative returns a copy of a folder of extensions in which hostsup.guilty has native code.
func withNative(t *testing.T, from string) string {
	t.Helper()
	arch := map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH]
	found, err := filepath.Glob(filepath.Join(peerDir, "*", "node_modules", "argon2", "prebuilds", "linux-"+arch, "*glibc.node"))
	if err != nil || len(found) == 0 {
		require.Missing(t, "no native code for node on linux-%s: %v", runtime.GOARCH, err)
	}
	code, err := os.ReadFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "guilty", "native.node"), code, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// led checks that something of the crashes themselves led to guilty, so that no innocent
// extension was ever moved out of its host, not even on trial.
func (c courtCase) led(t *testing.T, sup *supervisor.Supervisor) {
	t.Helper()
	found := false
	for _, e := range sup.History() {
		d := service.DecisionOf(e)
		if d == nil {
			continue
		}
		if d.Verdict != blame.Noted && d.Verdict != blame.HostFault && (len(d.IDs) != 1 || d.IDs[0] != "hostsup.guilty") {
			t.Errorf("%s %v: %s", d.Verdict, d.IDs, d.Why)
		}
		for _, crash := range d.Evidence {
			for _, s := range crash.Suspects {
				found = found || s.ID == "hostsup.guilty" && slices.ContainsFunc(s.Why, func(why string) bool { return strings.HasPrefix(why, c.trace) })
			}
		}
	}
	if !found {
		t.Errorf("nothing says that guilty %s", c.trace)
	}
}

// commits lets a crash happen, and waits until it is judged.
func (c courtCase) commits(t *testing.T, sup *supervisor.Supervisor) {
	t.Helper()
	activates(t, sup, "calm", "misled", "guilty")
	if c.slow {
		brief, cancel := context.WithTimeout(ctx(t), 10*time.Millisecond)
		_ = sup.Activate(brief, "", "onCommand:slow.run") // it takes minutes
		cancel()
		eventually(t, func() bool { return extensionOf(t, sup, "slow").State == "activating" }, "slow")
	}
	before := len(told(t, sup, record.KindBlame))
	at, err := sup.Host(extensionOf(t, sup, "misled").Place)
	if err != nil {
		t.Fatal(err)
	}
	// Whether it is answered depends on where the two are.
	if _, err := at.Go(ctx(t), execute, []any{"misled.run", c.misled}); err != nil {
		t.Fatal(err)
	}
	if c.crime != "" {
		if _, err := ranIn(t, sup, "guilty", c.crime); err != nil && c.crime != "answer" {
			t.Fatal(err)
		}
	}
	eventually(t, func() bool { return len(told(t, sup, record.KindBlame)) > before }, "the crash is judged")
}

// A loop in a function that another extension exports: of the frames on the stack the
// outermost one names the caller.
func TestCourtOutermostFrame(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		spec := extendedOf(t, version, "court")
		spec.Liveness.After, spec.Liveness.KillAfter = 3*time.Second, 12*time.Second
		sup, h := alone(t, spec)
		for life := uint64(1); life <= 2; life++ {
			activates(t, sup, "misled", "loops")
			if _, err := ranIn(t, sup, "loops", true); err != nil {
				t.Fatal(err)
			}
			runs(t, h, life+1)
		}
		eventually(t, func() bool { return extensionOf(t, sup, "loops").Place == "vs~hostsup.loops" }, "it is on trial")
		if s := extensionOf(t, sup, "misled"); s.Place != "vs" || s.Blame.SuspectIn != 0 {
			t.Errorf("%+v", s)
		}
		says(t, told(t, sup, record.KindBlame), string(blame.Isolated)+" hostsup.loops", "on trial")
	})
}

// An error that is thrown behind an await in a function that another extension exports is
// evidence against the caller as well: the stack of the host's report goes on behind it.
func TestCourtAsyncStack(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		sup, _ := alone(t, extendedOf(t, version, "court"))
		c := courtCase{crime: "async"}
		c.commits(t, sup)
		for _, e := range sup.History() {
			d := service.DecisionOf(e)
			if d == nil || d.Verdict != blame.Noted {
				continue
			}
			why := map[string]string{}
			for _, s := range d.Evidence[0].Suspects {
				why[string(s.ID)] = strings.Join(s.Why, "; ")
			}
			if !strings.Contains(why["hostsup.guilty"], "in its call of hostsup.misled: it fails") || !strings.Contains(why["hostsup.misled"], "had an uncaught error: it fails") {
				t.Errorf("%v", why)
			}
			return
		}
		t.Error(told(t, sup, record.KindBlame))
	})
}

// A signal from outside speaks against no extension, whatever they are doing.
func TestCourtOutside(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		sup, h := alone(t, extendedOf(t, version, "court"))
		for life := uint64(1); life <= 2; life++ {
			activates(t, sup, "misled", "guilty")
			if _, err := h.Go(ctx(t), execute, []any{"misled.run", "wait"}); err != nil {
				t.Fatal(err)
			}
			signal(t, h, syscall.SIGKILL)
			runs(t, h, life+1)
		}
		for _, name := range []string{"misled", "guilty"} {
			if s := extensionOf(t, sup, name); s.Place != "vs" || s.Blame.SuspectIn != 0 || s.Blame.Quarantined {
				t.Errorf("%+v", s)
			}
		}
	})
}

// A confined host notes its calls as well: it needs a folder for temporary files.
func TestCourtConfined(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		state := t.TempDir()
		spec := extendedOf(t, version, "court")
		root, _ := vscode.Root(spec.Command)
		opt := vscode.Options{Root: root, State: filepath.Join(state, "vscode"), Reconnect: true}
		spec.Protocol = vscode.New(opt)
		hangsFast(&spec)
		delete(spec.Env, "TMPDIR") // it has the one of its sandbox
		p, _ := confine.Profile("node")
		read, write := opt.Grants("vs")
		p.Read, p.Write = append(p.Read, append(read, spec.Extensions.Folders[0].Dir)...), append(p.Write, write...)
		p.Exec, p.Level = append(p.Exec, spec.Command[0], "/usr/bin/sh", "/bin/sh", "/usr/bin/sleep"), confine.None // as strong as it can be here
		spec.Sandbox = &p
		opened(t, filepath.Join(state, "vscode", "vs"))
		sup, _ := alone(t, spec)
		c := courtCase{crime: "execSync", misled: "wait", trace: callTrace}
		for range 2 {
			c.commits(t, sup)
		}
		c.led(t, sup)
	})
}
