package sys

import (
	"cmp"
	"math"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Filter is a program for the kernel that judges system calls.
type Filter []unix.SockFilter

// FilterRule says what becomes of one system call. The first of its Checks
// that holds decides; when none does, or there are none, Otherwise.
type FilterRule struct {
	Number    int
	Checks    []FilterCheck
	Otherwise FilterAction
}

// FilterCheck looks at arguments of a call: it holds when all of its tests do.
type FilterCheck struct {
	Tests  []FilterTest
	Action FilterAction
}

// FilterTest compares 32 bits of an argument: argument & Mask with Value.
type FilterTest struct {
	Arg    int
	High   bool // the upper 32 bits
	Mask   uint32
	Value  uint32
	Differ bool // holds when they are not equal
}

// FilterAction is what a filter answers.
type FilterAction uint32

// The actions.
const (
	FilterAllow  FilterAction = unix.SECCOMP_RET_ALLOW
	FilterKill   FilterAction = unix.SECCOMP_RET_KILL_PROCESS
	FilterNotify FilterAction = unix.SECCOMP_RET_USER_NOTIF
)

// FilterErrno fails the call.
func FilterErrno(errno unix.Errno) FilterAction {
	return FilterAction(unix.SECCOMP_RET_ERRNO | uint32(errno)&unix.SECCOMP_RET_DATA)
}

// Offsets in struct seccomp_data, on machines that store the low half of an
// argument first, which both processors here do.
const (
	dataNumber = 0
	dataArch   = 4
	dataArgs   = 16
)

// NewFilter assembles a filter. Calls of a foreign processor's interface end
// the process, numbers above newest (if it is not 0) do not exist, calls
// without a rule pass. Of several rules for a call the first holds.
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
	sorted := slices.Clone(rules)
	slices.SortStableFunc(sorted, func(a, b FilterRule) int { return cmp.Compare(a.Number, b.Number) })
	sorted = slices.CompactFunc(sorted, func(a, b FilterRule) bool { return a.Number == b.Number })
	return append(f, search(sorted)...)
}

// search finds the rule of a number by halving. Not only calls gain by that:
// when the filter is installed, the kernel tries it on every number there is.
func search(rules []FilterRule) Filter {
	const few = 3
	if len(rules) <= few {
		var f Filter
		for _, r := range rules {
			f = r.assemble(f)
		}
		return append(f, answer(FilterAllow))
	}
	half := len(rules) / 2
	below, above := search(rules[:half]), search(rules[half:])
	var f Filter
	if pivot := uint32(rules[half].Number); len(below) <= math.MaxUint8 {
		f = append(f, jump(unix.BPF_JGE, pivot, uint8(len(below)), 0))
	} else {
		f = append(f, jump(unix.BPF_JGE, pivot, 0, 1), unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JA, K: uint32(len(below))})
	}
	return append(append(f, below...), above...)
}

func (r *FilterRule) assemble(f Filter) Filter {
	var body Filter
	for _, c := range r.Checks {
		// Each test that fails jumps over the rest of its check.
		var check Filter
		var fails []int
		for _, t := range c.Tests {
			at := uint32(dataArgs + 8*t.Arg)
			if t.High {
				at += 4
			}
			check = append(check, load(at))
			if t.Mask != math.MaxUint32 {
				check = append(check, unix.SockFilter{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: t.Mask})
			}
			fails = append(fails, len(check))
			check = append(check, jump(unix.BPF_JEQ, t.Value, 0, 0))
		}
		check = append(check, answer(c.Action))
		for i, at := range fails {
			over := uint8(len(check) - at - 1)
			if c.Tests[i].Differ {
				check[at].Jt = over
			} else {
				check[at].Jf = over
			}
		}
		body = append(body, check...)
	}
	body = append(body, answer(r.Otherwise))
	f = append(f, jump(unix.BPF_JEQ, uint32(r.Number), 0, uint8(len(body))))
	return append(f, body...)
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

// HaveFilter reports whether the kernel has system call filters with an action.
func HaveFilter(a FilterAction) error {
	action := uint32(a) & unix.SECCOMP_RET_ACTION_FULL
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0, uintptr(unsafe.Pointer(&action)))
	switch {
	case filterArch == 0:
		return ErrUnsupported
	case errno != 0:
		return errno
	}
	return nil
}

// Encode makes numbers of a filter, to be sent to another process.
func (f Filter) Encode() []uint64 {
	out := make([]uint64, len(f))
	for i, x := range f {
		out[i] = uint64(x.Code)<<48 | uint64(x.Jt)<<40 | uint64(x.Jf)<<32 | uint64(x.K)
	}
	return out
}

// DecodeFilter undoes Encode.
func DecodeFilter(in []uint64) Filter {
	f := make(Filter, len(in))
	for i, x := range in {
		f[i] = unix.SockFilter{Code: uint16(x >> 48), Jt: uint8(x >> 40), Jf: uint8(x >> 32), K: uint32(x)}
	}
	return f
}
