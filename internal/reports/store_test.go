package reports

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostsup/hostsup/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

type crash struct {
	Host   string
	Number int
	Lines  []string `json:",omitempty"`
	Load   float64
}

var start = time.Date(2026, 11, 21, 12, 3, 5, 42e6, time.UTC)

// add adds the n-th report of a host, n seconds after the start.
func add(t *testing.T, s *Store[crash], host string, n int) (id string) {
	t.Helper()
	at := start.Add(time.Duration(n) * time.Second)
	id = NewID(fmt.Sprintf("%s-%d", host, n), at)
	if err := s.Add(id, at, host, crash{Host: host, Number: n}); err != nil {
		t.Fatal(err)
	}
	return id
}

// errorLog collects the errors of a store.
type errorLog struct {
	mu   sync.Mutex
	errs []error
}

func (l *errorLog) add(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.errs = append(l.errs, err)
}

func (l *errorLog) take() []error {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := l.errs
	l.errs = nil
	return out
}

func open(t *testing.T, dir string, opt Options) *Store[crash] {
	t.Helper()
	s, err := Open[crash](dir, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// numbers lists a host as host1 host2 …
func numbers(t *testing.T, s *Store[crash], host string) string {
	t.Helper()
	list, err := s.List(host)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, c := range list {
		out = append(out, fmt.Sprint(c.Host, c.Number))
	}
	return strings.Join(out, " ")
}

func files(t *testing.T, dir string) (names []string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}

// In memory, before and after the write, and in the next store of the folder, reports
// must look the same.
func TestStore(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state", "crashes")
	for _, c := range []struct{ name, dir string }{{"memory", ""}, {"disk", dir}, {"disk again", dir}} {
		t.Run(c.name, func(t *testing.T) {
			var log errorLog
			s := open(t, c.dir, Options{OnError: log.add})
			if c.name != "disk again" {
				add(t, s, "ts", 1)
				add(t, s, "db", 3)
				add(t, s, "ts", 2) // comes late
			}
			for range 2 {
				for host, want := range map[string]string{"": "ts1 ts2 db3", "ts": "ts1 ts2", "db": "db3", "other": ""} {
					if got := numbers(t, s, host); got != want {
						t.Errorf("List(%q) is %q, want %q", host, got, want)
					}
				}
				for id, want := range map[string]int{"20261121-120308.042-db-3": 3, "20261121-120308": 3, "20261121-120306.042-ts-1": 1} {
					if got, err := s.Get(id); err != nil || got.Number != want {
						t.Errorf("Get(%q) is %+v (%v), want number %d", id, got, err, want)
					}
				}
				for id, want := range map[string]error{"20261121": ErrAmbiguous, "": ErrNotFound, "x": ErrNotFound, "20261121-120308.042-db-33": ErrNotFound, "../../etc/passwd": ErrNotFound} {
					if _, err := s.Get(id); !errors.Is(err, want) {
						t.Errorf("Get(%q): %v, want %v", id, err, want)
					}
				}
				if err := s.Flush(); err != nil {
					t.Fatal(err)
				}
			}
			if errs := log.take(); errs != nil {
				t.Errorf("reported %v", errs)
			}
		})
	}
	want := []string{"20261121-120306.042-ts-1.json", "20261121-120307.042-ts-2.json", "20261121-120308.042-db-3.json"}
	if d := cmp.Diff(want, files(t, dir)); d != "" {
		t.Errorf("files (-want +got)\n%s", d)
	}
	for path, mode := range map[string]os.FileMode{dir: 0o700 | os.ModeDir, filepath.Join(dir, want[0]): 0o600} {
		if st, err := os.Stat(path); err != nil || st.Mode() != mode {
			t.Errorf("%s has mode %v, want %v (%v)", path, st.Mode(), mode, err)
		}
	}
	b, err := os.ReadFile(filepath.Join(dir, want[0]))
	if got := string(b); err != nil || got != `{"format":1,"id":"20261121-120306.042-ts-1","time":"2026-11-21T12:03:06.042Z","host":"ts","report":{"Host":"ts","Number":1,"Load":0}}`+"\n" {
		t.Errorf("%s (%v)", got, err)
	}
}

func TestExactIDBeforePrefix(t *testing.T) {
	s := open(t, "", Options{})
	for i, id := range []string{"a", "ab", "abc"} {
		if err := s.Add(id, start, "h", crash{Number: i}); err != nil {
			t.Fatal(err)
		}
		if got, err := s.Get(id); err != nil || got.Number != i {
			t.Errorf("Get(%q) is %+v (%v)", id, got, err)
		}
	}
}

func TestAddRefuses(t *testing.T) {
	dir := t.TempDir()
	s := open(t, filepath.Join(dir, "crashes"), Options{})
	for _, id := range []string{"", ".", "..", ".hidden", "../x", "a/b", `a\b`, "a b", "é", "a\x00", strings.Repeat("a", maxID+1)} {
		if err := s.Add(id, start, "h", crash{}); !errors.Is(err, ErrBadID) {
			t.Errorf("Add(%q): %v", id, err)
		}
	}
	id := add(t, s, "h", 1)
	if err := s.Add(id, start, "h", crash{}); !errors.Is(err, ErrExists) {
		t.Errorf("twice: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Add("new", start, "h", crash{}); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	if got := numbers(t, s, ""); got != "h1" {
		t.Errorf("after Close: %q", got)
	}
	if got := files(t, dir); len(got) != 1 {
		t.Errorf("outside of the folder: %v", got)
	}
}

// The newest reports must stay, and a host that crashes all the time must not push out
// the reports of another.
func TestPrune(t *testing.T) {
	for _, dir := range []string{"", t.TempDir()} {
		s := open(t, dir, Options{Keep: 10, PerHost: 3})
		for n := 1; n <= 4; n++ {
			add(t, s, "quiet", n)
		}
		for n := 5; n <= 50; n++ {
			add(t, s, "noisy", n)
		}
		want := "quiet2 quiet3 quiet4 noisy44 noisy45 noisy46 noisy47 noisy48 noisy49 noisy50"
		if got := numbers(t, s, ""); got != want {
			t.Errorf("kept %q, want %q", got, want)
		}
		// Many hosts: each keeps its share, although that is more than Keep.
		for h := range 5 {
			for n := range 4 {
				add(t, s, fmt.Sprintf("host%c", 'a'+h), 60+h*4+n)
			}
		}
		list, err := s.List("")
		if err != nil || len(list) != 3*7 {
			t.Errorf("%d reports, want 3 of each of 7 hosts (%v)", len(list), err)
		}
		if err := s.Flush(); err != nil {
			t.Fatal(err)
		}
		if dir == "" {
			continue
		}
		if got := files(t, dir); len(got) != len(list) {
			t.Errorf("%d files for %d reports", len(got), len(list))
		}
		s = open(t, dir, Options{Keep: 1, PerHost: 1})
		if err := s.Flush(); err != nil {
			t.Fatal(err)
		}
		if got := files(t, dir); len(got) != 7 {
			t.Errorf("%d files, want 1 of each of 7 hosts", len(got))
		}
	}
}

// Files that are not reports must be left alone, reported once, and not disturb.
func TestForeignFiles(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{})
	for n := range 3 {
		add(t, s, "h", n)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	good := files(t, dir)
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("README", "hello")
	write("broken.json", `{"format":1,"id":"broken"`)
	write("other.json", `{"format":1,"id":"another","time":"2026-11-21T12:03:06Z","host":"h","report":{}}`)
	write("future.json", `{"format":2,"id":"future","time":"2026-11-21T12:03:06Z","host":"h","report":{}}`)
	write("list.json", `[]`)
	write("sp ace.json", `{}`)
	write(".partial-1", "a write that is going on")
	write(".partial-2", "a write that ended with its supervisor")
	long := time.Now().Add(-2 * abandoned)
	if err := os.Chtimes(filepath.Join(dir, ".partial-2"), long, long); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "folder.json"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "link.json")); err != nil {
		t.Fatal(err)
	}
	before := files(t, dir)

	var log errorLog
	s = open(t, dir, Options{OnError: log.add})
	for range 2 {
		if got := numbers(t, s, ""); got != "h0 h1 h2" {
			t.Errorf("listed %q", got)
		}
	}
	if errs := log.take(); len(errs) != 8 {
		t.Errorf("reported %d times, want once for each of 8: %v", len(errs), errs)
	}
	if want, got := len(before)-1, files(t, dir); len(got) != want {
		t.Errorf("%d files, want %d: only abandoned files are removed: %v", len(got), want, got)
	}

	// Files break, or vanish, while the store is open.
	write(good[0], `{"format":1,`)
	write(good[1], `{"format":1,"id":"`+strings.TrimSuffix(good[1], ".json")+`","time":"2026-11-21T12:03:06Z","host":"h","report":{"Number":"no number"}}`)
	if err := os.Remove(filepath.Join(dir, good[2])); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if got := numbers(t, s, ""); got != "" {
			t.Errorf("listed %q", got)
		}
		if _, err := s.Get(strings.TrimSuffix(good[0], ".json")); err == nil || errors.Is(err, ErrNotFound) {
			t.Errorf("a broken file: %v", err)
		}
		if _, err := s.Get(strings.TrimSuffix(good[2], ".json")); !errors.Is(err, ErrNotFound) {
			t.Errorf("a file that is gone: %v", err)
		}
	}
	if errs := log.take(); len(errs) != 2 {
		t.Errorf("reported %d times, want once for each of 2: %v", len(errs), errs)
	}
}

// Reports must not be lost when the disk fails: they stay available, bounded, and are
// written when it works again.
func TestDiskFails(t *testing.T) {
	parent := t.TempDir()
	dir := filepath.Join(parent, "state", "crashes")
	var log errorLog
	s := open(t, dir, Options{Keep: 5, PerHost: 1, OnError: log.add})
	if err := os.WriteFile(filepath.Join(parent, "state"), nil, 0o600); err != nil { // in the way of the folder
		t.Fatal(err)
	}
	for n := range 10 {
		add(t, s, "h", n)
		if err := s.Flush(); err == nil {
			t.Fatal("Flush did not fail")
		}
	}
	if errs := log.take(); len(errs) != 1 {
		t.Errorf("reported %d times, want once: %v", len(errs), errs)
	}
	if got := numbers(t, s, ""); got != "h5 h6 h7 h8 h9" {
		t.Errorf("kept %q", got)
	}
	if err := os.Remove(filepath.Join(parent, "state")); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if got := numbers(t, open(t, dir, Options{}), ""); got != "h5 h6 h7 h8 h9" {
		t.Errorf("on disk %q", got)
	}

	if _, err := Open[crash](filepath.Join(dir, files(t, dir)[0]), Options{}); err == nil {
		t.Error("a file was accepted as a folder")
	}
}

// A report that cannot be encoded must stay in memory and block no other.
func TestUnfit(t *testing.T) {
	dir := t.TempDir()
	var log errorLog
	s := open(t, dir, Options{OnError: log.add})
	if err := s.Add("unfit", start, "h", crash{Host: "h", Load: math.NaN()}); err != nil {
		t.Fatal(err)
	}
	add(t, s, "h", 1)
	if err := s.Flush(); err != nil {
		t.Error(err)
	}
	if errs := log.take(); len(errs) != 1 || !strings.Contains(errs[0].Error(), "unfit") {
		t.Errorf("reported %v", errs)
	}
	if got := numbers(t, s, ""); got != "h0 h1" {
		t.Errorf("listed %q", got)
	}
	if got := files(t, dir); len(got) != 1 {
		t.Errorf("files %v", got)
	}
}

// Under concurrent use no report may be lost, listed twice or truncated.
func TestConcurrent(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{Keep: 20, PerHost: 2, OnError: func(err error) { t.Error(err) }})
	var wg sync.WaitGroup
	for h := range 4 {
		host := fmt.Sprintf("host%c", 'a'+h)
		wg.Go(func() {
			for n := range 50 {
				id := add(t, s, host, n)
				if c, err := s.Get(id); err != nil && !errors.Is(err, ErrNotFound) {
					t.Error(err)
				} else if err == nil && (c.Host != host || c.Number != n) {
					t.Errorf("Get(%q) is %+v", id, c)
				}
				list, err := s.List(host)
				if err != nil {
					t.Error(err)
				}
				for i := 1; i < len(list); i++ {
					if list[i-1].Number >= list[i].Number {
						t.Errorf("%d before %d", list[i-1].Number, list[i].Number)
					}
				}
				if n%10 == 0 {
					if err := s.Flush(); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	before := numbers(t, s, "")
	if after := numbers(t, open(t, dir, Options{}), ""); after != before || strings.Count(after, " ") != 19 {
		t.Errorf("opened again %q, was %q", after, before)
	}
	if got := files(t, dir); len(got) != 20 {
		t.Errorf("%d files for 20 reports", len(got))
	}
}

func TestNewID(t *testing.T) {
	for name, want := range map[string]string{
		"ts-7":                   "20261121-120305.042-ts-7",
		"":                       "20261121-120305.042-host",
		"../../etc/passwd":       "20261121-120305.042-.._.._etc_passwd",
		"a b\x00é":               "20261121-120305.042-a_b__",
		strings.Repeat("x", 200): "20261121-120305.042-" + strings.Repeat("x", maxName),
	} {
		got := NewID(name, start.In(time.FixedZone("", 3600)))
		if got != want {
			t.Errorf("NewID(%q) is %q, want %q", name, got, want)
		}
		if !valid(got) {
			t.Errorf("Add would refuse %q", got)
		}
	}
	if a, b := NewID("z-1", start), NewID("a-1", start.Add(time.Millisecond)); a >= b {
		t.Errorf("%s and %s do not sort by time", a, b)
	}
}

// TestReportsOfTheFuture stores reports dated a year ahead, or sets the clock back
// while the store is open. Those reports must be dropped first.
func TestReportsOfTheFuture(t *testing.T) {
	for name, reopen := range map[string]bool{"found": true, "clock set back": false} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			opt := Options{Keep: 3, PerHost: 1}
			s := open(t, dir, opt)
			now := time.Now().UTC().Truncate(time.Second)
			put := func(n int, at time.Time) {
				t.Helper()
				if err := s.Add(NewID(fmt.Sprintf("ts-%d", n), at), at, "ts", crash{Host: "ts", Number: n}); err != nil {
					t.Fatal(err)
				}
			}
			for n := range 3 {
				put(n, now.AddDate(1, 0, n))
			}
			if reopen {
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				s = open(t, dir, opt)
			}
			for n := 3; n < 5; n++ {
				put(n, now.Add(time.Duration(n)*time.Second))
			}
			if got, want := numbers(t, s, ""), "ts2 ts3 ts4"; got != want {
				t.Errorf("kept %q, want %q", got, want)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = open(t, dir, opt)
			put(5, now.Add(5*time.Second))
			if got, want := numbers(t, s, ""), "ts3 ts4 ts5"; got != want {
				t.Errorf("kept %q after the next start, want %q", got, want)
			}
		})
	}
}
