package console_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/hostsup/hostsup/codec/native"
	"github.com/hostsup/hostsup/control"
	"github.com/hostsup/hostsup/control/controltest"
	"github.com/hostsup/hostsup/control/samples"
	"github.com/hostsup/hostsup/extensions/hosted"
	"github.com/hostsup/hostsup/internal/poll"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/supervisor"
)

// demoHost is a host that is this program.
func demoHost(name string) supervisor.HostSpec {
	return supervisor.HostSpec{
		Name: name, Command: []string{os.Args[0]}, Env: map[string]string{"DEMO": "1"}, Protocol: native.New(),
		Restart: lifecycle.RestartRule{MaxCrashes: 50},
	}
}

// running runs a tree with its samples, and serves it.
func running(t *testing.T, groups ...supervisor.GroupSpec) (*supervisor.Supervisor, string) {
	t.Helper()
	return runningAfter(t, samples.NewStore(), groups)
}

// runningAfter is running with samples of before.
func runningAfter(t *testing.T, store *samples.Store, groups []supervisor.GroupSpec) (*supervisor.Supervisor, string) {
	t.Helper()
	sup, err := supervisor.Start(context.WithoutCancel(t.Context()), supervisor.Spec{Groups: groups, StateDir: t.TempDir(), Parts: []supervisor.Part{hosted.Part{}}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	sampled := make(chan struct{})
	t.Cleanup(func() {
		cancel()
		<-sampled
		if err := sup.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	go func() {
		defer close(sampled)
		store.Run(ctx, sup)
	}()
	if err := sup.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	return sup, serve(t, control.Over(sup), control.Options{Version: "v1.2.3", Samples: store})
}

func host(t *testing.T, sup *supervisor.Supervisor, name string) *supervisor.Host {
	t.Helper()
	h, err := sup.Host(name)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// A kill -9 is on the page within a second: in the list, and in the view of the host.
func TestKillIsSeenWithinASecond(t *testing.T) {
	sup, url := running(t, supervisor.GroupSpec{Name: "editor", Hosts: []supervisor.HostSpec{demoHost("typescript"), demoHost("python")}})
	b := open(t, url, control.RoleRead)
	b.visit("#/host/typescript")
	b.has(".steps", "running")
	h := host(t, sup, "typescript")
	var best time.Duration
	// Of three kills, as another process may have the processor for a while.
	for i := range 3 {
		life := h.Life()
		b.do(`window.seen = new Promise((done) => {
			const before = document.querySelectorAll('.steps [data-state=crashed]').length;
			const look = () => document.querySelectorAll('.steps [data-state=crashed]').length > before && done(Date.now());
			new MutationObserver(look).observe(document.querySelector('.steps'), {childList: true, subtree: true});
		})`)
		at := time.Now()
		if err := syscall.Kill(*h.Status().PID, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		took := time.UnixMilli(get[int64](b, `Promise.race([window.seen, new Promise((done) => setTimeout(() => done(0), 60000))])`)).Sub(at)
		t.Logf("kill %d was seen after %v", i+1, took.Round(time.Millisecond))
		if took < 0 {
			t.Fatal("it was not seen")
		}
		if i == 0 || took < best {
			best = took
		}
		poll.Until(t, patience, "it runs again", func() bool { return h.Life() > life && h.State() == lifecycle.Running })
		b.has(".head .badge", "running")
		b.until(fmt.Sprintf("[...document.querySelectorAll('.facts div')].some((d) => d.innerText.replace(/\\s+/g, ' ') === 'life %d')", h.Life()))
	}
	if best > time.Second {
		t.Errorf("the fastest of three was seen after %v", best)
	}
	b.has("#side", "typescript")
	b.visit("#/crashes")
	b.has(".main table", "killed by SIGKILL")
}

func TestRestartByButton(t *testing.T) {
	sup, url := running(t, supervisor.Alone(demoHost("typescript")))
	b := open(t, url, control.RoleOperate)
	b.visit("#/host/typescript")
	h := host(t, sup, "typescript")
	life := h.Life()
	b.click("[data-verb=restart]")
	b.has("dialog[open]", "Restart typescript?")
	b.click("dialog button[type=button]") // Cancel
	b.until(`!document.querySelector('dialog').open`)
	b.click("[data-verb=restart]")
	b.has("dialog[open]", "Restart typescript?")
	b.run(chromedp.KeyEvent(kb.Escape))
	b.until(`!document.querySelector('dialog').open`)
	if h.Life() != life {
		t.Errorf("life %d after two dialogs that were left, want %d", h.Life(), life)
	}
	b.click("[data-verb=restart]")
	b.until(`document.activeElement?.matches('[data-confirm]')`)
	b.run(chromedp.KeyEvent(kb.Enter)) // the button has the focus
	poll.Until(t, patience, "the host has another life", func() bool { return h.Life() == life+1 && h.State() == lifecycle.Running })
	b.has("#notes", "typescript is running")

	b.click("[data-verb=stop]")
	b.click("dialog [data-confirm]")
	b.has(".head .badge", "stopped")
	if s := h.Status(); s.State != lifecycle.Stopped || !s.StoppedByPerson {
		t.Errorf("after Stop it is %s", s.State)
	}
	b.until(`document.querySelector('[data-verb=stop]').disabled && !document.querySelector('[data-verb=start]').disabled`)
	b.click("[data-verb=start]")
	b.click("dialog [data-confirm]")
	b.has(".head .badge", "running")
	b.click("[data-verb=reset]")
	b.click("dialog [data-confirm]")
	b.has("#notes", "the crash window is clear")
}

func TestCallByDialog(t *testing.T) {
	_, url := running(t, supervisor.Alone(demoHost("typescript")))
	b := open(t, url, control.RoleFull)
	b.visit("#/host/typescript")
	call := func(method, params, want string) {
		t.Helper()
		b.click("[data-verb=call]")
		b.run(chromedp.SendKeys(chromedp.CSS("dialog [name=method]"), method), chromedp.SendKeys(chromedp.CSS("dialog [name=params]"), params))
		if method == "stream" {
			b.click("dialog [name=stream]")
		}
		b.click("dialog [data-confirm]")
		b.has("dialog .answer", want)
		b.click("dialog button[type=button]")
	}
	call("add", "[2, 40]", "42")
	call("stream", `{"n": 3}`, "3 items")
	call("echo", "{", "the params are not JSON")
	call("fail", `{"message": "no luck"}`, "no luck")
	if told := b.forget(); len(told) != 1 || !strings.Contains(told[0], "502") {
		t.Errorf("the console has %q, and not only the answer to fail", told)
	}
}

// A browser reports that a dialog was closed with its next frame, which is late on a loaded
// machine: the dialog of the next call may be open by then, and its call under way.
func TestCallByDialogAfterAnother(t *testing.T) {
	_, url := running(t, supervisor.Alone(demoHost("typescript")))
	b := open(t, url, control.RoleFull)
	b.visit("#/host/typescript")
	b.until(`!!document.querySelector('[data-verb=call]')`)
	// All of it within one frame.
	b.do(`const press = (selector) => document.querySelector(selector).click();
		const dialog = document.querySelector('dialog');
		window.ended = new Promise((done) => dialog.addEventListener('close', done, { once: true }));
		press('[data-verb=call]');
		press('dialog button[type=button]');
		press('[data-verb=call]');
		dialog.querySelector('[name=method]').value = 'sleep';
		dialog.querySelector('[name=params]').value = '{"ms": 300}';
		press('dialog [data-confirm]')`)
	if open := get[bool](b, `window.ended.then(() => document.querySelector('dialog').open)`); !open {
		t.Error("the second dialog was closed with the first")
	}
	b.has("dialog .answer", " ms")
	// The call of a dialog that is closed is canceled.
	b.do(`const dialog = document.querySelector('dialog');
		dialog.querySelector('[name=params]').value = '{"ms": 600000}';
		dialog.querySelector('[data-confirm]').click();
		window.form = dialog.querySelector('form');
		dialog.querySelector('button[type=button]').click();
		document.querySelector('[data-verb=call]').click()`)
	b.until(`!window.form.querySelector('[data-confirm]').disabled && window.form.querySelector('.answer').textContent === ''`)
}

// A caller is offered what its token may do, and nothing else.
func TestButtonsAreThoseOfTheRole(t *testing.T) {
	_, url := running(t, supervisor.Alone(demoHost("typescript")))
	for role, want := range map[control.Role]string{
		control.RoleRead: "", control.RoleOperate: "start restart stop reset", control.RoleFull: "start restart stop reset call",
	} {
		b := open(t, url, role)
		b.has("#who", string(role))
		b.visit("#/host/typescript")
		b.has(".head .badge", "running")
		if got := get[string](b, `[...document.querySelectorAll('[data-verb]')].map((b) => b.dataset.verb).join(' ')`); got != want {
			t.Errorf("%s is offered %q, want %q", role, got, want)
		}
		if role != control.RoleRead {
			continue
		}
		for _, view := range []string{"", "logs", "crashes", "extensions", "sandbox"} {
			b.visit("#/host/typescript/" + view)
			b.until(`!!document.querySelector('[role=tabpanel] > *')`)
			if got := get[string](b, `[...document.querySelectorAll('.main button:not([hidden])')].map((b) => b.textContent).join(' ')`); got != "" {
				t.Errorf("in the view %q a reader is offered %q", view, got)
			}
		}
	}
}

// What a host prints is text, whatever it is.
func TestOutputIsText(t *testing.T) {
	evil := `<script>window.hacked = 1</script><img src=x onerror="window.hacked = 2">`
	sup, url := running(t, supervisor.Alone(demoHost("typescript")), supervisor.Alone(supervisor.HostSpec{
		Name: "shell", Command: []string{"/bin/sh", "-c", `printf '\033[31m%s\033[0m\n' "$EVIL"; echo "$EVIL" >&2; exit 3`}, Env: map[string]string{"EVIL": evil},
		Restart: lifecycle.RestartRule{MaxCrashes: 1},
	}))
	b := open(t, url, control.RoleFull)
	for _, view := range []string{"#/logs", "#/host/shell/logs"} {
		b.visit(view)
		b.has(".log", evil)
	}
	if got := get[string](b, `[...document.querySelectorAll('.lines [data-stream=stdout] span')].map((s) => s.textContent).join()`); got != evil {
		t.Errorf("a line in red is %q", got)
	}
	if err := host(t, sup, "typescript").Call(t.Context(), "fail", map[string]string{"message": evil}, nil); err == nil {
		t.Error("fail succeeds")
	}
	poll.Until(t, patience, "there is a report", func() bool { list, _ := sup.Crashes("shell"); return len(list) == 1 })
	b.visit("#/crashes")
	b.click(".main td a")
	b.has(".log.still", evil)
	if got := get[string](b, `String(window.hacked) + document.querySelectorAll('main script, main img').length`); got != "undefined0" {
		t.Errorf("it was run: %s", got)
	}
}

// past returns what there would be of an hour with a crash.
func past() *samples.Store {
	const n, crash = 690, 410
	store := samples.NewStore()
	ts := samples.Reading{Host: "typescript", State: lifecycle.Running, Life: 1, Memory: 90 << 20}
	others := []samples.Reading{{Host: "python", State: lifecycle.Running, Life: 1, Memory: 40 << 20}, {Host: "go", State: lifecycle.Running, Life: 1, Memory: 30 << 20}}
	for i := range n {
		wave := math.Sin(float64(i) / 50)
		busy := uint64(300 + 200*wave + float64(i*7919%60))
		ts.Calls += busy
		bucket := 7 + i*31%3
		ts.Responses.Buckets[6] += busy * 9 / 10
		ts.Responses.Buckets[bucket] += busy - busy*9/10
		ts.Responses.Count += busy
		ts.CPU += time.Duration((0.25 + 0.15*wave + float64(i*104729%7)/100) * float64(samples.Interval))
		ts.Memory += 200<<10 + int64(i*7919%5)<<10
		ts.Pending = i * 7919 % 4
		ts.State = lifecycle.Running
		if i == crash {
			ts.State, ts.Life, ts.Restarts, ts.Memory, ts.CPU = lifecycle.Restarting, 2, 1, 60<<20, 0
		}
		store.Add(time.Now().Add(time.Duration(i-n)*samples.Interval), append([]samples.Reading{ts}, others...))
	}
	return store
}

// Every view of a tree in which things have happened.
func TestViews(t *testing.T) {
	broken := supervisor.Alone(supervisor.HostSpec{
		Name: "search-index", Command: []string{"/bin/sh", "-c", `echo "loading index from /srv/index"; echo "index: checksum mismatch in segment 14" >&2; exit 3`},
		Restart: lifecycle.RestartRule{MaxCrashes: 3, Backoff: lifecycle.Backoff{Initial: 10 * time.Millisecond, Max: 20 * time.Millisecond, Multiplier: 1}},
	})
	lazy := demoHost("markdown")
	lazy.Start.Lazy = true
	sup, url := runningAfter(t, past(), []supervisor.GroupSpec{
		{Name: "editor", Hosts: []supervisor.HostSpec{demoHost("typescript"), demoHost("python"), demoHost("go"), lazy}},
		{Name: "tools", Hosts: []supervisor.HostSpec{demoHost("fetch"), demoHost("database")}},
		supervisor.Alone(supervisor.HostSpec{Name: "watcher", Command: []string{"/bin/sh", "-c", `i=0; while :; do i=$((i+1)); echo "scan $i finished"; sleep 2; done`}}), broken})
	h := host(t, sup, "typescript")
	busy, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; busy.Err() == nil; i++ {
			_ = h.Call(busy, "sleep", map[string]int{"ms": 5 + i%40}, nil)
			if i%50 == 0 {
				_ = h.Call(busy, "print", map[string]string{"stdout": fmt.Sprintf("project compiled in %d ms", 80+i%40)}, nil)
			}
		}
	}()
	defer func() { stop(); <-done }()
	_ = host(t, sup, "database").Call(t.Context(), "crash", map[string]string{"signal": "SIGSEGV"}, nil)
	poll.Until(t, patience, "all is as it is to be", func() bool {
		return host(t, sup, "search-index").State() == lifecycle.Failed && host(t, sup, "database").State() == lifecycle.Running
	})

	b := open(t, url, control.RoleFull)
	b.look(dark)
	b.has(".sums", "hosts running")
	b.has(".trouble", "search-index")
	b.has(".steps.long", "failed")
	b.until(`document.querySelectorAll('.list .row:not([hidden])').length >= 9`)
	b.has(".facts", "v") // version

	b.visit("#/host/typescript")
	b.until(`document.querySelectorAll('.chart').length === 7`)
	b.until(`/\d/.test(document.querySelectorAll('.chart .now')[2].textContent)`)
	// Of the second sample on there are calls and their response times.
	b.until(`(document.querySelector('.chart:nth-child(5) .stroke.line-1').getAttribute('d') ?? '').includes('M')`)
	b.until(`document.querySelectorAll('.timeline rect[data-state=running]').length > 0`)
	if got := get[string](b, `document.querySelectorAll('.chart')[2].getAttribute('aria-label')`); !strings.Contains(got, "Memory over the last hour: now") || !strings.Contains(got, "MiB") {
		t.Errorf("the chart of memory is labelled %q", got)
	}
	b.visit("#/host/typescript/logs")
	b.has(".log", "project compiled in")
	b.run(chromedp.SendKeys(chromedp.CSS(".main [type=search]"), "no such line"))
	b.until(`document.querySelectorAll('.lines > div').length > 0 && !document.querySelector('.lines > div:not([hidden])')`)
	b.do(`const f = document.querySelector('.main [type=search]'); f.value = '/compiled in \\d+/'; f.dispatchEvent(new Event('input'))`)
	b.until(`!!document.querySelector('.lines > div:not([hidden])')`)
	b.visit("#/logs")
	b.has(".log", "scan 1 finished")
	b.has(".log", "checksum mismatch")
	b.visit("#/host/search-index/crashes")
	b.has(".main table", "exit")
	b.click(".main td a")
	b.has(".log.still", "checksum mismatch in segment 14")
	b.visit("#/crashes")
	b.has(".main table", "database")
	b.visit("#/host/python/sandbox")
	b.has(".main", "Level")
	b.visit("#/host/python/extensions")
	b.has(".main", "python has no extensions")
	b.visit("#/extensions")
	b.has(".main", "No host has extensions")
	b.visit("#/host/no-such-host")
	b.has(".main", "no such host")

	if !*pictures {
		return
	}
	if err := os.MkdirAll("../docs/console", 0o755); err != nil {
		t.Fatal(err)
	}
	shots := []struct {
		name, hash string
		look       look
	}{
		{"overview", "#/", dark}, {"host", "#/host/typescript", dark}, {"host-light", "#/host/typescript", light}, {"logs", "#/logs", dark},
		{"host-phone", "#/host/typescript", phone}, {"hosts-phone", "#/hosts", phone},
	}
	for _, s := range shots {
		b.look(s.look)
		b.visit(s.hash)
		b.until(`!document.querySelector('#main') || document.querySelector('#main').innerText.length > 20 || location.hash === '#/hosts'`)
		if strings.Contains(s.hash, "host/") {
			b.until(`/\d/.test(document.querySelectorAll('.chart .now')[4]?.textContent ?? '')`)
		} else if s.hash == "#/logs" {
			b.has(".log", "scan")
		}
		b.picture(s.name)
	}
	list, err := sup.Crashes("search-index")
	if err != nil || len(list) == 0 {
		t.Fatal(err)
	}
	b.look(light)
	b.visit("#/crashes/" + list[len(list)-1].ID)
	b.has(".log.still", "checksum")
	b.picture("crash-light")
}

// The list is used by keyboard: filter, down, enter; and its columns and states are chosen.
func TestListIsUsedByKeyboard(t *testing.T) {
	broken := supervisor.Alone(supervisor.HostSpec{Name: "broken", Command: []string{"/bin/sh", "-c", "exit 3"}, Restart: lifecycle.RestartRule{MaxCrashes: 1}})
	_, url := running(t, supervisor.GroupSpec{Name: "tools", Hosts: []supervisor.HostSpec{demoHost("fetch"), demoHost("database")}}, broken)
	b := open(t, url, control.RoleRead)
	b.until(`document.querySelectorAll('.list .row:not([hidden])').length === 4`)
	b.run(chromedp.KeyEvent("/"))
	b.until(`document.activeElement.matches('.side input')`)
	b.do(`document.activeElement.value = ''`) // a key of a person, unlike this one, leaves nothing there
	b.run(chromedp.KeyEvent("data"))
	b.until(`document.querySelectorAll('.list .row:not([hidden])').length === 2`)
	b.run(chromedp.KeyEvent(kb.ArrowDown), chromedp.KeyEvent(kb.ArrowDown), chromedp.KeyEvent(kb.Enter))
	b.has(".main h1", "database")
	b.do(`const f = document.querySelector('.side input'); f.value = ''; f.dispatchEvent(new Event('input'))`)
	b.click(".titles .c-memory")
	b.until(`!document.querySelector('.list [data-group]')`)
	b.click(".titles .c-name")
	b.click(".chip[data-state=failed]")
	b.until(`document.querySelectorAll('.list .row:not([hidden])').length === 1`)
	b.click(".chip[data-state=failed]")
}

// The page open and 200 idle hosts cost the supervisor at most 2 % of a core on a machine
// that does nothing else. The bound is wide: with the race detector it takes several times
// as much.
func TestOpenPageCostsTheSupervisorLittle(t *testing.T) {
	const hosts, share = 200, 0.2
	var groups []supervisor.GroupSpec
	for i := range hosts {
		groups = append(groups, supervisor.Alone(supervisor.HostSpec{Name: fmt.Sprintf("h%d", i), Command: []string{"/bin/sleep", "1000"}}))
	}
	_, url := running(t, groups...)
	b := open(t, url, control.RoleRead)
	b.visit("#/host/h7")
	b.has(".head .badge", "running")
	newest := `document.querySelector('.chart:nth-child(2) .stroke').getAttribute('d')`
	b.until(newest + ` !== null`)
	const rounds = 3
	before, at := controltest.Used(t), time.Now()
	for range rounds { // by what the page shows, each of another sample
		b.do(`window.drawn = ` + newest)
		get[bool](b, `new Promise((done) => {
			const t = setInterval(() => { if (`+newest+` !== window.drawn) { clearInterval(t); done(true) } }, 200) })`)
	}
	took, passed := controltest.Used(t)-before, time.Since(at)
	got := took.Seconds() / passed.Seconds()
	t.Logf("with the page open and %d idle hosts the supervisor, and the test, take %.2f %% of a core (%v in %v)", hosts, 100*got, took, passed.Round(time.Millisecond))
	if got > share {
		t.Errorf("more than %v %%", 100*share)
	}
}
