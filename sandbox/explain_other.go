//go:build !linux || hostsup_posix

package sandbox

import (
	"context"
	"fmt"

	"github.com/hostsup/hostsup/sandbox/denial"
	"github.com/hostsup/hostsup/sandbox/policy"
)

func explainRun(context.Context, *Launcher, Command) (policy.Policy, []denial.Denial, Exit, error) {
	return policy.Policy{}, nil, Exit{}, fmt.Errorf("explain: %w", ErrUnsupported)
}
