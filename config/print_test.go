package config

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
)

func TestPrintWidth(t *testing.T) {
	src := []byte("host \"web\" {\n\tcommand = [\"" + strings.Repeat("argument ", 20) + "\", 80, \"" + strings.Repeat("more ", 30) + "\"]\n}\n")
	_, diags := Parse(src, "x.hcl", testOptions())
	for width := 40; width < 120; width += 7 {
		var b strings.Builder
		if err := Print(&b, diags, false, width); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
		for _, l := range lines[1:] { // the first, with the place, is never cut
			if n := utf8.RuneCountInString(l); n > width {
				t.Errorf("width %d: a line of %d: %s", width, n, l)
			}
		}
		marked, marks := lines[2], lines[3]
		at := strings.IndexByte(marks, '^')
		if r := []rune(marked); string(r[at:at+2]) != "80" {
			t.Errorf("width %d: the mark is not under the value:\n%s\n%s", width, marked, marks)
		}
	}
}

// The marks must be under what they mark, also after tabs and wide letters.
func TestPrintMarks(t *testing.T) {
	_, diags := Parse([]byte("host \"web\" {\n\tcommand\t= [\"ü\", 1]\n}\n"), "x.hcl", testOptions())
	want := "x.hcl:2:18: error: wrong type for command[1]\n" +
		"    in host \"web\"\n" +
		"  2 | \tcommand\t= [\"ü\", 1]\n" +
		"    | \t       \t        ^\n" +
		"  Expected a string, not a number. Put it in quotes: \"1\".\n"
	if got := print(t, diags); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestPrintColor(t *testing.T) {
	_, diags := Parse([]byte("group \"a\" {}\nhost \"web\" {\n  command = 1\n}\n"), "x.hcl", testOptions())
	var colored strings.Builder
	if err := Print(&colored, diags, true, 0); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\x1b[1;31merror:\x1b[0m", "\x1b[1;33mwarning:\x1b[0m", "\x1b[1mx.hcl:3:13:\x1b[0m"} {
		if !strings.Contains(colored.String(), want) {
			t.Errorf("no %q in:\n%q", want, colored.String())
		}
	}
	plain := colored.String()
	for _, code := range []string{"\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[1;31m", "\x1b[1;33m"} {
		plain = strings.ReplaceAll(plain, code, "")
	}
	if got := print(t, diags); got != plain {
		t.Errorf("colour changes the text:\n%s\n%s", got, plain)
	}
}

// Control sequences in a file must not reach the terminal.
func TestPrintClean(t *testing.T) {
	_, diags := Parse([]byte("host \"a\x1b[2J\" {\n  command = \"\x07 \u009b2J\"\n}\n"), "x\x1b.hcl", testOptions())
	got := print(t, diags)
	if strings.ContainsAny(got, "\x1b\x07\u009b") || got == "" {
		t.Errorf("got %q", got)
	}
}

// Diagnostics from elsewhere must be shown too, without a snippet.
func TestPrintForeign(t *testing.T) {
	diags := hcl.Diagnostics{
		{Severity: hcl.DiagError, Summary: "HTTP is down", Detail: "For good."},
		{Severity: hcl.DiagWarning, Summary: "Odd", Subject: &hcl.Range{Filename: "y.hcl", Start: hcl.Pos{Line: 9, Column: 2, Byte: 1 << 30}}},
	}
	want := "error: HTTP is down\n  For good.\n\ny.hcl:9:2: warning: odd\n"
	if got := print(t, diags); got != want {
		t.Errorf("got:\n%s", got)
	}
}

type broken struct{}

var errBroken = errors.New("broken")

func (broken) Write([]byte) (int, error) { return 0, errBroken }

func TestPrintError(t *testing.T) {
	_, diags := Parse(nil, "x.hcl", testOptions())
	if err := Print(broken{}, diags, false, 0); !errors.Is(err, errBroken) {
		t.Errorf("got %v", err)
	}
}

// What the HCL library attaches to a diagnostic must stay accessible.
func TestExtra(t *testing.T) {
	_, diags := Parse([]byte("host \"web\" {\n  command = [upper(1, 2)]\n}\n"), "x.hcl", testOptions())
	if _, ok := hcl.DiagnosticExtra[source](diags[0]); !ok {
		t.Error("no source")
	}
	if _, ok := hcl.DiagnosticExtra[interface{ CalledFunctionName() string }](diags[0]); !ok {
		t.Errorf("the library's own extra is lost: %v", diags[0])
	}
}
