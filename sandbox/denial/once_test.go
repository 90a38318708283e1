package denial

import "testing"

func TestOnce(t *testing.T) {
	o := &Once{Max: 16}
	a, b := Denial{Kind: Read, Path: "/a"}, Denial{Kind: Write, Path: "/a"}
	if !o.First(a) || o.First(a) || !o.First(b) {
		t.Error("not each once")
	}
	n := 0
	for i := range 100 {
		if o.First(Denial{Kind: Stat, Path: string(rune('a' + i))}) {
			n++
		}
	}
	if n != 14 {
		t.Errorf("%d were told", n)
	}
}
