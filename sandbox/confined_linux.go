//go:build !hostsup_posix

package sandbox

// confiner is what a Launcher keeps for its confined children.
type confiner struct{}

func (b *base) startHeld(cmd *Command, files []int) (*Child, error) {
	return nil, &StartError{Name: cmd.Name, Step: StepPolicy, Err: ErrUnsupported}
}
