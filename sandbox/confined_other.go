//go:build unix && (!linux || hostsup_posix)

package sandbox

import (
	"fmt"
	"os"

	"github.com/hostsup/hostsup/sandbox/policy"
)

// confiner has nothing to keep here.
type confiner struct{}

// startHeld starts what accepts level none and refuses the rest: nothing is
// ever enforced more weakly in silence.
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

// announce has nothing to remember here: what is confined is refused.
func (*base) announce(string, *policy.Policy) {}

func (*confiner) close() error { return nil }

// thisProgram is the path of this program.
func thisProgram() (string, error) { return os.Executable() }
