package sys

import (
	"math"
	"slices"
	"sort"

	"golang.org/x/sys/unix"
)

// NewFilter assembles a filter. Calls of a foreign processor's interface kill the
// process, numbers above newest (if it is not 0) fail with ENOSYS, and calls without
// a rule pass. The first of several rules for a call applies.
//
// A short filter is fast three times: the kernel compiles a filter at each start,
// tries it on every number, and runs it at every call. So consecutive numbers with
// the same result are one range, ranges are found by binary search, and answers are
// shared as far as a jump reaches.
func NewFilter(newest int, rules []FilterRule) Filter {
	f := Filter{
		load(dataArch),
		jump(unix.BPF_JEQ, filterArch, 1, 0),
		answer(FilterKill),
		load(dataNumber),
	}
	if filterForeign != 0 {
		f = append(f, jump(unix.BPF_JGE, filterForeign, 0, 1), answer(FilterKill))
	}
	if newest > 0 {
		f = append(f, jump(unix.BPF_JGT, uint32(newest), 0, 1), answer(FilterErrno(unix.ENOSYS)))
	}
	return append(f, search(ranges(rules))...)
}

// span is a range of numbers with the same result: one with checks, or any without.
type span struct {
	first, last uint32
	rule        *FilterRule
}

// ranges sorts rules into spans, lowest first.
func ranges(rules []FilterRule) []span {
	sorted := slices.Clone(rules)
	sort.SliceStable(sorted, func(i, j int) bool { return sorted[i].Number < sorted[j].Number })
	sorted = slices.CompactFunc(sorted, func(a, b FilterRule) bool { return a.Number == b.Number })
	var out []span
	for i := range sorted {
		r := &sorted[i]
		n := uint32(r.Number)
		if len(out) > 0 && len(r.Checks) == 0 {
			if before := &out[len(out)-1]; before.last+1 == n && len(before.rule.Checks) == 0 && before.rule.Otherwise == r.Otherwise {
				before.last = n
				continue
			}
		}
		out = append(out, span{n, n, r})
	}
	return out
}

// sameResult reports whether calls of the two rules have the same result whatever their
// arguments.
func (r *FilterRule) sameResult(other *FilterRule) bool {
	return r.Otherwise == other.Otherwise && slices.EqualFunc(r.Checks, other.Checks, func(a, b FilterCheck) bool {
		return a.Action == b.Action && slices.Equal(a.Tests, b.Tests)
	})
}

// search finds the span of a number: in one block if its jumps reach, else in the half
// that holds it.
func search(spans []span) Filter {
	if f, ok := assemble(spans); ok {
		return f
	}
	half := len(spans) / 2
	below, above := search(spans[:half]), search(spans[half:])
	f := Filter{jump(unix.BPF_JGE, spans[half].first, 0, 1), {Code: unix.BPF_JMP | unix.BPF_JA, K: uint32(len(below))}}
	return append(append(f, below...), above...)
}

// label is a target of jumps in a block; next is the following instruction.
type label int

const next label = 0

// block is a part of a filter within which every jump reaches.
type block struct {
	f       Filter
	yes, no []label // of each instruction that jumps
	targets []int   // of the labels from 1 on; -1: not placed yet
	answers []labelled[FilterAction]
	bodies  []labelled[*FilterRule] // by label
}

// labelled is the code at a label.
type labelled[T any] struct {
	label label
	what  T
}

// assemble makes a block of spans; it returns false if a jump would not reach.
func assemble(spans []span) (Filter, bool) {
	room := 4 * len(spans) // mostly enough
	b := &block{f: make(Filter, 0, room), yes: make([]label, 0, room), no: make([]label, 0, room), targets: make([]int, 0, room)}
	b.halve(spans)
	for _, body := range b.bodies {
		b.place(body.label)
		b.body(body.what)
	}
	sort.Slice(b.answers, func(i, j int) bool { return b.answers[i].what < b.answers[j].what })
	for _, a := range b.answers {
		b.place(a.label)
		b.add(answer(a.what), next, next)
	}
	return b.link()
}

func (b *block) add(i unix.SockFilter, yes, no label) {
	b.f, b.yes, b.no = append(b.f, i), append(b.yes, yes), append(b.no, no)
}

func (b *block) label() label {
	b.targets = append(b.targets, -1)
	return label(len(b.targets))
}

func (b *block) place(l label) { b.targets[l-1] = len(b.f) }

func (b *block) answer(a FilterAction) label {
	for _, known := range b.answers { // few
		if known.what == a {
			return known.label
		}
	}
	l := b.label()
	b.answers = append(b.answers, labelled[FilterAction]{l, a})
	return l
}

// halve finds the span of the loaded number, and jumps to its code.
func (b *block) halve(spans []span) {
	const few = 3
	if len(spans) > few {
		half := len(spans) / 2
		above := b.label()
		b.add(jump(unix.BPF_JGE, spans[half].first, 0, 0), above, next)
		b.halve(spans[:half])
		b.place(above)
		b.halve(spans[half:])
		return
	}
	pass := b.answer(FilterAllow)
	if len(spans) == 0 {
		b.add(jump(unix.BPF_JEQ, 0, 0, 0), pass, pass)
	}
	for i, s := range spans {
		to, other := b.answer(s.rule.Otherwise), next
		if len(s.rule.Checks) > 0 {
			to = next
			for _, body := range b.bodies {
				if s.rule.sameResult(body.what) {
					to = body.label
					break
				}
			}
			if to == next {
				to = b.label()
				b.bodies = append(b.bodies, labelled[*FilterRule]{to, s.rule})
			}
		}
		if i == len(spans)-1 {
			other = pass
		}
		if s.first == s.last {
			b.add(jump(unix.BPF_JEQ, s.first, 0, 0), to, other)
			continue
		}
		b.add(jump(unix.BPF_JGE, s.first, 0, 0), next, pass) // the spans that follow are higher
		b.add(jump(unix.BPF_JGT, s.last, 0, 0), other, to)
	}
}

// body examines the arguments of a call.
func (b *block) body(r *FilterRule) {
	otherwise := b.answer(r.Otherwise)
	const nothing = math.MaxUint32
	loaded := uint32(nothing) // offset of the value in the accumulator, unmasked
	for i, c := range r.Checks {
		if len(c.Tests) == 0 { // it holds, and no check follows
			b.add(jump(unix.BPF_JEQ, 0, 0, 0), b.answer(c.Action), b.answer(c.Action))
			return
		}
		fails := otherwise
		if i < len(r.Checks)-1 {
			fails = b.label()
		}
		for j, t := range c.Tests {
			at := uint32(dataArgs + 8*t.Arg)
			if t.High {
				at += 4
			}
			if loaded != at {
				b.add(load(at), next, next)
			}
			loaded = at
			if t.Mask != math.MaxUint32 {
				b.add(unix.SockFilter{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: t.Mask}, next, next)
				loaded = nothing
			}
			holds := next
			if j == len(c.Tests)-1 {
				holds = b.answer(c.Action)
			}
			b.compare(t, holds, fails)
		}
		if len(c.Tests) > 1 {
			loaded = nothing // the value depends on which test failed
		}
		if i < len(r.Checks)-1 {
			b.place(fails)
		}
	}
}

// compare jumps to holds or fails, by the value in the accumulator; holds may be next.
func (b *block) compare(t FilterTest, holds, fails label) {
	if t.First == t.Last {
		if t.Differ {
			holds, fails = fails, holds
		}
		b.add(jump(unix.BPF_JEQ, t.First, 0, 0), holds, fails)
		return
	}
	after := next
	if holds == next {
		after = b.label()
		holds = after
	}
	if t.Differ {
		holds, fails = fails, holds
	}
	if t.First > 0 {
		b.add(jump(unix.BPF_JGE, t.First, 0, 0), next, fails)
	}
	b.add(jump(unix.BPF_JGT, t.Last, 0, 0), fails, holds)
	if after != next {
		b.place(after)
	}
}

// link fills in the distances of jumps.
func (b *block) link() (Filter, bool) {
	for i := range b.f {
		for _, j := range []struct {
			to   label
			dist *uint8
		}{{b.yes[i], &b.f[i].Jt}, {b.no[i], &b.f[i].Jf}} {
			if j.to == next {
				continue
			}
			dist := b.targets[j.to-1] - i - 1
			if dist > math.MaxUint8 {
				return nil, false
			}
			*j.dist = uint8(dist)
		}
	}
	return b.f, true
}

func load(at uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: at}
}

func jump(how uint16, value uint32, yes, no uint8) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | how | unix.BPF_K, Jt: yes, Jf: no, K: value}
}

func answer(a FilterAction) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: uint32(a)}
}
