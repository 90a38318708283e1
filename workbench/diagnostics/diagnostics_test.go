package diagnostics

import (
	"encoding/json"
	"testing"

	"github.com/hostsup/hostsup/internal/leaktest"
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
