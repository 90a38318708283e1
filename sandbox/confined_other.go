//go:build unix && (!linux || hostsup_posix)

package sandbox

import (
	"fmt"
	"os"

	"github.com/hostsup/hostsup/sandbox/policy"
)

// confiner is empty in this build.
type confiner struct{}

// startHeld starts commands whose policy accepts level none, and refuses others.
func (b *base) startHeld(cmd *Command, files []int) (*Child, error) {
	err := cmd.Policy.Validate(cmd.Limits)
	switch {
	case err != nil:
	case cmd.Limits.Any():
		err = fmt.Errorf("limits cannot be enforced by this build: %w", ErrUnsupported)
	case cmd.Policy.Weakest(os.Geteuid() == 0) != policy.None:
		err = fmt.Errorf("level %s cannot be enforced by this build: %w", cmd.Policy.Weakest(os.Geteuid() == 0), ErrUnsupported)
	default:
		return b.back.start(cmd, files)
	}
	return nil, &StartError{Name: cmd.Name, Step: StepPolicy, Err: err}
}

// announce does nothing in this build, which refuses confined commands.
func (*base) announce(string, *policy.Policy) {}

func (*confiner) close() error { return nil }

// thisProgram returns the path of this program.
func thisProgram() (string, error) { return os.Executable() }
