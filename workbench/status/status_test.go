package status

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/internal/leaktest"
	"github.com/hostsup/hostsup/lifecycle/hostspec"
	"github.com/hostsup/hostsup/workbench"
	"github.com/hostsup/hostsup/workbench/languages"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// fixture is a service with the events that it has told, as lines.
type fixture struct {
	*Service
	hosts map[string]*actors.Ref
	told  []string
}

func newFixture(t *testing.T) *fixture {
	f := &fixture{hosts: map[string]*actors.Ref{}}
	f.Service = New(Options{Report: func(e Event) {
		kind := "status"
		if e.Progress {
			kind = "progress"
		}
		f.told = append(f.told, kind+" "+e.Host+": "+e.Text)
	}})
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// call makes a call of a host, which must have no result.
func (f *fixture) call(t *testing.T, host, method string, args ...any) error {
	t.Helper()
	if f.hosts[host] == nil {
		f.hosts[host] = actors.Detached(&actors.World{}, actors.HostSpec{Spec: hostspec.Spec{Name: host}})
	}
	out, err := f.Methods()["MainThread"+method].Now(workbench.NewCall(f.hosts[host], 1, method, workbench.Params(args...)))
	if out != nil {
		t.Errorf("%s: %v", method, out)
	}
	return err
}

// must makes a call of a host, which must succeed.
func (f *fixture) must(t *testing.T, host, method string, args ...any) {
	t.Helper()
	if err := f.call(t, host, method, args...); err != nil {
		t.Fatal(err)
	}
}

// texts returns what has been told since the last call.
func (f *fixture) texts() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := f.told
	f.told = nil
	return out
}

func (f *fixture) expect(t *testing.T, want ...string) {
	t.Helper()
	if got := f.texts(); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// bar shows an entry.
func (f *fixture) bar(t *testing.T, host, id, text string) {
	t.Helper()
	f.must(t, host, "StatusBar.$setEntry", id, "acme.x."+id, "acme.x", "X", text, "tip", false, nil, nil, nil, true, 1)
}

// sleep lets time pass in a bubble of synctest.
func sleep(d time.Duration) {
	time.Sleep(d) //nolint:forbidigo // in a synctest bubble
	synctest.Wait()
}

func TestEntriesAreShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.must(t, "one", "StatusBar.$setEntry", "0", "acme.git.branch", "acme.git", "Git", "$(git-branch) main* $(sync~spin)\n", map[string]any{"value": "on **main**"}, false,
			map[string]any{"id": "git.checkout", "title": ""}, "red", map[string]any{"id": "statusBarItem.warningBackground"}, true, 10)
		f.Language("one", 3, &languages.Status{Source: "Go", Name: "gopls", Label: "$(check) 1.2", Detail: "ready", Severity: 3, Command: "go.restart"})
		begin := time.Now()
		want := []Entry{
			{Host: "one", Extension: "acme.git", Kind: Bar, Name: "Git", Text: "main*", Detail: "on **main**", Severity: "warning", Busy: true, Command: "git.checkout", Since: begin},
			{Host: "one", Extension: "Go", Kind: Language, Name: "gopls", Text: "1.2", Detail: "ready", Severity: "error", Command: "go.restart", Since: begin},
		}
		if got := f.State("").Entries; !slices.Equal(got, want) {
			t.Errorf("%+v", got)
		}
		sleep(settle)
		f.expect(t, "status one: acme.git, Git: main*", "status one: Go, gopls: 1.2")
		f.Language("one", 3, &languages.Status{Source: "Go", Name: "gopls", Label: "$(x) 1.2"}) // the text is the same
		f.Language("one", 3, nil)
		f.must(t, "one", "StatusBar.$disposeEntry", "0")
		f.must(t, "one", "StatusBar.$disposeEntry", "0")
		sleep(time.Minute)
		f.expect(t)
		if got := f.State("one").Entries; len(got) != 0 {
			t.Errorf("%+v", got)
		}
	})
}

// A text that changes 100 times a second for ten minutes is told 20 times at once at most and then once
// a minute; the last text is told in the end, and another host and other entries are told, too.
func TestChangesAreCoalesced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		const seconds = 600
		for i := range 100 * seconds {
			f.bar(t, "one", "clock", fmt.Sprint(i))
			time.Sleep(10 * time.Millisecond) //nolint:forbidigo // in a synctest bubble
			if i == 100*300 {
				f.bar(t, "one", "other", "here")
				f.bar(t, "two", "clock", "there")
			}
		}
		got := f.texts()
		if n := len(got); n < 20 || n > 20+10+2 {
			t.Errorf("%d events", n)
		}
		for _, want := range []string{"status one: acme.x, X: here", "status two: acme.x, X: there"} {
			if !slices.Contains(got, want) {
				t.Errorf("%q is not told: %q", want, got)
			}
		}
		sleep(2 * time.Minute)
		f.expect(t, fmt.Sprintf("status one: acme.x, X: %d", 100*seconds-1))
	})
}

// Entries that come and go leave nothing behind.
func TestEntriesThatGoAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		for i := range 10 * maxEntries {
			f.bar(t, "one", fmt.Sprint(i), fmt.Sprint("text ", i))
			f.must(t, "one", "StatusBar.$disposeEntry", fmt.Sprint(i))
		}
		if on := f.of("one"); len(on.entries)+len(on.dirty) != 0 {
			t.Errorf("%d entries, %d to be told", len(on.entries), len(on.dirty))
		}
		sleep(time.Hour)
		f.expect(t)
	})
}

func TestProgressIsShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		changes := 0
		stop := f.Subscribe(func() { changes++ })
		begin := time.Now()
		f.must(t, "one", "Progress.$startProgress", 0, map[string]any{"location": 15, "title": "Indexing", "cancellable": true, "source": map[string]any{"label": "Index", "id": "acme.index"}}, workbench.Undefined)
		f.must(t, "one", "Progress.$startProgress", 1, map[string]any{"location": "acme.view"}, "acme.index")
		f.must(t, "one", "Progress.$startProgress", 2, map[string]any{"location": 10, "title": "quick"}, "acme.index")
		sleep(settle / 2)
		f.must(t, "one", "Progress.$progressEnd", 2)
		f.must(t, "one", "Progress.$progressReport", 0, map[string]any{"message": "src\nx", "increment": 30.5})
		f.must(t, "one", "Progress.$progressReport", 0, map[string]any{"increment": 10})
		f.must(t, "one", "Progress.$progressReport", 7, map[string]any{"increment": 10}) // it has ended
		got := f.State("one").Progress
		percent := 40.5
		slices.SortFunc(got, func(a, b Progress) int { return strings.Compare(b.Title, a.Title) })
		raw, err := json.Marshal(got)
		if err != nil || len(got) != 2 {
			t.Fatalf("%+v, %v", got, err)
		}
		want, _ := json.Marshal([]Progress{
			{ID: got[0].ID, Host: "one", Extension: "acme.index", Title: "Indexing", Message: "src x", Percent: &percent, Location: "notification", Started: begin, Cancelable: true},
			{ID: got[1].ID, Host: "one", Extension: "acme.index", Location: "acme.view", Started: begin},
		})
		if string(raw) != string(want) || got[0].ID == got[1].ID {
			t.Errorf("got  %s\nwant %s", raw, want)
		}
		f.must(t, "one", "Progress.$progressReport", 0, map[string]any{"increment": 90})
		if *got[0].Percent != 40.5 {
			t.Errorf("a state has changed: %v", *got[0].Percent)
		}
		for _, p := range f.State("").Progress {
			if p.Percent != nil && *p.Percent != 100 {
				t.Errorf("%v %%", *p.Percent)
			}
		}
		for id, want := range map[string]error{"x": ErrNoProgress, got[1].ID: ErrNotCancelable, got[0].ID: nil} {
			if err := f.Cancel(id); !errors.Is(err, want) || (want == nil) != (err == nil) {
				t.Errorf("%s: %v", id, err)
			}
		}
		sleep(settle)
		said := f.texts()
		slices.Sort(said)
		if want := []string{`progress one: acme.index has a progress: began`, `progress one: acme.index has the progress "Indexing": began`}; !slices.Equal(said, want) {
			t.Errorf("%q", said)
		}
		sleep(time.Second)
		stop()
		before := changes
		f.must(t, "one", "Progress.$progressEnd", 0)
		f.must(t, "one", "Progress.$progressEnd", 0)
		f.must(t, "one", "Progress.$progressEnd", 1)
		f.expect(t, `progress one: acme.index has the progress "Indexing": ended after 1.375s, canceled`, `progress one: acme.index has a progress: ended after 1.375s`)
		if err := f.Cancel(got[0].ID); !errors.Is(err, ErrNoProgress) {
			t.Error(err)
		}
		if before != 8 || changes != before {
			t.Errorf("%d changes, and %d after the end", before, changes-before)
		}
	})
}

// Progress that begins too fast is not told, and neither is its end; what runs on is told later.
func TestProgressIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		for i := range maxProgress {
			f.must(t, "one", "Progress.$startProgress", i, map[string]any{"location": 10, "title": "x"}, "acme.x")
		}
		err := f.call(t, "one", "Progress.$startProgress", maxProgress, map[string]any{"location": 10}, "acme.x")
		var own *codec.Error
		if !errors.As(err, &own) || own.Name != codec.NameInvalidParams {
			t.Error(err)
		}
		f.must(t, "two", "Progress.$startProgress", 0, map[string]any{"location": 10, "title": "y"}, "acme.x")
		sleep(settle)
		if n := len(f.texts()); n != runsAtOnce+1 {
			t.Errorf("%d events", n)
		}
		sleep(10 * runsEvery)
		if n := len(f.texts()); n < 9 || n > 11 {
			t.Errorf("%d events", n)
		}
		f.mu.Lock()
		f.down("one")
		f.mu.Unlock()
		said := f.texts()
		if n := len(said); n < runsAtOnce+9 || n > runsAtOnce+11 || !strings.HasSuffix(said[0], ", because its host has ended") {
			t.Errorf("%d events: %.200q", n, said)
		}
		if now := f.State(""); len(now.Progress) != 1 || now.Progress[0].Host != "two" {
			t.Errorf("%+v", now)
		}
		for i := range maxEntries {
			f.bar(t, "one", fmt.Sprint(i), "x")
		}
		if err := f.call(t, "one", "StatusBar.$setEntry", "more", "", "", "", "x"); !errors.As(err, &own) {
			t.Error(err)
		}
		f.bar(t, "one", "1", strings.Repeat("ü", 100*maxText))
		for _, e := range f.State("one").Entries {
			if len(e.Text) > maxText+len(" …") {
				t.Errorf("%d bytes", len(e.Text))
			}
		}
	})
}

func TestWrongArgumentsAreRefused(t *testing.T) {
	f := newFixture(t)
	for method, args := range map[string][]any{
		"StatusBar.$setEntry": {7}, "StatusBar.$disposeEntry": {7}, "Progress.$startProgress": {"x"}, "Progress.$progressReport": {0, 7}, "Progress.$progressEnd": {"x"},
	} {
		var own *codec.Error
		if err := f.call(t, "one", method, args...); !errors.As(err, &own) || own.Name != codec.NameInvalidParams {
			t.Errorf("%s: %v", method, err)
		}
	}
	if now := f.State(""); len(now.Entries)+len(now.Progress) != 0 {
		t.Errorf("%+v", now)
	}
}
