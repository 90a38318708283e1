package search

import (
	"encoding/json"
	"testing"

	"github.com/hostsup/hostsup/workbench"
)

func TestURIs(t *testing.T) {
	var u uris
	if got := string(u.encoded()); got != "[]" {
		t.Error(got)
	}
	want := []workbench.URI{}
	for _, base := range []string{"/w", "/", "//server/share", "/ü\"\\"} {
		for _, rel := range []string{"a.ts", "b/ü.ts", "c\"\\\n.ts", "d\x7f"} {
			u.add(workbench.File(base), rel)
			one := workbench.File(base)
			if one.Path != "/" {
				one.Path += "/"
			}
			one.Path += rel
			want = append(want, one)
		}
	}
	var got []workbench.URI
	if err := json.Unmarshal(u.encoded(), &got); err != nil || len(got) != len(want) || u.n != len(want) {
		t.Fatalf("%d of %d, %v: %s", len(got), len(want), err, u.encoded())
	}
	for i := range got {
		if got[i] != want[i] {
			t.Errorf("%v, want %v", got[i], want[i])
		}
	}
}
