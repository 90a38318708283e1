package sandbox

import (
	"errors"
	"fmt"
	"strings"

	"github.com/hostsup/hostsup/internal/sys"
	"github.com/hostsup/hostsup/sandbox/policy"
)

// ErrUnsupported is returned where this system cannot do what was asked.
var ErrUnsupported = sys.ErrUnsupported

// ErrClosed is the reason of a start after Close.
var ErrClosed = errors.New("launcher is closed")

// Step says which step of a start failed.
type Step string

// The steps. Those of the command itself (dir, exec, interpreter, format,
// files, policy) fail again however often they are tried; fork, tree and
// confine may not.
const (
	StepDir         Step = "dir"         // changing to Command.Dir
	StepExec        Step = "exec"        // the program: not found, not permitted, not a file
	StepInterpreter Step = "interpreter" // the program is there; what its first line or its header names to run it is not
	StepFormat      Step = "format"      // the program is no program for this system
	StepFiles       Step = "files"       // one of Command.Files, or a string with a zero byte
	StepFork        Step = "fork"        // the system has no room for another process
	StepTree        Step = "tree"        // the cgroup, the namespaces or the keeper
	StepClosed      Step = "closed"      // the Launcher is closed
	StepPolicy      Step = "policy"      // the policy or the limits are wrong, or cannot be enforced here
	StepConfine     Step = "confine"     // carrying the policy out; Path says what was being done: "mount /srv/x read-only"
)

// StartError says why a command could not be started. Err is a syscall.Errno
// or wraps one where the system gave the reason: test with errors.Is against
// fs.ErrNotExist and fs.ErrPermission.
type StartError struct {
	Name string // Command.Name
	Step Step
	Path string // what it was about: the program or the folder; may be empty
	Err  error
	// Grant is what the policy would have to grant for running, where that is
	// the reason; else empty.
	Grant string
}

// Error reads "start ts.7: /usr/bin/nod: no such file or directory".
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

// Unwrap is the reason.
func (e *StartError) Unwrap() error { return e.Err }

// Permanent reports whether the same command would fail again: the command
// itself is wrong, not the moment.
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
	Lacks      []string // what it takes, and why it is not there
}

// Error reads "level full cannot be enforced here, landlock at most (…); see
// doctor, or accept it by level = "landlock"".
func (e *LevelError) Error() string {
	return fmt.Sprintf("level %s cannot be enforced here, %s at most (%s); see doctor, or accept it by level = %q",
		e.Want, e.Have, strings.Join(e.Lacks, "; "), e.Have)
}
