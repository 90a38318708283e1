package supervisor_test

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hostsup/hostsup/codec/native"
	"github.com/hostsup/hostsup/intercept/health"
	"github.com/hostsup/hostsup/intercept/health/httpcheck"
	"github.com/hostsup/hostsup/internal/poll"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/hostspec"
	"github.com/hostsup/hostsup/supervisor"
)

// ruled starts a group with hosts that are checked by rules, in a tree that ends with the
// test.
func ruled(t *testing.T, hosts ...supervisor.HostSpec) (context.Context, *supervisor.Supervisor) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	for i := range hosts {
		for j, f := range hosts[i].Features {
			if rule, ok := f.(health.Rule); ok {
				rule.Interval, rule.Timeout = 20*time.Millisecond, cmp.Or(rule.Timeout, patience)
				hosts[i].Features[j] = rule
			}
		}
		hosts[i].Restart.MaxCrashes = cmp.Or(hosts[i].Restart.MaxCrashes, 100)
		hosts[i].InheritEnv = []string{"PATH"}
	}
	sup, err := supervisor.Start(context.Background(), supervisor.Spec{Groups: []supervisor.GroupSpec{{Name: "g", Hosts: hosts}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := sup.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return ctx, sup
}

func hostOf(t *testing.T, sup *supervisor.Supervisor, name string) *supervisor.Host {
	t.Helper()
	h, err := sup.Host(name)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// waits waits for a state, and returns its reason.
func waits(ctx context.Context, t *testing.T, h *supervisor.Host, s lifecycle.State) string {
	t.Helper()
	if err := h.Wait(ctx, s); err != nil {
		t.Fatalf("%s: %v; it is %+v", s, err, h.Status())
	}
	if r := h.Status().Reason; r != nil {
		return *r
	}
	return ""
}

var sleeps = []string{"sleep", "1000"}

// A host without a protocol is starting until its check succeeds, and its dependents wait
// for that.
func TestDependentsWaitForHealth(t *testing.T) {
	t.Parallel()
	mark := filepath.Join(t.TempDir(), "ready")
	ctx, sup := ruled(t,
		supervisor.HostSpec{Name: "db", Command: sleeps, Features: []supervisor.Feature{health.Rule{Exec: []string{"test", "-e", mark}}}},
		supervisor.HostSpec{Name: "web", Command: sleeps, Start: hostspec.StartRule{DependsOn: []string{"db"}}},
	)
	db, web := hostOf(t, sup, "db"), hostOf(t, sup, "web")
	poll.Until(t, patience, "a check that fails", func() bool { h := db.Status().Health; return h.Healthy != nil && !*h.Healthy })
	if s := db.Status(); s.State != lifecycle.Starting || !strings.Contains(*s.Reason, "not healthy yet: exec test: exit 1") {
		t.Errorf("%s: %s", s.State, *s.Reason)
	}
	if s := web.Status(); s.State != lifecycle.Stopped || !strings.Contains(*s.Reason, "waiting for db") {
		t.Errorf("its dependent is %s: %v", s.State, *s.Reason)
	}
	if err := os.WriteFile(mark, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	waits(ctx, t, web, lifecycle.Running)
	if s := db.Status(); s.State != lifecycle.Running || s.Liveness != "check" || s.Health.Healthy == nil || !*s.Health.Healthy || s.Health.Reason != nil {
		t.Errorf("%+v", s)
	}
}

// A start without a check that succeeds ends at its time-out, and its reason names the
// check.
func TestStartThatGetsNotHealthy(t *testing.T) {
	t.Parallel()
	ctx, sup := ruled(t, supervisor.HostSpec{Name: "web", Command: sleeps, Restart: lifecycle.RestartRule{MaxCrashes: 1},
		Start: hostspec.StartRule{Timeout: 3 * time.Second}, Features: []supervisor.Feature{health.Rule{TCP: freeAddress(t)}}})
	reason := waits(ctx, t, hostOf(t, sup, "web"), lifecycle.Failed)
	if !strings.Contains(reason, "not ready 3s after its start: tcp 127.0.0.1:") || !strings.Contains(reason, "connection refused") {
		t.Error(reason)
	}
}

// freeAddress is an address at which nobody listens.
func freeAddress(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// server answers with what its handler says at the time.
func server(t *testing.T) (url string, set func(http.HandlerFunc)) {
	var handler atomic.Pointer[http.HandlerFunc]
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*handler.Load())(w, r) }))
	t.Cleanup(s.Close)
	return s.URL, func(h http.HandlerFunc) { handler.Store(&h) }
}

// Each way of a check to fail is named in the reason, and a host recovers from it.
func TestHTTPCheck(t *testing.T) {
	elsewhere, setElsewhere := server(t)
	setElsewhere(func(http.ResponseWriter, *http.Request) { t.Error("a redirect was followed") })
	url, set := server(t)
	well := func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "all ok") }
	set(well)
	t.Setenv("HTTP_PROXY", elsewhere)
	ctx, sup := ruled(t, supervisor.HostSpec{Name: "web", Command: sleeps, Features: []supervisor.Feature{health.Rule{Probe: httpcheck.Get{URL: url + "/healthz", Expect: "ok"}, Threshold: 2, Timeout: 5 * time.Second}}})
	web := hostOf(t, sup, "web")
	waits(ctx, t, web, lifecycle.Running)
	for want, h := range map[string]http.HandlerFunc{
		"status 503":                     func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) },
		`the body does not contain "ok"`: func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "no") },
		"no answer within 5s":            func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		// A body without end is read no further than its bound.
		"the body does not contain": func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				if _, err := io.WriteString(w, strings.Repeat("x", 1<<16)); err != nil {
					return
				}
			}
		},
	} {
		set(h)
		if reason := waits(ctx, t, web, lifecycle.Unresponsive); !strings.Contains(reason, "http "+url+"/healthz: "+want) {
			t.Errorf("%q, expected %q", reason, want)
		}
		set(well)
		waits(ctx, t, web, lifecycle.Running)
	}
	set(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", elsewhere)
		w.WriteHeader(302)
		fmt.Fprint(w, "ok")
	})
	before := *web.Status().Health.At
	poll.Until(t, patience, "a check that is redirected", func() bool { h := web.Status().Health; return h.At.After(before) && *h.Healthy })
	if s := web.Status(); s.Life != 1 {
		t.Errorf("life %d", s.Life)
	}
}

// A check that hangs is killed with its tree at its time-out; what it prints last is in
// the reason. A host that stays unhealthy is killed, and the next life is checked.
func TestExecCheckIsKilled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	left := "sleep " + unlike(1)
	script := fmt.Sprintf(`test -e %s/sick || exit 0; %s & echo looks bad; wait`, dir, left)
	ctx, sup := ruled(t, supervisor.HostSpec{Name: "db", Command: sleeps, Dir: dir,
		Liveness: hostspec.LivenessRule{KillAfter: 10 * time.Millisecond},
		Features: []supervisor.Feature{health.Rule{Exec: []string{"sh", "-c", script}, Threshold: 1, Timeout: 5 * time.Second}}})
	db := hostOf(t, sup, "db")
	waits(ctx, t, db, lifecycle.Running)
	if err := os.WriteFile(dir+"/sick", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	unresponsive := ""
	for e := range sup.Follow(ctx) {
		if e.To != nil && *e.To == lifecycle.Unresponsive {
			unresponsive = e.Reason
			break
		}
	}
	if !strings.Contains(unresponsive, "exec sh: it has not ended in time: looks bad") {
		t.Error(unresponsive)
	}
	if err := os.Remove(dir + "/sick"); err != nil {
		t.Fatal(err)
	}
	poll.Until(t, patience, "a second life", func() bool { s := db.Status(); return s.Life > 1 && s.State == lifecycle.Running })
	poll.Until(t, patience, "the end of what the check has left", func() bool { return !runs(t, left) })
}

// unlike returns how long a process of a test sleeps: a number that no other has. The pid
// that a host sees of its processes may be of its own namespace.
func unlike(n int) string { return fmt.Sprint(1_000_000*n + os.Getpid()) }

// runs reports whether there is a process with this command line.
func runs(t *testing.T, command string) bool {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(lines, func(name string) bool {
		text, err := os.ReadFile(name) // it may have ended meanwhile
		return err == nil && strings.ReplaceAll(strings.TrimSuffix(string(text), "\x00"), "\x00", " ") == command
	})
}

// A call must be answered with a result.
func TestCallCheck(t *testing.T) {
	t.Parallel()
	ctx, sup := ruled(t,
		supervisor.HostSpec{Name: "well", Command: []string{os.Args[0]}, Env: map[string]string{"DEMO": "1"}, Protocol: native.New(), Features: []supervisor.Feature{health.Rule{Call: "pid"}}},
		supervisor.HostSpec{Name: "sick", Command: []string{os.Args[0]}, Env: map[string]string{"DEMO": "1"}, Protocol: native.New(), Features: []supervisor.Feature{health.Rule{Call: "fail", Threshold: 2}}},
	)
	well, sick := hostOf(t, sup, "well"), hostOf(t, sup, "sick")
	poll.Until(t, patience, "a check that succeeds", func() bool { h := well.Status().Health; return h.Healthy != nil && *h.Healthy })
	if reason := waits(ctx, t, sick, lifecycle.Unresponsive); !strings.Contains(reason, "call fail: ") {
		t.Error(reason)
	}
}

// Another check makes a difference that has a name, and a start that waits for one which
// there is not is refused.
func TestChangeOfACheck(t *testing.T) {
	t.Parallel()
	with := func(rule health.Rule) supervisor.HostSpec {
		return supervisor.HostSpec{Name: "a", Command: sleeps, Features: []supervisor.Feature{rule}}
	}
	a, b := with(health.Rule{TCP: "127.0.0.1:1"}), with(health.Rule{TCP: "127.0.0.1:1", Threshold: 5})
	if a.Equal(b) || !a.Equal(with(health.Rule{TCP: "127.0.0.1:1"})) {
		t.Error("checks are not compared as they are written")
	}
	none := a
	none.Features = nil
	spec := func(h supervisor.HostSpec) supervisor.Spec {
		return supervisor.Spec{Groups: []supervisor.GroupSpec{supervisor.Alone(h)}}
	}
	for _, c := range []supervisor.HostSpec{b, none} {
		p := supervisor.Compare(spec(a), spec(c))
		if len(p.Hosts) != 1 || !slices.Equal(p.Hosts[0].Fields, []string{"healthy"}) {
			t.Errorf("%+v", p)
		}
	}
	if err := a.WithDefaults().Validate(); err != nil {
		t.Error(err)
	}
	for want, s := range map[string]supervisor.HostSpec{
		"nothing says how that is checked": {Name: "a", Command: sleeps, Start: hostspec.StartRule{WhenHealthy: true}},
		"healthy: tcp \"x\": expected":     with(health.Rule{TCP: "x"}),
		"two features of this name":        {Name: "a", Command: sleeps, Features: []supervisor.Feature{health.Rule{TCP: "a:1"}, health.Rule{TCP: "a:2"}}},
		"one of them is nil":               {Name: "a", Command: sleeps, Features: []supervisor.Feature{nil}},
	} {
		if err := s.WithDefaults().Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, expected %q", err, want)
		}
	}
}
