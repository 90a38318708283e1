package evidence

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/internal/poll"
	"github.com/hostsup/hostsup/internal/reports"
	"github.com/hostsup/hostsup/lifecycle/record"
)

// world returns what a keeper needs of a tree without hosts, and its log lines.
func world() (*actors.World, *lines) {
	l := &lines{}
	return &actors.World{Log: hclog.New(&hclog.LoggerOptions{Output: l}), Journal: record.NewJournal(nil)}, l
}

type lines struct {
	mu sync.Mutex
	n  int
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.n++
	return len(b), nil
}

func (l *lines) take() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.n
	l.n = 0
	return n
}

// opened opens the reports of a folder.
func opened(t testing.TB, dir string, opt Options) (*Keeper, *lines) {
	t.Helper()
	k := New(opt)
	w, l := world()
	if _, err := k.Open(dir, w); err != nil {
		t.Fatal(err)
	}
	return k, l
}

func closed(t testing.TB, k *Keeper) {
	t.Helper()
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
}

var began = time.Now().Add(-time.Hour).Round(time.Millisecond).UTC()

// file adds the n-th report, of one of three kinds.
func file(t testing.TB, k *Keeper, n int) (id string) {
	t.Helper()
	host := fmt.Sprintf("h%d", n%5)
	r := crashed(fmt.Sprintf("%s: request %d failed", []string{"Timeout", "Refused", "Overflow"}[n%3], n))
	r.Time, r.Host, r.Life = began.Add(time.Duration(n)*time.Millisecond), host, uint64(n)
	r.ID = reports.NewID(fmt.Sprintf("%s-%d", host, n), r.Time)
	if err := k.Add(r.ID, r.Time, host, *r); err != nil {
		t.Fatal(err)
	}
	return r.ID
}

func ids(t testing.TB, k *Keeper) (out []string) {
	t.Helper()
	all, err := k.Summaries("")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		out = append(out, s.ID)
	}
	return out
}

func TestReportsAreListedAtOnceAndAfterAStart(t *testing.T) {
	for name, dir := range map[string]string{"on disk": filepath.Join(t.TempDir(), "crashes"), "in memory": ""} {
		t.Run(name, func(t *testing.T) {
			k, l := opened(t, dir, Options{})
			var want []string
			for n := range 20 {
				want = append(want, file(t, k, n))
			}
			check := func() {
				t.Helper()
				if got := ids(t, k); !slices.Equal(got, want) {
					t.Errorf("listed %q; expected %q", got, want)
				}
				all, err := k.Summaries("h1")
				if err != nil || len(all) != 4 || all[0].Host != "h1" || all[0].Likeness.Title != "Refused: request <n> failed" || all[0].Life != 1 {
					t.Errorf("of h1: %+v, %v", all, err)
				}
				whole, err := k.Summaries("")
				if g := Groups(whole); err != nil || len(g) != 3 || g[2].Count+g[1].Count+g[0].Count != 20 || len(g[2].Hosts) != 5 || g[2].Latest != want[19] {
					t.Errorf("groups %+v, %v", g, err)
				}
			}
			check()
			closed(t, k)
			if dir != "" {
				k, l = opened(t, dir, Options{})
				check()
				closed(t, k)
			}
			if n := l.take(); n > 0 {
				t.Errorf("%d warnings", n)
			}
		})
	}
}

func TestDamagedIndexIsMadeAnew(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "crashes")
	k, _ := opened(t, dir, Options{})
	var want []string
	for n := range 300 {
		want = append(want, file(t, k, n))
	}
	closed(t, k)
	path := dir + ".index"
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	damages := map[string]func() []byte{
		"missing":   func() []byte { return nil },
		"empty":     func() []byte { return []byte{} },
		"text":      func() []byte { return []byte("this is no index\n") },
		"zeros":     func() []byte { return make([]byte, len(whole)) },
		"cut":       func() []byte { return whole[:len(whole)/2] },
		"cut a lot": func() []byte { return whole[:9000] },
	}
	for i := range 60 {
		damages[fmt.Sprintf("bytes %d", i)] = func() []byte {
			b := slices.Clone(whole)
			for range 1 + random.IntN(200) {
				b[random.IntN(len(b))] = byte(random.Uint32())
			}
			return b
		}
		damages[fmt.Sprintf("cut %d", i)] = func() []byte { return whole[:random.IntN(len(whole))] }
	}
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			b := damage()
			if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
			if b != nil {
				if err := os.WriteFile(path, b, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			k, _ := opened(t, dir, Options{})
			defer closed(t, k)
			if got := ids(t, k); !slices.Equal(got, want) {
				t.Errorf("%d reports are listed; expected %d", len(got), len(want))
			}
			if got, err := k.index.summaries(); err != nil || len(got) != len(want) {
				t.Errorf("the index has %d reports, %v; expected %d", len(got), err, len(want))
			}
		})
	}
}

func TestIndexDamagedWhileItIsUsed(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "crashes")
	k, _ := opened(t, dir, Options{})
	want := []string{file(t, k, 1), file(t, k, 2), file(t, k, 3)}
	if err := k.store.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(dir+".index", 20); err != nil {
		t.Fatal(err)
	}
	if got := ids(t, k); !slices.Equal(got, want) {
		t.Errorf("listed %q; expected %q", got, want)
	}
	closed(t, k)
}

func TestIndexIsCompacted(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "crashes")
	k, _ := opened(t, dir, Options{MaxReports: 10})
	for n := range 1200 {
		file(t, k, n)
	}
	if err := k.store.Flush(); err != nil { // else one that is being removed may be listed
		t.Fatal(err)
	}
	want := ids(t, k)
	closed(t, k)
	_, lines, err := k.index.read()
	if err != nil || lines > 1100 {
		t.Errorf("the index has %d lines, %v; expected not many more than 1000", lines, err)
	}
	k, _ = opened(t, dir, Options{MaxReports: 25})
	defer closed(t, k)
	if got := ids(t, k); !slices.Equal(got, want) {
		t.Errorf("listed %q; expected %q", got, want)
	}
}

func TestIndexThatCannotBeMadeIsDoneWithout(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "crashes")
	if err := os.MkdirAll(filepath.Join(dir+".index", "full"), 0o700); err != nil { // a folder in its place
		t.Fatal(err)
	}
	k, l := opened(t, dir, Options{})
	defer closed(t, k)
	if l.take() == 0 {
		t.Error("there was no warning")
	}
	want := []string{file(t, k, 1), file(t, k, 2)}
	if got := ids(t, k); !slices.Equal(got, want) {
		t.Errorf("listed %q; expected %q", got, want)
	}
}

// A process that files reports is killed at random moments. Afterwards every report of which it has
// said that it is on disk is listed, and the index agrees with the files.
func TestKillHarmsNothing(t *testing.T) {
	if dir := os.Getenv("EVIDENCE_TEST_FILES"); dir != "" {
		k, _ := opened(t, dir, Options{MaxReports: 40})
		for n := len(ids(t, k)); ; n++ {
			id := file(t, k, int(time.Since(began)/time.Millisecond)+n)
			if err := k.store.Flush(); err != nil {
				t.Fatal(err)
			}
			fmt.Println(id)
		}
	}
	rounds := 25
	if testing.Short() {
		rounds = 5
	}
	dir := filepath.Join(t.TempDir(), "crashes")
	for round := range rounds {
		cmd := exec.Command(os.Args[0], "-test.run=^TestKillHarmsNothing$")
		cmd.Env = append(os.Environ(), "EVIDENCE_TEST_FILES="+dir, "TMPDIR="+t.TempDir())
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		var last string
		for range 1 + rand.IntN(60) {
			if _, err := fmt.Fscanln(out, &last); err != nil {
				t.Fatal(err)
			}
		}
		for until := time.Now().Add(time.Duration(rand.IntN(int(3 * time.Millisecond)))); time.Now().Before(until); { // anywhere within the next one
			runtime.Gosched()
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		rest, _ := io.ReadAll(out)
		_ = cmd.Wait()
		k, l := opened(t, dir, Options{MaxReports: 40})
		listed := ids(t, k)
		if !slices.Contains(listed, last) {
			t.Errorf("round %d: %s is not listed, after which came %q", round, last, rest)
		}
		var files []string
		poll.Until(t, time.Minute, "the folder holds what is listed", func() bool {
			files = nil
			all, err := filepath.Glob(filepath.Join(dir, "*.json"))
			for _, f := range all {
				files = append(files, filepath.Base(f[:len(f)-len(".json")]))
			}
			slices.Sort(files)
			return err == nil && slices.Equal(files, ids(t, k))
		})
		if n := l.take(); n > 0 {
			t.Errorf("round %d: %d warnings", round, n)
		}
		closed(t, k)
	}
}

// written leaves reports in a folder, of 20 kinds, and their index.
func written(t testing.TB, dir string, count int) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	text := `{"format":1,"id":%q,"time":%q,"host":"h","report":{"id":%[1]q,"time":%[2]q,"host":"h","reason":"exit 1","lines":[{"stream":"stderr","text":"Error: request %d of kind %c failed"}]}}`
	for n := range count {
		at := began.Add(time.Duration(n) * time.Millisecond)
		id := reports.NewID(fmt.Sprint("h-", n), at)
		if err := os.WriteFile(filepath.Join(dir, id+".json"), fmt.Appendf(nil, text, id, at.Format(time.RFC3339Nano), n, 'a'+n%20), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	k, _ := opened(t, dir, Options{})
	closed(t, k)
}

// listed lists and groups the reports that written has left.
func listed(t testing.TB, k *Keeper, count int) {
	t.Helper()
	all, err := k.Summaries("")
	if groups := Groups(all); err != nil || len(all) != count || len(groups) != 20 || groups[0].Count != count/20 {
		t.Errorf("%d reports in %d groups, %v", len(all), len(groups), err)
	}
}

// A folder is opened, and its reports are listed and grouped, from the index alone: what is in the
// files has been replaced.
func TestReportsAreListedWithoutReadingThem(t *testing.T) {
	const count = 1000
	dir := filepath.Join(t.TempDir(), "crashes")
	written(t, dir, count)
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		path := filepath.Join(dir, f.Name())
		info, err := f.Info()
		if err == nil {
			err = os.WriteFile(path, make([]byte, info.Size()), 0o600)
		}
		if err == nil {
			err = os.Chtimes(path, info.ModTime(), info.ModTime())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	k, l := opened(t, dir, Options{})
	defer closed(t, k)
	listed(t, k, count)
	if n := l.take(); n > 0 || len(files) != count {
		t.Errorf("%d warnings about %d files", n, len(files))
	}
}

// How long it takes to make the index of 10,000 reports, to open their folder with it, and to list and
// group them.
func BenchmarkTenThousandReports(b *testing.B) {
	const count = 10_000
	dir := filepath.Join(b.TempDir(), "crashes")
	written(b, dir, count)
	b.Run("index", func(b *testing.B) {
		for b.Loop() {
			if err := os.Remove(dir + ".index"); err != nil {
				b.Fatal(err)
			}
			k, _ := opened(b, dir, Options{})
			closed(b, k)
		}
	})
	b.Run("open", func(b *testing.B) {
		for b.Loop() {
			k, _ := opened(b, dir, Options{})
			closed(b, k)
		}
	})
	b.Run("list", func(b *testing.B) {
		k, _ := opened(b, dir, Options{})
		defer closed(b, k)
		for b.Loop() {
			listed(b, k, count)
		}
	})
}
