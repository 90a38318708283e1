//go:build !hostsup_posix

package survive_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hostsup/hostsup/internal/poll"
	"github.com/hostsup/hostsup/internal/sys"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/record"
	"github.com/hostsup/hostsup/supervisor"
)

// left returns what the state folder has of hosts that survive.
func left(t *testing.T, state string) (names []string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(state, "survive", "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

// TestWorksAsAnyOther calls, crashes, restarts and stops a host below a shim.
func TestWorksAsAnyOther(t *testing.T) {
	p := &plan{State: t.TempDir(), Demo: []string{"h"}}
	sup := next(t, p)
	h := host(t, sup, "h")
	pid := pidOf(t, h)
	if s := h.Status(); s.PID == nil || *s.PID != pid || s.RSSBytes == nil || *s.RSSBytes < 1<<20 || s.Liveness != "ack" {
		t.Errorf("%+v", s)
	}
	ctx := t.Context()
	var large, echo string
	large = strings.Repeat("x", 3<<20)
	if err := h.Call(ctx, "echo", large, &echo); err != nil || echo != large {
		t.Errorf("%d bytes of %d, %v", len(echo), len(large), err)
	}
	if err := h.Call(ctx, "print", map[string]any{"stderr": "a line"}, nil); err != nil {
		t.Error(err)
	}
	poll.Until(t, 20*time.Second, "what the host prints is in its log", func() bool {
		for _, l := range h.Tail(10) {
			if l.Text == "a line" {
				return true
			}
		}
		return false
	})
	var child int
	if err := h.Call(ctx, "spawn", map[string]any{"setsid": true}, &child); err != nil {
		t.Fatal(err)
	}
	if err := h.Call(ctx, "exit", map[string]any{"code": 9}, nil); err == nil {
		t.Error("a host that exits has answered")
	}
	if again := pidOf(t, h); again == pid {
		t.Error("no other process after the crash")
	}
	awaitEnd(t, child)
	if s := h.Status(); s.Life != 2 || s.LastExit == nil || s.LastExit.Code == nil || *s.LastExit.Code != 9 {
		t.Errorf("%+v", s)
	}
	if err := h.Restart(ctx); err != nil {
		t.Error(err)
	}
	pid = pidOf(t, h)
	if err := h.Stop(ctx); err != nil {
		t.Error(err)
	}
	if runs(pid) {
		t.Error("it runs after its stop")
	}
	poll.Until(t, 20*time.Second, "nothing is kept of the lives", func() bool {
		return !slices.ContainsFunc(left(t, p.State), func(path string) bool { return filepath.Base(path) != "past.json" })
	})
}

// TestTakenBack kills a supervisor in the middle of a call, and has the next one go on with the
// same process.
func TestTakenBack(t *testing.T) {
	p := &plan{State: t.TempDir(), Demo: []string{"h"}}
	f := begin(t, p)
	pid := f.pid("h")
	f.call(`&h sleep {"ms":300}`) // its answer comes when no caller is left
	f.kill()
	if !runs(pid) {
		t.Fatal("the host has ended with its supervisor")
	}
	sup := next(t, p)
	if err := sup.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	h := host(t, sup, "h")
	if got := pidOf(t, h); got != pid {
		t.Errorf("process %d answers, expected %d", got, pid)
	}
	if err := h.Call(t.Context(), "sleep", map[string]any{"ms": 500}, nil); err != nil { // the late answer comes meanwhile
		t.Error(err)
	}
	if s := h.Status(); s.Life != 1 || s.State != lifecycle.Running || s.Crashes != 0 || s.Liveness != "ack" {
		t.Errorf("%+v", s)
	}
	taken := 0
	for e := range sup.Events(t.Context(), 0, false) {
		if e.Kind == record.KindTakenBack {
			taken++
			if e.PID == nil || *e.PID != pid || e.Host == nil || *e.Host != "h" {
				t.Errorf("%+v", e)
			}
		}
	}
	if taken != 1 {
		t.Errorf("%d events tell of it", taken)
	}
	if err := h.Restart(t.Context()); err != nil {
		t.Error(err)
	}
	if got := pidOf(t, h); got == pid || h.Status().Life != 2 {
		t.Errorf("process %d, life %d", got, h.Status().Life)
	}
}

// TestPreStartRunsForEachProcess has it not run for a process that is taken back. One that is killed with its supervisor in the middle
// runs once more, before the host does.
func TestPreStartRunsForEachProcess(t *testing.T) {
	dir := t.TempDir()
	begun, done, wait := filepath.Join(dir, "begun"), filepath.Join(dir, "done"), filepath.Join(dir, "wait")
	lines := func(path string) int {
		b, _ := os.ReadFile(path)
		return strings.Count(string(b), "\n")
	}
	p := &plan{State: t.TempDir(), Demo: []string{"h"}, Before: "echo >>" + begun + "; while test -e " + wait + "; do sleep 0.01; done; echo >>" + done}
	if err := os.WriteFile(wait, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f := launch(t, p)
	poll.Until(t, 20*time.Second, "pre_start has begun", func() bool { return lines(begun) == 1 })
	f.kill()
	if err := os.Remove(wait); err != nil {
		t.Fatal(err)
	}
	second := begin(t, p)
	pid := second.pid("h")
	if lines(begun) != 2 || lines(done) == 0 {
		t.Errorf("pre_start has begun %d times, and ended %d times", lines(begun), lines(done))
	}
	second.kill()
	h := host(t, next(t, p), "h")
	if got := pidOf(t, h); got != pid || lines(begun) != 2 {
		t.Errorf("process %d, expected %d; pre_start has begun %d times", got, pid, lines(begun))
	}
	if err := h.Restart(t.Context()); err != nil {
		t.Error(err)
	}
	if got := pidOf(t, h); got == pid || lines(begun) != 3 {
		t.Errorf("process %d; pre_start has begun %d times", got, lines(begun))
	}
}

// TestTakenBackOverAndOver has one process outlive many supervisors.
func TestTakenBackOverAndOver(t *testing.T) {
	p := &plan{State: t.TempDir(), Demo: []string{"h"}}
	pid := 0
	for i := range 5 {
		f := begin(t, p)
		got := f.pid("h")
		if i > 0 && got != pid {
			t.Errorf("supervisor %d: process %d, expected %d", i, got, pid)
		}
		pid = got
		f.call(`&h sleep {"ms":50}`)
		f.kill()
	}
	if got := pidOf(t, host(t, next(t, p), "h")); got != pid {
		t.Errorf("process %d, expected %d", got, pid)
	}
}

// TestOutputMeanwhileIsInTheLog has a host without a protocol print while it has no supervisor.
func TestOutputMeanwhileIsInTheLog(t *testing.T) {
	go1 := filepath.Join(t.TempDir(), "go")
	p := &plan{State: t.TempDir(), Shell: []string{"h"}, Run: `echo before; until test -e ` + go1 + `; do sleep 0.01; done; echo meanwhile; echo problem >&2; : >` + go1 + `.done; exec sleep 1000`}
	f := begin(t, p)
	f.kill()
	if err := os.WriteFile(go1, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	poll.Until(t, 20*time.Second, "the host has printed", func() bool {
		_, err := os.Stat(go1 + ".done")
		return err == nil
	})
	h := host(t, next(t, p), "h")
	poll.Until(t, 20*time.Second, "what it printed is in the log", func() bool {
		var found []string
		for _, l := range h.Tail(10) {
			found = append(found, fmt.Sprintf("%d %s %s", l.Life, l.Stream, l.Text))
		}
		all := strings.Join(found, "\n")
		return strings.Contains(all, "1 stdout meanwhile") && strings.Contains(all, "1 stderr problem")
	})
}

// TestTheEndMeanwhileIsACrash has a host end while it has no supervisor: the next one files the report.
func TestTheEndMeanwhileIsACrash(t *testing.T) {
	p := &plan{State: t.TempDir(), Demo: []string{"h"}}
	f := begin(t, p)
	pid := f.pid("h")
	f.call(`&h sleep {"ms":10}`)
	f.kill()
	if err := syscall.Kill(pid, syscall.SIGSEGV); err != nil {
		t.Fatal(err)
	}
	awaitEnd(t, pid)
	sup := next(t, p)
	h := host(t, sup, "h")
	var reports []supervisor.CrashReport
	poll.Until(t, 20*time.Second, "the report is filed", func() bool {
		reports, _ = sup.Crashes("h")
		return len(reports) > 0
	})
	r := reports[0]
	if r.Life != 1 || r.PID != pid || r.Exit == nil || (r.Exit.Signal == nil && r.Exit.Code == nil) {
		t.Errorf("%+v", r)
	}
	if got := pidOf(t, h); got == pid || h.Status().Life != 2 || h.Status().Crashes != 1 {
		t.Errorf("process %d, %+v", got, h.Status())
	}
}

// TestAnotherConfigurationEndsTheOldProcess changes the environment of a host, takes the feature from it,
// and takes it out, each after a kill of the supervisor.
func TestAnotherConfigurationEndsTheOldProcess(t *testing.T) {
	for what, change := range map[string]func(p *plan){
		"environment": func(p *plan) { p.Env = map[string]string{"X": "2"} },
		"no survival": func(p *plan) { p.Die = true },
		"removed":     func(p *plan) { p.Demo = []string{"other"} },
	} {
		t.Run(what, func(t *testing.T) {
			p := &plan{State: t.TempDir(), Demo: []string{"h"}}
			f := begin(t, p)
			pid := f.pid("h")
			f.kill()
			change(p)
			sup := next(t, p)
			if got := pidOf(t, host(t, sup, p.Demo[0])); got == pid {
				t.Error("the old process answers")
			}
			awaitEnd(t, pid)
			if what == "environment" && host(t, sup, "h").Status().Life != 2 {
				t.Errorf("life %d", host(t, sup, "h").Status().Life)
			}
		})
	}
}

// TestHostsWithoutTheFeatureDie kills the supervisor of such a host.
func TestHostsWithoutTheFeatureDie(t *testing.T) {
	f := begin(t, &plan{State: t.TempDir(), Demo: []string{"h"}, Die: true})
	pid := f.pid("h")
	f.kill()
	awaitEnd(t, pid)
}

// TestALazyHostIsTakenBackAtOnce has a host that starts at the first call run before one.
func TestALazyHostIsTakenBackAtOnce(t *testing.T) {
	p := &plan{State: t.TempDir(), Demo: []string{"h"}, Lazy: true}
	f := begin(t, p)
	pid := f.pid("h")
	f.kill()
	h := host(t, next(t, p), "h")
	if err := h.Wait(t.Context(), lifecycle.Running); err != nil {
		t.Fatal(err)
	}
	if s := h.Status(); s.PID == nil || *s.PID != pid {
		t.Errorf("%+v", s)
	}
}

// TestCrashesAreRemembered counts the crash before a kill of the supervisor.
func TestCrashesAreRemembered(t *testing.T) {
	p := &plan{State: t.TempDir(), Demo: []string{"h"}, Most: 2}
	f := begin(t, p)
	f.call(`h exit {"code":3}`)
	pid := f.pid("h")
	f.kill()
	sup := next(t, p)
	h := host(t, sup, "h")
	if got := pidOf(t, h); got != pid {
		t.Errorf("process %d, expected %d", got, pid)
	}
	if s := h.Status(); s.Life != 2 || s.CrashesInWindow != 1 {
		t.Errorf("%+v", s)
	}
	if err := h.Call(t.Context(), "exit", map[string]any{"code": 3}, nil); err == nil {
		t.Error("a host that exits has answered")
	}
	if err := h.Wait(t.Context(), lifecycle.Failed); err != nil { // the second crash in the window
		t.Error(err)
	}
}

// TestAStoppedSupervisorEndsItsHosts stops one in the ordinary way.
func TestAStoppedSupervisorEndsItsHosts(t *testing.T) {
	p := &plan{State: t.TempDir(), Demo: []string{"h"}, Shell: []string{"s"}, Run: "exec sleep 1000"}
	sup, err := supervisor.Start(t.Context(), p.spec())
	if err != nil {
		t.Fatal(err)
	}
	if err := sup.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	pids := []int{pidOf(t, host(t, sup, "h")), *host(t, sup, "s").Status().PID}
	if err := sup.Stop(context.Background()); err != nil {
		t.Error(err)
	}
	for _, pid := range pids {
		if runs(pid) {
			t.Errorf("process %d runs", pid)
		}
	}
	if _, err := os.Stat(filepath.Join(p.State, "survive")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("left: %v, %v", left(t, p.State), err)
	}
}

// shimOf returns the shim of a life.
func shimOf(t *testing.T, state, host string, life int) int {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(state, "survive", host, strconv.Itoa(life), "record.json"))
	if err != nil {
		t.Fatal(err)
	}
	var r struct {
		Shim struct {
			PID int `json:"pid"`
		} `json:"shim"`
	}
	if err := json.Unmarshal(b, &r); err != nil {
		t.Fatal(err)
	}
	return r.Shim.PID
}

// TestKilledShimIsACrash kills the shim of a host.
func TestKilledShimIsACrash(t *testing.T) {
	p := &plan{State: t.TempDir(), Demo: []string{"h"}}
	h := host(t, next(t, p), "h")
	pid := pidOf(t, h)
	shim := shimOf(t, p.State, "h", 1)
	if st, err := sys.ReadStat(pid); err != nil || st.Parent != shim {
		t.Fatalf("the parent of the host is %d, %v, expected %d", st.Parent, err, shim)
	}
	if err := syscall.Kill(shim, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	awaitEnd(t, pid)
	poll.Until(t, 20*time.Second, "the next life runs", func() bool { s := h.Status(); return s.Life == 2 && s.State == lifecycle.Running })
	if got := pidOf(t, h); got == pid || h.Status().Crashes != 1 {
		t.Errorf("process %d, %+v", got, h.Status())
	}
}

// TestManyAreTakenBack prints how long it takes to take many hosts back.
func TestManyAreTakenBack(t *testing.T) {
	const hosts = 200
	p := &plan{State: t.TempDir(), Run: "exec sleep 1000"}
	for i := range hosts {
		p.Shell = append(p.Shell, "h"+strconv.Itoa(i))
	}
	f := begin(t, p)
	f.kill()
	before := time.Now()
	sup := next(t, p)
	if err := sup.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d hosts were taken back in %s", hosts, time.Since(before).Round(time.Millisecond))
	for _, name := range p.Shell {
		if s := host(t, sup, name).Status(); s.State != lifecycle.Running || s.Life != 1 {
			t.Fatalf("%+v", s)
		}
	}
}
