package service

import (
	"encoding/json"
	"testing"

	"github.com/hostsup/hostsup/extensions"
)

func TestDifferences(t *testing.T) {
	same := extensions.Extension{ID: "x.same", Version: "1", Events: []string{"e"}}
	before := []extensions.Extension{
		same, {ID: "x.gone", Value: "X.gone", Version: "1"}, {ID: "x.newer", Version: "1"},
		{ID: "x.other", Version: "1", Description: json.RawMessage(`{}`)}, {ID: "x.moved", Version: "1", Folder: "/a"},
	}
	now := []extensions.Extension{
		{ID: "x.new", Version: "3"}, {ID: "x.newer", Version: "2"}, {ID: "x.other", Version: "1", Description: json.RawMessage(`{"x":1}`)},
		{ID: "x.moved", Version: "1", Folder: "/b"}, same,
	}
	want := []string{"X.gone 1 was removed", "x.moved 1 has changed", "x.new 3 was added", "x.newer 1 has become 2", "x.other 1 has changed"}
	got := differences("h", before, now)
	if len(got) != len(want) {
		t.Fatalf("%+v", got)
	}
	for i, d := range got {
		if d.Host != "h" || d.String() != want[i] {
			t.Errorf("%s, want %s", d, want[i])
		}
	}
	raw, err := json.Marshal(got[:1])
	if want := `[{"host":"h","id":"X.gone","change":"removed","before":"1","after":null}]`; err != nil || string(raw) != want {
		t.Errorf("%s, %v", raw, err)
	}
	if got := differences("h", now, now); got == nil || len(got) != 0 {
		t.Errorf("%+v", got)
	}
}
