//go:build linux

package conformance

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sort"
	"strconv"
)

// absent is a member that is not there.
type absent struct{}

// Difference is a place where two records differ. A member that is not there
// is nil on its side, one that is null is the text null.
type Difference struct {
	Step   string // as in [Entry]
	At     string // the way to the member, with dots; "" for the whole answer
	Theirs []byte // JSON
	Ours   []byte
}

// Compare says where two records of a scenario differ.
func Compare(theirs, ours Record) []Difference {
	var out []Difference
	for i := range max(len(theirs), len(ours)) {
		var a, b any = absent{}, absent{}
		step := ""
		if i < len(theirs) {
			step, a = theirs[i].Step, theirs[i].Value
		}
		if i < len(ours) {
			if step != "" && step != ours[i].Step { // a step that one of them has nothing to show for
				return append(out, Difference{Step: step, At: "step", Theirs: text(step), Ours: text(ours[i].Step)})
			}
			step, b = ours[i].Step, ours[i].Value
		}
		out = diff(out, step, "", a, b)
	}
	return out
}

func diff(out []Difference, step, at string, a, b any) []Difference {
	if reflect.DeepEqual(a, b) {
		return out
	}
	under := func(name string) string {
		if at == "" {
			return name
		}
		return at + "." + name
	}
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok {
			break
		}
		names := slices.Collect(maps.Keys(x))
		for name := range y {
			if _, both := x[name]; !both {
				names = append(names, name)
			}
		}
		sort.Strings(names)
		for _, name := range names {
			out = diff(out, step, under(name), member(x, name), member(y, name))
		}
		return out
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			break
		}
		for i := range x {
			out = diff(out, step, under(strconv.Itoa(i)), x[i], y[i])
		}
		return out
	}
	return append(out, Difference{Step: step, At: at, Theirs: text(a), Ours: text(b)})
}

func member(m map[string]any, name string) any {
	if v, ok := m[name]; ok {
		return v
	}
	return absent{}
}

func text(v any) []byte {
	if _, none := v.(absent); none {
		return nil
	}
	return []byte(compact(v))
}

func (d Difference) String() string {
	show := func(b []byte) string {
		if b == nil {
			return "(absent)"
		}
		return string(b)
	}
	return fmt.Sprintf("%s: %s\n  theirs: %s\n  ours:   %s", d.Step, d.At, show(d.Theirs), show(d.Ours))
}
