package diagnostics

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/internal/leaktest"
	"github.com/hostsup/hostsup/workbench"
	"github.com/hostsup/hostsup/workbench/text"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func TestDiagnosticOfBothReleases(t *testing.T) {
	const at = `"severity":8,"startLineNumber":1,"startColumn":2,"endLineNumber":3,"endColumn":4,`
	want := Diagnostic{Range: text.Range{StartLine: 1, StartColumn: 2, EndLine: 3, EndColumn: 4}, Severity: Error, Message: "bad"}
	for in, code := range map[string]string{
		`{` + at + `"message":"bad"}`:                                                    "",
		`{` + at + `"message":{"value":"bad"},"code":"E1"}`:                              "E1",
		`{` + at + `"message":"bad","code":7,"source":""}`:                               "7",
		`{` + at + `"message":"bad","code":{"value":"E2","target":{"scheme":"a"}}}`:      "E2",
		`{` + at + `"message":"bad","code":{"$undefined":true},"relatedInformation":[]}`: `{"$undefined":true}`,
	} {
		got, err := diagnostic(json.RawMessage(in))
		want.Code = code
		if code == `{"$undefined":true}` {
			want.Code = ""
		}
		if err != nil || got.Range != want.Range || got.Severity != want.Severity || got.Message != want.Message || got.Code != want.Code {
			t.Errorf("%s: %+v, %v", in, got, err)
		}
	}
	if _, err := diagnostic(json.RawMessage(`{"severity":"x"}`)); err == nil {
		t.Error("a severity that is no number was accepted")
	}
}

// A host that reports without an end is refused, and what it has reported stays and can be taken back.
func TestDiagnosticsAreBounded(t *testing.T) {
	s, h := New(), &workbench.Host{}
	o := owner{h, "lint"}
	with := func(n int, message string) map[string]entry {
		e := entry{uri: workbench.URI{Scheme: "file", Path: fmt.Sprintf("/%d", n)}, raw: []json.RawMessage{json.RawMessage(message)}}
		return map[string]entry{e.uri.String(): e}
	}
	megabyte := strings.Repeat("x", 1<<20)
	n := 0
	for ; n < 100; n++ {
		if err := s.put(o, with(n, megabyte)); err != nil {
			if !strings.Contains(err.Error(), "languages.createDiagnosticCollection") {
				t.Error(err)
			}
			break
		}
	}
	if n != 31 { // twice the text, for both forms in which it is kept
		t.Errorf("%d MiB were taken", n)
	}
	if err := s.put(o, with(0, "less")); err != nil {
		t.Errorf("less than before: %v", err)
	}
	if err := s.put(o, with(n, megabyte)); err != nil {
		t.Errorf("after another file has less: %v", err)
	}
	for i := range n + 1 {
		e := with(i, "")
		for key, one := range e {
			one.raw = nil
			e[key] = one
		}
		if err := s.put(o, e); err != nil {
			t.Fatal(err)
		}
	}
	if s.weights[h] != 0 || len(s.owners) != 0 {
		t.Errorf("%d bytes, %d collections after all of it was taken back", s.weights[h], len(s.owners))
	}
}

// What the editor itself reports is beside what hosts report, and is taken away by its owner.
func TestProblemsOfTheEditor(t *testing.T) {
	s := New()
	a, b := workbench.File("/w/a"), workbench.File("/w/b")
	var told int
	defer s.Subscribe(func(uris []workbench.URI) { told += len(uris) })()
	at := text.Range{StartLine: 1, StartColumn: 2, EndLine: 1, EndColumn: 2}
	for _, uri := range []workbench.URI{a, b} {
		if err := s.Report("tsc", uri, []Diagnostic{{Range: at, Severity: Error, Message: "bad", Source: "ts", Code: "7"}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Report("other", a, []Diagnostic{{Range: at, Severity: Warning, Message: "odd"}}); err != nil {
		t.Fatal(err)
	}
	if got := s.Diagnostics(a); len(got) != 2 || got[0].Owner != "other" || got[1].Owner != "tsc" || got[1].Host != "" || got[1].Code != "7" {
		t.Errorf("%+v", got)
	}
	if err := s.Report("tsc", b, nil); err != nil || len(s.Diagnostics(b)) > 0 {
		t.Errorf("%+v, %v", s.Diagnostics(b), err)
	}
	s.Withdraw("tsc")
	if got := s.Diagnostics(a); len(got) != 1 || got[0].Owner != "other" || told != 5 {
		t.Errorf("%+v, %d", got, told)
	}
	if err := s.Report("tsc", a, []Diagnostic{{Message: strings.Repeat("x", maxWeight)}}); err == nil || len(s.Diagnostics(a)) != 1 {
		t.Errorf("%d, %v", len(s.Diagnostics(a)), err)
	}
	s.Withdraw("other")
	if len(s.All()) > 0 || s.weights[nil] != 0 {
		t.Errorf("%v, %d", s.All(), s.weights[nil])
	}
}
