package policy

import (
	"reflect"
	"testing"
)

func TestDiff(t *testing.T) {
	strict, _ := Profile("strict")
	node, _ := Profile("node")
	removed, added := Diff(strict, Limits{}, strict, Limits{})
	if removed != nil || added != nil {
		t.Error(removed, added)
	}
	a := Policy{Read: []string{"/a", "/b"}, Work: Work{Path: "/w", Keep: true}}
	b := Policy{Level: Full, Read: []string{"/b", "/c"}, Network: NetworkAllow, Allow: []string{"x:1"}, JIT: true, Tmp: Tmp{Size: 1 << 30, Inodes: 99}}
	removed, added = Diff(a, Limits{Tasks: 5}, b, Limits{Memory: 1 << 20, CPU: 0.5})
	if want := []string{`read = ["/a"]`, `network = "none"`, "jit = false", `work.path = "/w"`, "work.keep = true", "limits.tasks = 5"}; !reflect.DeepEqual(removed, want) {
		t.Errorf("%q", removed)
	}
	if want := []string{`level = "full"`, `read = ["/c"]`, `allow = ["x:1"]`, `network = "allow"`, "jit = true", `tmp.size = "1GiB"`, "tmp.inodes = 99", "work.keep = false",
		`limits.memory = "1MiB"`, "limits.cpu = 0.5"}; !reflect.DeepEqual(added, want) {
		t.Errorf("%q", added)
	}
	back, there := Diff(b, Limits{Memory: 1 << 20, CPU: 0.5}, a, Limits{Tasks: 5})
	if !reflect.DeepEqual(back, added) || !reflect.DeepEqual(there, removed) {
		t.Errorf("the other way round: %q %q", back, there)
	}
	for _, p := range []Policy{a, b, Merge(node, a), Merge(strict, b)} {
		for _, base := range []Policy{{}, strict, node} {
			over := Merge(base, p)
			whole := Merge(base, Without(over, base))
			if removed, added := Diff(over, Limits{}, whole, Limits{}); removed != nil || added != nil {
				t.Errorf("what %s has is lost or added: %q %q", base.Profile, removed, added)
			}
		}
	}
}
