package evidence

import (
	"slices"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/lifecycle/record"
)

// crashed returns a report with these lines of standard error.
func crashed(stderr string) *record.CrashReport {
	r := &record.CrashReport{Reason: "exit 1", Command: []string{"/usr/bin/node", "/srv/host.js"}}
	for line := range strings.SplitSeq(stderr, "\n") {
		r.Lines = append(r.Lines, record.ReportLine{Stream: "stderr", Text: line})
	}
	return r
}

const nodeCrash = `/srv/app/host.js:12
    throw new TypeError("no file 4711 in /srv/app/data/x7");
    ^

TypeError: no file 4711 in /srv/app/data/x7
    at open (/srv/app/lib/files.js:12:11)
    at Host.serve [as handle] (/srv/app/host.js:40:5)
    at process.processTicksAndRejections (node:internal/process/task_queues:105:5)
    at async file:///srv/app/main.js:7:3

Node.js v22.11.0`

const pythonCrash = `Traceback (most recent call last):
  File "/srv/host.py", line 44, in <module>
    main()
    ~~~~^^
  File "/srv/lib/serve.py", line 12, in main
    serve(frame)
  File "/srv/lib/serve.py", line 30, in serve
    raise KeyError(4711)
KeyError: 4711`

const goCrash = `panic: runtime error: index out of range [5] with length 3

goroutine 7 [running]:
main.(*table).row(...)
	/srv/main.go:20
main.serve(0xc000012345, {0xc0001, 0x3})
	/srv/main.go:31 +0x1d
main.main()
	/srv/main.go:8 +0x25
created by main.start in goroutine 1
	/srv/main.go:4 +0x1

goroutine 1 [chan receive]:
main.wait()
	/srv/main.go:55 +0x1d
exit status 2`

func TestFramesOfStacks(t *testing.T) {
	for name, c := range map[string]struct {
		stderr string
		frames []string
	}{
		"node":   {nodeCrash, []string{"open (files.js)", "Host.serve [as handle] (host.js)", "main.js"}},
		"Python": {pythonCrash, []string{"serve (serve.py)", "main (serve.py)", "<module> (host.py)"}},
		"Go":     {goCrash, []string{"main.(*table).row", "main.serve", "main.main"}},
		"Java": {"Exception in thread \"main\" java.lang.IllegalStateException: 5\n\tat com.acme.Host.serve(Host.java:12)\n\tat com.acme.Host.main(Host.java:5)",
			nil}, // its frames have no space before the parenthesis: they are found by words
		"AddressSanitizer": {"==77==ERROR: AddressSanitizer: heap-use-after-free\n    #0 0x55d0f1 in parse /src/parse.c:12:3\n    #1 0x55d0ff in main /src/main.c:5", []string{"parse (parse.c)", "main (main.c)"}},
		"no stack":         {"cannot open the database", nil},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Compare(crashed(c.stderr)).Frames; !slices.Equal(got, c.frames) {
				t.Errorf("frames %q; expected %q", got, c.frames)
			}
		})
	}
}

func TestAlikeInSpiteOfNumbersAddressesAndPaths(t *testing.T) {
	change := strings.NewReplacer("4711", "12", "/srv/app", "/home/ada/checkout", "/srv", "/opt/x", ":12:11", ":19:2", "0xc000012345", "0xc0007ffff0", "line 30", "line 31", "main.go:31", "main.go:33")
	for name, stderr := range map[string]string{
		"node": nodeCrash, "Python": pythonCrash, "Go": goCrash,
		"words": "fatal: request 4711 from 10.0.0.4711:8080 failed at 0x4711 in /srv/app/x (id 3f2a6c1e-0a1b-4c3d-8e5f-001122334455)",
	} {
		t.Run(name, func(t *testing.T) {
			a, b := Compare(crashed(stderr)), Compare(crashed(change.Replace(stderr)))
			if a.Key != b.Key {
				t.Errorf("%+v\nis not like\n%+v", a, b)
			}
			if a.Key == Compare(crashed("Segmentation fault")).Key {
				t.Error("it is like quite another crash")
			}
		})
	}
}

func TestAnotherFunctionOrErrorIsAnotherLikeness(t *testing.T) {
	same := Compare(crashed(nodeCrash)).Key
	for _, change := range [][2]string{{"at open (", "at close ("}, {"TypeError", "RangeError"}, {"files.js", "folders.js"}} {
		if Compare(crashed(strings.ReplaceAll(nodeCrash, change[0], change[1]))).Key == same {
			t.Errorf("with %q in the place of %q it is alike", change[1], change[0])
		}
	}
}

func TestKilledHostIsToldByItsReason(t *testing.T) {
	signal := "SIGKILL"
	a, b := crashed("served request 5"), crashed("now listening on port 80")
	for _, r := range []*record.CrashReport{a, b} {
		r.Exit, r.Reason = &record.ExitInfo{Signal: &signal}, "killed by SIGKILL"
	}
	if x, y := Compare(a), Compare(b); x.Key != y.Key || x.Basis != BasisReason || x.Title != "killed by SIGKILL" {
		t.Errorf("%+v, %+v", x, y)
	}
	b.Command = []string{"/usr/bin/node", "/srv/other.js"}
	if Compare(a).Key == Compare(b).Key {
		t.Error("hosts with other commands are alike")
	}
}

func TestStatusTellsSilentCrashesApart(t *testing.T) {
	a, b := &record.CrashReport{Reason: "exit 3"}, &record.CrashReport{Reason: "exit 4"}
	if x, y := Compare(a), Compare(b); x.Key == y.Key || x.Title != "exit 3" {
		t.Errorf("%+v, %+v", x, y)
	}
}

func TestNormal(t *testing.T) {
	for text, want := range map[string]string{
		"open /srv/x/y.txt: no such file":              "open <path>: no such file",
		"at 2026-11-27T13:10:18.5Z code 12, took 3.5s": "at <time> code <n>, took <n>s",
		"pointer 0x7ffe12 in commit deadbeef12":        "pointer <address> in commit <id>",
		"GET https://acme.test/a?b=1 failed":           "GET <url> failed",
		"id 3f2a6c1e-0a1b-4c3d-8e5f-001122334455":      "id <id>",
		`C:\Users\ada\x.js is missing`:                 `<path> is missing`,
		"expected a or b, feed the cafe":               "expected a or b, feed the cafe",
		"unresponsive for 3.012s, 2 of 3":              "unresponsive for <n>s, <n> of <n>",
	} {
		if got := Normal(text); got != want {
			t.Errorf("%q: %q; expected %q", text, got, want)
		}
	}
}
