package language

import (
	"slices"
	"testing"
)

// A rename may create, delete and move files besides the texts that it changes.
func TestLinesOfRenamedFiles(t *testing.T) {
	got, err := Lines(FeatureRename, "/a", []byte(`{"edits":[{"newResource":"file:///new"},{"oldResource":"file:///old"},{"oldResource":"file:///from","newResource":"file:///to"},
		{"resource":"file:///a","textEdit":{"range":{"start":{"line":0,"character":1},"end":{"line":2,"character":3}},"text":"x\n"}}]}`))
	if want := []string{"create /new", "delete /old", "move /from /to", `/a:1:2-3:4 "x\n"`}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v", got, err)
	}
}
