//go:build !hostsup_posix

package sandbox

import (
	"path/filepath"

	"github.com/hostsup/hostsup/sandbox/denial"
)

// interpreters returns the files that the kernel also runs when it runs a program: the
// interpreter in the first line of a script, and the loader that a dynamically linked
// program names. They do not appear in a system call.
func interpreters(path string) []denial.Denial {
	var list []denial.Denial
	for _, next := range interpreterChain(path) {
		if !filepath.IsAbs(next) || !exists(next) {
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
