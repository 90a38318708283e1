//go:build !hostsup_posix

package sandbox

import (
	"path/filepath"

	"github.com/hostsup/hostsup/sandbox/denial"
)

// interpreters are what the kernel runs too when it runs a program: the one
// that the first line of a script names, and the loader that a program for the
// dynamic linker names. They are never seen in a call.
func interpreters(path string) []denial.Denial {
	var list []denial.Denial
	for _, next := range interpreterChain(path) {
		if !filepath.IsAbs(next) || !there(next) {
			break
		}
		list = append(list, denial.Denial{
			Kind: denial.Exec, Path: next,
			Detail: "what runs " + path, Source: denial.Seccomp, Hint: true,
		})
		path = next
	}
	return list
}
