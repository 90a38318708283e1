package sandbox

import (
	"errors"
	"fmt"
	"strings"

	"github.com/hostsup/hostsup/internal/sys"
	"github.com/hostsup/hostsup/sandbox/policy"
)

// ErrUnsupported means that this system does not support the operation.
var ErrUnsupported = sys.ErrUnsupported

// ErrClosed is the cause of a StartError after Close.
var ErrClosed = errors.New("launcher is closed")

// Step is the step of a start that failed.
type Step string

// The steps. Those of the command itself (dir, exec, interpreter, format, files,
// policy) fail again at each start; fork, tree and confine may not.
const (
	StepDir         Step = "dir"         // changing to Command.Dir
	StepExec        Step = "exec"        // the program: not found, not permitted, not a file
	StepInterpreter Step = "interpreter" // the program exists, but not the interpreter or loader that it names
	StepFormat      Step = "format"      // the file is not a program for this system
	StepFiles       Step = "files"       // one of Command.Files, or a string with a zero byte
	StepFork        Step = "fork"        // the system has no room for another process
	StepTree        Step = "tree"        // the cgroup, the namespaces or the keeper
	StepClosed      Step = "closed"      // the Launcher is closed
	StepPolicy      Step = "policy"      // the policy or the limits are invalid, or cannot be enforced on this machine
	StepConfine     Step = "confine"     // setting up the confinement; Path has the failed operation: "mount /srv/x read-only"
)

// StartError is the error of a failed start. Err is or wraps a syscall.Errno if a
// system call failed: test with errors.Is against fs.ErrNotExist and
// fs.ErrPermission.
type StartError struct {
	Name string // Command.Name
	Step Step
	Path string // the program or the folder concerned; may be empty
	Err  error
	// Grant is the path that the policy must grant for running, if a missing grant is
	// the reason; otherwise empty.
	Grant string
}

// Error returns text such as "start ts.7: /usr/bin/nod: no such file or directory".
func (e *StartError) Error() string {
	s := "start "
	if e.Name != "" {
		s = "start " + e.Name + ": "
	}
	switch e.Step {
	case StepDir:
		s += "working folder "
	case StepFork:
		s += "cannot make a process: "
	case StepTree:
		s += "cannot set up its process tree: "
	case StepPolicy, StepConfine:
		s += "sandbox: "
	}
	if e.Path != "" && e.Step != StepFork {
		s += e.Path + ": "
	}
	return s + e.Err.Error()
}

// Unwrap returns Err.
func (e *StartError) Unwrap() error { return e.Err }

// Permanent reports whether the same command would fail again, because the command
// itself is invalid.
func (e *StartError) Permanent() bool {
	switch e.Step {
	case StepDir, StepExec, StepInterpreter, StepFormat, StepFiles, StepPolicy:
		return true
	}
	return false
}

// LevelError means that the machine does not reach the weakest level that a
// policy accepts. A [StartError] of StepPolicy wraps it.
type LevelError struct {
	Want, Have policy.Level
	Lacks      []string // the missing features, each with the reason
}

// Error returns text such as "level full cannot be enforced here, landlock at most
// (…); see doctor, or accept it by level = "landlock"".
func (e *LevelError) Error() string {
	return fmt.Sprintf("level %s cannot be enforced here, %s at most (%s); see doctor, or accept it by level = %q",
		e.Want, e.Have, strings.Join(e.Lacks, "; "), e.Have)
}
