package capture_test

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/intercept/secret"
	. "github.com/hostsup/hostsup/internal/capture"
)

// However a host splits its writes, no value may be kept anywhere.
func TestRedacted(t *testing.T) {
	const value = "hunter2-hunter2-hunter3"
	long := strings.Repeat("x", MaxLine-7)
	text := "begin " + value + " end\nhunter2-hunter2-hunter2-hunter3\nhunter2-hun\n" + long + value + "\r\n" + value + value
	want := []string{"begin [redacted: t] end", "hunter2-[redacted: t]", "hunter2-hun"}
	for _, size := range []int{1, 2, 3, 5, 7, 11, 23, 64, 4096, len(text)} {
		r := secret.NewRedactor(0)
		release := r.Hold("t", []byte(value))
		dir := t.TempDir()
		l := New(Options{Dir: dir, Name: "h", Redact: r})
		out, in, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		c := l.Capture(out, Stdout, 1)
		for i := 0; i < len(text); {
			n := size
			if i > 200 && i < len(text)-200 { // the middle is one byte over and over
				n = max(size, 1000)
			}
			n = min(n, len(text)-i)
			if _, err := in.WriteString(text[i : i+n]); err != nil {
				t.Fatal(err)
			}
			i += n
		}
		_ = in.Close()
		<-c.Done()
		l.Note(1, "what about "+value)
		l.Print(Stdout, 1, []byte(value))
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		lines := Texts(l.Tail(100))
		if len(lines) != 8 || strings.Join(lines[:3], "|") != strings.Join(want, "|") {
			t.Fatalf("writes of %d: %.300q", size, lines)
		}
		if lines[3]+lines[4] != long+"[redacted: t]" || strings.Contains(lines[5], "hunter") {
			t.Errorf("writes of %d: %.20q… %q %q", size, lines[3], lines[4], lines[5])
		}
		file, err := os.ReadFile(dir + "/h.log")
		if err != nil || bytes.Contains(file, []byte(value)) || !bytes.Contains(file, []byte("about [redacted: t]")) {
			t.Errorf("writes of %d: the file holds it, or not the rest (%v)", size, err)
		}
		release()
		if r.Active() {
			t.Error("still held")
		}
	}
}

// The beginning of a value is held back only while more may follow.
func TestRedactedBeginning(t *testing.T) {
	r := secret.NewRedactor(0)
	defer r.Close()
	r.Hold("t", []byte("hunter2-hunter2"))
	for _, test := range []struct{ text, want string }{{"say hunt", "say hunt"}, {"say hunter2-hunt", "say [redacted]"}} {
		l := New(Options{Redact: r})
		out, in, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		c := l.Capture(out, Stderr, 1)
		fmt.Fprint(in, test.text)
		_ = in.Close()
		<-c.Done()
		if got := Texts(l.Tail(1)); len(got) != 1 || got[0] != test.want {
			t.Errorf("%q is kept as %q", test.text, got)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
}
