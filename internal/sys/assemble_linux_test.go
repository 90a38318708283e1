package sys

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// callData is the input of a filter.
type callData struct {
	number, arch uint32
	args         [6]uint64
}

func (d callData) word(at uint32) uint32 {
	switch at {
	case dataNumber:
		return d.number
	case dataArch:
		return d.arch
	}
	at -= dataArgs
	arg := d.args[at/8]
	if at%8 == 4 {
		arg >>= 32
	}
	return uint32(arg)
}

// run does the kernel's part: it returns the filter's answer.
func (f Filter) run(t testing.TB, d callData) FilterAction {
	t.Helper()
	var a uint32
	for pc := 0; ; pc++ {
		if pc >= len(f) {
			t.Fatalf("the filter has no end for %+v", d)
		}
		i := f[pc]
		var yes bool
		switch i.Code {
		case unix.BPF_LD | unix.BPF_W | unix.BPF_ABS:
			a = d.word(i.K)
			continue
		case unix.BPF_ALU | unix.BPF_AND | unix.BPF_K:
			a &= i.K
			continue
		case unix.BPF_RET | unix.BPF_K:
			return FilterAction(i.K)
		case unix.BPF_JMP | unix.BPF_JA:
			pc += int(i.K)
			continue
		case unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K:
			yes = a == i.K
		case unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K:
			yes = a >= i.K
		case unix.BPF_JMP | unix.BPF_JGT | unix.BPF_K:
			yes = a > i.K
		default:
			t.Fatalf("instruction %d: %+v", pc, i)
		}
		if yes {
			pc += int(i.Jt)
		} else {
			pc += int(i.Jf)
		}
	}
}

// meant returns the answer that the rules ask for.
func meant(newest int, rules []FilterRule, d callData) FilterAction {
	switch {
	case d.arch != filterArch, filterForeign != 0 && d.number >= filterForeign:
		return FilterKill
	case newest > 0 && int64(d.number) > int64(newest):
		return FilterErrno(unix.ENOSYS)
	}
	i := slices.IndexFunc(rules, func(r FilterRule) bool { return uint32(r.Number) == d.number })
	if i < 0 {
		return FilterAllow
	}
checks:
	for _, c := range rules[i].Checks {
		for _, x := range c.Tests {
			arg := d.args[x.Arg]
			if x.High {
				arg >>= 32
			}
			v := uint32(arg) & x.Mask
			if (v >= x.First && v <= x.Last) == x.Differ {
				continue checks
			}
		}
		return c.Action
	}
	return rules[i].Otherwise
}

func TestFiltersAnswerAsTheirRules(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	actions := []FilterAction{FilterAllow, FilterKill, FilterErrno(unix.EPERM), FilterErrno(unix.ENOSYS), FilterNotify}
	values := []uint64{0, 1, 2, 6, math.MaxUint32, 1 << 32, 5 << 32, math.MaxUint64}
	masks := []uint32{1, 6, math.MaxUint32}
	longest := 0
	for round := range 400 {
		rules := make([]FilterRule, rnd.IntN(1+round))
		for i := range rules {
			r := &rules[i]
			*r = FilterRule{Number: rnd.IntN(470), Otherwise: actions[rnd.IntN(len(actions))]}
			for range rnd.IntN(4) * rnd.IntN(2) {
				c := FilterCheck{Action: actions[rnd.IntN(len(actions))]}
				for range rnd.IntN(4) {
					first := uint32(values[rnd.IntN(4)])
					c.Tests = append(c.Tests, FilterTest{
						Arg: rnd.IntN(6), High: rnd.IntN(4) == 0, Mask: masks[rnd.IntN(len(masks))],
						First: first, Last: first + uint32(rnd.IntN(2)*rnd.IntN(5)), Differ: rnd.IntN(2) == 0,
					})
				}
				r.Checks = append(r.Checks, c)
			}
		}
		newest := rnd.IntN(2) * 460
		f := NewFilter(newest, rules)
		longest = max(longest, len(f))
		for n := range uint32(480) {
			for range 3 {
				d := callData{number: n, arch: filterArch}
				for i := range d.args {
					d.args[i] = values[rnd.IntN(len(values))]
				}
				if got, want := f.run(t, d), meant(newest, rules, d); got != want {
					t.Fatalf("%d rules, newest %d: %+v has %#x, want %#x", len(rules), newest, d, got, want)
				}
			}
		}
		for _, d := range []callData{{arch: filterArch + 1}, {arch: filterArch, number: math.MaxUint32}, {arch: filterArch, number: 1 << 30}} {
			if got, want := f.run(t, d), meant(newest, rules, d); got != want {
				t.Fatalf("%d rules: %+v has %#x, want %#x", len(rules), d, got, want)
			}
		}
	}
	if longest < 2*math.MaxUint8 {
		t.Errorf("no filter was longer than a jump reaches: %d", longest)
	}
}

// A filter is compiled at each start; it must share what it can.
func TestFiltersShareWhatIsAlike(t *testing.T) {
	var rules []FilterRule
	for n := 100; n < 164; n++ { // one range
		rules = append(rules, FilterRule{Number: n, Otherwise: FilterErrno(unix.EPERM)})
	}
	f := NewFilter(469, rules)
	head := len(NewFilter(469, nil)) - 2
	if got := len(f) - head; got != 4 { // two comparisons and two answers
		t.Errorf("a range takes %d instructions", got)
	}
	check := func(number int) FilterRule {
		tests := []FilterTest{{Arg: 1, Mask: 6}}
		return FilterRule{Number: number, Checks: []FilterCheck{{Tests: tests, Action: FilterKill}}}
	}
	one, both := len(NewFilter(469, []FilterRule{check(10)})), len(NewFilter(469, []FilterRule{check(10), check(20)}))
	if both != one+1 { // the comparison with its number
		t.Errorf("a second call with the same checks takes %d instructions", both-one)
	}
}
