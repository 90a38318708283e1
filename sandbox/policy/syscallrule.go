package policy

import (
	"math"
	"slices"
)

// Answer is what a confined process gets for a system call.
type Answer uint8

// The answers.
const (
	AnswerAllow        Answer = iota // the kernel carries the call out
	AnswerIgnore                     // the call succeeds and has no effect
	AnswerNotPermitted               // EPERM
	AnswerNoSuchCall                 // ENOSYS
	AnswerInvalid                    // EINVAL
	AnswerNoSuchFamily               // EAFNOSUPPORT
)

// String is how docs/security.md names a.
func (a Answer) String() string {
	return [...]string{"allowed", "no effect", "EPERM", "ENOSYS", "EINVAL", "EAFNOSUPPORT"}[a]
}

// ArgTest compares 32 bits of an argument: it holds when argument & Mask is
// between First and Last, both included.
type ArgTest struct {
	Arg         int  // from 0 on
	High        bool // the upper 32 bits
	Mask        uint32
	First, Last uint32
	Differ      bool // holds when it is not between them

	text string // for docs/security.md
}

// ArgCheck looks at the arguments of a call: when all of Tests hold, Answer
// decides. No Tests hold always.
type ArgCheck struct {
	Tests  []ArgTest
	Answer Answer

	when condition
}

// SyscallRule is what becomes of one system call: the first of Checks that
// holds decides; when none does, or there are none, Otherwise.
type SyscallRule struct {
	Name      string // "" for a number that no known call has
	Number    int
	Checks    []ArgCheck
	Otherwise Answer
}

// SyscallScope is what the rules depend on beside the list of refused calls.
type SyscallScope struct {
	Level   Level
	JIT     bool // Policy.JIT
	Network Network
	// Protected says that the kernel refuses to make memory executable that is
	// or was writable, so that the rules need not.
	Protected bool
	// Sampled says that the memory limit is held by sampling processes, which
	// misses memory that belongs to none of them.
	Sampled bool
	// Unmapped says that the process is root's outside too, so that nothing but the
	// rules keeps it from sockets that only root may connect to.
	Unmapped bool
}

// condition says where a check holds.
type condition uint8

const (
	always condition = iota
	noJIT
	noJITUnprotected
	withoutNamespaces
	withNamespaces
	landlockOffline
	whileSampled
	whileUnmapped
)

// String is how docs/security.md says c.
func (c condition) String() string {
	return [...]string{"", "`jit = false`", "`jit = false`, before Linux 6.3", "level landlock", "levels full and no-cgroup",
		"level landlock, unless `network = \"host\"`", "memory limit that is sampled", "client of an exec server as root, where owners cannot be mapped"}[c]
}

func (c condition) holds(s SyscallScope) bool {
	switch c {
	case noJIT:
		return !s.JIT
	case noJITUnprotected:
		return !s.JIT && !s.Protected
	case withoutNamespaces:
		return s.Level == Landlock
	case withNamespaces:
		return s.Level != Landlock
	case landlockOffline:
		return s.Level == Landlock && s.Network != NetworkHost
	case whileSampled:
		return s.Sampled
	case whileUnmapped:
		return s.Unmapped
	}
	return true
}

// standing says whether a policy may change what becomes of a call.
type standing uint8

const (
	standingFree    standing = iota // allowed; syscalls.deny refuses it
	standingNeeded                  // allowed; no program can start or end without it
	standingRefused                 // refused; syscalls.allow allows it
	standingNever                   // refused, whatever the policy says
)

// treatment is what becomes of a call in a confined process.
type treatment struct {
	standing standing
	why      string // of a refusal, for people
	answer   Answer // of a refused call
	// What holds while the call is not refused whatever its arguments.
	checks    []ArgCheck
	otherwise Answer
}

// rule is the rule of a row for a call that is not refused as a whole.
func (e *syscallRow) rule(number int, s SyscallScope) SyscallRule {
	r := SyscallRule{Name: e.name, Number: number, Otherwise: e.treatment.otherwise}
	for _, c := range e.treatment.checks {
		switch {
		case !c.when.holds(s):
		case len(c.Tests) == 0:
			r.Otherwise = c.Answer
			return r
		default:
			r.Checks = append(r.Checks, c)
		}
	}
	return r
}

// SyscallRules returns what becomes of system calls on this processor, by
// number, lowest first. Calls without a rule, and with numbers up to
// NewestSyscall, are allowed. Calls in skip have none.
func (r *Resolved) SyscallRules(s SyscallScope, skip []string) []SyscallRule {
	var rules []SyscallRule
	next := 0
	for _, at := range syscallsByNumber() {
		for ; next < at.number; next++ { // a number that is not in the table
			rules = append(rules, SyscallRule{Number: next, Otherwise: AnswerNoSuchCall})
		}
		next = at.number + 1
		e := &syscallTable[at.row]
		if slices.Contains(skip, e.name) {
			continue
		}
		if _, refused := slices.BinarySearch(r.RefusedSyscalls, e.name); refused {
			answer := e.treatment.answer
			if answer == AnswerAllow {
				answer = AnswerNotPermitted
			}
			rules = append(rules, SyscallRule{Name: e.name, Number: at.number, Otherwise: answer})
		} else if rule := e.rule(at.number, s); len(rule.Checks) > 0 || rule.Otherwise != AnswerAllow {
			rules = append(rules, rule)
		}
	}
	for ; next <= NewestSyscall; next++ {
		rules = append(rules, SyscallRule{Number: next, Otherwise: AnswerNoSuchCall})
	}
	return rules
}

// RefusedWhole returns the names of the system calls that are refused whatever
// their arguments in a scope, because the policy says so or its kind does.
func (r *Resolved) RefusedWhole(s SyscallScope) []string {
	out := slices.Clone(r.RefusedSyscalls)
	for _, rule := range r.SyscallRules(s, r.RefusedSyscalls) {
		if rule.Name != "" && len(rule.Checks) == 0 && rule.Otherwise == AnswerNotPermitted {
			out = append(out, rule.Name)
		}
	}
	return out
}

// argument is an argument of a call, with the name that its manual page has.
type argument struct {
	index int
	name  string
}

// test compares bits of the argument; text says so.
func (a argument) test(mask, first, last uint32, text string) ArgTest {
	return ArgTest{Arg: a.index, Mask: mask, First: first, Last: last, text: "`" + a.name + "` " + text}
}

func (a argument) is(name string, value uint32) ArgTest {
	return a.test(math.MaxUint32, value, value, "is "+name)
}

func (a argument) isNot(name string, value uint32) ArgTest {
	t := a.test(math.MaxUint32, value, value, "is not "+name)
	t.Differ = true
	return t
}

// has holds when one of bits is set.
func (a argument) has(names string, bits uint32) ArgTest {
	t := a.test(bits, 0, 0, "has "+names)
	t.Differ = true
	return t
}

func (a argument) hasNone(names string, bits uint32) ArgTest {
	return a.test(bits, 0, 0, "has no "+names)
}

// isNull holds for a pointer that is null.
func (a argument) isNull() []ArgTest {
	low, high := a.is("null", 0), a.is("null", 0)
	high.High, high.text = true, ""
	return []ArgTest{low, high}
}

// value is one that an argument may have.
type value struct {
	name   string
	number uint32
}

// oneOf makes checks that allow the values. They are sorted by number; what
// follows each other becomes one check.
func (a argument) oneOf(values ...value) []ArgCheck {
	var out []ArgCheck
	for len(values) > 0 {
		n := 1
		for n < len(values) && values[n].number == values[n-1].number+1 {
			n++
		}
		text := "is "
		for i, v := range values[:n] {
			if i > 0 {
				text += ", "
			}
			text += v.name
		}
		out = append(out, allow(a.test(math.MaxUint32, values[0].number, values[n-1].number, text)))
		values = values[n:]
	}
	return out
}

func allow(tests ...ArgTest) ArgCheck  { return ArgCheck{Tests: tests} }
func refuse(tests ...ArgTest) ArgCheck { return ArgCheck{Tests: tests, Answer: AnswerNotPermitted} }

// in has the check hold under a condition only.
func (c ArgCheck) in(when condition) ArgCheck {
	c.when = when
	return c
}

// with has the check answer something else.
func (c ArgCheck) with(a Answer) ArgCheck {
	c.Answer = a
	return c
}

// byArguments is a call whose arguments decide; what no check decides is
// allowed.
func byArguments(why string, checks ...ArgCheck) treatment {
	return treatment{why: why, checks: checks}
}

// onlyArguments is a call of which only certain arguments are allowed.
func onlyArguments(why string, otherwise Answer, checks ...ArgCheck) treatment {
	return treatment{why: why, checks: checks, otherwise: otherwise}
}

func never(why string) treatment {
	return treatment{standing: standingNever, why: why, answer: AnswerNotPermitted}
}

// absentAlways is never for calls whose absence programs are prepared for.
func absentAlways(why string) treatment {
	return treatment{standing: standingNever, why: why, answer: AnswerNoSuchCall}
}

func unless(why string, answer Answer, checks ...ArgCheck) treatment {
	return treatment{standing: standingRefused, why: why, answer: answer, checks: checks}
}
