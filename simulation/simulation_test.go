package simulation

import (
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/hostsup/hostsup/internal/require"
)

var (
	seeds   = flag.Int("seeds", 0, "how many stories TestSeeds tells; default: 50, in ./test all 200")
	first   = flag.Uint64("first", 1, "the seed of the first one")
	forever = flag.Bool("forever", false, "TestSeeds goes on until a story fails")
	plain   = flag.Bool("plain", false, "a story that fails is not shortened")
	plant   = flag.Bool("mutants", false, "TestMutants plants its defects")
	loud    = flag.Bool("loud", false, "the log of the tree is written to standard error")
)

func logger() hclog.Logger {
	if *loud {
		return hclog.New(&hclog.LoggerOptions{Level: hclog.Debug, Output: os.Stderr})
	}
	return hclog.NewNullLogger()
}

// fail prints a story that has failed, shortened, as a file of testdata/stories.
func fail(t *testing.T, s *story, out outcome) {
	if *plain {
		t.Fatalf("seed %d: %s", s.seed, out.wrong[0])
	}
	began := time.Now()
	s = shrink(s, func(s *story) bool {
		return time.Since(began) < time.Minute && len(tell(t, s, hclog.NewNullLogger()).wrong) > 0
	})
	if again := tell(t, s, logger()); len(again.wrong) > 0 {
		out = again
	}
	t.Fatalf("seed %d: what is promised was not kept:\n%s\n\nthe story, for a file in testdata/stories:\n%s\nwhat happened:\n%s",
		s.seed, strings.Join(out.wrong, "\n"), s, strings.Join(out.trace, "\n"))
}

// What is promised holds in the stories of many seeds.
func TestSeeds(t *testing.T) {
	began, lived, steps, told := time.Now(), time.Duration(0), 0, 0
	if *seeds == 0 {
		*seeds = require.Rounds(200, 50)
	}
	for ; told < *seeds || *forever; told++ {
		s := newStory(*first + uint64(told))
		out := tell(t, s, logger())
		lived += out.lived
		steps += out.steps
		if len(out.wrong) > 0 {
			fail(t, s, out)
		}
	}
	took := time.Since(began)
	t.Logf("%d stories, %.0f hours in %s, %.0f hours a minute, %d steps", told, lived.Hours(), took.Round(time.Second), lived.Hours()/took.Minutes(), steps)
}

// Stories that failed once.
func TestStories(t *testing.T) {
	files, err := filepath.Glob("testdata/stories/*")
	if err != nil || len(files) == 0 {
		t.Fatal("no story", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			s, err := parse(string(text))
			if err != nil {
				t.Fatal(err)
			}
			if out := tell(t, s, logger()); len(out.wrong) > 0 {
				fail(t, s, out)
			}
		})
	}
}

// The text of a story is the whole story.
func TestTextOfAStory(t *testing.T) {
	for seed := range uint64(200) {
		want := newStory(seed).String()
		s, err := parse(want)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.String(); got != want {
			t.Fatalf("%s\nis read as\n%s", want, got)
		}
	}
	for text, problem := range map[string]string{
		"1s call":                         `line 1: "1s call": expected TIME VERB HOST`,
		"# a comment\n\nnow call a":       `line 3: "now call a": expected TIME VERB HOST`,
		"group g one_for_one\nhost a x=1": `line 2: "host a x=1": no rule "x"`,
		"seed x late=0 delay=1s":          `line 1: `,
	} {
		if _, err := parse(text); err == nil || !strings.HasPrefix(err.Error(), problem) {
			t.Errorf("%q: %v, want %s", text, err, problem)
		}
	}
}

// A seed decides what happens. Where several goroutines of one step go on, that is the
// choice of Go's scheduler, so few stories may differ, on one processor.
func TestSeedDecides(t *testing.T) { toldTwice(t, newStory, nil) }

// Go's scheduler takes the processor from a goroutine after 10 ms of real time, which pass when the
// machine is busy with other programs, and lets all others go first. Here this happens in a tenth of the
// places where a goroutine has the kernel do something. Hosts that programs are attached to are left out:
// the hub answers each request that a life leaves on a goroutine of its own, of which so many interruptions
// change the order.
func TestSeedDecidesOnBusyMachine(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	alone := func(seed uint64) *story {
		s := newStory(seed)
		if last := len(s.groups) - 1; isShared(&s.groups[last].hosts[0]) {
			s.without(last, 0)
		}
		return s
	}
	toldTwice(t, alone, func() {
		if rng.IntN(10) == 0 { // on one processor; no goroutine is interrupted here
			runtime.Gosched()
		}
	})
}

// toldTwice tells the stories of 100 seeds, and tells them again while the kernel calls interrupt.
func toldTwice(t *testing.T, of func(seed uint64) *story, interrupt func()) {
	t.Helper()
	if !strings.Contains(os.Getenv("GODEBUG"), "asyncpreemptoff=1") {
		t.Skip("GODEBUG=asyncpreemptoff=1 has Go's scheduler interrupt no goroutine; ./test simulation sets it")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	differ := 0
	for seed := range uint64(100) {
		a := tell(t, of(seed), hclog.NewNullLogger())
		interrupted = interrupt
		b := tell(t, of(seed), hclog.NewNullLogger())
		interrupted = nil
		if !slices.Equal(a.trace, b.trace) {
			differ++
			i := 0
			for i < min(len(a.trace), len(b.trace)) && a.trace[i] == b.trace[i] {
				i++
			}
			t.Logf("seed %d differs from here on:\n%s\nand then:\n%s", seed, lines(a.trace, i), lines(b.trace, i))
		}
	}
	t.Logf("%d of 100 stories differ when told again", differ)
	if differ > 1 {
		t.Errorf("%d of 100 stories differ when told again; expected at most 1", differ)
	}
}

// lines returns the first three lines of a trace from one on.
func lines(trace []string, from int) string {
	return strings.Join(trace[min(from, len(trace)):min(from+3, len(trace))], "\n")
}

// A story that fails is shortened to what makes it fail.
func TestShrink(t *testing.T) {
	s := newStory(1)
	for len(s.steps) < 40 {
		s.steps = append(s.steps, s.steps...)
	}
	s.steps = append(s.steps, step{at: time.Hour, verb: "kill", host: "a"}, step{at: time.Hour, verb: "thaw", host: "a"})
	has := func(s *story, verb string) bool {
		return slices.ContainsFunc(s.steps, func(st step) bool { return st.verb == verb && st.host == "a" && st.at == time.Hour })
	}
	got := shrink(s, func(s *story) bool { return has(s, "kill") && has(s, "thaw") })
	if len(got.steps) != 2 || len(got.groups) != 1 || len(got.groups[0].hosts) != 1 || got.late != 0 {
		t.Error(got)
	}
}
