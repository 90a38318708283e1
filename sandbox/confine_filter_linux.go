//go:build !hostsup_posix

package sandbox

import (
	"fmt"
	"strings"
	"sync"
	"syscall"

	"github.com/hostsup/hostsup/internal/sys"
	"github.com/hostsup/hostsup/sandbox/policy"
)

// answers maps the answers of the table to actions of the filter.
var answers = map[policy.Answer]sys.FilterAction{
	policy.AnswerAllow:        sys.FilterAllow,
	policy.AnswerIgnore:       sys.FilterErrno(0),
	policy.AnswerNotPermitted: sys.FilterErrno(syscall.EPERM),
	policy.AnswerNoSuchCall:   sys.FilterErrno(syscall.ENOSYS),
	policy.AnswerInvalid:      sys.FilterErrno(syscall.EINVAL),
	policy.AnswerNoSuchFamily: sys.FilterErrno(syscall.EAFNOSUPPORT),
}

// filterFor returns the filter of a policy in a scope, built from the table of system
// calls, without the calls that the observer refuses.
func filterFor(r *policy.Resolved, scope policy.SyscallScope, handed []string) sys.Filter {
	table := r.SyscallRules(scope, handed)
	rules := make([]sys.FilterRule, 0, len(table))
	for _, rule := range table {
		made := sys.FilterRule{Number: rule.Number, Otherwise: answers[rule.Otherwise]}
		for _, check := range rule.Checks {
			c := sys.FilterCheck{Action: answers[check.Answer]}
			for _, t := range check.Tests {
				c.Tests = append(c.Tests, sys.FilterTest{Arg: t.Arg, High: t.High, Mask: t.Mask, First: t.First, Last: t.Last, Differ: t.Differ})
			}
			made.Checks = append(made.Checks, c)
		}
		rules = append(rules, made)
	}
	return sys.NewFilter(policy.NewestSyscall, rules)
}

// filters caches encoded filters, because assembling one takes longer than most steps
// of a start.
type filters struct {
	mu   sync.Mutex
	made map[string][]uint64
}

// maxFilters bounds the cache; hosts share few policies.
const maxFilters = 64

// get returns the encoded filter of filterFor. The result is shared and must not be
// changed.
func (f *filters) get(r *policy.Resolved, scope policy.SyscallScope, handed []string) []uint64 {
	key := fmt.Sprintf("%v ", scope) + strings.Join(r.RefusedSyscalls, " ") + "; " + strings.Join(handed, " ")
	f.mu.Lock()
	defer f.mu.Unlock()
	if made, ok := f.made[key]; ok {
		return made
	}
	if f.made == nil || len(f.made) >= maxFilters {
		f.made = map[string][]uint64{}
	}
	f.made[key] = filterFor(r, scope, handed).Encode()
	return f.made[key]
}
