package replay

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/control/evidence"
)

// messages returns n requests with answers behind an initialize.
func messages(n int) []evidence.Moment {
	list := []evidence.Moment{{Kind: evidence.KindSent, Type: "request", ID: 1, Method: "initialize"}, {Kind: evidence.KindReceived, Type: "response", ID: 1}}
	for i := range n {
		id := uint32(i + 2)
		list = append(list, evidence.Moment{Kind: evidence.KindSent, Type: "request", ID: id, Method: fmt.Sprint("m", i)}, evidence.Moment{Kind: evidence.KindReceived, Type: "response", ID: id})
	}
	return list
}

func methods(list []evidence.Moment) string {
	var out []string
	for _, m := range list {
		if m.Kind == evidence.KindSent {
			out = append(out, m.Method)
		} else {
			out = append(out, fmt.Sprint("answer ", m.ID))
		}
	}
	return strings.Join(out, ", ")
}

// needs returns a host that crashes when it gets all these methods.
func needs(t *testing.T, calls *int, wanted ...string) func([]evidence.Moment) (bool, error) {
	return func(list []evidence.Moment) (bool, error) {
		*calls++
		if list[0].Method != "initialize" {
			t.Errorf("without the opening: %s", methods(list))
		}
		got := ", " + methods(list) + ","
		for _, w := range wanted {
			if !strings.Contains(got, ", "+w+",") {
				return false, nil
			}
		}
		return true, nil
	}
}

func TestMinimizeFindsTheSmallestList(t *testing.T) {
	for name, c := range map[string]struct {
		n      int
		wanted []string
		want   string
	}{
		"one of many":  {100, []string{"m77"}, "initialize, answer 1, m77, answer 79"},
		"two apart":    {100, []string{"m3", "m90"}, "initialize, answer 1, m3, answer 5, m90, answer 92"},
		"three":        {33, []string{"m0", "m16", "m32"}, "initialize, answer 1, m0, answer 2, m16, answer 18, m32, answer 34"},
		"all":          {3, []string{"m0", "m1", "m2"}, "initialize, answer 1, m0, answer 2, m1, answer 3, m2, answer 4"},
		"only opening": {9, nil, "initialize, answer 1"},
	} {
		t.Run(name, func(t *testing.T) {
			calls := 0
			got, whole, err := Minimize(t.Context(), messages(c.n), 1000, needs(t, &calls, c.wanted...))
			if err != nil || !whole || methods(got) != c.want {
				t.Errorf("%s, %v, %v; expected %s", methods(got), whole, err, c.want)
			}
			t.Logf("%d messages: %d tries", c.n, calls)
		})
	}
}

func TestMinimizeIsBounded(t *testing.T) {
	calls := 0
	crashes := needs(t, &calls, "m3", "m90")
	got, whole, err := Minimize(t.Context(), messages(100), 7, crashes)
	if again, _ := crashes(got); err != nil || whole || calls != 8 || !again {
		t.Errorf("%d calls, whole %v, %v, crashes %v; expected 7 calls and a list that crashes", calls, whole, err, again)
	}
}

func TestMinimizeEndsWithAnError(t *testing.T) {
	failure := errors.New("no process")
	got, whole, err := Minimize(t.Context(), messages(5), 100, func([]evidence.Moment) (bool, error) { return false, failure })
	if !errors.Is(err, failure) || whole || len(got) != 12 {
		t.Errorf("%d messages, %v, %v", len(got), whole, err)
	}
}
