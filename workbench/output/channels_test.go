package output

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/hashicorp/go-hclog"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec/native"
	"github.com/hostsup/hostsup/extensions"
	"github.com/hostsup/hostsup/internal/capture"
	"github.com/hostsup/hostsup/internal/safeactor"
	"github.com/hostsup/hostsup/lifecycle/hostspec"
	"github.com/hostsup/hostsup/lifecycle/record"
	"github.com/hostsup/hostsup/workbench"
)

// called calls a method as a host in its first life does.
func called(t *testing.T, s *Channels, method string, args ...any) any {
	t.Helper()
	out, err := s.Methods()[method].Now(workbench.NewCall(nil, 1, method, workbench.Params(args...)))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// made makes a channel as createOutputChannel of VS Code does, and returns its id.
func made(t *testing.T, s *Channels, extension, name string) (id string, file workbench.URI) {
	t.Helper()
	file = workbench.URI{Scheme: workbench.LogScheme, Path: "/logs/" + extension + "/" + name + ".log"}
	called(t, s, "MainThreadLogger.$createLogger", file, map[string]any{"donotUseFormatters": true})
	id, _ = called(t, s, "MainThreadOutputService.$register", name, file, nil, extension).(string)
	return id, file
}

func appended(t *testing.T, s *Channels, file workbench.URI, texts ...string) {
	t.Helper()
	for _, text := range texts {
		called(t, s, "MainThreadLogger.$log", file, []any{[]any{3, text}})
	}
}

// lines returns what a channel has.
func lines(t *testing.T, s *Channels, name string) (out []string) {
	t.Helper()
	l, err := s.Channel(name)
	if err != nil {
		t.Fatal(err)
	}
	history, err := l.History(1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, ln := range history {
		out = append(out, fmt.Sprintf("%v %s", ln.Stream, ln.Text))
	}
	return out
}

func closed(t *testing.T, s *Channels) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// What channels have is there after the supervisor was restarted.
func TestChannelsAreKept(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "channels")
	opt := ChannelOptions{Dir: dir, Redact: func(text string) string { return strings.ReplaceAll(text, "s3cret", "***") }, Problem: func(text string) { t.Error(text) }}
	s := NewChannels(opt)
	id, file := made(t, s, "acme.one", "Build: all")
	appended(t, s, file, "first", " line\r\nsec", "ond with s3cret\n", "\n", "no end")
	called(t, s, "MainThreadOutputService.$update", id, modeClear, 3)
	called(t, s, "MainThreadOutputService.$update", id, modeClear, 3) // there is nothing to clear

	log := workbench.URI{Scheme: workbench.LogScheme, Path: "/logs/two.log"}
	called(t, s, "MainThreadLogger.$createLogger", log, map[string]any{"name": "Two", "extensionId": "acme.two"})
	called(t, s, "MainThreadLogger.$log", log, []any{[]any{1, "t"}, []any{3, "a\nb"}, []any{4, "w"}, []any{5, "e"}})
	appended(t, s, workbench.URI{Scheme: workbench.LogScheme, Path: "/logs/unknown.log"}, "x")
	closed(t, s)

	s = NewChannels(opt)
	defer closed(t, s)
	if got, want := s.List(), []extensions.Channel{{Name: "Build: all", Extension: "acme.one"}, {Name: "Two", Extension: "acme.two"}, {Name: "unknown"}}; !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
	for name, want := range map[string][]string{
		"Build: all": {"stdout first line", "stdout second with ***", "stdout ", "stdout no end", "note the extension has cleared the channel"},
		"two":        {"stdout [trace] t", "stdout [info] a", "stdout b", "stderr [warning] w", "stderr [error] e"},
		"unknown":    {"stdout [info] x"},
	} {
		if got := lines(t, s, name); !slices.Equal(got, want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// Channels of several extensions with one name are told apart by the ids.
func TestChannelIsFoundByName(t *testing.T) {
	s := NewChannels(ChannelOptions{})
	defer closed(t, s)
	if _, err := s.Channel("Git"); !errors.Is(err, extensions.ErrNoChannel) || !strings.Contains(err.Error(), "none yet") {
		t.Error(err)
	}
	for _, extension := range []string{"acme.b", "acme.a"} {
		_, file := made(t, s, extension, "Git")
		appended(t, s, file, extension+"\n")
	}
	if _, err := s.Channel("Git"); !errors.Is(err, extensions.ErrNoChannel) || !strings.HasSuffix(err.Error(), `several extensions have it "acme.a/Git", "acme.b/Git"`) {
		t.Error(err)
	}
	if _, err := s.Channel("Got"); !errors.Is(err, extensions.ErrNoChannel) || !strings.HasSuffix(err.Error(), `there are "acme.a/Git", "acme.b/Git"`) {
		t.Error(err)
	}
	for _, ch := range s.all {
		ch.queue.wait()
	}
	if got := lines(t, s, "acme.b/Git"); !slices.Equal(got, []string{"stdout acme.b"}) {
		t.Errorf("%q", got)
	}
}

// A line without an end is written when nothing more has come for a while.
func TestPartialLineIsWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewChannels(ChannelOptions{})
		defer closed(t, s)
		_, file := made(t, s, "acme.one", "Dots")
		appended(t, s, file, ".", ".")
		l, err := s.Channel("Dots")
		if err != nil {
			t.Fatal(err)
		}
		for ln := range l.Follow(t.Context(), 0) {
			if ln.Text != ".." || ln.Life != 1 {
				t.Errorf("%+v", ln)
			}
			break
		}
		appended(t, s, file, strings.Repeat("x", capture.MaxLine+1), "y\n")
		for _, ch := range s.all {
			ch.queue.wait()
		}
		if got := lines(t, s, "Dots"); len(got) != 3 || got[2] != "stdout xy" {
			t.Errorf("%d lines", len(got))
		}
	})
}

// Channels, their loggers and their files are bounded.
func TestChannelsAreBounded(t *testing.T) {
	dir := t.TempDir()
	problems := 0
	opt := ChannelOptions{Dir: dir, MaxSize: 1000, Problem: func(string) { problems++ }}
	s := NewChannels(opt)
	for i := range maxChannels + 10 {
		_, file := made(t, s, fmt.Sprint("acme.n", i/perOwner), fmt.Sprint("channel ", i))
		appended(t, s, file, strings.Repeat("some text\n", 1000))
	}
	if len(s.List()) != maxChannels || problems != 1 {
		t.Errorf("%d channels, %d problems", len(s.List()), problems)
	}
	closed(t, s)
	size := int64(0)
	all, err := filepath.Glob(filepath.Join(dir, "*.log*"))
	for _, path := range all {
		st, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		size += st.Size()
	}
	if err != nil || len(all) != maxChannels*files || size > maxChannels*files*2000 {
		t.Errorf("%d files with %d bytes, %v", len(all), size, err)
	}

	// A channel of an earlier run makes room.
	s = NewChannels(opt)
	_, file := made(t, s, "acme.one", "new")
	appended(t, s, file, "x\n")
	if _, err := s.Channel("channel 0"); !errors.Is(err, extensions.ErrNoChannel) || len(s.List()) != maxChannels {
		t.Errorf("%v", err)
	}
	for i := range maxSources + 5 { // disposed loggers make room, too
		_, file := made(t, s, "acme.one", "new")
		file.Path += fmt.Sprint(i)
		called(t, s, "MainThreadLogger.$createLogger", file, map[string]any{})
		called(t, s, "MainThreadLogger.$deregisterLogger", file)
	}
	if n := len(s.sources); n > maxSources || n != s.counts[""] {
		t.Errorf("%d loggers, %d counted", n, s.counts[""])
	}
	closed(t, s)
	if left, err := filepath.Glob(filepath.Join(dir, "channel_0-*")); err != nil || len(left) != 0 {
		t.Errorf("%q, %v", left, err)
	}
}

// An extension cannot take the channels of others, nor a host those of other hosts, whichever
// extensions it names.
func TestChannelsAreSharedFairly(t *testing.T) {
	var problems []string
	opt := ChannelOptions{Dir: t.TempDir(), Problem: func(text string) { problems = append(problems, text) }}
	s := NewChannels(opt)
	hosts := map[string]*actors.Ref{"one": named("one"), "two": named("two")}
	kept := func(s *Channels, host, extension string, n int) (out int) {
		for i := range n {
			name := fmt.Sprint(host, " channel ", i)
			file := workbench.URI{Scheme: workbench.LogScheme, Path: "/logs/" + extension + "/" + name + ".log"}
			for _, c := range []*workbench.Call{
				workbench.NewCall(hosts[host], 1, "MainThreadOutputService.$register", workbench.Params(name, file, nil, extension)),
				workbench.NewCall(hosts[host], 1, "MainThreadLogger.$log", workbench.Params(file, []any{[]any{3, "text\n"}})),
			} {
				if _, err := s.Methods()[c.Method].Now(c); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := s.Channel(extension + "/" + name); err == nil {
				out++
			}
		}
		return out
	}
	if n := kept(s, "one", "acme.greedy", 200); n != perOwner {
		t.Errorf("an extension has %d channels, want %d", n, perOwner)
	}
	if want := []string{`extension "acme.greedy" has made 25 output channels, which is the limit; what is written into others is not kept`}; !slices.Equal(problems, want) {
		t.Errorf("the problems are %q, want %q", problems, want)
	}
	for i := range 10 {
		kept(s, "one", fmt.Sprint("acme.made", i), perOwner)
	}
	kept(s, "one", "acme.modest", perOwner)
	if n := len(s.List()); n != maxChannels {
		t.Errorf("a host has made %d channels, want %d", n, maxChannels)
	}
	if n := kept(s, "two", "acme.modest", perHost+1); n != perHost {
		t.Errorf("another host has %d channels, want %d", n, perHost)
	}
	if last := problems[len(problems)-1]; !strings.Contains(last, `100 output channels, and host "two" 10`) {
		t.Errorf("the last problem is %q", last)
	}
	closed(t, s)

	// Those of an earlier run make room, also those beyond the limit.
	s = NewChannels(opt)
	if n := len(s.List()); n != maxChannels+perHost {
		t.Errorf("after a restart there are %d channels, want %d", n, maxChannels+perHost)
	}
	if n := kept(s, "one", "acme.new", 1); n != 1 || len(s.List()) != maxChannels {
		t.Errorf("%d new channels, %d in all", n, len(s.List()))
	}
	closed(t, s)
}

// named returns a host that is not run.
func named(name string) *actors.Ref {
	log := hclog.NewNullLogger()
	return actors.Detached(&actors.World{System: safeactor.NewSystem(log), Log: log, Journal: record.NewJournal(nil)},
		actors.HostSpec{Spec: hostspec.Spec{Name: name, Command: []string{"x"}, Protocol: native.New()}})
}

// An index that is damaged hides nothing that is written from now on.
func TestDamagedIndex(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, indexFile), []byte("[{"), 0o600); err != nil {
		t.Fatal(err)
	}
	var problems []string
	s := NewChannels(ChannelOptions{Dir: dir, Problem: func(text string) { problems = append(problems, text) }})
	_, file := made(t, s, "acme.one", "A")
	appended(t, s, file, "x\n")
	closed(t, s)
	if len(problems) != 1 || len(s.List()) != 1 {
		t.Errorf("%q, %v", problems, s.List())
	}
}

// What a host sends must not take more of the memory or the time of the supervisor than the bounds say.
func TestRegistrationsOfChannelsAreBounded(t *testing.T) {
	s := NewChannels(ChannelOptions{})
	defer closed(t, s)
	id, file := made(t, s, "acme.one", "One")
	for range 3 * maxSources {
		id, _ = called(t, s, "MainThreadOutputService.$register", "One", file, nil, "acme.one").(string)
	}
	if len(s.ids) != 1 {
		t.Errorf("%d ids of one file", len(s.ids))
	}
	appended(t, s, file, "a\n")
	called(t, s, "MainThreadOutputService.$update", id, modeClear) // the last id still works
	long, _ := called(t, s, "MainThreadOutputService.$register", strings.Repeat("n", 1<<20), file, nil, strings.Repeat("e", 1<<20)).(string)
	if len(long) > 1000 {
		t.Errorf("an id of %d bytes", len(long))
	}
	if _, err := s.Methods()["MainThreadLogger.$log"].Now(workbench.NewCall(nil, 1, "MainThreadLogger.$log",
		workbench.Params(workbench.URI{Scheme: workbench.LogScheme, Path: "/" + strings.Repeat("p", 1<<20)}, []any{[]any{3, "x"}}))); err == nil {
		t.Error("a file with a name of 1 MiB was taken")
	}
}

// A line that comes in many small parts is one line, and its parts are not copied again for each.
func TestPartsOfALine(t *testing.T) {
	s := NewChannels(ChannelOptions{})
	_, file := made(t, s, "acme.one", "One")
	parts := make([]any, capture.MaxLine-1)
	for i := range parts {
		parts[i] = []any{3, "a"}
	}
	parts = append(parts, []any{3, "\r"}, []any{3, "\nb"}, []any{3, "c\n"})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	called(t, s, "MainThreadLogger.$log", file, parts)
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 256<<20 {
		t.Errorf("%d MiB were allocated for a line of %d bytes", n>>20, capture.MaxLine)
	}
	closed(t, s) // waits until all is written
	got := lines(t, s, "One")
	if want := []string{"stdout " + strings.Repeat("a", capture.MaxLine-1) + " ", "stdout ", "stdout bc"}; !slices.Equal(got, want) {
		t.Errorf("%d lines: %.20q", len(got), got)
	}
}

// The editor has channels of its own, beside those of extensions with the same name.
func TestChannelOfTheEditor(t *testing.T) {
	s := NewChannels(ChannelOptions{Host: "vs", Redact: func(text string) string { return strings.ReplaceAll(text, "secret", "***") }})
	s.Write("Tasks", "a secret\nsecond line\n")
	lines, err := s.Channel("Tasks")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s.Write("Tasks", "after the end")
	got, err := lines.History(10)
	if err != nil || len(got) != 2 || got[0].Text != "a ***" || got[1].Text != "second line" || got[0].Stream != capture.Stderr {
		t.Errorf("%+v, %v", got, err)
	}
}
