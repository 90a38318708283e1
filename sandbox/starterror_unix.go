//go:build unix

package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/hostsup/hostsup/internal/sys"
	"github.com/hostsup/hostsup/sandbox/policy"
	"github.com/hostsup/hostsup/sandbox/resolve"
)

// explain finds the reason of the plain errno of a failed fork, chdir or execve. It
// examines the files afterwards, so that it may be wrong if they change meanwhile; it
// always keeps the errno itself.
func explain(cmd *Command, err error) *StartError {
	e := &StartError{Name: cmd.Name, Step: StepExec, Path: cmd.Path, Err: err}
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		e.Step = StepTree
		e.Path = ""
		return e
	}
	switch errno {
	case syscall.EAGAIN, syscall.ENOMEM, syscall.EMFILE, syscall.ENFILE:
		e.Step = StepFork
		return e
	case syscall.EINVAL: // from SlicePtrFromStrings for a zero byte, or from execve for unusual interpreters
		if hasZero(cmd) {
			e.Step, e.Err = StepFiles, fmt.Errorf("a zero byte in the path, the arguments or the environment: %w", errno)
			e.Path = ""
		}
		return e
	case syscall.ENOEXEC:
		e.Step = StepFormat
		return e
	}
	if cmd.Dir != "" {
		if err := dirError(cmd.Dir); err != nil {
			e.Step, e.Path, e.Err = StepDir, cmd.Dir, err
			return e
		}
	}
	p := cmd.Path
	if !filepath.IsAbs(p) {
		p = filepath.Join(cmd.Dir, p)
	}
	st, serr := os.Stat(p)
	switch {
	case serr != nil:
		e.Err = bare(serr)
	case st.IsDir():
		e.Err = syscall.EISDIR
	case errno == syscall.ENOENT:
		e.Step = StepInterpreter
		e.Grant, e.Err = interpreterError(cmd, p, errno)
	}
	return e
}

func hasZero(cmd *Command) bool {
	for _, list := range [][]string{{cmd.Path, cmd.Dir}, cmd.Args, cmd.Env} {
		for _, s := range list {
			if strings.IndexByte(s, 0) >= 0 {
				return true
			}
		}
	}
	return false
}

func dirError(dir string) error {
	st, err := os.Stat(dir)
	if err != nil {
		return bare(err)
	}
	if !st.IsDir() {
		return syscall.ENOTDIR
	}
	return sys.Executable(dir)
}

// bare removes the path from an error whose path is reported elsewhere.
func bare(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// interpreterError returns which of the files that the kernel needs to run the program
// at path is missing or not granted; grant is the path that must be granted.
func interpreterError(cmd *Command, path string, errno syscall.Errno) (grant string, err error) {
	chain := interpreterChain(path)
	if len(chain) == 0 {
		return "", fmt.Errorf("the interpreter it names is missing: %w", errno)
	}
	for _, name := range chain {
		if _, err := os.Stat(name); err != nil {
			return "", fmt.Errorf("its interpreter %q: %w", name, errno)
		}
	}
	if cmd.Policy == nil {
		return "", fmt.Errorf("its interpreter %q: %w", chain[0], errno)
	}
	name := chain[0] // or a link to it
	if r, err := resolve.Policy(cmd.Policy, cmd.Limits); err == nil {
		for _, n := range chain {
			if !resolve.Access(r, n).Has(policy.Exec) {
				name = n
				break
			}
		}
	}
	return name, &policy.LackError{What: "its interpreter " + name + " is not granted", Line: policy.Line("exec", name), Err: errno}
}
