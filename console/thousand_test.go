package console_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/chromedp"

	"github.com/hostsup/hostsup/control"
	"github.com/hostsup/hostsup/control/controltest"
	"github.com/hostsup/hostsup/control/samples"
	"github.com/hostsup/hostsup/extensions"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/record"
	"github.com/hostsup/hostsup/sandbox/denial"
	"github.com/hostsup/hostsup/supervisor"
)

func ptr[T any](v T) *T { return &v }

// A thousand hosts, 200 of which change their state each second while the list is
// scrolled, leave the browser's main thread time to spare, and no task of it takes long.
// The bounds are for a machine on which others work, too; the figures that are printed are
// better.
func TestThousandHostsAreFluid(t *testing.T) {
	const (
		hosts   = 1000
		changes = 1000              // events
		busy    = 0.95              // share of a processor that the main thread takes
		longest = 5 * time.Second   // of a task, on a machine on which others work, too
		elapsed = 5 * time.Second   // for the events
		nodes   = 4000              // elements in the document
		frames  = 10                // at least, in that time
		pause   = elapsed / changes // between two events
	)
	sup := &controltest.Supervisor{Info: supervisor.Info{PID: 1, Version: "v1", Started: time.Now(), Kill: "cgroup"}, Live: make(chan supervisor.Event), Ended: make(chan struct{})}
	readings := make([]samples.Reading, hosts)
	for i := range hosts {
		name, group := fmt.Sprintf("host-%04d", i), fmt.Sprintf("group-%02d", i/20)
		sup.Members = append(sup.Members, controltest.NewHost(record.HostStatus{Name: name, Group: group, Protocol: "hostsup", State: lifecycle.Running, Life: 1, PID: ptr(1000 + i), Since: time.Now()}))
		if i%20 == 0 {
			sup.Groups = append(sup.Groups, record.GroupStatus{Name: group, Strategy: lifecycle.OneForOne})
		}
		g := &sup.Groups[len(sup.Groups)-1]
		g.Hosts = append(g.Hosts, name)
		readings[i] = samples.Reading{Host: name, State: lifecycle.Running, Life: 1, Memory: int64(i) << 20, CPU: time.Duration(i) * time.Millisecond}
	}
	store := samples.NewStore()
	for i := range 3 {
		store.Add(time.Now().Add(time.Duration(i-3)*samples.Interval), readings)
	}
	url := serve(t, sup, control.Options{Samples: store})
	b := open(t, url, control.RoleOperate)
	b.until(`document.querySelector('.chips').textContent.includes('1000 running')`)
	b.until(`document.querySelectorAll('.list .row:not([hidden])').length > 10`)

	b.do(`window.tasks = []; new PerformanceObserver((l) => window.tasks.push(...l.getEntries().map((e) => e.duration))).observe({type: 'longtask'});
		window.frames_ = 0; window.over = false;
		const list = document.querySelector('.list');
		let step = 0;
		const frame = () => { window.frames_++; list.scrollTop = (step += 90) % list.scrollHeight; if (!window.over) requestAnimationFrame(frame); };
		requestAnimationFrame(frame)`)
	if _, err := chromedp.Call(b.ctx, performance.Enable, performance.EnableParams{TimeDomain: "threadTicks"}); err != nil {
		t.Fatal(err)
	}
	before, began := metrics(b), time.Now()
	tick := time.NewTicker(pause)
	defer tick.Stop()
	states := []lifecycle.State{lifecycle.Crashed, lifecycle.Restarting, lifecycle.Starting, lifecycle.Running}
	for i := range changes {
		from, to := states[(i+3)%4], states[i%4]
		name, group := fmt.Sprintf("host-%04d", i/4*37%hosts), fmt.Sprintf("group-%02d", i/4*37%hosts/20)
		sup.Live <- supervisor.Event{Seq: uint64(i + 1), Time: time.Now(), Kind: record.KindState, Host: &name, Group: &group, Life: ptr(uint64(2)), From: &from, To: &to, Reason: "killed by SIGKILL"}
		if i%200 == 199 {
			store.Add(time.Now(), readings)
		}
		<-tick.C
	}
	b.until(fmt.Sprintf("document.querySelector('.steps.long').children.length === 60 && document.querySelector('.steps.long').innerText.includes('host-%04d')", (changes-1)/4*37%hosts))
	after, passed := metrics(b), time.Since(began)
	b.do(`window.over = true`)
	share := (after["TaskDuration"] - before["TaskDuration"]) / passed.Seconds()
	most := time.Duration(get[float64](b, `Math.max(0, ...window.tasks)`) * float64(time.Millisecond))
	drawn, in := get[int](b, `window.frames_`), get[int](b, `document.querySelectorAll('*').length`)
	t.Logf("%d hosts, %d events in %v: the main thread takes %.0f %% of a processor, its longest task takes %v, %.0f frames a second, %d elements",
		hosts, changes, passed.Round(time.Millisecond), 100*share, most.Round(time.Millisecond), float64(drawn)/passed.Seconds(), in)
	if share > busy {
		t.Errorf("the main thread takes %.0f %%, more than %.0f %%", 100*share, 100*busy)
	}
	if most > longest {
		t.Errorf("a task takes %v, more than %v", most, longest)
	}
	if drawn < frames {
		t.Errorf("%d frames, fewer than %d", drawn, frames)
	}
	if in > nodes {
		t.Errorf("%d elements, more than %d", in, nodes)
	}
}

func metrics(b *tab) map[string]float64 {
	b.t.Helper()
	out := map[string]float64{}
	got, err := chromedp.Call(b.ctx, performance.GetMetrics, cdp.Empty{})
	if err != nil {
		b.t.Fatal(err)
	}
	for _, m := range got.Metrics {
		out[m.Name] = m.Value
	}
	return out
}

// Names, reasons and the like are text, too; and a host that was refused something shows
// the line of policy that would allow it, an extension what is held against it.
func TestStatusIsText(t *testing.T) {
	evil := `<img src=x onerror="window.hacked=1">`
	at := time.Now()
	h := controltest.NewHost(record.HostStatus{
		Name: evil, Group: "g" + evil, State: lifecycle.Failed, Reason: ptr("because of " + evil), Since: at.Add(time.Minute), // after the events
		DependsOn: []string{evil},
		LastExit:  &record.ExitInfo{Signal: ptr(evil), Reason: evil, At: at}, Protocol: "hostsup", CrashID: ptr("c1"),
		Sandbox: record.SandboxStatus{Level: "landlock", Missing: []string{"no cgroup: " + evil}, Denials: []denial.Denial{
			{Kind: denial.Read, Path: "/etc/" + evil, Field: "read", Suggest: `read = ["/etc/x` + evil + `"]`, Source: denial.Landlock, Count: 3, First: at, Last: at}}},
	})
	h.Output = nil
	sup := &controltest.Supervisor{
		Info:    supervisor.Info{Version: evil, Started: at, Config: ptr(evil)},
		Groups:  []record.GroupStatus{{Name: "g" + evil, Strategy: lifecycle.OneForOne, Hosts: []string{evil}}},
		Members: []*controltest.Host{h}, Ended: make(chan struct{}), Live: make(chan supervisor.Event),
		Units: []extensions.Status{{Host: evil, Place: evil, ID: "acme." + evil, Version: evil, State: "active", Why: evil,
			Blame: extensions.Blame{SuspectIn: 2, Decision: "suspect: " + evil}}},
		History: []supervisor.Event{{Seq: 1, Time: at, Kind: record.KindState, Host: ptr(evil), Group: ptr("g" + evil), To: ptr(lifecycle.Failed), Reason: evil}},
		Reports: []record.CrashReport{{ID: "c1", Time: at, Host: evil, Group: "g", Reason: evil, Command: []string{evil}, Next: evil, Exit: &record.ExitInfo{Reason: evil, Code: ptr(3)},
			Lines: []record.ReportLine{{Time: at, Stream: "stdout", Text: evil}}, Messages: []record.Header{{Time: at, Dir: "sent", Kind: "request", ID: 7, Method: evil, Size: 12}}}},
	}
	var isolated string
	sup.OnSet = func(_ context.Context, _, id string, verb extensions.Verb) error {
		isolated = string(verb) + " " + id
		return nil
	}
	url := serve(t, sup, control.Options{Samples: samples.NewStore()})
	b := open(t, url, control.RoleOperate)
	b.has("#side", evil)
	b.has(".trouble", "because of "+evil)
	b.has(".steps.long", evil)
	b.has(".main .facts", evil)
	b.click(".trouble")
	b.has(".main h1", evil)
	b.has(".head .reason", "because of "+evil)
	b.has(".facts", "killed by "+evil)
	b.has(".steps", evil)
	base := get[string](b, `location.hash`)
	b.visit(base + "/sandbox")
	b.has(".main", "landlock")
	b.has(".main", "no cgroup: "+evil)
	b.has(".policy code", `read = ["/etc/x`+evil+`"]`)
	b.visit(base + "/extensions")
	b.has(".main table", "suspect in 2 crashes suspect: "+evil)
	b.do(`[...document.querySelectorAll('.main td button')].find((x) => x.textContent === 'isolate').click()`)
	b.has("dialog[open]", "Isolate acme."+evil+"?")
	b.click("dialog [data-confirm]")
	b.has("#notes", "isolate done")
	if isolated != "isolate acme."+evil {
		t.Errorf("what was done is %q", isolated)
	}
	b.visit(base + "/crashes")
	b.has(".main table", evil)
	b.visit("#/crashes/c1")
	b.has(".log.still", evil)
	b.has(".scroll table", evil)
	if got := get[string](b, `String(window.hacked) + document.querySelectorAll('main img, aside img, dialog img, .notes img').length`); got != "undefined0" {
		t.Errorf("it was run: %s", got)
	}
}

// Without a token the page asks for one; the URL does not keep it.
func TestTokenIsAskedFor(t *testing.T) {
	sup := &controltest.Supervisor{Info: supervisor.Info{Version: "v1", Started: time.Now()}, Ended: make(chan struct{}), Live: make(chan supervisor.Event)}
	url := serve(t, sup, control.Options{Samples: samples.NewStore()})
	b := browse(t, url)
	b.run(chromedp.Navigate(url))
	b.has("#login", "Token")
	b.until(`document.activeElement.id === 'token'`)
	enter := func(text string) {
		b.run(chromedp.SendKeys(chromedp.CSS("#token"), text+"\r"))
	}
	enter(strings.Repeat("wrong", 10))
	b.has("#refused", "a token of this supervisor is needed")
	if told := b.forget(); len(told) == 0 {
		t.Error("the browser has not noticed that a request was refused")
	}
	enter(secretOf(control.RoleRead))
	b.until(`document.querySelector('#link').dataset.live === 'true'`)
	b.run(chromedp.Reload())
	b.until(`document.querySelector('#link').dataset.live === 'true'`) // this tab keeps it

	b.run(chromedp.Navigate("about:blank"), chromedp.Navigate(url+"#token="+secretOf(control.RoleOperate)))
	b.until(`document.querySelector('#link').dataset.live === 'true'`)
	b.has("#who", "operate")
	if at := get[string](b, `location.href + document.cookie + JSON.stringify(localStorage)`); strings.Contains(at, secretOf(control.RoleOperate)) {
		t.Errorf("the token stays in %s", at)
	}
}
