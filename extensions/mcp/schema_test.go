package mcp

import (
	"context"
	"encoding/json"
	"testing"
)

// The SDK panics for schemas that it does not take. What an extension declares must not end the
// supervisor, nor hide the tools of others.
func TestSchemasThatTheSDKRefuses(t *testing.T) {
	schemas := []string{
		`{"type":"object","properties":{"a":{"type":"object","x-mcp-header":"a"}}}`,
		`{"type":"object","properties":{"a":{"type":"string","x-mcp-header":""}}}`,
		`{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"a b"}}}`,
		`{"properties":{"a":{"type":"string","x-mcp-header":"a"},"b":{"type":"string","x-mcp-header":"A"}}}`,
		`{"type":"object","type":"array"}`, `{"type":["object"]}`, `{"type":"object","Type":"array"}`, `{"Type":"array"}`, `[]`, `null`, ``, `{"type":"object","properties":7}`,
	}
	var list []Tool
	for i, schema := range schemas {
		list = append(list, Tool{ID: schema, Name: "t" + string(rune('a'+i)), Schema: json.RawMessage(schema)})
	}
	list = append(list, Tool{ID: "last", Name: "last", Schema: json.RawMessage(`{"type":"object"}`)})
	s := New(Options{Host: "h", List: func(context.Context) ([]Tool, error) { return list, nil }})
	defer s.Close(nil)
	for range 2 { // the second time nothing has changed
		if err := s.refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if len(s.tools) != len(list) {
		t.Errorf("%d tools, want %d", len(s.tools), len(list))
	}
}
