package tools

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// Tools of manifests are known without their extensions; what is no tool is left out.
func TestDescribe(t *testing.T) {
	s := New(Options{})
	s.Describe([]json.RawMessage{
		[]byte(`{"publisher":"Acme","name":"x","contributes":{"languageModelTools":[
			{"name":"b","modelDescription":"B.","displayName":"Bee","tags":["t"],"inputSchema":{"type":"object"}},
			{"name":"","modelDescription":"?"}, {"name":"c"}, 7, {"name":"a","modelDescription":"A."}]}}`),
		[]byte(`{"publisher":"other","name":"y","displayName":"Why","contributes":{"languageModelTools":[{"name":"a","modelDescription":"second"},{"name":"d","modelDescription":"D."}]}}`),
		[]byte(`{"contributes":{"languageModelTools":{}}}`), []byte(`7`),
	})
	raw, err := json.Marshal(s.Tools())
	if err != nil {
		t.Fatal(err)
	}
	want := `[{"id":"a","displayName":"","modelDescription":"A.","tags":[],"source":{"type":"extension","label":"x","extensionId":{"_lower":"acme.x","value":"Acme.x"}}},` +
		`{"id":"b","displayName":"Bee","modelDescription":"B.","tags":["t"],"inputSchema":{"type":"object"},"source":{"type":"extension","label":"x","extensionId":{"_lower":"acme.x","value":"Acme.x"}}},` +
		`{"id":"d","displayName":"","modelDescription":"D.","tags":[],"source":{"type":"extension","label":"Why","extensionId":{"_lower":"other.y","value":"other.y"}}}]`
	if string(raw) != want {
		t.Errorf("%s", raw)
	}
	s.Describe(nil)
	if got := s.Tools(); len(got) > 0 {
		t.Errorf("%v", got)
	}
}

func TestToolsThatAreNotThere(t *testing.T) {
	s := New(Options{})
	s.Describe([]json.RawMessage{[]byte(`{"publisher":"a","name":"x","contributes":{"languageModelTools":[{"name":"a","modelDescription":"A."}]}}`)})
	for id, want := range map[string]string{"": "there is no tool", "b": `there is no tool "b"`, "a": "has not registered it"} {
		if _, err := s.Invoke(t.Context(), id, nil, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", id, err)
		}
	}
}
