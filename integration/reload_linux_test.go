package integration

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"iter"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/hostsup/hostsup/control"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/record"
	"github.com/hostsup/hostsup/supervisor"
)

// stubborn is a host that is not moved by SIGTERM, so that a change of it takes a while.
func stubborn(name, mark string, needs ...string) string {
	list := ""
	for _, n := range needs {
		list += fmt.Sprintf("%q, ", n)
	}
	return fmt.Sprintf(`
  host %q {
    command  = ["sh", "-c", "trap '' TERM; while :; do sleep 1; done"]
    protocol = "none"
    env      = { MARK, LABEL = %q, PATH = %q }
    stop { grace = "200ms" }
    start { depends_on = [%s] }
  }
`, name, mark, os.Getenv("PATH"), list)
}

// A supervisor that is killed while it applies a configuration leaves nothing behind; the
// next one runs the whole file, and a reload then finds nothing to do.
func TestReloadKilledHalfway(t *testing.T) {
	t.Parallel()
	old := "group \"g\" {\n" + stubborn("a", "1") + stubborn("b", "1", "a") + stubborn("c", "1", "b") + stubborn("old", "1") + "}\n"
	next := "group \"g\" {\n" + stubborn("a", "2") + stubborn("b", "2", "a") + stubborn("c", "2") + stubborn("fresh", "1") + "}\n"
	for _, kind := range []string{record.KindState, record.KindRemoved, record.KindReplaced} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			d := daemonOf(t, old)
			d.run()
			history := uint64(0)
			for e, err := range d.client.Events(ctx(t), false) {
				if err != nil {
					t.Fatal(err)
				}
				history = e.Seq
			}
			if len(d.processes()) < 4 {
				t.Error("its hosts cannot be told")
			}
			d.write("config.hcl", next)
			reloaded := make(chan error, 1)
			go func() { _, err := d.client.Reload(ctx(t)); reloaded <- err }()
			d.happens(func(e supervisor.Event) bool { return e.Seq > history && e.Kind == kind })
			d.end(syscall.SIGKILL)
			var e *control.Error
			if err := <-reloaded; !errors.As(err, &e) || e.Class != control.Disconnected {
				t.Errorf("the reload ended with %v", err)
			}
			eventually(t, func() bool { return len(d.processes()) == 0 }, "no process is left")
			d.run()
			d.holds("a", "b", "c", "fresh")
			before := d.hosts()
			applied, err := d.client.Reload(ctx(t))
			if err != nil || applied.Plan.Changes() || applied.Plan.Count(supervisor.ActionNone) != 4 {
				t.Errorf("%+v, %v", applied, err)
			}
			for name, h := range d.hosts() {
				if *h.PID != *before[name].PID {
					t.Errorf("%s was restarted", name)
				}
			}
			if code := d.end(syscall.SIGTERM); code != 0 {
				t.Errorf("exit code %d", code)
			}
			eventually(t, func() bool { return len(d.processes()) == 0 }, "no process is left")
		})
	}
}

// A supervisor that is told to stop while it applies a configuration stops: whoever asked
// for the change is told that it was made, or that the supervisor has ended, and nothing is
// left.
func TestReloadAndStop(t *testing.T) {
	t.Parallel()
	var hosts, next string
	for i := range 6 {
		hosts += stubborn(fmt.Sprintf("h%d", i), "1")
		next += stubborn(fmt.Sprintf("h%d", i), "2")
	}
	d := daemonOf(t, "group \"g\" {\n"+hosts+"}\n")
	d.run()
	d.write("config.hcl", "group \"g\" {\n"+next+"}\n")
	reloaded := make(chan error, 2)
	for range 2 { // the second waits for the first
		go func() { _, err := d.client.Reload(ctx(t)); reloaded <- err }()
	}
	d.happens(func(e supervisor.Event) bool { return e.To != nil && *e.To == lifecycle.Stopping })
	if code := d.end(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d", code)
	}
	for range 2 {
		var e *control.Error
		// The hosts may have stopped, and have the new configuration, before the tree has ended.
		if err := <-reloaded; err != nil && (!errors.As(err, &e) || e.Class != control.Closed) {
			t.Errorf("the reload ended with %v", err)
		}
	}
	if left := d.processes(); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// Changes that are asked for at the same time are made one after the other: each is whole,
// and the last state of the file is what runs, beside what was added by hand.
func TestReloadsAtOnce(t *testing.T) {
	t.Parallel()
	host := func(name, label string) string {
		return fmt.Sprintf("host %q {\n  command = [self, \"demo-host\"]\n  env = { MARK, LABEL = %q }\n}\n", name, label)
	}
	d := daemonOf(t, host("same", "0")+host("flips", "0"))
	d.run()
	same := *d.hosts()["same"].PID
	var all sync.WaitGroup
	ask := func(times int, f func(i int) error) {
		all.Go(func() {
			for i := range times {
				if err := f(i); err != nil {
					t.Error(err)
				}
			}
		})
	}
	reload := func() error {
		applied, err := d.client.Reload(ctx(t))
		if err == nil && len(applied.Errors) > 0 {
			err = errors.New(strings.Join(applied.Errors, "; "))
		}
		return err
	}
	for range 3 {
		ask(4, func(int) error { return reload() })
	}
	ask(5, func(i int) error {
		d.write("config.hcl", host("same", "0")+host("flips", fmt.Sprint(i)))
		return errors.Join(d.cmd.Process.Signal(syscall.SIGHUP), reload())
	})
	ask(4, func(i int) error {
		_, err := d.client.Add(ctx(t), d.write("more.hcl", host(fmt.Sprintf("hand-%d", i), "0")), nil)
		return err
	})
	ask(4, func(i int) error {
		file := d.write("brief.hcl", host("brief", fmt.Sprint(i)))
		_, err := d.client.Add(ctx(t), file, nil)
		if err == nil {
			_, err = d.client.Remove(ctx(t), "brief")
		}
		return err
	})
	all.Wait()
	d.holds("same", "flips", "hand-0", "hand-1", "hand-2", "hand-3")
	if now := d.hosts(); *now["same"].PID != same {
		t.Error("a host that was equal all the time was restarted")
	} else if env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", *now["flips"].PID)); err != nil || !strings.Contains(string(env), "LABEL=4\x00") {
		t.Errorf("flips has %q, %v", env, err)
	}
	// Two that see the same change make it once.
	d.write("config.hcl", host("same", "0")+host("flips", "last"))
	for range 2 {
		all.Go(func() {
			if err := reload(); err != nil {
				t.Error(err)
			}
		})
	}
	life := d.hosts()["flips"].Life
	all.Wait()
	d.holds("same", "flips", "hand-0", "hand-1", "hand-2", "hand-3")
	if got := d.hosts()["flips"].Life; got > life+1 {
		t.Errorf("life %d after %d", got, life)
	}
	if code := d.end(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// A reload while instances are replaced waits for its turn, and then replaces them again;
// meanwhile the hosts can be seen and called.
func TestReloadWhileInstancesAreReplaced(t *testing.T) {
	t.Parallel()
	web := func(label string) string {
		return fmt.Sprintf("host \"web\" {\n  instances = 3\n  command = [\"env\", \"HOSTSUP_DEMO_START=slow:150ms\", self, \"demo-host\"]\n  env = { MARK, LABEL = %q }\n}\n", label)
	}
	d := daemonOf(t, web("one"))
	d.run()
	background, cancel := context.WithCancel(ctx(t))
	called := make(chan error, 1)
	go func() {
		for {
			_, err := d.client.Call(ctx(t), control.Request{Host: "web", Method: "echo"})
			if err != nil || background.Err() != nil {
				called <- err
				return
			}
		}
	}()
	var all sync.WaitGroup
	for _, label := range []string{"two", "three"} {
		d.write("config.hcl", web(label))
		all.Go(func() {
			applied, err := d.client.Reload(ctx(t))
			if err != nil || len(applied.Errors) > 0 {
				t.Errorf("%s: %+v, %v", label, applied, err)
			}
		})
		d.happens(func(e supervisor.Event) bool {
			return e.Host != nil && *e.Host == "web~next" && e.To != nil && *e.To == lifecycle.Running
		})
		if len(d.hosts()) < 3 {
			t.Error("the hosts cannot be seen")
		}
	}
	all.Wait()
	cancel()
	if err := <-called; err != nil {
		t.Errorf("a call: %v", err)
	}
	d.holds("web-1", "web-2", "web-3")
	for name, h := range d.hosts() {
		if env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", *h.PID)); err != nil || !strings.Contains(string(env), "LABEL=three\x00") {
			t.Errorf("%s has %q, %v", name, env, err)
		}
	}
	if code := d.end(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// A host whose start hangs keeps no reload, add or remove from its end; and of a host that
// is taken out, neither process nor file nor cgroup is left open.
func TestReloadAndHostsThatHang(t *testing.T) {
	t.Parallel()
	hangs := func(name, label string) string {
		return fmt.Sprintf(`
host %q {
  command = ["env", "HOSTSUP_DEMO_START=never", self, "demo-host"]
  env     = { MARK, LABEL = %q }
  start { timeout = "1h" }
  stop { grace = "100ms" }
}
`, name, label)
	}
	calm := "host \"calm\" {\n  command = [self, \"demo-host\"]\n  env = { MARK }\n}\n"
	d := daemonOf(t, calm)
	d.run()
	pid, many := *d.hosts()["calm"].PID, len(d.processes())
	changes := func(what string, f func() (*control.Applied, error)) {
		t.Helper()
		if applied, err := f(); err != nil || len(applied.Errors) > 0 || !applied.Plan.Changes() {
			t.Errorf("%s: %+v, %v", what, applied, err)
		}
	}
	reload := func() (*control.Applied, error) { return d.client.Reload(ctx(t)) }
	d.write("config.hcl", calm+hangs("hung", "1"))
	changes("it is added", reload)
	d.write("config.hcl", calm+hangs("hung", "2"))
	changes("it is changed", reload)
	changes("another is added", func() (*control.Applied, error) {
		return d.client.Add(ctx(t), d.write("more.hcl", hangs("hand", "1")), nil)
	})
	for _, name := range []string{"hung", "hand"} {
		if _, err := d.client.Wait(ctx(t), name, 0, lifecycle.Starting); err != nil {
			t.Error(err)
		}
	}
	held := func(name string) (out []string) {
		links, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", d.cmd.Process.Pid)) // the pattern is sound
		for _, link := range links {
			if to, err := os.Readlink(link); err == nil && strings.Contains(to, name) {
				out = append(out, to)
			}
		}
		groups, _ := filepath.Glob(fmt.Sprintf("/sys/fs/cgroup*/**/hostsup-%d-*/*%s*", d.cmd.Process.Pid, name))
		return append(out, groups...)
	}
	changes("the other is removed", func() (*control.Applied, error) { return d.client.Remove(ctx(t), "hand") })
	d.write("config.hcl", calm)
	changes("it is removed", reload)
	eventually(t, func() bool { return len(d.processes()) == many }, "only one host is left")
	for _, name := range []string{"hung", "hand"} {
		eventually(t, func() bool { return len(held(name)) == 0 }, "nothing of the host is left open")
	}
	d.holds("calm")
	if got := *d.hosts()["calm"].PID; got != pid {
		t.Error("the host beside them was restarted")
	}
	if code := d.end(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// Of a thousand hosts of which one changes, exactly one is restarted, and only that one is
// told anything. Most are lazy, which costs no processes.
func TestReloadOfAThousandRestartsOne(t *testing.T) {
	t.Parallel()
	spec := func(mark string) supervisor.Spec {
		var s supervisor.Spec
		for i := range 1000 {
			h := mute(fmt.Sprintf("h%d", i), func(h *supervisor.HostSpec) { h.Start.Lazy = i%50 != 0 })
			if i == 500 {
				h.Env = map[string]string{"HOSTSUP_TEST_MARK": mark}
			}
			s.Groups = append(s.Groups, supervisor.Alone(h))
		}
		return s
	}
	sup := start(t, spec("0"))
	before := pidsOf(sup)
	last := sup.History()[len(sup.History())-1].Seq
	plan, err := supervisor.Apply(ctx(t), sup, spec("1"))
	if err != nil || plan.Count(supervisor.ActionRestart) != 1 || plan.Count(supervisor.ActionNone) != 999 {
		t.Fatalf("%d restarts, %v", plan.Count(supervisor.ActionRestart), err)
	}
	until(t, host(t, sup, "h500"), lifecycle.Running)
	eventually(t, func() bool { return label(t, host(t, sup, "h500")) == "1" })
	for name, pid := range pidsOf(sup) {
		if (pid != before[name]) != (name == "h500") {
			t.Errorf("%s: process %d, was %d", name, pid, before[name])
		}
	}
	for e := range sup.Events(ctx(t), last, false) {
		if e.Host != nil && *e.Host != "h500" {
			t.Errorf("%+v", e)
		}
	}
	if len(before) != 20 {
		t.Errorf("%d hosts ran", len(before))
	}
}

// A reader of events that was cut off goes on with the number that it has seen last, without
// a gap; what is kept no longer is counted, and a number of another supervisor begins anew.
func TestEventsAreResumed(t *testing.T) {
	t.Parallel()
	sup := start(t, supervisor.Spec{Groups: []supervisor.GroupSpec{supervisor.Alone(mute("a"))}})
	socket := filepath.Join(place(t, os.Getuid()), "control")
	l, err := control.Listen(socket)
	if err != nil {
		t.Fatal(err)
	}
	srv := control.NewServer(control.Over(sup), control.Options{})
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }()
	t.Cleanup(func() {
		if err := errors.Join(srv.Close(context.Background()), <-served); err != nil {
			t.Error(err)
		}
	})
	// read returns the events up to one whose reason is last, as EventSource does.
	read := func(id, last string) (ids []string, lost string) {
		t.Helper()
		for e := range eventsAt(t, socket, "/v1/events?follow=true", id) {
			if e["event"] == "lost" {
				lost = e["data"]
			}
			if n := e["id"]; n != "" {
				ids = append(ids, n)
			}
			if strings.Contains(e["data"], `"reason":"`+last+`"`) {
				return ids, lost
			}
		}
		t.Fatal("the stream has ended")
		return nil, ""
	}
	gapless := func(ids []string) {
		t.Helper()
		for i, id := range ids[1:] {
			var a, b int
			_, _ = fmt.Sscan(ids[i], &a)
			_, _ = fmt.Sscan(id, &b)
			if b != a+1 {
				t.Errorf("%s follows %s", id, ids[i])
			}
		}
	}
	sup.Note("first")
	one, lost := read("", "first")
	if one[0] != "1" || lost != "" {
		t.Errorf("%v, lost %s", one, lost)
	}
	sup.Note("missed")
	sup.Note("second")
	two, lost := read(one[len(one)-1], "second")
	if gapless(slices.Concat(one, two)); lost != "" || len(two) != 2 {
		t.Errorf("%v, lost %s", two, lost)
	}
	for i := range 5000 {
		sup.Note(fmt.Sprint("many ", i))
	}
	three, lost := read(two[1], "many 4999")
	if gapless(three); lost != `{"lost":904}` || len(three) != 4096 {
		t.Errorf("%d events, lost %s", len(three), lost)
	}
	if four, lost := read("999999999", "many 4999"); len(four) != 4096 || lost != "" {
		t.Errorf("a number of another supervisor: %d events, lost %s", len(four), lost)
	}
}

// eventsAt yields the server-sent events of a stream at a control socket, field by field,
// from behind the one with the id last on.
func eventsAt(t testing.TB, socket, path, last string) iter.Seq[map[string]string] {
	return func(yield func(map[string]string) bool) {
		web := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		}}}
		req, err := http.NewRequestWithContext(ctx(t), http.MethodGet, "http://h"+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Accept", "text/event-stream")
		if last != "" {
			req.Header.Set("Last-Event-ID", last)
		}
		res, err := web.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		event := map[string]string{}
		for lines := bufio.NewScanner(res.Body); lines.Scan(); {
			if lines.Text() != "" {
				field, value, _ := strings.Cut(lines.Text(), ": ")
				event[field] = value
				continue
			}
			if !yield(event) {
				return
			}
			event = map[string]string{}
		}
	}
}
