//go:build !hostsup_posix

package sandbox

import (
	"errors"

	"github.com/hostsup/hostsup/sandbox/policy"
)

// network plans what the command may reach through the proxy.
func (s *starting) network() error {
	if s.r.Policy.Network != policy.NetworkAllow {
		return nil
	}
	return s.wrong(errors.New("network = \"allow\" is not in this version"))
}

func (s *starting) listener(fd int) error { return errors.New("no listener is awaited") }
func (s *starting) observer(fd int) error { return errors.New("no observer is awaited") }
