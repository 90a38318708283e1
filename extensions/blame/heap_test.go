package blame

import (
	"math"
	"testing"

	"github.com/hostsup/hostsup/extensions"
)

// Bytes are of the outermost frame's extension, and those of node count for the whole only.
func TestAllocatedByOutermostFrame(t *testing.T) {
	x := NewIndex([]extensions.Extension{{ID: "acme.bad", Folder: "/ext/bad"}, {ID: "acme.api", Folder: "/ext/api"}})
	shares, bytes, err := x.Allocated([]byte(`{"head":{"callFrame":{"url":""},"selfSize":0,"children":[
		{"callFrame":{"url":"node:internal/timers"},"selfSize":100,"children":[
			{"callFrame":{"url":"file:///ext/bad/main.js"},"selfSize":200,"children":[
				{"callFrame":{"url":"/ext/api/main.js"},"selfSize":500,"children":[]}]}]},
		{"callFrame":{"url":"/ext/api/main.js"},"selfSize":200}]}}`))
	if err != nil || bytes != 1000 || len(shares) != 2 {
		t.Fatalf("%v, %d, %v", shares, bytes, err)
	}
	for i, want := range []Share{{"acme.bad", 0.7}, {"acme.api", 0.2}} {
		if shares[i].ID != want.ID || math.Abs(shares[i].Share-want.Share) > 1e-9 {
			t.Errorf("%v, %v expected", shares[i], want)
		}
	}
	for _, text := range []string{"", "{}", `{"head":1}`} {
		if _, _, err := x.Allocated([]byte(text)); err == nil {
			t.Errorf("%q: no error", text)
		}
	}
}

func FuzzHeap(f *testing.F) {
	x := NewIndex([]extensions.Extension{{ID: "acme.bad", Folder: "/ext/bad"}})
	f.Add([]byte(`{"head":{"callFrame":{"url":"/ext/bad/a.js"},"selfSize":1e300,"children":[{"selfSize":-1}]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		shares, _, err := x.Allocated(data)
		for _, s := range shares {
			if err != nil || s.Share < 0 || s.Share > 1.000001 {
				t.Errorf("%v, %v", shares, err)
			}
		}
	})
}
