package policy

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/hostsup/hostsup/internal/nearest"
)

// SyscallNumber returns the number of a Linux system call on this processor;
// false for a name that does not exist, or not on this processor.
func SyscallNumber(name string) (int, bool) {
	e, ok := findSyscall(name)
	if !ok {
		return -1, false
	}
	n := e.number()
	return n, n >= 0
}

// SyscallName returns the name of the Linux system call with a number on this
// processor; false for an unknown number.
func SyscallName(number int) (string, bool) {
	list := syscallsByNumber()
	if number < 0 || number >= len(list) || list[number] == nil {
		return "", false
	}
	return list[number].name, true
}

// number returns the number on this processor; -1 if it has no such call.
func (e *syscallRow) number() int {
	switch runtime.GOARCH {
	case "amd64":
		return int(e.amd64)
	case "arm64":
		return int(e.arm64)
	}
	return -1
}

// syscallsByNumber returns the rows of the table by their numbers on this processor;
// nil for numbers without a call.
var syscallsByNumber = sync.OnceValue(func() []*syscallRow {
	out := make([]*syscallRow, NewestSyscall+1)
	for i := range syscallTable {
		n := syscallTable[i].number()
		for n >= len(out) { // calls that are newer than NewestSyscall
			out = append(out, nil)
		}
		if n >= 0 {
			out[n] = &syscallTable[i]
		}
	}
	return out
})

func findSyscall(name string) (*syscallRow, bool) {
	i, ok := slices.BinarySearchFunc(syscallTable[:], name, func(e syscallRow, name string) int { return cmp.Compare(e.name, name) })
	if !ok {
		return nil, false
	}
	return &syscallTable[i], true
}

// Refused returns the names of the system calls that p refuses whatever their
// arguments, sorted, without calls that this processor does not have.
func (p *Policy) Refused() []string {
	if len(p.Syscalls.Deny) == 0 && len(p.Syscalls.Allow) == 0 {
		return slices.Clone(refusedByDefault())
	}
	return p.listRefused()
}

// refusedByDefault returns the list of most policies, made once.
var refusedByDefault = sync.OnceValue(new(Policy).listRefused)

func (p *Policy) listRefused() []string {
	var out []string
	for i := range syscallTable {
		e := &syscallTable[i]
		refused := e.treatment.standing >= standingRefused && !slices.Contains(p.Syscalls.Allow, e.name)
		if e.number() >= 0 && (refused || slices.Contains(p.Syscalls.Deny, e.name)) {
			out = append(out, e.name)
		}
	}
	return out
}

func (p *Policy) checkSyscalls(bad *Problems) {
	for i, name := range p.Syscalls.Deny {
		field := fmt.Sprintf("syscalls.deny[%d]", i)
		switch {
		case !checkSyscall(bad, field, name):
		case standingOf(name) == standingNeeded:
			bad.Add(field, name, "no program can start or end without it", "")
		case slices.Contains(p.Syscalls.Allow, name):
			bad.Add(field, name, "it is both denied and allowed", "keep one of the two")
		}
	}
	for i, name := range p.Syscalls.Allow {
		field := fmt.Sprintf("syscalls.allow[%d]", i)
		if !checkSyscall(bad, field, name) {
			continue
		}
		switch e, _ := findSyscall(name); e.treatment.standing {
		case standingNever:
			bad.Add(field, name, "no policy may allow it: "+e.treatment.why, "")
		case standingFree, standingNeeded:
			bad.Add(field, name, "it is not refused, so that there is nothing to allow", "remove it")
		}
	}
}

func standingOf(name string) standing {
	e, ok := findSyscall(name)
	if !ok {
		return standingFree
	}
	return e.treatment.standing
}

func checkSyscall(bad *Problems, field, name string) bool {
	e, ok := findSyscall(name)
	switch {
	case name == "":
		bad.Add(field, name, "it is empty", "")
	case !ok && strings.ToLower(name) != name:
		bad.Add(field, name, "there is no system call of that name", "names are in small letters")
	case !ok:
		bad.Add(field, name, "there is no system call of that name", nearSyscall(name))
	case e.number() < 0 && (runtime.GOARCH == "amd64" || runtime.GOARCH == "arm64"):
		bad.Add(field, name, "this processor ("+runtime.GOARCH+") has no such system call", "remove it for this machine")
	default:
		return true
	}
	return false
}

// nearSyscall returns help for an unknown name: a similar name, or the names that
// contain it.
func nearSyscall(name string) string {
	var names, longer []string
	for _, e := range syscallTable {
		names = append(names, e.name)
		if len(name) > 2 && strings.Contains(e.name, name) && len(longer) < 4 {
			longer = append(longer, e.name)
		}
	}
	switch near := nearest.Name(name, names); {
	case near != "" && (len(near) <= len(name)+1 || !strings.Contains(near, name)):
		return "did you mean " + near + "?"
	case len(longer) > 0:
		return "there are " + strings.Join(longer, ", ")
	}
	return "names are like ptrace; man 2 syscalls lists them"
}
