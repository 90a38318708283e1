package problems

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// registry is that of the editor with what VS Code's extension of TypeScript and one of ours contribute.
func registry(t *testing.T) *Registry {
	t.Helper()
	r, left := New([]json.RawMessage{[]byte(`{"contributes": {
		"problemPatterns": [{"name": "tsc", "regexp": "^([^\\s].*)[\\(:](\\d+)[,:](\\d+)(?:\\):\\s+|\\s+-\\s+)(error|warning|info)\\s+TS(\\d+)\\s*:\\s*(.*)$",
			"file": 1, "line": 2, "column": 3, "severity": 4, "code": 5, "message": 6}],
		"problemMatchers": [
			{"name": "tsc", "owner": "typescript", "source": "ts", "applyTo": "closedDocuments", "fileLocation": ["relative", "${cwd}"], "pattern": "$tsc"},
			{"name": "tsc-watch", "base": "$tsc", "background": {"activeOnStart": true, "beginsPattern": "^begin(?: of (.*))?$", "endsPattern": {"regexp": "^end$"}}},
			{"name": "sass", "fileLocation": "absolute", "pattern": [{"regexp": "^{$"}, {"regexp": "\"file\": \"(.*)\"", "file": 1}, {"regexp": "\"line\": (\\d+)", "line": 1}, {"regexp": "\"message\": \"(.*)\"", "message": 1}]}
		]}}`), []byte(`{"contributes": []}`)})
	if len(left) > 0 {
		t.Fatal(left)
	}
	return r
}

// matcher returns a matcher by its name or as an object.
func matcher(t *testing.T, text string) *Matcher {
	t.Helper()
	m, err := registry(t).Matcher(json.RawMessage(text), "own")
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// collected returns what matchers find in lines.
func collected(lines []string, matchers ...*Matcher) (out []string) {
	c := NewCollector(matchers)
	for _, l := range lines {
		for _, e := range c.Line(l) {
			p := e.Problem
			switch e.Kind {
			case Found:
				out = append(out, fmt.Sprintf("%s|%s %d:%d-%d:%d %v %s %q %s", p.Owner, e.File, p.StartLine, p.StartColumn, p.EndLine, p.EndColumn, p.Severity, p.Code, p.Message, p.Source))
			case Begins:
				out = append(out, "begins "+e.File)
			case Ends:
				out = append(out, "ends")
			}
		}
	}
	return out
}

func TestMatchers(t *testing.T) {
	whole := "2147483647"
	for _, c := range []struct {
		matcher string
		lines   []string
		want    []string
	}{
		{`"$tsc"`, []string{"\x1b[96msrc/a.ts\x1b[0m:\x1b[93m3\x1b[0m:\x1b[93m7\x1b[0m - \x1b[91merror\x1b[0m TS2322: Type 'a'.\r", "src/b.ts(1,2): warning TS7: Other", "nothing"},
			[]string{`typescript|src/a.ts 3:7-3:7 error 2322 "Type 'a'." ts`, `typescript|src/b.ts 1:2-1:2 warning 7 "Other" ts`}},
		{`"$eslint-stylish"`, []string{"/w/a.js", "  1:2  error  Bad thing  no-bad", "  3:4  warning  Other", "", "  9:9  error  Without a file", "/w/b.js", "  5:6  info  Third  x/y"},
			[]string{`eslint|/w/a.js 1:2-1:2 error no-bad "Bad thing" eslint`, `eslint|/w/a.js 3:4-3:4 warning  "Other" eslint`, `eslint|/w/b.js 5:6-5:6 information x/y "Third" eslint`}},
		{`"$eslint-compact"`, []string{"/w/a.js: line 1, col 2, Warning - Bad (rule)"}, []string{`eslint|/w/a.js 1:2-1:2 warning rule "Bad" eslint`}},
		{`"$jshint"`, []string{"a.js: line 10, col 39, Missing semicolon. (W033)"}, []string{`jshint|a.js 10:39-10:39 warning 033 "Missing semicolon." jshint`}},
		{`"$jshint-stylish"`, []string{"a.js", "  line 1  col 2  Bad  (E1)", "  line 3  col 4  Other"}, []string{`jshint|a.js 1:2-1:2 error 1 "Bad" jshint`, `jshint|a.js 3:4-3:4 error  "Other" jshint`}},
		{`"$gulp-tsc"`, []string{"a.ts(1,2,3,4): 2304 Missing"}, []string{`typescript|a.ts 1:2-3:4 error 2304 "Missing" ts`}},
		{`"$msCompile"`, []string{`1>C:\a\b.cpp(5): fatal error C1083: Cannot open`, "LINK : error LNK1: no line"}, []string{`msCompile|C:\a\b.cpp 5:1-5:` + whole + ` error C1083 "Cannot open" cpp`}},
		{`"$lessCompile"`, []string{"bad in file a.less line no. 7"}, []string{`lessCompile|a.less 7:1-7:` + whole + ` error  "bad" less`}},
		{`"$go"`, []string{"vet: ./a.go:1:2: undefined: x", "b.go:3: bad"}, []string{`go|./a.go 1:2-1:2 error  "undefined: x" go`, `go|b.go 3:1-3:` + whole + ` error  "bad" go`}},
		{`"$sass"`, []string{"{", `"file": "/w/a.scss"`, `"line": 3`, `"message": "bad"`, "}"}, []string{`sass|/w/a.scss 3:1-3:` + whole + ` error  "bad" `}},
		{`{"severity": "warning", "source": "gcc", "pattern": {"regexp": "^(.*?):(\\d+):(\\d*):?\\s+(?:fatal\\s+)?(warning|error|note)?:?\\s*(.*)$", "file": 1, "line": 2, "column": 3, "severity": 4, "message": 5}}`,
			[]string{"a.c:1:2: fatal error: no b.h", "a.c:3:4: note: here", "a.c:5:6: plain"}, []string{`own|a.c 1:2-1:2 error  "no b.h" gcc`, `own|a.c 3:4-3:4 information  "here" gcc`, `own|a.c 5:6-5:6 warning  "plain" gcc`}},
		{`{"owner": "x", "pattern": {"regexp": "^(\\S+) is bad$", "kind": "file"}}`, []string{"a.txt is bad"}, []string{`x|a.txt 1:1-1:1 error  "a.txt is bad" `}},
		{`{"pattern": {"regexp": "^(.+)@(.+): (.*)$", "file": 1, "location": 2, "message": 3}}`, []string{"a@5: m", "a@5,6: m", "a@5,6,7,8: m", "a@x: m"},
			[]string{`own|a 5:1-5:` + whole + ` error  "m" `, `own|a 5:6-5:6 error  "m" `, `own|a 5:6-7:8 error  "m" `}},
		{`{"pattern": [{"regexp": "^(.+):$", "file": 1}, {"regexp": "^ (\\d+)$", "line": 1}, {"regexp": "^  (.*)$", "message": 1, "loop": true}]}`, []string{"x", "a:", " 1", "  one", "  two", "b"},
			[]string{`own|a 1:1-1:` + whole + ` error  "one" `, `own|a 1:1-1:` + whole + ` error  "two" `}},
		{`{"pattern": [{"regexp": "^(\\S+) (\\d+): (.*)$", "file": 1, "line": 2, "message": 3}, {"regexp": "^\\s+(.*)$", "message": 1}]}`, []string{"a 1: first", "   second"}, []string{`own|a 1:1-1:` + whole + ` error  "first\nsecond" `}},
		{`"$tsc-watch"`, []string{"a.ts(1,2): error TS1: one", "end", "end", "begin", "a.ts(3,4): error TS2: two", "end"},
			[]string{`typescript|a.ts 1:2-1:2 error 1 "one" ts`, "ends", "begins ", `typescript|a.ts 3:4-3:4 error 2 "two" ts`, "ends"}},
		{`{"base": "$tsc-watch", "owner": "mine", "background": {"beginsPattern": {"regexp": "^begin(?: of (.*))?$", "file": 1}, "endsPattern": "^end$"}}`, []string{"end", "begin of a.ts", "end"}, []string{"begins a.ts", "ends"}},
		{`{"base": "$tsc", "watchedTaskBeginsRegExp": "^b$", "watchedTaskEndsRegExp": "^e$"}`, []string{"b", "e"}, []string{"begins ", "ends"}},
	} {
		if got := collected(c.lines, matcher(t, c.matcher)); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q\nwant %q", c.matcher, got, c.want)
		}
	}
	both := collected([]string{"a.js: line 1, col 2, Error - Bad (rule)", "b.ts(1,2): error TS1: one"}, matcher(t, `"$eslint-compact"`), matcher(t, `"$tsc"`))
	if len(both) != 2 {
		t.Errorf("%q", both)
	}
}

func TestWrongMatchers(t *testing.T) {
	for text, want := range map[string]string{
		`"$gcc"`:                           `the name of a problem matcher of the editor or of an extension expected, with a $ before it, not "$gcc"`,
		`"tsc"`:                            `the name of a problem matcher of the editor or of an extension expected, with a $ before it, not "tsc"`,
		`7`:                                `an object expected, or a name such as $tsc: `,
		`{}`:                               `pattern: an object expected, a list of them, or a name such as $tsc`,
		`{"base": "$x"}`:                   `base: the name of a problem matcher`,
		`{"pattern": "$x"}`:                `pattern: the name of a pattern of the editor or of an extension expected`,
		`{"pattern": 7}`:                   `pattern: an object expected, a list of them, or a name: `,
		`{"pattern": []}`:                  `pattern: 1 to 100 patterns expected, not 0`,
		`{"pattern": {}}`:                  `pattern: a regexp expected`,
		`{"pattern": {"regexp": "("}}`:     `pattern: a regular expression of JavaScript without look-around and references to groups expected, not "("`,
		`{"pattern": {"regexp": "(?=a)"}}`: `pattern: a regular expression of JavaScript without look-around and references to groups expected, not "(?=a)"`,
		`{"pattern": {"regexp": "(a)", "file": 2}}`:                                 `pattern: the number of a group expected, 0 to 1, not 2`,
		`{"pattern": {"regexp": "(a)"}}`:                                            `pattern: groups for file and message expected, and one for line or location unless the kind is file`,
		`{"pattern": [{"regexp": "(a)", "file": 1}]}`:                               `pattern: groups for file and message expected, and one for line or location unless the kind is file`,
		`{"pattern": {"regexp": "(a)", "kind": "x"}}`:                               `pattern: file or location expected as its kind, not "x"`,
		`{"pattern": [{"regexp": "a", "loop": true}, {"regexp": "b"}]}`:             `pattern: loop expected in the last pattern only`,
		`{"pattern": [{"regexp": "a"}, {"regexp": "b", "kind": "file"}]}`:           `pattern: a kind expected in the first pattern only`,
		`{"base": "$tsc", "severity": "x"}`:                                         `severity: error, warning or info expected, not "x"`,
		`{"base": "$tsc", "applyTo": "x"}`:                                          `applyTo: allDocuments, openDocuments or closedDocuments expected, not "x"`,
		`{"base": "$tsc", "fileLocation": "x"}`:                                     `fileLocation: absolute, relative, autoDetect or search expected`,
		`{"base": "$tsc", "fileLocation": ["relative", 7]}`:                         `fileLocation: absolute, relative, autoDetect or search expected`,
		`{"base": "$tsc", "fileLocation": ["search", 7]}`:                           `fileLocation: absolute, relative, autoDetect or search expected`,
		`{"base": "$tsc", "background": {"beginsPattern": "a"}}`:                    `background: endsPattern: a regular expression expected, or an object with a regexp, not `,
		`{"base": "$tsc", "background": {"beginsPattern": "(", "endsPattern": ""}}`: `background: beginsPattern: a regular expression of JavaScript`,
	} {
		if _, err := registry(t).Matcher(json.RawMessage(text), "own"); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	_, left := New([]json.RawMessage{[]byte(`{"contributes": {"problemPatterns": [{"name": "a"}, {"regexp": "(a)", "kind": "file"}], "problemMatchers": [{"name": "b", "pattern": "$a"}, {"pattern": "$go"}]}}`)})
	if len(left) != 4 {
		t.Errorf("%q", left)
	}
}

func TestPathsOfFiles(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"sub/a.js", "out/b.js", "sub/deep/b.js"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	exists := func(path string) bool {
		_, err := os.Stat(path)
		return err == nil
	}
	for _, c := range [][3]string{
		{`"relative"`, "sub/a.js", dir + "/sub/a.js"},
		{`"relative"`, "/sub/a.js", "/sub/a.js"},
		{`["relative", "${workspaceFolder}/sub"]`, "./a.js", dir + "/sub/a.js"},
		{`"absolute"`, "/x/../y.js", "/y.js"},
		{`"absolute"`, "y.js", "/y.js"},
		{`["absolute"]`, "file:///y.js", "/y.js"},
		{`"autoDetect"`, "sub/a.js", dir + "/sub/a.js"},
		{`["autoDetect", "${workspaceFolder}"]`, "missing.js", "/missing.js"},
		{`"search"`, "a.js", dir + "/sub/a.js"},
		{`["search", {"include": "${workspaceFolder}", "exclude": ["${workspaceFolder}/out"]}]`, "b.js", dir + "/sub/deep/b.js"},
		{`["search", {"include": ["${workspaceFolder}/sub/deep"]}]`, "a.js", ""},
	} {
		m, err := matcher(t, `{"base": "$go", "fileLocation": `+c[0]+`}`).Bind(func(text string) (string, error) {
			return strings.ReplaceAll(text, "${workspaceFolder}", dir), nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := m.Path(c[1], exists); got != c[2] {
			t.Errorf("%s of %s: %s, want %s", c[1], c[0], got, c[2])
		}
	}
	failed := errors.New("no value")
	if _, err := matcher(t, `"$go"`).Bind(func(string) (string, error) { return "", failed }); !errors.Is(err, failed) {
		t.Errorf("%v", err)
	}
	if m := matcher(t, `"$tsc"`); m.Applies(true) || !m.Applies(false) || m.InBackground() {
		t.Error("$tsc is for documents that are not open")
	}
	if m := matcher(t, `{"base": "$tsc-watch", "applyTo": "openDocuments"}`); !m.Applies(true) || m.Applies(false) || !m.InBackground() {
		t.Error("openDocuments is not for documents that are open")
	}
}

// Expressions mean what they mean in JavaScript.
func TestExpressions(t *testing.T) {
	for source, c := range map[string][2]string{ // what matches, and what does not
		`^\s$`: {"\u00a0", "a"}, `^\S$`: {"a", "\u2028"}, `^[\s]$`: {"\ufeff", "s"}, `^[^\s]$`: {"s", "\u3000"}, `^.$`: {"ü", "\r"}, `^[^]$`: {"\n", ""}, `^a[]|b$`: {"b", "a"},
		`^\u00fc\x41\cA\0$`: {"üA\x01\x00", "u"}, `^\u{1f600}$`: {"😀", "u"}, `^[[]$`: {"[", "]"}, `^\/\-\a$`: {"/-a", "\a"}, `^{$`: {"{", "}"}, `^[\b]$`: {"\b", "b"}, `^(?<name>a)$`: {"a", "b"},
	} {
		re, err := compile(source)
		if err != nil {
			t.Errorf("%s: %v", source, err)
			continue
		}
		if !re.MatchString(c[0]) || re.MatchString(c[1]) {
			t.Errorf("%s is %s", source, re)
		}
	}
	for _, source := range []string{`(a)\1`, `(?<!a)`, `(?!a)`, `\`, `\k<a>`, `\u{110000}`, `[\S]`, `\xzz`, strings.Repeat("a", maxExpression+1)} {
		if re, err := compile(source); !errors.Is(err, ErrExpression) {
			t.Errorf("%.20s: %v, %v", source, re, err)
		}
	}
	long := strings.Repeat("a", MaxLine) + "(1,2): error TS1: one"
	if got := collected([]string{long}, matcher(t, `"$tsc"`)); len(got) > 0 {
		t.Errorf("%.100q", got)
	}
}

func FuzzCollector(f *testing.F) {
	f.Add(`^(\S+):(\d+): (.*)$`, "a:1: b\nc:2: d\n")
	f.Add(`^([^\s]*)\((\d+|\d+,\d+)\)`, "\x1b[1ma(1,2)\x1b[0m\r\n")
	f.Fuzz(func(t *testing.T, source, output string) {
		text, err := json.Marshal(map[string]any{"pattern": map[string]any{"regexp": source}})
		if err != nil {
			t.Fatal(err)
		}
		r, _ := New(nil)
		m, err := r.Matcher(text, "own")
		if err != nil {
			return
		}
		c := NewCollector([]*Matcher{m})
		for line := range strings.Lines(output) {
			for _, e := range c.Line(line) {
				if e.File == "" || e.Problem.StartLine < 1 || e.Problem.StartColumn < 1 || e.Problem.EndLine < e.Problem.StartLine {
					t.Errorf("%+v", e)
				}
			}
		}
	})
}
