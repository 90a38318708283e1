package policy

import (
	"math"
	"slices"
)

// Answer is the result of a system call of a confined process.
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

// String returns the name of a in docs/security.md.
func (a Answer) String() string {
	return [...]string{"allowed", "no effect", "EPERM", "ENOSYS", "EINVAL", "EAFNOSUPPORT"}[a]
}

// ArgTest compares 32 bits of an argument: it matches when argument & Mask is
// between First and Last, both included.
type ArgTest struct {
	Arg         int  // from 0 on
	High        bool // the upper 32 bits
	Mask        uint32
	First, Last uint32
	Differ      bool // matches when it is not between them

	text string // for docs/security.md
}

// ArgCheck gives Answer when all Tests match the arguments of a call. Without
// Tests it always matches.
type ArgCheck struct {
	Tests  []ArgTest
	Answer Answer

	when condition
}

// SyscallRule decides one system call: the first of Checks that matches gives
// the answer, or else Otherwise.
type SyscallRule struct {
	Name      string // "" for a number without a known call
	Number    int
	Checks    []ArgCheck
	Otherwise Answer
}

// SyscallScope is what the rules depend on besides the list of refused calls.
type SyscallScope struct {
	Level   Level
	JIT     bool // Policy.JIT
	Network Network
	// Protected reports whether the kernel itself refuses to make memory executable
	// that is or was writable, so that the rules need not.
	Protected bool
	// Sampled reports whether the memory limit is enforced by sampling processes,
	// which misses memory that belongs to no process.
	Sampled bool
	// Unmapped reports whether the process is root on the host side too, so that only
	// the rules keep it from sockets that only root may connect to.
	Unmapped bool
}

// condition says when a check applies.
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

// String returns the text of c in docs/security.md.
func (c condition) String() string {
	return [...]string{"", "`jit = false`", "`jit = false`, before Linux 6.3", "level landlock", "levels full and no-cgroup",
		"level landlock, unless `network = \"host\"`", "memory limit that is sampled", "client of an exec server as root, where owners cannot be mapped"}[c]
}

func (c condition) applies(s SyscallScope) bool {
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

// standing says whether a policy may change the answer to a call.
type standing uint8

const (
	standingFree    standing = iota // allowed; syscalls.deny refuses it
	standingNeeded                  // allowed; no program can start or end without it
	standingRefused                 // refused; syscalls.allow allows it
	standingNever                   // refused, whatever the policy says
)

// treatment is how a call of a confined process is decided.
type treatment struct {
	standing standing
	why      string // the reason of a refusal, for people
	answer   Answer // to a refused call
	// checks and otherwise apply while the call is not refused as a whole.
	checks    []ArgCheck
	otherwise Answer
}

// rule returns the rule of a call that is not refused as a whole.
func (e *syscallRow) rule(number int, s SyscallScope) SyscallRule {
	r := SyscallRule{Name: e.name, Number: number, Otherwise: e.treatment.otherwise}
	for _, c := range e.treatment.checks {
		switch {
		case !c.when.applies(s):
		case len(c.Tests) == 0:
			r.Otherwise = c.Answer
			return r
		default:
			r.Checks = append(r.Checks, c)
		}
	}
	return r
}

// SyscallRules returns the rules for system calls on this processor, by number,
// lowest first. Calls with numbers up to NewestSyscall and without a rule are
// allowed. Calls in skip get no rule.
func (r *Resolved) SyscallRules(s SyscallScope, skip []string) []SyscallRule {
	var rules []SyscallRule
	for number, e := range syscallsByNumber() {
		if e == nil { // not in the table
			rules = append(rules, SyscallRule{Number: number, Otherwise: AnswerNoSuchCall})
			continue
		}
		if slices.Contains(skip, e.name) {
			continue
		}
		if _, refused := slices.BinarySearch(r.RefusedSyscalls, e.name); refused {
			answer := e.treatment.answer
			if answer == AnswerAllow {
				answer = AnswerNotPermitted
			}
			rules = append(rules, SyscallRule{Name: e.name, Number: number, Otherwise: answer})
		} else if rule := e.rule(number, s); len(rule.Checks) > 0 || rule.Otherwise != AnswerAllow {
			rules = append(rules, rule)
		}
	}
	return rules
}

// RefusedWhole returns the names of the system calls that are refused in a scope
// whatever their arguments, by the policy or by their rules.
func (r *Resolved) RefusedWhole(s SyscallScope) []string {
	out := slices.Clone(r.RefusedSyscalls)
	for _, rule := range r.SyscallRules(s, r.RefusedSyscalls) {
		if rule.Name != "" && len(rule.Checks) == 0 && rule.Otherwise == AnswerNotPermitted {
			out = append(out, rule.Name)
		}
	}
	return out
}

// argument is an argument of a call, with its name in the manual page.
type argument struct {
	index int
	name  string
}

// test compares bits of the argument; text describes the test.
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

// has matches when one of bits is set.
func (a argument) has(names string, bits uint32) ArgTest {
	t := a.test(bits, 0, 0, "has "+names)
	t.Differ = true
	return t
}

func (a argument) hasNone(names string, bits uint32) ArgTest {
	return a.test(bits, 0, 0, "has no "+names)
}

// isNull matches a null pointer.
func (a argument) isNull() []ArgTest {
	low, high := a.is("null", 0), a.is("null", 0)
	high.High, high.text = true, ""
	return []ArgTest{low, high}
}

// value is a named value of an argument.
type value struct {
	name   string
	number uint32
}

// oneOf returns checks that allow the values, which must be sorted by number;
// consecutive numbers share a check.
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

// in restricts the check to a condition.
func (c ArgCheck) in(when condition) ArgCheck {
	c.when = when
	return c
}

// with replaces the answer of the check.
func (c ArgCheck) with(a Answer) ArgCheck {
	c.Answer = a
	return c
}

// byArguments is for a call that is allowed unless a check refuses it.
func byArguments(why string, checks ...ArgCheck) treatment {
	return treatment{why: why, checks: checks}
}

// onlyArguments is for a call that gets otherwise unless a check allows it.
func onlyArguments(why string, otherwise Answer, checks ...ArgCheck) treatment {
	return treatment{why: why, checks: checks, otherwise: otherwise}
}

func never(why string) treatment {
	return treatment{standing: standingNever, why: why, answer: AnswerNotPermitted}
}

// absentAlways is like never, for calls whose absence programs can handle.
func absentAlways(why string) treatment {
	return treatment{standing: standingNever, why: why, answer: AnswerNoSuchCall}
}

func unless(why string, answer Answer, checks ...ArgCheck) treatment {
	return treatment{standing: standingRefused, why: why, answer: answer, checks: checks}
}
