//go:build linux

package integration

import (
	"encoding/json"
	"testing"

	"github.com/hostsup/hostsup/intercept/recycle"
)

// A program that is attached does not notice that its server is recycled after each few
// requests: each answer is about the text as it has edited it.
func TestAttachOverRecycling(t *testing.T) {
	t.Parallel()
	const edits, most = 60, 5
	h, _ := textServer(t, incremental)
	h.Features = append(h.Features, recycle.Rule{MaxRequests: most})
	sup, host := alone(t, h)
	a := newSharer(t, sup, opening(t.TempDir()))
	a.opens("u", 1, "one")
	want := "one"
	for n := range edits {
		a.inserts("u", n+2, at(0, 0), "x")
		want = "x" + want
		var got struct {
			Contents string `json:"contents"`
		}
		answer := a.must("textDocument/hover", dict{"textDocument": dict{"uri": "u"}, "position": at(0, 0)})
		if err := json.Unmarshal([]byte(answer), &got); err != nil || got.Contents != want {
			t.Fatalf("after %d edits: %s, %v, want %q", n+1, answer, err, want)
		}
	}
	if s := host.Status(); s.Life < edits/(2*most) || s.Crashes > 0 {
		t.Errorf("life %d, %d crashes", s.Life, s.Crashes)
	}
	for e := range sup.Events(ctx(t), 0, false) {
		if _, to, ok := e.Transition(); ok && to == "stopping" && e.Reason == "recycled: it was sent 5 calls" {
			return
		}
	}
	t.Error("no event says that the server was recycled")
}
