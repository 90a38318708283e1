package main

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/control"
)

// Each class must have its exit code, and occur in the message and in the JSON.
func TestClasses(t *testing.T) {
	fake(t)
	for class := range failures {
		for _, args := range [][]string{
			{"call", "ts", class, "--json"},
			{"call", "ts", class, "--json", "--stream"},
			{"notify", "ts", class, "--json"},
		} {
			r := hostsupRun(t, "", args...)
			if r.code != exitFailed || !strings.HasPrefix(r.err, "hostsup: "+class+": ") {
				t.Errorf("%v: exit %d, %s", args, r.code, r.err)
			}
			var got struct{ Error control.Error }
			lines := strings.Split(strings.TrimSpace(r.out), "\n")
			if err := json.Unmarshal([]byte(lines[len(lines)-1]), &got); err != nil || string(got.Error.Class) != class {
				t.Errorf("%v: %s, %v", args, r.out, err)
			}
			if r := hostsupRun(t, "", args[:3]...); r.out != "" {
				t.Errorf("%v without --json: stdout %q", args, r.out)
			}
		}
	}
}

// A reader of the output may stop at any time, which is not a failure. A full disk
// is one.
func TestOutputThatCannotBeWritten(t *testing.T) {
	fake(t)
	t.Chdir(t.TempDir())
	for _, args := range [][]string{{"status"}, {"status", "--json"}, {"events"}, {"logs", "ts"}, {"extensions"}, {"activate", "onLanguage:go"}, {"version"}, {"completion", "bash"}, {"call", "ts", "echo"}} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		r.Close()
		var errout bytes.Buffer
		if code := newApp(nil, w, &errout).main(t.Context(), args); code != exitDone || strings.Contains(errout.String(), "pipe") {
			t.Errorf("%v into a closed pipe: exit %d, %s", args, code, errout.String())
		}
		w.Close()

		full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		if err != nil {
			continue // not on this system
		}
		errout.Reset()
		if code := newApp(nil, full, &errout).main(t.Context(), args); code != exitFailed || !strings.Contains(errout.String(), "cannot write to standard output") {
			t.Errorf("%v onto a full disk: exit %d, %s", args, code, errout.String())
		}
		full.Close()
	}
}
