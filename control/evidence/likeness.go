package evidence

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/hostsup/hostsup/lifecycle/record"
)

// What a [Likeness] was made of.
const (
	BasisStack  = "stack"  // the frames of a stack trace
	BasisWords  = "words"  // the last words, without what differs from time to time
	BasisReason = "reason" // the reason and the command: the host has printed nothing about its end
)

// Likeness tells which crashes are alike: those with the same Key.
type Likeness struct {
	Key    string   `json:"key"` // 12 hexadecimal digits
	Basis  string   `json:"basis"`
	Title  string   `json:"title"` // a line for people, without numbers, addresses, ids and paths
	Frames []string `json:"frames,omitempty"`
}

// framesUsed is how many innermost frames of a stack make a likeness: those further out tell how
// the program came there.
const framesUsed = 6

// Compare returns the likeness of a report.
func Compare(r *record.CrashReport) Likeness {
	var stderr []string
	for _, l := range r.Lines {
		if l.Stream == "stderr" {
			stderr = append(stderr, l.Text)
		}
	}
	words := record.LastWords(stderr)
	if words == "" && len(stderr) == 0 { // some programs put it there
		for _, l := range r.Lines {
			stderr = append(stderr, l.Text)
		}
	}
	title := Normal(words)
	if frames := stack(stderr); len(frames) > 0 {
		kind, _, _ := strings.Cut(title, ":")
		return likeness(BasisStack, title, frames, append([]string{kind}, frames...)...)
	}
	if title != "" && !isKilled(r) {
		return likeness(BasisWords, title, nil, title)
	}
	title = Normal(r.Reason)
	if exited().MatchString(r.Reason) {
		title = r.Reason // the number is what it has said of its end
	}
	parts := []string{title}
	for _, c := range r.Command {
		parts = append(parts, Normal(filepath.Base(c)))
	}
	return likeness(BasisReason, title, nil, parts...)
}

var exited = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^exit \d+$`) })

// isKilled reports whether what the host has printed last says nothing about its end, because it
// was killed from outside.
func isKilled(r *record.CrashReport) bool {
	return r.Exit != nil && r.Exit.Signal != nil && (*r.Exit.Signal == "SIGKILL" || *r.Exit.Signal == "SIGTERM")
}

func likeness(basis, title string, frames []string, parts ...string) Likeness {
	sum := sha256.Sum256([]byte(basis + "\x00" + strings.Join(parts, "\x00")))
	return Likeness{Key: hex.EncodeToString(sum[:6]), Basis: basis, Title: title, Frames: frames}
}

// part is a part of a text, and what stands for it.
type part struct {
	what *regexp.Regexp
	name string
}

// variable are the parts of a text that differ between crashes of one kind. The order matters.
var variable = sync.OnceValue(func() []part {
	return []part{
		{regexp.MustCompile(`\b[a-zA-Z][a-zA-Z0-9+.-]*://[^\s"'<>)]+`), "<url>"},
		{regexp.MustCompile(`\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b`), "<id>"},
		{regexp.MustCompile(`\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?`), "<time>"},
		{regexp.MustCompile(`\b0[xX][0-9a-fA-F]+\b`), "<address>"},
		{regexp.MustCompile(`(?:\b[A-Za-z]:\\|(?:^|[\s"'(=:\[])(?:\.{0,2}|~)/)[^\s"'():,;<>\]]*`), "<path>"},
		{regexp.MustCompile(`\b(?:[0-9a-f]*[0-9][0-9a-f]*[a-f][0-9a-f]*|[0-9a-f]*[a-f][0-9a-f]*[0-9][0-9a-f]*)\b`), "<id>"},
		{regexp.MustCompile(`\d+(?:[.,:]\d+)*`), "<n>"},
	}
})

// Normal returns a text without numbers, addresses, ids, times, URLs and paths.
func Normal(text string) string {
	for _, v := range variable() {
		text = v.what.ReplaceAllStringFunc(text, func(found string) string {
			if v.name == "<id>" && len(found) < 6 { // a word such as "e2" or "1d" is no id
				return found
			}
			if lead := found[0]; v.name == "<path>" && strings.ContainsRune(" \t\"'(=:[", rune(lead)) {
				return string(lead) + v.name
			}
			return v.name
		})
	}
	return strings.Join(strings.Fields(text), " ")
}

// frameForm finds a frame in a line of a stack trace.
type frameForm struct {
	line      *regexp.Regexp // fn, and file where there is one
	outermost bool           // the first frame is the outermost one, as in Python
}

// frameForms find the frames of stack traces: of node, Python, Go, Java, Rust and AddressSanitizer.
var frameForms = sync.OnceValue(func() []frameForm {
	return []frameForm{
		{line: regexp.MustCompile(`^\s+at (?:async )?(?:new )?(?P<fn>[^\s()]+(?: \[as [^\]]+\])?) \((?P<file>[^()]+?)(?::\d+){0,2}\)$`)},
		{line: regexp.MustCompile(`^\s+at (?:async )?(?P<file>(?:file://)?[^\s()]+?)(?::\d+){1,2}$`)},
		{line: regexp.MustCompile(`^\s+File "(?P<file>[^"]+)", line \d+, in (?P<fn>.+)$`), outermost: true},
		{line: regexp.MustCompile(`^(?P<fn>[\w./\-*()·\[\]]+)\((?:0x[0-9a-f]|\{|\.\.\.|[0-9]|\?|\)).*$`)},
		{line: regexp.MustCompile(`^(?P<fn>[\w./\-*()·\[\]]+)\(\)$`)},
		{line: regexp.MustCompile(`^\s+#\d+ 0x[0-9a-f]+ in (?P<fn>\S+)(?: (?P<file>\S+?)(?::\d+)*)?$`)},
		{line: regexp.MustCompile(`^\s+\d+: (?:0x[0-9a-f]+ - )?(?P<fn>[\w:<>{}#$ ]+?)(?:::h[0-9a-f]{16})?$`)},
	}
})

// stack returns the frames of the last stack trace in the lines, innermost first, without line
// numbers, folders and addresses.
func stack(lines []string) []string {
	end := -1 // of the trace
	for i := len(lines) - 1; i >= max(0, len(lines)-120) && end < 0; i-- {
		if _, _, ok := frame(lines[i]); ok {
			end = i
		}
	}
	if end < 0 {
		return nil
	}
	var found []string
	outermost, gap := false, 0
	for i := end; i >= 0 && gap < 3; i-- {
		if strings.HasPrefix(lines[i], "goroutine ") && len(found) > 0 && !strings.Contains(lines[i], "[running") {
			found, gap = found[:0], -3 // of another goroutine than the one that has panicked
			continue
		}
		f, first, ok := frame(lines[i])
		if !ok {
			gap++
			continue
		}
		gap, outermost = 0, first
		if f != "" {
			found = append(found, f)
		}
	}
	if !outermost {
		slices.Reverse(found)
	}
	return found[:min(len(found), framesUsed)]
}

// frame returns the frame in a line of a stack trace, "" for one of the runtime, which is left out.
func frame(line string) (text string, outermost, ok bool) {
	for _, form := range frameForms() {
		m := form.line.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		var fn, file string
		if i := form.line.SubexpIndex("fn"); i > 0 {
			fn = m[i]
		}
		if i := form.line.SubexpIndex("file"); i > 0 {
			file = m[i]
		}
		if strings.HasPrefix(file, "node:") || strings.HasPrefix(fn, "runtime.") || fn == "panic" || strings.HasPrefix(fn, "std::") || strings.HasPrefix(fn, "core::") {
			return "", form.outermost, true
		}
		if file != "" {
			file = Normal(filepath.Base(strings.ReplaceAll(file, `\`, "/")))
		}
		fn = strings.Join(strings.Fields(fn), " ")
		switch {
		case fn == "":
			return file, form.outermost, true
		case file == "":
			return fn, form.outermost, true
		}
		return fn + " (" + file + ")", form.outermost, true
	}
	return "", false, false
}
