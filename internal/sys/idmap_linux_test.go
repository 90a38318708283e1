package sys

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// The lines of a gid_map must name each number once on both sides: the kernel
// refuses others.
func TestGroupMaps(t *testing.T) {
	for _, c := range []struct {
		ids  IDs
		want []string
	}{
		{IDs{InsideGID: 5, OutsideGID: 7}, []string{"5 7 1"}},
		{IDs{InsideGID: 5, OutsideGID: 5, Groups: []int{8, 9}}, []string{"5 5 1", "8 8 1", "9 9 1"}},
		{IDs{InsideGID: 5, OutsideGID: 7, AllGroups: true}, []string{"0 0 5", "5 7 1", "6 6 1", "7 5 1", fmt.Sprint("8 8 ", math.MaxUint32-8)}},
		{IDs{InsideGID: 7, OutsideGID: 6, AllGroups: true}, []string{"0 0 6", "6 7 1", "7 6 1", fmt.Sprint("8 8 ", math.MaxUint32-8)}},
		{IDs{InsideGID: 0, OutsideGID: 2, AllGroups: true}, []string{"0 2 1", "1 1 1", "2 0 1", fmt.Sprint("3 3 ", math.MaxUint32-3)}},
		{IDs{InsideGID: 5, OutsideGID: 5, AllGroups: true}, []string{"0 0 5", "5 5 1", fmt.Sprint("6 6 ", math.MaxUint32-6)}},
	} {
		if got := strings.Split(strings.TrimSuffix(c.ids.groups(), "\n"), "\n"); fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%+v: %q, want %q", c.ids, got, c.want)
		}
	}
}
